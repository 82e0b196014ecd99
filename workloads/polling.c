/* polling: every rank waits for 40 bytes of the previous one by calling MPI_Test in a loop, ROUNDS times; the messages
 * leave 100 ms after the waiting began, so that nearly all of the (often millions of) tests fail.
 * Truth: ROUNDS MPI_Irecv of 40 bytes and MPI_Isend of 40 bytes per rank; the number of MPI_Test is chance, counted by
 * the program and gathered on rank 0.  In the trace the failed ones are a handful of records. */
#include "truth.h"
#include <mpi.h>

#define ROUNDS 3
#define DELAY  0.100

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    long tests = 0;
    char out[40] = {0}, in[40];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request receive, send = MPI_REQUEST_NULL;
        int done = 0, sent = 0;
        MPI_Irecv(in, 40, MPI_CHAR, (me + n - 1) % n, 1, MPI_COMM_WORLD, &receive);
        for (double begin = truth_now(); !done; tests++) {
            if (!sent && tests % 64 == 0 && truth_now() - begin > DELAY) {
                MPI_Isend(out, 40, MPI_CHAR, (me + 1) % n, 1, MPI_COMM_WORLD, &send);
                sent = 1;
            }
            MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
        }
        if (!sent)
            MPI_Isend(out, 40, MPI_CHAR, (me + 1) % n, 1, MPI_COMM_WORLD, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    long *all = calloc((size_t)n, sizeof *all);
    MPI_Gather(&tests, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (me == 0) {
        truth_frame(n);
        for (int r = 0; r < n; r++) {
            truth_message(r, "MPI_Isend", (r + 1) % n, "MPI_Irecv", ROUNDS, 40);
            truth_call(r, "MPI_Test", all[r], 0, 0);
            truth_call(r, "MPI_Gather", 1, sizeof(long), r == 0 ? n * (long)sizeof(long) : 0);
        }
        truth_each(n, "MPI_Wait", ROUNDS, 0, 0);
        bad = truth_write(n);
    }
    free(all);
    MPI_Finalize();
    return bad;
}
