/* calls TIMES BYTES [EARLY]: EARLY kernels of 200 us before anything of NCCL; then all-reduces of BYTES, TIMES at a
 * time, for a second or so in all; prints what one took on the host, `call_ns`, and with its kernel, `operation_ns`.
 * One rank alone makes no kernel: the rest is the call. */
#include "busy.h"
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int me, n, times = argc > 1 ? atoi(argv[1]) : 100, bad = 0;
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 4;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
    void *device;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    cudaSetDevice(0);
    if (cudaStreamCreate(&stream))
        return 2;
    for (int i = 0; argc > 3 && i < atoi(argv[3]); i++)
        bad |= busy(stream, 200);
    cudaStreamSynchronize(stream);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (ncclCommInitRank(&comm, n, id, me) || cudaMalloc(&device, bytes))
        return 2;
    double calls = 0, all = 0, begin;
    for (int round = -1; round < 10; round++) { /* the first one is for warming up */
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        for (int i = 0; i < times; i++)
            bad |= ncclAllReduce(device, device, bytes / 4, ncclFloat32, ncclSum, comm, stream) != ncclSuccess;
        if (round >= 0)
            calls += MPI_Wtime() - begin;
        cudaStreamSynchronize(stream);
        if (round >= 0)
            all += MPI_Wtime() - begin;
    }
    if (me == 0)
        printf("call_ns %.0f\noperation_ns %.0f\n", calls / times / 10 * 1e9, all / times / 10 * 1e9);
    ncclCommDestroy(comm);
    MPI_Finalize();
    return bad;
}
