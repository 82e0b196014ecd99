/* overlap [TIMES [US]]: each round puts a kernel of US microseconds on one stream, an all-reduce of 4 MiB beside it on
 * another, waits for both, then does the all-reduce alone.  So each round has one all-reduce with computation beside it
 * and one without: about half of the communication is exposed, if US is longer than the all-reduce takes.
 * Truth: 2 x TIMES ncclAllReduce of 4 MiB. */
#include "busy.h"
#include "truth.h"
#include <mpi.h>
#include <nccl.h>

#define BYTES (4 << 20)

int main(int argc, char **argv)
{
    int me, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int times = argc > 1 ? atoi(argv[1]) : 10;
    unsigned long us = argc > 2 ? (unsigned long)atol(argv[2]) : 100000;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t compute, stream;
    float *device;
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (ncclCommInitRank(&comm, n, id, me) || cudaStreamCreate(&compute) || cudaStreamCreate(&stream) ||
        cudaMalloc((void **)&device, BYTES))
        return 2;
    for (int i = 0; i < times; i++) {
        if (busy(compute, us) || ncclAllReduce(device, device, BYTES / 4, ncclFloat32, ncclSum, comm, stream))
            return 3;
        cudaStreamSynchronize(stream);
        cudaStreamSynchronize(compute);
        if (ncclAllReduce(device, device, BYTES / 4, ncclFloat32, ncclSum, comm, stream))
            return 3;
        cudaStreamSynchronize(stream);
    }
    ncclCommDestroy(comm);
    int bad = 0;
    if (me == 0) {
        truth_frame(n);
        for (int r = 0; r < n; r++)
            truth_call(r, "MPI_Bcast", 1, r == 0 ? 128 : 0, r == 0 ? 0 : 128);
        truth_each(n, "ncclCommInitRank", 1, 0, 0);
        truth_each(n, "ncclCommDestroy", 1, 0, 0);
        truth_each(n, "ncclAllReduce", 2 * times, 2ll * times * BYTES, 2ll * times * BYTES);
        bad = truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
