/* cuda_mpi: a sum as in the courses about containers: each rank has a slice of it on its GPU, a kernel goes over it a
 * hundred times, the result is copied back, and MPI_Allreduce adds it up.  No NCCL.
 * Truth: one MPI_Allreduce of 8 B; a hundred kernels, one copy of SLICE bytes to the device and one of 8 B back. */
#include "busy.h"
#include "truth.h"
#include <mpi.h>
#include <unistd.h>

#define SLICE (1 << 20)
#define TIMES 100

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    double *host = calloc(1, SLICE), *device, part = 0, sum = 0;
    for (size_t i = 0; i < SLICE / sizeof *host; i++)
        host[i] = me + 1;
    if (cudaSetDevice(0) || cudaMalloc((void **)&device, SLICE))
        return 2;
    if (argc > 1)
        usleep((useconds_t)atoi(argv[1]) * 1000); /* pause as for reading its input: a watcher sees CUDA by then */
    cudaMemcpy(device, host, SLICE, cudaMemcpyHostToDevice);
    for (int i = 0; i < TIMES; i++)
        if (busy(NULL, 100))
            return 3;
    cudaMemcpy(&part, device, sizeof part, cudaMemcpyDeviceToHost);
    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    bad = (int)sum != n * (n + 1) / 2;
    if (me == 0) {
        truth_frame(n);
        truth_each(n, "MPI_Allreduce", 1, 8, 8);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
