! Communicators, names, LOGICAL, windows, files and errors as Fortran sees them; built for each binding.
! Truth: messages of 4 bytes inside halves of the world, 8 in a duplicate, in world ranks; one failing MPI_Send that
! moves nothing and whose ierr is an error; a put of 4 bytes to the next rank; 12 bytes written to a file and read.
#include "binding.inc"
program communicators
  USE_MPI
  use truth
  implicit none
  INCLUDE_MPI
  COMM :: half, copy, line
  GROUP :: members
  WINDOW :: win
  FILE :: file
  STATUS(one)
  integer :: me, ranks, ierr, rank_in_half, half_size, length, in, out(3), got(3), kind, next, before, text_length
  integer, volatile :: memory(4)
  integer :: shape(1), error
  integer(MPI_ADDRESS_KIND) :: bytes
  integer(MPI_OFFSET_KIND) :: at
  logical :: flag, periodic(1)
  character(len=MPI_MAX_PROCESSOR_NAME) :: host
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  character(len=64) :: path

  call MPI_Initialized(flag, ierr) ! before there is a trace
  if (flag .or. ierr /= MPI_SUCCESS) stop 2
  call MPI_Init_thread(MPI_THREAD_FUNNELED, kind, ierr)
  call MPI_Initialized(flag, ierr)
  if (.not. flag) stop 3
  call MPI_Finalized(flag, ierr)
  if (flag) stop 4
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  host = 'nobody'
  call MPI_Get_processor_name(host, length, ierr)
  if (length < 1 .or. host == 'nobody' .or. len_trim(host) /= length) stop 5
  ! Even and odd ranks, in turned order.
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), -me, half, ierr)
  call MPI_Comm_rank(half, rank_in_half, ierr)
  call MPI_Comm_size(half, half_size, ierr)
  call MPI_Comm_set_name(half, 'every other rank  ', ierr)
  call MPI_Comm_get_name(half, name, length, ierr)
  if (name /= 'every other rank') stop 6
  call MPI_Comm_test_inter(half, flag, ierr)
  if (flag) stop 7
  call MPI_Sendrecv(me, 1, MPI_INTEGER, mod(rank_in_half + 1, half_size), 1, in, 1, MPI_INTEGER, &
                    mod(rank_in_half + half_size - 1, half_size), 1, half, one, ierr)
  if (mod(in, 2) /= mod(me, 2)) stop 8
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  next = mod(me + 1, ranks)
  before = mod(me + ranks - 1, ranks)
  out = me
  call MPI_Sendrecv(out, 2, MPI_INTEGER, next, 2, got, 2, MPI_INTEGER, before, 2, copy, MPI_STATUS_IGNORE, ierr)
  shape(1) = ranks
  periodic(1) = .false.
  call MPI_Cart_create(copy, 1, shape, periodic, .false., line, ierr)
  call MPI_Comm_group(line, members, ierr)
  call MPI_Group_size(members, length, ierr)
  if (length /= ranks) stop 9
  call MPI_Group_free(members, ierr)
  ! An error comes back as it is.
  call MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(out, 1, MPI_INTEGER, ranks + 7, 3, copy, error)
  if (error == MPI_SUCCESS) stop 10
  call MPI_Error_class(error, kind, ierr)
  if (kind /= MPI_ERR_RANK) stop 11
  text = ' '
  call MPI_Error_string(error, text, text_length, ierr)
  if (len_trim(text) == 0) stop 12
  ! One-sided
  bytes = 16 ! MPICH 4.0 loses puts into a window of 4 bytes that does not begin at a multiple of 8
  memory = -1
  call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, copy, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  bytes = 0
  call MPI_Put(me, 1, MPI_INTEGER, next, bytes, 1, MPI_INTEGER, win, ierr)
  call MPI_Win_fence(0, win, ierr)
  call MPI_Win_free(win, ierr)
  if (memory(1) /= before) stop 13
  ! A file each
  write (path, '(a, i0)') 'fortran-file-', me
  call MPI_File_open(MPI_COMM_SELF, trim(path), MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, file, ierr)
  if (ierr /= MPI_SUCCESS) stop 14
  call MPI_File_write(file, out, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
  at = 0
  got = -1
  call MPI_File_read_at(file, at, got, 3, MPI_INTEGER, one, ierr)
  if (any(got /= me)) stop 15
  call MPI_File_close(file, ierr)
  call MPI_Comm_free(line, ierr)
  call MPI_Comm_free(copy, ierr)
  call MPI_Comm_free(half, ierr)
  if (half /= MPI_COMM_NULL) stop 16
  if (me == 0) call answer()
  call MPI_Finalize(ierr)
  call MPI_Finalized(flag, ierr)
  if (.not. flag) stop 17
contains
  subroutine answer()
    integer :: r, n, to
    call each(ranks, 'MPI_Init_thread', 1, 0, 0)
    call each(ranks, 'MPI_Finalize', 1, 0, 0)
    call each(ranks, 'MPI_Initialized', 1, 0, 0)
    call each(ranks, 'MPI_Comm_rank', 2, 0, 0)
    call each(ranks, 'MPI_Comm_size', 2, 0, 0)
    do r = 0, ranks - 1
      ! Keys are turned round: the next in the half is the rank two below, and the least comes round to the highest.
      to = r - 2
      n = ranks - 1
      if (mod(n, 2) /= mod(r, 2)) n = n - 1
      if (to < 0) to = n
      call message(r, 'MPI_Sendrecv', to, 'MPI_Sendrecv', 1, 4)
      call message(r, 'MPI_Sendrecv', mod(r + 1, ranks), 'MPI_Sendrecv', 1, 8)
      call call_of(r, 'MPI_Sendrecv', -2, 0, 0)
    end do
    call each(ranks, 'MPI_Put', 1, 4, 0)
    call each(ranks, 'MPI_File_write', 1, 12, 0)
    call each(ranks, 'MPI_File_read_at', 1, 0, 12)
    call each(ranks, 'MPI_Win_fence', 2, 0, 0)
    call each(ranks, 'MPI_Comm_free', 3, 0, 0)
    call each(ranks, 'MPI_Finalized', 2, 0, 0)
    call once('MPI_Get_processor_name')
    call once('MPI_Comm_split')
    call once('MPI_Comm_set_name')
    call once('MPI_Comm_get_name')
    call once('MPI_Comm_test_inter')
    call once('MPI_Comm_dup')
    call once('MPI_Cart_create')
    call once('MPI_Comm_group')
    call once('MPI_Group_size')
    call once('MPI_Group_free')
    call once('MPI_Comm_set_errhandler')
    call once('MPI_Send')
    call once('MPI_Error_class')
    call once('MPI_Error_string')
    call once('MPI_Win_create')
    call once('MPI_Win_free')
    call once('MPI_File_open')
    call once('MPI_File_close')
    call write_truth(ranks)
  end subroutine
  subroutine once(name)
    character(*), intent(in) :: name
    call each(ranks, name, 1, 0, 0)
  end subroutine
end program
