! A copy callback, in Fortran, that MPI_Comm_dup runs: it calls MPI itself, and duplicates MPI_COMM_SELF.
! Truth: calls from inside a callback are not counted: one MPI_Comm_dup and MPI_Comm_free a rank, besides the frame.
module copying
  use mpi
  implicit none
  integer :: copied = 0
contains
  subroutine copy(comm, keyval, extra, in, out, flag, ierr)
    integer :: comm, keyval, ierr, size_of, inner
    integer(MPI_ADDRESS_KIND) :: extra, in, out
    logical :: flag
    if (keyval == MPI_KEYVAL_INVALID .or. extra /= 5) stop 2
    call MPI_Comm_size(comm, size_of, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, inner, ierr)
    call MPI_Comm_free(inner, ierr)
    out = in + size_of
    flag = .true.
    copied = copied + 1
    ierr = MPI_SUCCESS
  end subroutine
  subroutine forget(comm, keyval, value, extra, ierr)
    integer :: comm, keyval, ierr
    integer(MPI_ADDRESS_KIND) :: value, extra
    if (comm == MPI_COMM_NULL .or. keyval == MPI_KEYVAL_INVALID .or. value < 0 .or. extra /= 5) stop 3
    ierr = MPI_SUCCESS
  end subroutine
end module
program callback
  use copying
  use truth
  implicit none
  integer :: me, ranks, ierr, key, twin
  integer(MPI_ADDRESS_KIND) :: value, extra
  logical :: flag
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  extra = 5
  value = 100
  call MPI_Comm_create_keyval(copy, forget, key, extra, ierr)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierr)
  call MPI_Comm_get_attr(twin, key, value, flag, ierr)
  if (.not. flag .or. value /= 100 + ranks .or. copied /= 1) stop 4
  call MPI_Comm_free(twin, ierr)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
  call MPI_Comm_free_keyval(key, ierr)
  if (me == 0) then
    call frame(ranks)
    call each(ranks, 'MPI_Comm_create_keyval', 1, 0, 0)
    call each(ranks, 'MPI_Comm_set_attr', 1, 0, 0)
    call each(ranks, 'MPI_Comm_dup', 1, 0, 0)
    call each(ranks, 'MPI_Comm_get_attr', 1, 0, 0)
    call each(ranks, 'MPI_Comm_free', 1, 0, 0)
    call each(ranks, 'MPI_Comm_delete_attr', 1, 0, 0)
    call each(ranks, 'MPI_Comm_free_keyval', 1, 0, 0)
    call write_truth(ranks)
  end if
  call MPI_Finalize(ierr)
end program
