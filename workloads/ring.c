/* ring: a token of 64 bytes goes round all ranks 100 times.
 * Truth: each rank makes 100 MPI_Send and 100 MPI_Recv of 64 bytes: r -> r+1, 100 messages, 6400 bytes.
 * Alone it sends to itself with MPI_Sendrecv. */
#include "truth.h"
#include <mpi.h>

#define ROUNDS 100
#define BYTES  64

static void answer(int n)
{
    truth_frame(n);
    if (n == 1) {
        truth_call(0, "MPI_Sendrecv", ROUNDS, ROUNDS * BYTES, ROUNDS * BYTES);
        truth_pair(0, 0, ROUNDS, BYTES);
        return;
    }
    for (int r = 0; r < n; r++)
        truth_message(r, "MPI_Send", (r + 1) % n, "MPI_Recv", ROUNDS, BYTES);
}

int main(int argc, char **argv)
{
    char token[BYTES] = {0};
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int next = (me + 1) % n, previous = (me + n - 1) % n;
    for (int i = 0; i < ROUNDS; i++) {
        if (n == 1) {
            char in[BYTES];
            MPI_Sendrecv(token, BYTES, MPI_CHAR, 0, 1, in, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        if (me == 0)
            MPI_Send(token, BYTES, MPI_CHAR, next, 1, MPI_COMM_WORLD);
        MPI_Recv(token, BYTES, MPI_CHAR, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (me != 0)
            MPI_Send(token, BYTES, MPI_CHAR, next, 1, MPI_COMM_WORLD);
    }
    if (me == 0) {
        answer(n);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
