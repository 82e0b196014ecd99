/* late_collective [rank]: one rank (default: the last) sleeps 2 ms before each of TIMES MPI_Allreduce of 8 bytes.
 * Truth: the others lose TIMES x 2 ms in MPI_Allreduce because of it; exactly: in each instance every rank waits from
 * its own arrival to that of the last, and the arrivals are gathered on rank 0 (MPI_Gather of TIMES doubles a rank). */
#include "truth.h"
#include <mpi.h>

#define TIMES 50
#define DELAY 0.002

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double value = 1, sum, arrival[TIMES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int late = argc > 1 ? atoi(argv[1]) % n : n - 1;
    double *all = calloc((size_t)n, sizeof arrival);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        if (me == late)
            truth_sleep(DELAY);
        arrival[i] = truth_now();
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Gather(arrival, TIMES, MPI_DOUBLE, all, TIMES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", 1, 0, 0);
        truth_each(n, "MPI_Allreduce", TIMES, TIMES * 8, TIMES * 8);
        for (int r = 0; r < n; r++)
            truth_call(r, "MPI_Gather", 1, TIMES * 8, r == 0 ? n * TIMES * 8 : 0);
        truth_arrivals("MPI_Allreduce", n, TIMES, all);
        bad = truth_write(n);
    }
    free(all);
    MPI_Finalize();
    return bad;
}
