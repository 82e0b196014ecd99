/* The GPUs of the jobs that golden screens are drawn of: one a rank, every second the same (in 10 ms):
 *
 *   stream 7    0 - 40 a product of matrices, 40 - 60 an elementwise kernel, on rank 3 until 54
 *   stream 13  36 - 60 ncclAllReduce of 32 MiB on dp, on rank 3 from 51 on: it comes last
 *              60 - 62 ncclAllGather of 4 MiB on tp    62 - 64 ncclReduceScatter of 4 MiB on tp
 *              64 - 65 ncclSend of 1 MiB on pp, 65 - 65.5 ncclRecv    65.5 - 66 ncclAllReduce of 4096 bytes on dp
 *              66 - 77.9 a MiB to the device, 77.9 - 78 8 bytes back
 *
 * The calls of NCCL come in one go when a second begins, on rank 3 a millisecond later.
 *
 * So a GPU computes 60% of the time, NCCL takes 30%, 24 of it hidden (rank 3: 54%, 15%, 3), copies 12%, and 22%
 * are idle.  Where the job is `unknown`, nobody timed the kernels. */
#include "tests/support/screen_job.h"

#include <stdio.h>
#include <string.h>

enum { HOST = 2, COMPUTE, NCCL, TURNS = 10 };
enum { DP = 16, TP, PP };
enum kernel { ELEMENTWISE = 1, GEMM, ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND_RECV, KERNELS };

static const char *const kernel_names[KERNELS] = {
    [ELEMENTWISE] = "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi",
    [GEMM] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
    [ALL_REDUCE] = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
    [ALL_GATHER] = "_Z31ncclDevKernel_AllGather_RING_LL24ncclDevKernelArgsStorageILm4096EE",
    [REDUCE_SCATTER] = "_Z40ncclDevKernel_ReduceScatter_Sum_bf16_RING_LLi",
    [SEND_RECV] = "_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE"};

/* One rank's part of gathered bytes is counted by NCCL. */
static void write_how(struct tb *tb, const char *call, int bytes, int ranks, const char *value)
{
    char key[80];
    snprintf(key, sizeof key, "nccl.how %s %d B of %d", call, bytes, ranks);
    tb_fact(tb, key, value);
}

static void write_definitions(struct tb *tb, const struct screen_job *job, int rank)
{
    static const char *const names[] = {"dp", "tp", "pp"};
    for (uint32_t i = 0; i < 3; i++) {
        struct trc_def_comm comm = {
            .identity = 0x60 + i, .rank = rank, .size = job->ranks, .flags = TRC_COMM_ALL, .created_by = TB_NCCL_INIT};
        tb_define(tb, TRC_DEF_COMM, DP + i, 0, 0, &comm, sizeof comm, 0);
        tb_comm_name(tb, DP + i, names[i]);
    }
    tb_fact(tb, "gpu.kernels", job->unknown ? "not timed: no libcupti was found" : "timed by CUPTI");
    write_how(tb, "ncclAllReduce", 32 << 20, job->ranks,
              rank % 2 ? "NVLS SIMPLE, 16 channels" : "NVLS SIMPLE, 24 channels");
    write_how(tb, "ncclAllReduce", 4096, job->ranks, rank % 2 ? "RING LL, 2 channels" : "TREE LL, 2 channels");
    write_how(tb, "ncclAllGather", (4 << 20) / job->ranks, job->ranks, "RING LL128, 8 channels");
    for (uint32_t k = 1; k < KERNELS; k++)
        tb_define(tb, TRC_DEF_KERNEL, k, 0, 0, kernel_names[k], strlen(kernel_names[k]), strlen(kernel_names[k]));
}

/* Work on a stream, in units of 10 ms. */
static void run_on(struct tb *tb, uint32_t stream, enum tb_call call, uint32_t kernel, uint64_t bytes, double from,
                   double to)
{
    struct trc_sig sig = tb_sig(call);
    sig.object = kernel;
    sig.sent = bytes;
    tb_event(tb, stream, &sig, (int64_t)(from * 1e7), (int64_t)(to * 1e7), (struct tb_more){0});
}

/* A call of NCCL's, 10 us long. */
static void launch(struct tb *tb, enum tb_call call, uint32_t comm, int peer, uint64_t sent, uint64_t received,
                   uint64_t sequence, int64_t at)
{
    struct trc_sig sig = tb_sig(call);
    sig.flags = TRC_SIG_ENQUEUE | (peer < 0 ? TRC_SIG_COLL : 0);
    sig.comm = comm;
    sig.object = 2;
    sig.peer = sent && peer >= 0 ? peer : TRC_PEER_NONE;
    sig.source = !sent ? peer : TRC_PEER_NONE;
    sig.sent = sent;
    sig.received = received;
    tb_event(tb, HOST, &sig, at, at + 10000, (struct tb_more){.sequence = sequence});
}

static void launch_all(struct tb *tb, const struct screen_job *job, int rank, uint64_t turn)
{
    uint64_t part = (4u << 20) / (uint64_t)job->ranks;
    int64_t at = (int64_t)turn * SCREEN_S + (rank == SCREEN_LATE ? 1000000 : 0);
    launch(tb, TB_NCCL_ALLREDUCE, DP, -1, 32 << 20, 32 << 20, 2 * turn, at);
    launch(tb, TB_NCCL_ALLGATHER, TP, -1, part, 4 << 20, 2 * turn, at + 20000);
    launch(tb, TB_NCCL_REDUCESCATTER, TP, -1, 4 << 20, part, 2 * turn + 1, at + 40000);
    launch(tb, TB_NCCL_SEND, PP, (rank + 1) % job->ranks, 1 << 20, 0, 0, at + 60000);
    launch(tb, TB_NCCL_RECV, PP, (rank + job->ranks - 1) % job->ranks, 0, 1 << 20, 0, at + 80000);
    launch(tb, TB_NCCL_ALLREDUCE, DP, -1, 4096, 4096, 2 * turn + 1, at + 100000);
}

void screen_gpu(struct tb *tb, const struct screen_job *job, int rank)
{
    write_definitions(tb, job, rank);
    if (!job->unknown) {
        tb_device_stream(tb, COMPUTE, (struct trc_device_stream){.number = 1, .context = 1, .stream = 7});
        tb_device_stream(tb, NCCL, (struct trc_device_stream){.number = 2, .context = 1, .stream = 13});
    }
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        double at = (double)turn * 100;
        bool late = rank == SCREEN_LATE;
        launch_all(tb, job, rank, turn);
        if (job->unknown)
            continue;
        run_on(tb, COMPUTE, TB_KERNEL, GEMM, 0, at, at + 40);
        run_on(tb, COMPUTE, TB_KERNEL, ELEMENTWISE, 0, at + 40, at + (late ? 54 : 60));
        run_on(tb, NCCL, TB_KERNEL, ALL_REDUCE, 0, at + (late ? 51 : 36), at + 60);
        run_on(tb, NCCL, TB_KERNEL, ALL_GATHER, 0, at + 60, at + 62);
        run_on(tb, NCCL, TB_KERNEL, REDUCE_SCATTER, 0, at + 62, at + 64);
        run_on(tb, NCCL, TB_KERNEL, SEND_RECV, 0, at + 64, at + 65);
        run_on(tb, NCCL, TB_KERNEL, SEND_RECV, 0, at + 65, at + 65.5);
        run_on(tb, NCCL, TB_KERNEL, ALL_REDUCE, 0, at + 65.5, at + 66);
        run_on(tb, NCCL, TB_COPY, 0, 1 << 20, at + 66, at + 77.9);
        run_on(tb, NCCL, TB_COPY_BACK, 0, 8, at + 77.9, at + 78);
    }
}
