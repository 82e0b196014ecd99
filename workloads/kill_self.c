/* kill_self [rounds]: rounds (default 2000) of MPI_Sendrecv (32 bytes to the next rank), then the last rank kills
 * itself with SIGKILL while the others are in MPI_Ssend of a message to it that it has seen and does not receive.
 * Truth: every one of the MPI_Sendrecv of every rank can be read; the last rank is dead; nobody finalized. */
#include "truth.h"
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv)
{
    int me, n, rounds = argc > 1 ? atoi(argv[1]) : 2000;
    char out[32] = {0}, in[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < rounds; i++)
        MPI_Sendrecv(out, 32, MPI_CHAR, (me + 1) % n, 1, in, 32, MPI_CHAR, (me + n - 1) % n, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (me == n - 1) {
        for (int other = 0; other < me; other++)
            MPI_Probe(other, 4242, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        raise(SIGKILL);
    }
    MPI_Ssend(out, 32, MPI_CHAR, n - 1, 4242, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
