! Counts of INTEGER(MPI_COUNT_KIND) with mpi_f08, which the compiler leads to the calls whose C names end in _c: point to
! point and a collective.  Only for an MPI-4; built by the test.
! Truth: 1000 INTEGERs from each rank to the next, one MPI_Send_c and MPI_Irecv_c, one MPI_Allreduce_c of 10 in place.
program large_count
  use mpi_f08
  use truth
  implicit none
  integer(MPI_COUNT_KIND) :: n = 1000, few = 10
  integer :: me, ranks, out(1000), in(1000)
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  out = me
  call MPI_Irecv(in, n, MPI_INTEGER, mod(me + ranks - 1, ranks), 1, MPI_COMM_WORLD, request)
  call MPI_Send(out, n, MPI_INTEGER, mod(me + 1, ranks), 1, MPI_COMM_WORLD)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  if (in(1000) /= mod(me + ranks - 1, ranks)) stop 2
  out = 1
  call MPI_Allreduce(MPI_IN_PLACE, out, few, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (out(10) /= ranks .or. out(11) /= 1) stop 3
  if (me == 0) call answer()
  call MPI_Finalize()
contains
  subroutine answer()
    integer :: r
    call frame(ranks)
    do r = 0, ranks - 1
      call message(r, 'MPI_Send_c', mod(r + 1, ranks), 'MPI_Irecv_c', 1, 4000)
    end do
    call each(ranks, 'MPI_Wait', 1, 0, 0)
    call each(ranks, 'MPI_Allreduce_c', 1, 40, 40)
    call write_truth(ranks)
  end subroutine
end program
