/* grow: communicators that are made out of others.  All ranks but the last have one; it grows twice out of itself, by
 * the last rank, which is told an id, while of the others only rank 0 has it.  Then all split that. Truth, for n ranks:
 * ncclCommInitRank on n-1 ranks, on each 2 ncclCommGrow, 1 ncclCommSplit and ncclAllReduce of 8 B on the grown and on
 * the split one. */
#include "truth.h"
#include <mpi.h>
#include <nccl.h>

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 29, 2)
int main(void)
{
    return 77; /* exit code: this NCCL lacks the function */
}
#else
int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ncclUniqueId id;
    ncclComm_t first = NULL, grown, split;
    cudaStream_t stream;
    double *data, host = 1;
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (n < 3 || (me < n - 1 && ncclCommInitRank(&first, n - 1, id, me)) || cudaStreamCreate(&stream) ||
        cudaMalloc((void **)&data, sizeof host))
        return 2;
    for (int i = 0; i < 2; i++) {
        if (me == 0 && ncclCommGetUniqueId(first, &id))
            return 2;
        MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
        const ncclUniqueId *mine = me == 0 || me == n - 1 ? &id : NULL;
        if (ncclCommGrow(first, n, mine, first ? -1 : me, &grown, NULL))
            return 2;
    }
    if (ncclCommSplit(grown, 3, n - me, &split, NULL))
        return 2;
    cudaMemcpy(data, &host, sizeof host, cudaMemcpyHostToDevice);
    ncclAllReduce(data, data, 1, ncclFloat64, ncclSum, grown, stream);
    ncclAllReduce(data, data, 1, ncclFloat64, ncclSum, split, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost);
    bad |= (int)host != n * n;
    if (me == 0) {
        truth_frame(n);
        truth_each(n - 1, "ncclCommInitRank", 1, 0, 0);
        truth_each(n, "ncclCommGrow", 2, 0, 0);
        truth_each(n, "ncclCommSplit", 1, 0, 0);
        truth_each(n, "ncclAllReduce", 2, 16, 16);
        for (int r = 0; r < n; r++)
            truth_call(r, "MPI_Bcast", 3, r == 0 ? 384 : 0, r == 0 ? 0 : 384);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
#endif
