/* The part of `hidden` that uses NCCL: its id goes through FILE, rank and size are from the environment.
 * Truth, per rank of n: one ncclCommInitRank, one ncclCommSplit (all ranks, turned round), two ncclCommDestroy;
 * TIMES times ncclAllReduce 64 B and 8 B on that, ncclBroadcast 40 B from the last rank, ncclAllGather 12 B,
 * ncclReduceScatter 24 B a rank, ncclReduce 16 B to rank 0; in one ncclGroupStart and ncclGroupEnd: ncclSend and
 * ncclRecv of 100 B around the ring, and two ncclAllReduce of 4096 B. */
#include "truth.h"
#include <nccl.h>
#include <unistd.h>

#define TIMES 5
#define F     ncclFloat32

static int number(const char *name, const char *other)
{
    const char *value = getenv(name);
    value = value ? value : getenv(other);
    return value ? atoi(value) : -1;
}

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

static void answer(int n)
{
    truth_each(n, "ncclCommInitRank", 1, 0, 0);
    truth_each(n, "ncclCommSplit", 1, 0, 0);
    truth_each(n, "ncclCommDestroy", 2, 0, 0);
    truth_each(n, "ncclGroupStart", TIMES, 0, 0);
    truth_each(n, "ncclGroupEnd", TIMES, 0, 0);
    for (int r = 0; r < n; r++) {
        truth_call(r, "ncclAllReduce", 4 * TIMES, TIMES * (64 + 8 + 2 * 4096), TIMES * (64 + 8 + 2 * 4096));
        truth_call(r, "ncclBroadcast", TIMES, r == n - 1 ? TIMES * 40 : 0, r == n - 1 ? 0 : TIMES * 40);
        truth_call(r, "ncclAllGather", TIMES, TIMES * 12, TIMES * n * 12);
        truth_call(r, "ncclReduceScatter", TIMES, TIMES * n * 24, TIMES * 24);
        truth_call(r, "ncclReduce", TIMES, TIMES * 16, r == 0 ? TIMES * 16 : 0);
        truth_call(r, "ncclSend", TIMES, TIMES * 100, 0);
        truth_call(r, "ncclRecv", TIMES, 0, TIMES * 100);
    }
}

int hidden_run(const char *path);
int hidden_run(const char *path)
{
    int me = number("RANK", "OMPI_COMM_WORLD_RANK"), n = number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"), bad = 0;
    ncclUniqueId id;
    ncclComm_t comm, turned;
    cudaStream_t stream;
    float *a, *b, host[16];
    cudaSetDevice(0);
    if (me < 0 || n < 2 || share(&id, path, me) || ncclCommInitRank(&comm, n, id, me) ||
        ncclCommSplit(comm, 7, n - me, &turned, NULL) || cudaStreamCreate(&stream) || cudaMalloc((void **)&a, 65536) ||
        cudaMalloc((void **)&b, 65536))
        return 2;
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < 16; k++)
            host[k] = (float)me;
        cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
        ncclAllReduce(a, b, 16, F, ncclSum, comm, stream);
        cudaStreamSynchronize(stream);
        cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost);
        bad |= (int)host[15] != n * (n - 1) / 2;
        ncclAllReduce(a, b, 1, ncclFloat64, ncclMax, turned, stream);
        ncclBroadcast(a, b, 10, F, n - 1, comm, stream);
        ncclAllGather(a, b, 3, F, comm, stream);
        ncclReduceScatter(a, b, 6, ncclInt32, ncclSum, comm, stream);
        ncclReduce(a, b, 2, ncclInt64, ncclSum, 0, comm, stream);
        ncclGroupStart();
        ncclSend(a, 25, F, (me + 1) % n, comm, stream);
        ncclRecv(b, 25, F, (me + n - 1) % n, comm, stream);
        ncclAllReduce(a + 1024, b + 1024, 1024, F, ncclSum, comm, stream);
        ncclAllReduce(a + 2048, b + 2048, 1024, F, ncclSum, comm, stream);
        ncclGroupEnd();
        cudaStreamSynchronize(stream);
        cudaMemcpy(host, b, 4, cudaMemcpyDeviceToHost);
        bad |= (int)host[0] != (me + n - 1) % n;
    }
    ncclCommDestroy(turned);
    ncclCommDestroy(comm);
    if (me == 0) {
        answer(n);
        bad |= truth_write(n);
    }
    return bad;
}
