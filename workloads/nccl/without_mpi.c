/* without_mpi FILE: NCCL alone; the id goes through FILE, rank and size come from the environment as launchers set
 * them.  Truth: one ncclCommInitRank, TIMES ncclAllReduce of 64 B, one ncclCommDestroy on each rank. */
#include "truth.h"
#include <nccl.h>
#include <unistd.h>

#define TIMES 10

static int number(const char *first, const char *second)
{
    const char *value = getenv(first);
    value = value ? value : getenv(second);
    return value ? atoi(value) : -1;
}

/* Rank 0 puts it there in one piece, the others wait for it. */
static int share(ncclUniqueId *id, const char *path, int me)
{
    char half[256];
    FILE *f;
    if (me != 0) {
        while (!(f = fopen(path, "r")))
            usleep(1000);
        size_t got = fread(id, sizeof *id, 1, f);
        fclose(f);
        return got != 1;
    }
    snprintf(half, sizeof half, "%s.part", path);
    ncclGetUniqueId(id);
    if (!(f = fopen(half, "w")) || fwrite(id, sizeof *id, 1, f) != 1 || fclose(f))
        return 1;
    return rename(half, path);
}

int main(int argc, char **argv)
{
    int me = number("RANK", "OMPI_COMM_WORLD_RANK"), n = number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE");
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
    float *device, host[16] = {0};
    if (argc < 2 || me < 0 || n < 1 || share(&id, argv[1], me))
        return 2;
    cudaSetDevice(0);
    if (ncclCommInitRank(&comm, n, id, me) || cudaStreamCreate(&stream) || cudaMalloc((void **)&device, sizeof host))
        return 2;
    host[15] = 1;
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    for (int i = 0; i < TIMES; i++)
        ncclAllReduce(device, device, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    float all = 1;
    for (int i = 0; i < TIMES; i++)
        all *= (float)n;
    ncclCommDestroy(comm);
    if (me == 0) {
        truth_each(n, "ncclCommInitRank", 1, 0, 0);
        truth_each(n, "ncclAllReduce", TIMES, TIMES * 64, TIMES * 64);
        truth_each(n, "ncclCommDestroy", 1, 0, 0);
        if (truth_write(n))
            return 1;
    }
    return host[15] < all || host[15] > all;
}
