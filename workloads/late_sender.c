/* late_sender [tests|probes]: rank 0 sleeps 20 ms before each of TIMES sends to rank 1, which has been waiting in
 * MPI_Recv all along, or calls MPI_Test or MPI_Iprobe until the message is there.
 * Truth: rank 1 loses about TIMES x 20 ms in MPI_Recv because rank 0 is late; exactly: from when it came to MPI_Recv to
 * when rank 0 came to MPI_Send, by truth_times.
 * 8 bytes a message, 0 -> 1.  Other ranks only begin and end.  Needs 2 ranks; alone it only begins and ends. */
#include "truth.h"
#include <mpi.h>
#include <string.h>

#define TIMES 20
#define DELAY 0.020

/* Receives a message that it has polled for as `how` says. */
static void receive_by_polls(double *value, int tag, const char *how)
{
    MPI_Request request;
    int done = 0;
    if (strcmp(how, "tests") == 0) {
        MPI_Irecv(value, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        return;
    }
    while (!done)
        MPI_Iprobe(0, tag, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
    MPI_Recv(value, 1, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    double value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double *all = truth_times(n, 2 + TIMES), *came = all + me * (2 + TIMES);
    came[0] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; n > 1 && i < TIMES; i++) {
        if (me == 0)
            truth_sleep(DELAY);
        came[1 + i] = truth_now();
        if (me == 0)
            MPI_Send(&value, 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);
        else if (me == 1 && argc > 1)
            receive_by_polls(&value, i, argv[1]);
        else if (me == 1)
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    came[1 + TIMES] = truth_now();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Barrier", 2, 0, 0);
        truth_arrivals("MPI_Barrier", n, 1, 2 + TIMES, all);
        truth_arrivals("MPI_Barrier", n, 1, 2 + TIMES, all + 1 + TIMES);
        if (n > 1) {
            truth_message(0, "MPI_Send", 1, "MPI_Recv", TIMES, 8);
            truth_late("late-sender", "MPI_Recv", 1, 0, TIMES, all + 2 + TIMES + 1, all + 1);
        }
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
