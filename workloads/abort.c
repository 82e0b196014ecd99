/* abort [code]: 100 rounds of MPI_Sendrecv (32 bytes to the next rank), a barrier, then the last rank calls
 * MPI_Abort(code) (default 7) while the others wait for a message that never comes.
 * Truth: 100 MPI_Sendrecv a rank, all kept; the last rank aborted with that code, which mpirun returns. */
#include "truth.h"
#include <mpi.h>

#define TIMES 100

int main(int argc, char **argv)
{
    int me, n;
    char out[32] = {0}, in[32];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < TIMES; i++)
        MPI_Sendrecv(out, 32, MPI_CHAR, (me + 1) % n, i, in, 32, MPI_CHAR, (me + n - 1) % n, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == n - 1)
        MPI_Abort(MPI_COMM_WORLD, argc > 1 ? atoi(argv[1]) : 7);
    MPI_Recv(in, 32, MPI_CHAR, n - 1, 4242, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
