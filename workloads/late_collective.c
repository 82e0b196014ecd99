/* late_collective [rank]: one rank (default: the last) sleeps 2 ms before each of TIMES MPI_Allreduce of 8 bytes.
 * Truth: each other rank loses the slept time (measured, about TIMES x 2 ms) in MPI_Allreduce because of it, and it
 * comes last in all TIMES instances.  The late rank tells how long it slept by one MPI_Bcast of 8 bytes. */
#include "truth.h"
#include <mpi.h>

#define TIMES 50
#define DELAY 0.002

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double value = 1, sum, slept = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int late = argc > 1 ? atoi(argv[1]) % n : n - 1;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        if (me == late)
            slept += truth_sleep(DELAY);
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Bcast(&slept, 1, MPI_DOUBLE, late, MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", 1, 0, 0);
        truth_each(n, "MPI_Allreduce", TIMES, TIMES * 8, TIMES * 8);
        for (int r = 0; r < n; r++) {
            truth_call(r, "MPI_Bcast", 1, r == late ? 8 : 0, r == late ? 0 : 8);
            if (r != late)
                truth_wait("late-in-collective", "MPI_Allreduce", r, late, TIMES, slept);
        }
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
