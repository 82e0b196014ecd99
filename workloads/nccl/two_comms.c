/* two_comms: two communicators of all ranks, each with a stream of its own; on one the last rank comes LATE ms late in
 * every round, on the other nobody does.  Truth: ROUNDS ncclAllReduce of 64 KiB on one, ROUNDS ncclBroadcast of 1 KiB
 * from rank 0 on the other. */
#include "truth.h"
#include <mpi.h>
#include <nccl.h>
#include <unistd.h>

#define ROUNDS 8
#define LATE   5

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ncclUniqueId id;
    ncclComm_t comm[2];
    cudaStream_t stream[2];
    float *device[2];
    cudaSetDevice(0);
    for (int i = 0; i < 2; i++) {
        if (me == 0)
            ncclGetUniqueId(&id);
        MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (ncclCommInitRank(&comm[i], n, id, me) || cudaStreamCreate(&stream[i]) ||
            cudaMalloc((void **)&device[i], 65536))
            return 2;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (ncclBroadcast(device[1], device[1], 256, ncclFloat32, 0, comm[1], stream[1]))
            return 3;
        cudaStreamSynchronize(stream[1]);
        if (me == n - 1)
            usleep(LATE * 1000);
        if (ncclAllReduce(device[0], device[0], 16384, ncclFloat32, ncclSum, comm[0], stream[0]))
            return 3;
        cudaStreamSynchronize(stream[0]);
    }
    for (int i = 0; i < 2; i++)
        ncclCommDestroy(comm[i]);
    if (me == 0) {
        truth_frame(n);
        for (int r = 0; r < n; r++) {
            truth_call(r, "MPI_Bcast", 2, r == 0 ? 256 : 0, r == 0 ? 0 : 256);
            truth_call(r, "ncclBroadcast", ROUNDS, r == 0 ? ROUNDS * 1024 : 0, r == 0 ? 0 : ROUNDS * 1024);
        }
        truth_each(n, "ncclCommInitRank", 2, 0, 0);
        truth_each(n, "ncclCommDestroy", 2, 0, 0);
        truth_each(n, "ncclAllReduce", ROUNDS, ROUNDS * 65536, ROUNDS * 65536);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
