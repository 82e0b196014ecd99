/* allreduce_sweep: ncclAllReduce of floats from 8 bytes to MAX (argument, default 1 MiB), TIMES of each, checked.
 * Truth: TIMES calls for each size, which both send and receive that many bytes; the id travels by one MPI_Bcast. */
#include "truth.h"
#include <mpi.h>
#include <nccl.h>

#define TIMES 5

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    size_t max = argc > 1 ? (size_t)atol(argv[1]) : 1048576;
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
    float *device, *host = malloc(max);
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (ncclCommInitRank(&comm, n, id, me) || cudaStreamCreate(&stream) || cudaMalloc((void **)&device, max))
        return 2;
    for (size_t bytes = 8; bytes <= max; bytes *= 4)
        for (int i = 0; i < TIMES; i++) {
            for (size_t k = 0; k < bytes / 4; k++)
                host[k] = (float)(me + i);
            cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice);
            if (ncclAllReduce(device, device, bytes / 4, ncclFloat32, ncclSum, comm, stream))
                return 3;
            cudaStreamSynchronize(stream);
            cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
            float sum = (float)(n * (n - 1) / 2 + n * i);
            for (size_t k = 0; k < bytes / 4; k++)
                bad |= host[k] < sum || host[k] > sum;
        }
    ncclCommDestroy(comm);
    if (me == 0) {
        truth_frame(n);
        for (int r = 0; r < n; r++)
            truth_call(r, "MPI_Bcast", 1, r == 0 ? 128 : 0, r == 0 ? 0 : 128);
        truth_each(n, "ncclCommInitRank", 1, 0, 0);
        truth_each(n, "ncclCommDestroy", 1, 0, 0);
        for (long long bytes = 8; bytes <= (long long)max; bytes *= 4)
            truth_each(n, "ncclAllReduce", TIMES, TIMES * bytes, TIMES * bytes);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
