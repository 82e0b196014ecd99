/* late_collective [rank]: one rank (default: the last) sleeps 2 ms before each of TIMES MPI_Allreduce of 8 bytes.
 * Truth: the others lose TIMES x 2 ms in MPI_Allreduce because of it; exactly: in each instance every rank waits from
 * its own arrival to the last arrival, by truth_times. */
#include "truth.h"
#include <mpi.h>

#define TIMES 50
#define DELAY 0.002

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double value = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int late = argc > 1 ? atoi(argv[1]) % n : n - 1;
    double *all = truth_times(n, 2 + TIMES), *came = all + me * (2 + TIMES);
    came[0] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        if (me == late)
            truth_sleep(DELAY);
        came[1 + i] = truth_now();
        MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    came[1 + TIMES] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", 2, 0, 0);
        truth_each(n, "MPI_Allreduce", TIMES, TIMES * 8, TIMES * 8);
        truth_arrivals("MPI_Barrier", n, 1, 2 + TIMES, all);
        truth_arrivals("MPI_Barrier", n, 1, 2 + TIMES, all + 1 + TIMES);
        truth_arrivals("MPI_Allreduce", n, TIMES, 2 + TIMES, all + 1);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
