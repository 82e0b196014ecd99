/* exit_no_finalize: 100 rounds of MPI_Sendrecv (32 bytes to the next rank), then every rank returns from main without
 * MPI_Finalize.  Truth: 100 MPI_Sendrecv a rank; no rank finalized.  mpirun complains and does not return 0. */
#include "truth.h"
#include <mpi.h>

#define TIMES 100

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    char out[32] = {0}, in[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < TIMES; i++)
        MPI_Sendrecv(out, 32, MPI_CHAR, (me + 1) % n, i, in, 32, MPI_CHAR, (me + n - 1) % n, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (me == 0) {
        truth_each(n, "MPI_Init", 1, 0, 0);
        truth_each(n, "MPI_Comm_rank", 1, 0, 0);
        truth_each(n, "MPI_Comm_size", 1, 0, 0);
        truth_each(n, "MPI_Sendrecv", TIMES, TIMES * 32, TIMES * 32);
        for (int r = 0; r < n; r++)
            truth_pair(r, (r + 1) % n, TIMES, 32);
        bad = truth_write(n);
    }
    return bad;
}
