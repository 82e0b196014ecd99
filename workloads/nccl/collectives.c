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

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ncclUniqueId id[2];
    ncclComm_t comm, other, half;
    cudaStream_t stream, second;
    size_t room = (size_t)n * 400;
    float *a, *b, host[10];
    cudaSetDevice(0);
    for (int i = 0; i < 2; i++) {
        if (me == 0)
            ncclGetUniqueId(&id[i]);
        MPI_Bcast(&id[i], sizeof id[i], MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (ncclCommInitRank(&comm, n, id[0], me) || ncclCommInitRank(&other, n, id[1], (me + 1) % n) ||
        ncclCommSplit(comm, me % 2, me, &half, NULL) || cudaStreamCreate(&stream) || cudaStreamCreate(&second) ||
        cudaMalloc((void **)&a, room) || cudaMalloc((void **)&b, room))
        return 2;
    for (int i = 0; i < TIMES; i++) {
        int root = i % n;
        for (int k = 0; k < 10; k++)
            host[k] = (float)me;
        cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);
        ncclAllReduce(a, b, 10, F, ncclSum, comm, stream);
        cudaStreamSynchronize(stream);
        cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost);
        bad |= (int)host[9] != n * (n - 1) / 2;

        ncclGroupStart();
        ncclAllReduce(a, b, 10, F, ncclMax, comm, stream);
        ncclAllReduce(a, b + 10, 10, F, ncclMax, other, second);
        ncclGroupEnd();
        cudaStreamSynchronize(second);
        ncclBroadcast(a, b, 100, F, root, comm, stream);
        ncclBcast(b, 5, F, root, comm, stream);
        ncclReduce(a, b, 10, ncclFloat64, ncclSum, root, comm, stream);
        ncclAllGather(a, b, 3, F, comm, stream);
        cudaStreamSynchronize(stream);
        cudaMemcpy(host, b + 3 * (n - 1), 12, cudaMemcpyDeviceToHost);
        bad |= (int)host[2] != n - 1;
        ncclReduceScatter(a, b, 6, ncclInt32, ncclSum, comm, stream);
        ncclAlltoAll(a, b, 4, F, comm, stream);
        ncclGather(a, b, 1, ncclInt64, root, comm, stream);
        ncclScatter(a, b, 7, F, root, comm, stream);
        ncclAllReduce(a, b, 1, F, ncclSum, half, stream);
        ncclGroupStart();
        ncclSend(a, 25, F, (me + 1) % n, comm, stream);
        ncclRecv(b, 25, F, (me + n - 1) % n, comm, stream);
        ncclGroupEnd();
        cudaStreamSynchronize(stream);
        cudaMemcpy(host, b, 4, cudaMemcpyDeviceToHost);
        bad |= (int)host[0] != (me + n - 1) % n;
    }
    ncclCommDestroy(half);
    ncclCommDestroy(other);
    ncclCommDestroy(comm);
    if (me == 0) {
        answer(n);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
