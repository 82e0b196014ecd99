/* late_sender: rank 0 sleeps 20 ms before each of TIMES sends to rank 1, which has been waiting in MPI_Recv all along.
 * Truth: rank 1 loses the slept time (measured by rank 0, about TIMES x 20 ms) in MPI_Recv because rank 0 is late.
 * 8 bytes a message, 0 -> 1.  Other ranks only begin and end.  Needs 2 ranks; alone it only begins and ends. */
#include "truth.h"
#include <mpi.h>

#define TIMES 20
#define DELAY 0.020

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double value = 0, slept = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; n > 1 && i < TIMES; i++) {
        if (me == 0) {
            slept += truth_sleep(DELAY);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);
        } else if (me == 1) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", 1, 0, 0);
        if (n > 1) {
            truth_message(0, "MPI_Send", 1, "MPI_Recv", TIMES, 8);
            truth_wait("late-sender", "MPI_Recv", 1, 0, TIMES, slept);
        }
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
