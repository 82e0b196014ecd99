! The ping-pong that sweeps lengths: ranks 0 and 1 send 32 bytes, 2 KiB, 128 KiB and 8 MiB to and fro, ROUNDS times each,
! and rank 0 prints half a round trip and the rate.  Other ranks wait in the last barrier.
! Truth: ROUNDS MPI_Send and MPI_Recv a length on ranks 0 and 1, of as many bytes; MPI_Get_count once a length on rank 1.
program pingpong_sweep
  use mpi
  use truth
  implicit none
  integer, parameter :: rounds = 5, factor = 64, first = 4, lengths = 4
  double precision, allocatable :: buffer(:)
  double precision :: begin, took
  integer :: status(MPI_STATUS_SIZE), me, ranks, ierr, i, step, length, came

  call MPI_INIT(ierr)
  call MPI_COMM_RANK(MPI_COMM_WORLD, me, ierr)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierr)
  allocate (buffer(first * factor**(lengths - 1)))
  buffer = me
  length = first
  do step = 1, lengths
    begin = MPI_WTIME()
    do i = 1, rounds
      if (me == 0 .and. ranks > 1) then
        call MPI_SEND(buffer, length, MPI_DOUBLE_PRECISION, 1, 17, MPI_COMM_WORLD, ierr)
        call MPI_RECV(buffer, length, MPI_DOUBLE_PRECISION, 1, 23, MPI_COMM_WORLD, status, ierr)
      else if (me == 1) then
        call MPI_RECV(buffer, length, MPI_DOUBLE_PRECISION, 0, 17, MPI_COMM_WORLD, status, ierr)
        call MPI_SEND(buffer, length, MPI_DOUBLE_PRECISION, 0, 23, MPI_COMM_WORLD, ierr)
      end if
    end do
    took = (MPI_WTIME() - begin) / (2 * rounds)
    if (me == 1) then
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, came, ierr)
      if (came /= length .or. status(MPI_SOURCE) /= 0 .or. status(MPI_TAG) /= 17) stop 2
    end if
    if (me == 0 .and. ranks > 1) print '(i9, a, f12.2, a, f9.1, a)', length * 8, ' bytes', took * 1d6, ' us', &
      length * 8 / took / 1d6, ' MB/s'
    length = length * factor
  end do
  call MPI_BARRIER(MPI_COMM_WORLD, ierr)
  if (me == 0) then
    call frame(ranks)
    length = first * 8
    if (ranks > 1) then
      do step = 1, lengths
        call message(0, 'MPI_Send', 1, 'MPI_Recv', rounds, length)
        call message(1, 'MPI_Send', 0, 'MPI_Recv', rounds, length)
        length = length * factor
      end do
      call call_of(1, 'MPI_Get_count', lengths, 0, 0)
    end if
    call each(ranks, 'MPI_Barrier', 1, 0, 0)
    call write_truth(ranks)
  end if
  call MPI_FINALIZE(ierr)
end program
