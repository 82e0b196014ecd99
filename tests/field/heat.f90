! Heat on a line, as Fortran codes do it; what goes wrong is the first argument.
program heat
    use mpi
    implicit none
    integer, parameter :: n = 1000
    integer :: rank, ranks, left, right, step, error, tag, requests(4)
    double precision :: u(0:n + 1), mine, total, began
    character(len=32) :: what

    call get_command_argument(1, what)
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    left = merge(MPI_PROC_NULL, rank - 1, rank == 0)
    right = merge(MPI_PROC_NULL, rank + 1, rank == ranks - 1)
    u = rank
    do step = 1, 300
        tag = 1
        if (what == 'tag' .and. rank == 1 .and. step == 100) tag = 3
        if (what == 'missing' .and. rank == 2 .and. step == 100) exit
        if (what == 'stuck' .and. rank == 0 .and. step == 100) call sleep(1000)
        if (what == 'late' .and. rank == 1) call wait_for(0.04d0)
        if (what == 'array' .and. rank == 3 .and. step == 100) call smooth(u, 100000000)
        if (what == 'stop' .and. rank == 1 .and. step == 100) stop 3
        call wait_for(0.005d0)
        call MPI_Irecv(u(0), 1, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), error)
        call MPI_Irecv(u(n + 1), 1, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, requests(2), error)
        call MPI_Isend(u(n), 1, MPI_DOUBLE_PRECISION, right, tag, MPI_COMM_WORLD, requests(3), error)
        call MPI_Isend(u(1), 1, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, requests(4), error)
        call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, error)
        call smooth(u, n)
        mine = sum(u)
        call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    end do
    if (what == 'missing') call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Finalize(error)

contains

    subroutine smooth(u, upper)
        double precision, intent(inout) :: u(0:*)
        integer, intent(in) :: upper
        integer :: i
        do i = 1, upper
            u(i) = (u(i - 1) + u(i) + u(i + 1))/3
        end do
    end subroutine

    subroutine wait_for(seconds)
        double precision, intent(in) :: seconds
        began = MPI_Wtime()
        do while (MPI_Wtime() < began + seconds)
        end do
    end subroutine
end program
