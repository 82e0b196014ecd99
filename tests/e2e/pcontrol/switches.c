/* Recording is switched off and on by MPI_Pcontrol, on each rank at another time, with requests under way and objects
 * made meanwhile.  Known answer, of each of the N ranks r: MPI_Allreduce 10 + r on MPI_COMM_WORLD before it is off,
 * 3 + N - r on the parts after it is on again; none of the 5 + r and N - r between.  MPI_Isend 10 before, 1 after. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size, left, right;

static void reduce(MPI_Comm comm, int times)
{
    for (int i = 0; i < times; i++) {
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
}

static void ring(int tag, int times)
{
    for (int i = 0; i < times; i++) {
        int in = -1, out = rank;
        MPI_Request request[2];
        MPI_Irecv(&in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD, &request[1]);
        MPI_Status status[2];
        MPI_Waitall(2, request, status);
    }
}

/* All wait for rank 1, whose recording is off and which does nothing. */
static void wait_for_nobody(void)
{
    int value = 0;
    reduce(MPI_COMM_WORLD, 3);
    if (rank == 1) {
        MPI_Pcontrol(0);
        for (;;)
            pause();
    }
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int begun_on[4], begun_off[4], value = 7;
    MPI_Request on, off, persistent;
    MPI_Comm part, copy;
    MPI_Win window;
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    if (argc > 1 && strcmp(argv[1], "waits") == 0)
        wait_for_nobody();
    if (argc > 1 && strcmp(argv[1], "begins off") == 0)
        MPI_Pcontrol(1);
    ring(1, 10);
    reduce(MPI_COMM_WORLD, 10);
    MPI_Irecv(begun_on, 4, MPI_INT, left, 2, MPI_COMM_WORLD, &on);
    MPI_Recv_init(&value, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &persistent);
    reduce(MPI_COMM_WORLD, rank);
    MPI_Pcontrol(0);
    reduce(MPI_COMM_WORLD, size - rank);
    usleep(20000);
    /* All are off now, or were when they came here. */
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    MPI_Comm_dup(part, &copy);
    reduce(part, 5);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Win_create(begun_off, sizeof begun_off, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    ring(1, 4);
    MPI_Start(&persistent);
    MPI_Send(&value, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
    MPI_Irecv(begun_off, 2, pair, left, 3, MPI_COMM_WORLD, &off);
    MPI_Send(begun_on, 4, MPI_INT, right, 2, MPI_COMM_WORLD);
    MPI_Wait(&on, MPI_STATUS_IGNORE);
    if (rank == 0) /* sent while off, received while on */
        MPI_Send(&value, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
    reduce(part, rank / 2);
    MPI_Pcontrol(rank + 1);
    reduce(part, size / 2 - rank / 2);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent);
    MPI_Request sent;
    MPI_Isend(begun_on, 2, pair, right, 3, MPI_COMM_WORLD, &sent);
    MPI_Wait(&off, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    reduce(copy, 3);
    reduce(MPI_COMM_WORLD, 2);
    MPI_Type_free(&pair);
    MPI_Win_free(&window);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&part);
    printf("%d of %d\n", rank, size);
    MPI_Finalize();
    return 0;
}
