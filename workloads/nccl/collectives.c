/* collectives: every NCCL operation with a root that changes each round, on two communicators of all ranks and on one
 * of every second rank (ncclCommSplit), alone and in groups, checked where it matters.
 * Truth, for n ranks and TIMES rounds (root = round % n), per rank: as MPI's counterparts would be charged:
 *   AllReduce 40 B both ways, once alone and twice in one group with both communicators; Broadcast 400 B and Bcast 20 B
 *   (root sends, the others receive); Reduce 80 B; AllGather 12 B; ReduceScatter 24 B a rank; AlltoAll 16 B a rank;
 *   Gather 8 B; Scatter 28 B a rank; Send and Recv 100 B around the ring, in one group; AllReduce 4 B on the half. */
#include "truth.h"
#include <mpi.h>
#include <nccl.h>

#define TIMES 6
#define F     ncclFloat32

static void answer(int n)
{
    truth_frame(n);
    truth_each(n, "ncclCommInitRank", 2, 0, 0);
    truth_each(n, "ncclCommSplit", 1, 0, 0);
    truth_each(n, "ncclCommDestroy", 3, 0, 0);
    truth_each(n, "ncclGroupStart", 2 * TIMES, 0, 0);
    truth_each(n, "ncclGroupEnd", 2 * TIMES, 0, 0);
    for (int r = 0; r < n; r++) {
        long roots = 0; /* rounds in which r is the root */
        for (int i = 0; i < TIMES; i++)
            roots += i % n == r;
        long others = TIMES - roots;
        truth_call(r, "MPI_Bcast", 2, r == 0 ? 256 : 0, r == 0 ? 0 : 256);
        truth_call(r, "ncclAllReduce", 4 * TIMES, TIMES * (3 * 40 + 4), TIMES * (3 * 40 + 4));
        truth_call(r, "ncclBroadcast", TIMES, roots * 400, others * 400);
        truth_call(r, "ncclBcast", TIMES, roots * 20, others * 20);
        truth_call(r, "ncclReduce", TIMES, TIMES * 80, roots * 80);
        truth_call(r, "ncclAllGather", TIMES, TIMES * 12, TIMES * n * 12);
        truth_call(r, "ncclReduceScatter", TIMES, TIMES * n * 24, TIMES * 24);
        truth_call(r, "ncclAlltoAll", TIMES, TIMES * n * 16, TIMES * n * 16);
        truth_call(r, "ncclGather", TIMES, TIMES * 8, roots * n * 8);
        truth_call(r, "ncclScatter", TIMES, roots * n * 28, TIMES * 28);
        truth_call(r, "ncclSend", TIMES, TIMES * 100, 0);
        truth_call(r, "ncclRecv", TIMES, 0, TIMES * 100);
    }
}

/* Buffers of the operations. */
struct tools {
    ncclComm_t comm, other, half;
    cudaStream_t stream, second;
    float *a, *b;
};

/* Each operation once.  Returns whether a result is wrong. */
static int operate(const struct tools *t, int me, int n, int root)
{
    int bad = 0;
    float *a = t->a, *b = t->b, host[10];
    for (int k = 0; k < 10; k++)
        host[k] = (float)me;
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
    ncclAllReduce(a, b, 10, F, ncclSum, t->comm, t->stream);
    cudaStreamSynchronize(t->stream);
    cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost);
    bad |= (int)host[9] != n * (n - 1) / 2;

    ncclGroupStart();
    ncclAllReduce(a, b, 10, F, ncclMax, t->comm, t->stream);
    ncclAllReduce(a, b + 10, 10, F, ncclMax, t->other, t->second);
    ncclGroupEnd();
    cudaStreamSynchronize(t->second);
    ncclBroadcast(a, b, 100, F, root, t->comm, t->stream);
    ncclBcast(b, 5, F, root, t->comm, t->stream);
    ncclReduce(a, b, 10, ncclFloat64, ncclSum, root, t->comm, t->stream);
    ncclAllGather(a, b, 3, F, t->comm, t->stream);
    cudaStreamSynchronize(t->stream);
    cudaMemcpy(host, b + 3 * (n - 1), 12, cudaMemcpyDeviceToHost);
    bad |= (int)host[2] != n - 1;
    ncclReduceScatter(a, b, 6, ncclInt32, ncclSum, t->comm, t->stream);
    ncclAlltoAll(a, b, 4, F, t->comm, t->stream);
    ncclGather(a, b, 1, ncclInt64, root, t->comm, t->stream);
    ncclScatter(a, b, 7, F, root, t->comm, t->stream);
    ncclAllReduce(a, b, 1, F, ncclSum, t->half, t->stream);
    ncclGroupStart();
    ncclSend(a, 25, F, (me + 1) % n, t->comm, t->stream);
    ncclRecv(b, 25, F, (me + n - 1) % n, t->comm, t->stream);
    ncclGroupEnd();
    cudaStreamSynchronize(t->stream);
    cudaMemcpy(host, b, 4, cudaMemcpyDeviceToHost);
    bad |= (int)host[0] != (me + n - 1) % n;
    return bad;
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ncclUniqueId id[2];
    struct tools t;
    size_t room = (size_t)n * 400;
    cudaSetDevice(0);
    for (int i = 0; i < 2; i++) {
        if (me == 0)
            ncclGetUniqueId(&id[i]);
        MPI_Bcast(&id[i], sizeof id[i], MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (ncclCommInitRank(&t.comm, n, id[0], me) || ncclCommInitRank(&t.other, n, id[1], (me + 1) % n) ||
        ncclCommSplit(t.comm, me % 2, me, &t.half, NULL) || cudaStreamCreate(&t.stream) ||
        cudaStreamCreate(&t.second) || cudaMalloc((void **)&t.a, room) || cudaMalloc((void **)&t.b, room))
        return 2;
    for (int i = 0; i < TIMES; i++)
        bad |= operate(&t, me, n, i % n);
    ncclCommDestroy(t.half);
    ncclCommDestroy(t.other);
    ncclCommDestroy(t.comm);
    if (me == 0) {
        answer(n);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
