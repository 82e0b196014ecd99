! Every kind of collective, in place where that is allowed, blocking and nonblocking; built for each binding.
! Truth: INTEGERs of 4 bytes, CELLS of them a rank, in ROUNDS rounds; what each rank gives and gets is written out in
! answer().  In place changes where data lies, not how much of it there is.
#include "binding.inc"
program collectives
  USE_MPI
  use truth
  implicit none
  INCLUDE_MPI
  integer, parameter :: cells = 6, rounds = 3
  integer, allocatable :: mine(:), all(:), other(:), counts(:), places(:)
  DATATYPE, allocatable :: types(:)
  REQUEST :: request(2)
  integer :: me, ranks, ierr, round, r, one, total

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate (mine(cells), all(cells * ranks), other(cells * ranks), counts(ranks), places(ranks), types(ranks))
  do round = 1, rounds
    mine = me
    call MPI_Bcast(mine, cells, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    if (any(mine /= 0)) stop 2
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
    one = 1
    if (me == 0) then
      call MPI_Reduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
      if (one /= ranks) stop 3
    else
      call MPI_Reduce(one, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    end if
    mine = 1
    call MPI_Allreduce(MPI_IN_PLACE, mine, cells, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(mine, other, cells, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (any(other(1:cells) /= ranks)) stop 4
    all = me
    if (me == 0) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, cells, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call MPI_Scatter(all, cells, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Gather(all, cells, MPI_INTEGER, other, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
      call MPI_Scatter(other, 0, MPI_DATATYPE_NULL, mine, cells, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      if (any(mine /= me)) stop 5
    end if
    all(cells * me + 1:cells * (me + 1)) = me
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, cells, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    if (all(cells * ranks) /= ranks - 1) stop 6
    call MPI_Alltoall(all, cells, MPI_INTEGER, other, cells, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    if (any(other /= me)) stop 7
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, other, cells, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    ! Rank r gives r + 1 cells.
    do r = 1, ranks
      counts(r) = r
      places(r) = cells * (r - 1)
      types(r) = MPI_INTEGER
    end do
    call MPI_Gatherv(mine, min(me + 1, cells), MPI_INTEGER, all, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call MPI_Allgatherv(mine, me + 1, MPI_INTEGER, all, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    ! One cell to rank 0, two to rank 1 ...: everybody gets its rank + 1 from each.
    other = me
    all = -1
    block
      integer :: from(ranks), bytes(ranks)
      from = me + 1
      bytes = places * 4
      call MPI_Alltoallw(other, counts, bytes, types, all, from, bytes, types, MPI_COMM_WORLD, ierr)
      call MPI_Alltoallv(other, counts, places, MPI_INTEGER, all, from, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    end block
    if (all(cells * (ranks - 1) + 1) /= ranks - 1) stop 8
    call MPI_Scan(me, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (total /= me * (me + 1) / 2) stop 9
    call MPI_Exscan(me, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    all = 1
    call MPI_Reduce_scatter_block(all, mine, cells, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(mine /= ranks)) stop 10
    call MPI_Iallreduce(MPI_IN_PLACE, mine, cells, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, request(1), ierr)
    call MPI_Ibcast(one, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, request(2), ierr)
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
  end do
  if (me == 0) call answer()
  call MPI_Finalize(ierr)
contains
  subroutine answer()
    integer :: i, sum_of
    sum_of = ranks * (ranks + 1) / 2
    call frame(ranks)
    do i = 1, rounds
      do r = 0, ranks - 1
        call call_of(r, 'MPI_Bcast', 1, merge(24, 0, r == 0), merge(0, 24, r == 0))
        call call_of(r, 'MPI_Barrier', 1, 0, 0)
        call call_of(r, 'MPI_Reduce', 1, 4, merge(4, 0, r == 0))
        call call_of(r, 'MPI_Allreduce', 2, 48, 48)
        call call_of(r, 'MPI_Gather', 1, 24, merge(24 * ranks, 0, r == 0))
        call call_of(r, 'MPI_Scatter', 1, merge(24 * ranks, 0, r == 0), 24)
        call call_of(r, 'MPI_Allgather', 1, 24, 24 * ranks)
        call call_of(r, 'MPI_Alltoall', 2, 48 * ranks, 48 * ranks)
        call call_of(r, 'MPI_Gatherv', 1, 4 * (r + 1), merge(4 * sum_of, 0, r == 0))
        call call_of(r, 'MPI_Allgatherv', 1, 4 * (r + 1), 4 * sum_of)
        call call_of(r, 'MPI_Alltoallw', 1, 4 * sum_of, 4 * ranks * (r + 1))
        call call_of(r, 'MPI_Alltoallv', 1, 4 * sum_of, 4 * ranks * (r + 1))
        call call_of(r, 'MPI_Scan', 1, 4, 4)
        call call_of(r, 'MPI_Exscan', 1, 4, merge(0, 4, r == 0))
        call call_of(r, 'MPI_Reduce_scatter_block', 1, 24 * ranks, 24)
        call call_of(r, 'MPI_Iallreduce', 1, 24, 24)
        call call_of(r, 'MPI_Ibcast', 1, merge(4, 0, r == ranks - 1), merge(0, 4, r == ranks - 1))
        call call_of(r, 'MPI_Waitall', 1, 0, 0)
      end do
    end do
    call write_truth(ranks)
  end subroutine
end program
