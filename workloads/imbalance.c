/* imbalance: rank r computes (sleeps) r+1 milliseconds in each of TIMES steps that end with MPI_Barrier.
 * Truth: the last rank comes last in all steps; rank r waits TIMES x (n-1-r) ms for it (as measured: what the last rank
 * slept less what rank r slept, told by one MPI_Allgather of 8 bytes a rank). */
#include "truth.h"
#include <mpi.h>

#define TIMES 40
#define STEP  0.001

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double slept = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        slept += truth_sleep(STEP * (me + 1));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double *all = calloc((size_t)n, sizeof *all);
    MPI_Allgather(&slept, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", TIMES + 1, 0, 0);
        truth_each(n, "MPI_Allgather", 1, 8, 8 * n);
        for (int r = 0; r < n - 1; r++)
            truth_wait("late-in-collective", "MPI_Barrier", r, n - 1, TIMES, all[n - 1] - all[r]);
        bad = truth_write(n);
    }
    free(all);
    MPI_Finalize();
    return bad;
}
