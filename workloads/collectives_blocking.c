/* collectives_blocking: every blocking collective with equal counts, with a root that changes each round.
 * Truth, for n ranks and TIMES rounds (root = round % n), per call and rank:
 *   Barrier 0; Bcast 400 B (root sends, the others receive); Scatter 40 B a rank (root sends n x 40, each receives 40);
 *   Gather 40 B (each sends 40, root receives n x 40); Allgather 12 B (sends 12, receives n x 12);
 *   Alltoall 16 B (n x 16 both ways); Reduce 80 B (each sends, root receives); Allreduce 8 B (both);
 *   Reduce_scatter_block 24 B (sends n x 24, receives 24); Scan 20 B (both);
 *   Exscan 20 B (each sends, all but rank 0 receive). */
#include "truth.h"
#include <mpi.h>

#define TIMES 12

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++) {
        long roots = 0; /* rounds in which r is the root */
        for (int i = 0; i < TIMES; i++)
            roots += i % n == r;
        long others = TIMES - roots;
        truth_call(r, "MPI_Barrier", TIMES, 0, 0);
        truth_call(r, "MPI_Bcast", TIMES, roots * 400, others * 400);
        truth_call(r, "MPI_Scatter", TIMES, roots * n * 40, TIMES * 40);
        truth_call(r, "MPI_Gather", TIMES, TIMES * 40, roots * n * 40);
        truth_call(r, "MPI_Allgather", TIMES, TIMES * 12, TIMES * n * 12);
        truth_call(r, "MPI_Alltoall", TIMES, TIMES * n * 16, TIMES * n * 16);
        truth_call(r, "MPI_Reduce", TIMES, TIMES * 80, roots * 80);
        truth_call(r, "MPI_Allreduce", TIMES, TIMES * 8, TIMES * 8);
        truth_call(r, "MPI_Reduce_scatter_block", TIMES, TIMES * n * 24, TIMES * 24);
        truth_call(r, "MPI_Scan", TIMES, TIMES * 20, TIMES * 20);
        truth_call(r, "MPI_Exscan", TIMES, TIMES * 20, r == 0 ? 0 : TIMES * 20);
    }
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char *many = calloc((size_t)n, 400), *more = calloc((size_t)n, 400);
    double tens[10] = {0}, sums[10];
    int fives[5] = {0}, totals[5];
    for (int i = 0; i < TIMES; i++) {
        int root = i % n;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(many, 100, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatter(many, 10, MPI_INT, more, 10, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Gather(more, 10, MPI_FLOAT, many, 10, MPI_FLOAT, root, MPI_COMM_WORLD);
        MPI_Allgather(fives, 3, MPI_INT, many, 3, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoall(many, 2, MPI_DOUBLE, more, 2, MPI_DOUBLE, MPI_COMM_WORLD);
        MPI_Reduce(tens, sums, 10, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        MPI_Allreduce(tens, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Reduce_scatter_block(many, more, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Scan(fives, totals, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Exscan(fives, totals, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    free(many);
    free(more);
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
