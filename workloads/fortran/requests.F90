! All ways to complete requests, with statuses and without; wildcards, probes, persistent requests; built for each
! binding.  Every rank sends to the next in a ring and receives from the previous.
! Truth: in ROUNDS rounds, one message of 4 * k bytes for k = 1 .. 4 completed by each of MPI_Waitany, MPI_Waitsome,
! MPI_Testall, MPI_Testany, MPI_Testsome, and single ones.  How often a test or MPI_Waitsome is called is chance: counted
! by the program and gathered on rank 0.
#include "binding.inc"
program requests
  USE_MPI
  use truth
  implicit none
  INCLUDE_MPI
  integer, parameter :: rounds = 4, many = 4, ways = 6
  integer :: me, ranks, ierr, round, k, next, previous, index, done, indices(2 * many), out(many), in(many, many)
  integer :: calls(ways), extra(MPI_STATUS_SIZE)
  integer, allocatable :: all(:, :)
  REQUEST :: request(2 * many)
  STATUS(one)
  STATUSES(each_one, 2 * many)
  logical :: flag
  MESSAGE_HANDLE :: claim

  calls = 0
  extra = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate (all(ways, 0:ranks - 1))
  next = mod(me + 1, ranks)
  previous = mod(me + ranks - 1, ranks)
  out = me
  do round = 1, rounds
    ! MPI_Waitany: with statuses and without in turns.
    call start(1)
    do k = 1, 2 * many
      if (mod(k, 2) == 0) then
        call MPI_Waitany(2 * many, request, index, MPI_STATUS_IGNORE, ierr)
      else
        call MPI_Waitany(2 * many, request, index, one, ierr)
      end if
      ! Not tighter: MPICH 4.0's mpi_f08 counts from zero here, and its mpif.h gives MPI_UNDEFINED + 1 below.
      if (index < 0 .or. index > 2 * many) stop 3
    end do
    call MPI_Waitany(2 * many, request, index, one, ierr) ! nothing is left
    if (index /= MPI_UNDEFINED .and. index /= MPI_UNDEFINED + 1) stop 4
    ! MPI_Waitsome
    call start(2)
    k = 0
    do while (k < 2 * many)
      if (mod(round, 2) == 0) then
        call MPI_Waitsome(2 * many, request, done, indices, each_one, ierr)
        if (done > 0 .and. indices(1) > 0 .and. indices(1) <= many) then
          if (SOURCE_AT(each_one, 1) /= previous) stop 5
        end if
      else
        call MPI_Waitsome(2 * many, request, done, indices, MPI_STATUSES_IGNORE, ierr)
      end if
      k = k + done
      calls(1) = calls(1) + 1
    end do
    ! MPI_Testall
    call start(3)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2 * many, request, flag, each_one, ierr)
      calls(2) = calls(2) + 1
    end do
    if (SOURCE_AT(each_one, 2) /= previous) stop 6
    ! MPI_Testany
    call start(4)
    k = 0
    do while (k < 2 * many)
      call MPI_Testany(2 * many, request, index, flag, MPI_STATUS_IGNORE, ierr)
      if (flag) k = k + 1
      calls(3) = calls(3) + 1
    end do
    ! MPI_Testsome
    call start(5)
    k = 0
    do while (k < 2 * many)
      call MPI_Testsome(2 * many, request, done, indices, MPI_STATUSES_IGNORE, ierr)
      k = k + done
      calls(4) = calls(4) + 1
    end do
    ! MPI_Wait, MPI_Test
    call MPI_Irecv(in, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request(1), ierr)
    call MPI_Issend(out, 1, MPI_INTEGER, next, 60, MPI_COMM_WORLD, request(2), ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(request(1), flag, one, ierr)
      calls(5) = calls(5) + 1
    end do
    if (SOURCE(one) /= previous .or. TAG(one) /= 60) stop 7
    call MPI_Wait(request(2), MPI_STATUS_IGNORE, ierr)
    ! Probes
    call MPI_Isend(out, 2, MPI_INTEGER, next, 61, MPI_COMM_WORLD, request(1), ierr)
    call MPI_Isend(out, 3, MPI_INTEGER, next, 62, MPI_COMM_WORLD, request(2), ierr)
    call MPI_Probe(MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, one, ierr)
    call MPI_Get_count(one, MPI_INTEGER, k, ierr)
    if (k /= 2 .or. SOURCE(one) /= previous) stop 8
    call MPI_Recv(in, many, MPI_INTEGER, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    flag = .false.
    do while (.not. flag)
      call MPI_Improbe(previous, 62, MPI_COMM_WORLD, flag, claim, MPI_STATUS_IGNORE, ierr)
      calls(6) = calls(6) + 1
    end do
    call MPI_Mrecv(in, many, MPI_INTEGER, claim, one, ierr)
    if (TAG(one) /= 62) stop 9
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierr)
    ! One call each way; and to nobody.
    call MPI_Sendrecv(out, 4, MPI_INTEGER, next, 63, in, 4, MPI_INTEGER, previous, 63, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    if (in(1, 1) /= previous) stop 10
    call MPI_Send(out, 4, MPI_INTEGER, MPI_PROC_NULL, 64, MPI_COMM_WORLD, ierr)
  end do
  ! Persistent
  call MPI_Recv_init(in, 4, MPI_INTEGER, previous, 70, MPI_COMM_WORLD, request(1), ierr)
  call MPI_Send_init(out, 4, MPI_INTEGER, next, 70, MPI_COMM_WORLD, request(2), ierr)
  do round = 1, rounds
    call MPI_Startall(2, request, ierr)
    call MPI_Waitall(2, request, each_one, ierr)
    if (SOURCE_AT(each_one, 1) /= previous) stop 11
  end do
  call MPI_Request_free(request(1), ierr)
  call MPI_Request_free(request(2), ierr)
  call MPI_Gather(calls, ways, MPI_INTEGER, all, ways, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  if (me == 0) call answer()
  call MPI_Finalize(ierr)
contains
  ! k cells for k = 1 .. many from the previous and to the next rank.
  subroutine start(way)
    integer, intent(in) :: way
    integer :: i
    do i = 1, many
      call MPI_Irecv(in(:, i), many, MPI_INTEGER, previous, 10 * way + i, MPI_COMM_WORLD, request(i), ierr)
    end do
    do i = 1, many
      call MPI_Isend(out, i, MPI_INTEGER, next, 10 * way + i, MPI_COMM_WORLD, request(many + i), ierr)
    end do
  end subroutine
  subroutine answer()
    integer :: r, to, i
    call frame(ranks)
    do r = 0, ranks - 1
      to = mod(r + 1, ranks)
      do i = 1, many
        call message(r, 'MPI_Isend', to, 'MPI_Irecv', 5 * rounds, 4 * i)
      end do
      call message(r, 'MPI_Issend', to, 'MPI_Irecv', rounds, 4)
      call message(r, 'MPI_Isend', to, 'MPI_Recv', rounds, 8)
      call message(r, 'MPI_Isend', to, 'MPI_Mrecv', rounds, 12)
      ! One MPI_Sendrecv is a message each way; a request that is made once is many.
      call message(r, 'MPI_Sendrecv', to, 'MPI_Sendrecv', rounds, 16)
      call call_of(r, 'MPI_Sendrecv', -rounds, 0, 0)
      call message(r, 'MPI_Send_init', to, 'MPI_Recv_init', rounds, 16)
      call call_of(r, 'MPI_Send_init', 1 - rounds, 0, 0)
      call call_of(r, 'MPI_Recv_init', 1 - rounds, 0, 0)
      call call_of(r, 'MPI_Startall', rounds, 0, 0)
      call call_of(r, 'MPI_Waitany', rounds * (2 * many + 1), 0, 0)
      call call_of(r, 'MPI_Waitsome', all(1, r), 0, 0)
      call call_of(r, 'MPI_Testall', all(2, r), 0, 0)
      call call_of(r, 'MPI_Testany', all(3, r), 0, 0)
      call call_of(r, 'MPI_Testsome', all(4, r), 0, 0)
      call call_of(r, 'MPI_Test', all(5, r), 0, 0)
      call call_of(r, 'MPI_Improbe', all(6, r), 0, 0)
      call call_of(r, 'MPI_Gather', 1, 4 * ways, merge(4 * ways * ranks, 0, r == 0))
    end do
    call each(ranks, 'MPI_Wait', rounds, 0, 0)
    call each(ranks, 'MPI_Probe', rounds, 0, 0)
    call each(ranks, 'MPI_Get_count', rounds, 0, 0)
    call each(ranks, 'MPI_Send', rounds, 0, 0)
    call each(ranks, 'MPI_Waitall', 2 * rounds, 0, 0)
    call each(ranks, 'MPI_Request_free', 2, 0, 0)
    call write_truth(ranks)
  end subroutine
end program
