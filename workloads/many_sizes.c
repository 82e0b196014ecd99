/* many_sizes: KINDS messages, each with a size and a tag of its own: more distinct calls than any table holds.
 * Truth: each rank sends message i (7i bytes, tag i) to the next rank by MPI_Sendrecv, ROUNDS times over. */
#include "truth.h"
#include <mpi.h>

#define KINDS  3000
#define ROUNDS 2

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    static char out[7 * KINDS], in[7 * KINDS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < KINDS; i++)
            MPI_Sendrecv(out, 7 * i, MPI_CHAR, (me + 1) % n, i, in, sizeof in, MPI_CHAR, (me + n - 1) % n, i,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 0) {
        long long bytes = 7LL * KINDS * (KINDS - 1) / 2 * ROUNDS;
        truth_frame(n);
        truth_each(n, "MPI_Sendrecv", KINDS * ROUNDS, bytes, bytes);
        for (int r = 0; r < n; r++)
            for (int i = 0; i < KINDS; i++)
                truth_pair(r, (r + 1) % n, ROUNDS, 7 * i);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
