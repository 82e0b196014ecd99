/* imbalance: rank r computes (sleeps) r+1 milliseconds in each of TIMES steps that end with MPI_Barrier.
 * Truth: the last rank comes last, and rank r waits TIMES x (n-1-r) ms for it; exactly: in each step every rank waits
 * from its own arrival to that of the last, and the arrivals are gathered on rank 0 (MPI_Gather of TIMES doubles a
 * rank). */
#include "truth.h"
#include <mpi.h>

#define TIMES 40
#define STEP  0.001

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double arrival[TIMES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double *all = calloc((size_t)n, sizeof arrival);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        truth_sleep(STEP * (me + 1));
        arrival[i] = truth_now();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Gather(arrival, TIMES, MPI_DOUBLE, all, TIMES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", TIMES + 1, 0, 0);
        for (int r = 0; r < n; r++)
            truth_call(r, "MPI_Gather", 1, TIMES * 8, r == 0 ? n * TIMES * 8 : 0);
        truth_arrivals("MPI_Barrier", n, TIMES, all);
        bad = truth_write(n);
    }
    free(all);
    MPI_Finalize();
    return bad;
}
