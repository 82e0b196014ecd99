/* large_count: more than 2^31 bytes in one call.
 * Truth: MPI_Bcast on MPI_COMM_SELF of 3 x 2^30 bytes (the root sends 3221225472, nobody receives); with 2 ranks and
 * more one message 0 -> 1 of 2200 blocks of 1 MiB: 2306867200 bytes by MPI_Send and MPI_Recv.  All blocks lie on the
 * same place in memory, so 1 MiB is enough. */
#include "truth.h"
#include <mpi.h>

#define BLOCK  (1 << 20)
#define BLOCKS 2200

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    char *block = calloc(1, BLOCK);
    MPI_Datatype contiguous, folded;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &contiguous);
    MPI_Type_create_resized(contiguous, 0, 0, &folded);
    MPI_Type_commit(&folded);
    MPI_Bcast(block, 3072, folded, 0, MPI_COMM_SELF);
    if (n > 1 && me == 0)
        MPI_Send(block, BLOCKS, folded, 1, 1, MPI_COMM_WORLD);
    if (me == 1)
        MPI_Recv(block, BLOCKS, folded, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&folded);
    MPI_Type_free(&contiguous);
    free(block);
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Type_contiguous", 1, 0, 0);
        truth_each(n, "MPI_Type_create_resized", 1, 0, 0);
        truth_each(n, "MPI_Type_commit", 1, 0, 0);
        truth_each(n, "MPI_Type_free", 2, 0, 0);
        truth_each(n, "MPI_Bcast", 1, 3LL << 30, 0);
        if (n > 1)
            truth_message(0, "MPI_Send", 1, "MPI_Recv", 1, (long long)BLOCK * BLOCKS);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
