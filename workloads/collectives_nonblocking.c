/* collectives_nonblocking: every nonblocking collective with equal counts; each round starts all and completes all with
 * one MPI_Waitall.
 * Truth: bytes as in collectives_blocking, charged to the call that starts the operation (MPI_Ibcast ...), root =
 * round % n; TIMES calls of each and TIMES MPI_Waitall per rank. */
#include "truth.h"
#include <mpi.h>

#define TIMES      12
#define OPERATIONS 11

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        long roots = 0; /* rounds in which r is the root */
        for (int i = 0; i < TIMES; i++)
            roots += i % n == r;
        long others = TIMES - roots;
        truth_call(r, "MPI_Ibarrier", TIMES, 0, 0);
        truth_call(r, "MPI_Ibcast", TIMES, roots * 400, others * 400);
        truth_call(r, "MPI_Iscatter", TIMES, roots * n * 40, TIMES * 40);
        truth_call(r, "MPI_Igather", TIMES, TIMES * 40, roots * n * 40);
        truth_call(r, "MPI_Iallgather", TIMES, TIMES * 12, TIMES * n * 12);
        truth_call(r, "MPI_Ialltoall", TIMES, TIMES * n * 16, TIMES * n * 16);
        truth_call(r, "MPI_Ireduce", TIMES, TIMES * 80, roots * 80);
        truth_call(r, "MPI_Iallreduce", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Ireduce_scatter_block", TIMES, TIMES * n * 24, TIMES * 24);
        truth_call(r, "MPI_Iscan", TIMES, TIMES * 20, TIMES * 20);
        truth_call(r, "MPI_Iexscan", TIMES, TIMES * 20, r == 0 ? 0 : TIMES * 20);
        truth_call(r, "MPI_Waitall", TIMES, 0, 0);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char *buffer[OPERATIONS][2]; /* each operation in flight has buffers of its own */
    for (int i = 0; i < OPERATIONS; i++)
        for (int k = 0; k < 2; k++)
            buffer[i][k] = calloc((size_t)n, 400);
    for (int i = 0; i < TIMES; i++) {
        MPI_Request r[OPERATIONS];
        MPI_Status statuses[OPERATIONS];
        int root = i % n;
        MPI_Ibarrier(MPI_COMM_WORLD, &r[0]);
        MPI_Ibcast(buffer[1][0], 100, MPI_INT, root, MPI_COMM_WORLD, &r[1]);
        MPI_Iscatter(buffer[2][0], 10, MPI_INT, buffer[2][1], 10, MPI_INT, root, MPI_COMM_WORLD, &r[2]);
        MPI_Igather(buffer[3][0], 10, MPI_FLOAT, buffer[3][1], 10, MPI_FLOAT, root, MPI_COMM_WORLD, &r[3]);
        MPI_Iallgather(buffer[4][0], 3, MPI_INT, buffer[4][1], 3, MPI_INT, MPI_COMM_WORLD, &r[4]);
        MPI_Ialltoall(buffer[5][0], 2, MPI_DOUBLE, buffer[5][1], 2, MPI_DOUBLE, MPI_COMM_WORLD, &r[5]);
        MPI_Ireduce(buffer[6][0], buffer[6][1], 10, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD, &r[6]);
        MPI_Iallreduce(buffer[7][0], buffer[7][1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[7]);
        MPI_Ireduce_scatter_block(buffer[8][0], buffer[8][1], 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r[8]);
        MPI_Iscan(buffer[9][0], buffer[9][1], 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[9]);
        MPI_Iexscan(buffer[10][0], buffer[10][1], 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[10]);
        MPI_Waitall(OPERATIONS, r, i % 2 ? statuses : MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < OPERATIONS; i++)
        for (int k = 0; k < 2; k++)
            free(buffer[i][k]);
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
