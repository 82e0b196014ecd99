/* imbalance: rank r computes (sleeps) r+1 milliseconds in each of TIMES steps that end with MPI_Barrier.
 * Truth: the last rank comes last, and rank r waits TIMES x (n-1-r) ms for it; exactly: in each step every rank waits
 * from its own arrival to the last arrival, by truth_times. */
#include "truth.h"
#include <mpi.h>

#define TIMES 40
#define STEP  0.001

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double *all = truth_times(n, 2 + TIMES), *came = all + me * (2 + TIMES);
    came[0] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        truth_sleep(STEP * (me + 1));
        came[1 + i] = truth_now();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    came[1 + TIMES] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", TIMES + 2, 0, 0);
        truth_arrivals("MPI_Barrier", n, 2 + TIMES, 2 + TIMES, all);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
