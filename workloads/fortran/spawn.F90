! The job starts itself anew, CHILDREN more ranks by MPI_Comm_spawn and as many by MPI_Comm_spawn_multiple, with
! MPI_ARGV_NULL, MPI_ARGVS_NULL and MPI_ERRCODES_IGNORE, which Fortran knows by their addresses, and once with arguments
! and error codes; built for each binding.
! Parent 0 sends 4 * (100 + i) bytes to child i of each of the three worlds and gets 4 from it; tests/e2e/lib/fortran_more.py
! counts all four worlds together.
#include "binding.inc"
#if defined(BINDING_f08)
#define INFO     type(MPI_Info)
#else
#define INFO     integer
#endif
program spawn
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer, parameter :: children = 2
  COMM :: parent, inter
  INFO :: infos(2)
  integer :: me, ranks, ierr, codes(children), counts(2)
  character(len=400) :: path
  character(len=400) :: paths(2)
  character(len=12) :: arguments(3)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_get_parent(parent, ierr)
  if (parent /= MPI_COMM_NULL) then
    call child()
  else
    call get_command_argument(0, path)
    call MPI_Comm_spawn(path, MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE, ierr)
    call with(inter)
    paths = path
    counts = 1
    infos = MPI_INFO_NULL
    call MPI_Comm_spawn_multiple(2, paths, MPI_ARGVS_NULL, counts, infos, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE, ierr)
    call with(inter)
    codes = 4711
    arguments = ['first       ', ' second     ', '            ']
    call MPI_Comm_spawn(path, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes, ierr)
    if (any(codes /= MPI_SUCCESS)) stop 2
    call with(inter)
  end if
  call MPI_Finalize(ierr)
contains
  subroutine with(inter)
    COMM, intent(inout) :: inter
    integer :: i, data(200), given
    data = 0
    do i = 0, children - 1
      if (me /= 0) exit
      call MPI_Send(data, 100 + i, MPI_INTEGER, i, 1, inter, ierr)
      call MPI_Recv(given, 1, MPI_INTEGER, i, 2, inter, MPI_STATUS_IGNORE, ierr)
    end do
    call MPI_Comm_disconnect(inter, ierr)
  end subroutine
  subroutine child()
    integer :: data(200)
    character(len=20) :: given(2)
    if (command_argument_count() > 0) then
      if (command_argument_count() /= 2) stop 3
      call get_command_argument(1, given(1))
      call get_command_argument(2, given(2))
      if (given(1) /= 'first' .or. adjustl(given(2)) /= 'second') stop 4
    end if
    call MPI_Recv(data, 200, MPI_INTEGER, 0, 1, parent, MPI_STATUS_IGNORE, ierr)
    call MPI_Send(me, 1, MPI_INTEGER, 0, 2, parent, ierr)
    call MPI_Comm_disconnect(parent, ierr)
  end subroutine
end program
