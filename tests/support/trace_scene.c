/* Jobs that hang, for tests of damage. */
#include "tests/support/trace_scene.h"

#include <string.h>

#define S INT64_C(1000000000)

enum { RANKS = SCENE_RANKS, GRID = 3, COPY = 4, INTER = 5, NCCL = 6, BETWEEN = 7, LOOP = 1 };

static void comms(struct tb *tb, int rank)
{
    static const int32_t all[] = {0, 1, 2, 3};
    struct trc_def_comm copy = {
        .identity = 0x44, .parent = TB_WORLD_IDENTITY, .rank = rank, .size = RANKS, .flags = TRC_COMM_ALL};
    struct trc_def_comm nccl = {.identity = 0x66, .rank = rank, .size = RANKS, .created_by = TB_NCCL_INIT};
    tb_comm(tb, GRID, 0x33, rank, all, RANKS);
    tb_define(tb, TRC_DEF_COMM, COPY, 0, 0, &copy, sizeof copy, 0);
    tb_intercomm(tb, INTER, 0x55, rank % 2, rank < 2 ? all : (const int32_t[]){2, 3, 0, 1}, 2, 2);
    tb_define(tb, TRC_DEF_COMM, NCCL, 0, 0, &nccl, sizeof nccl, 0);
    tb_between(tb, BETWEEN,
               &(struct tb_between){.identity = 0x77, .call = TB_COMM_DUP, .rank = rank, .here = RANKS, .beyond = 2});
    tb_comm_name(tb, GRID, "grid");
    tb_comm_free(tb, COPY);
    tb_win(tb, 1, GRID);
    tb_site(tb, 0x1000u + TB_SEND, "main+0x10", "/bin/app+0x10");
    tb_fact(tb, "env.HOROVOD_CACHE_CAPACITY", "1024");
    tb_stack(tb, 1, 7, (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = 'S'}, "native\tmain+0x10\tapp+0x10\n");
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING, .count = 1}, "");
}

/* One turn of Horovod's loop: its words, and the round. */
static void turn(struct tb *tb, uint64_t k, int64_t at)
{
    uint64_t words[2] = {k % 3 ? 0 : 1u << 3, 0};
    int64_t begin = k ? at - 9000 : 0; /* end of the fold before it */
    tb_round(tb, LOOP, TRC_ROUND_AND, COPY, k, k, begin, begin + 1000, words, sizeof words);
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.comm = COPY;
    sig.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
    sig.sent = sig.received = sizeof words / 2;
    tb_fold(tb, LOOP, &sig, at, at + 1000, 1, 900);
}

static void operations(struct tb *tb)
{
    for (uint64_t k = 0; k < 3; k++)
        tb_gpu_op(tb, (struct trc_gpu_op){.sequence = k,
                                          .count = 1024,
                                          .bytes = 4096,
                                          .stream = 0x100,
                                          .called = 1000 * k + 1,
                                          .enqueued = 1000 * k + 2,
                                          .started = 1000 * k + 3,
                                          .ended = k < 2 ? 1000 * k + 4 : 0,
                                          .comm = NCCL,
                                          .call = TB_NCCL_ALLREDUCE,
                                          .root = -1,
                                          .type = 7,
                                          .state = k < 2 ? TRC_GPU_COMPLETED : TRC_GPU_STARTED});
}

static void events(struct tb *tb, int rank)
{
    int32_t next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    for (uint64_t k = 0; k < 4; k++) {
        int64_t at = 10000 * (int64_t)k;
        uint64_t in = tb_irecv(tb, 0, at + 10, at + 20, before, 7, 100);
        tb_send(tb, 0, at + 30, at + 90, next, 7, 100);
        tb_wait_recv(tb, 0, at + 100, at + 200, in, before, 7, 100);
        tb_allreduce(tb, 0, at + 300, at + 400 + rank, TB_WORLD, k, 8);
        tb_barrier(tb, 0, at + 500, at + 600, GRID, k);
        tb_barrier(tb, 0, at + 700, at + 800, INTER, k);
        turn(tb, k, at);
    }
    tb_irecv(tb, 0, 90000, 90010, TRC_PEER_ANY, TRC_TAG_ANY, 1 << 20);
    struct trc_sig poll = tb_sig(TB_IPROBE);
    poll.flags = TRC_SIG_POLL;
    poll.source = TRC_PEER_ANY;
    tb_fold(tb, 0, &poll, 91000, 92000, 5, 500);
}

/* Call that the others wait in. */
static const struct {
    enum tb_call call;
    uint32_t comm;
} waits[SCENES] = {{TB_BARRIER, TB_WORLD}, {TB_BARRIER, GRID}, {TB_ALLREDUCE, COPY},  {TB_BARRIER, INTER},
                   {TB_RECV, TB_WORLD},    {TB_RECV, COPY},    {TB_BARRIER, BETWEEN}, {TB_INIT, NCCL}};

/* Counts of the kernel: of a thread, the process and the node, while all compute and while they wait. */
static void usage(struct tb *tb)
{
    for (uint32_t i = 0; i < 12; i++) {
        struct trc_usage all[3] = {
            {.whose = TRC_USAGE_THREAD}, {.whose = TRC_USAGE_PROCESS}, {.whose = TRC_USAGE_NODE}};
        for (uint32_t k = 0; k < 3; k++) {
            all[k].fields = i ? 0x7ffu << k : 0;
            for (uint32_t f = 0; f < TRC_USAGE_FIELDS; f++)
                all[k].value[f] = 1000 * (f + 1) * i;
        }
        tb_usage(tb, i * S / 4, i * S / 4 + S / 5, all, i % 3 + 1);
    }
}

struct tb *scene_rank(int scene, int rank)
{
    enum tb_call call = waits[scene].call;
    uint32_t comm = waits[scene].comm;
    struct tb *tb = tb_new(rank, RANKS);
    comms(tb, rank);
    events(tb, rank);
    usage(tb);
    tb_running(tb, 100 * S);
    if (comm == NCCL) {
        operations(tb);
    } else if (rank < RANKS - 1) {
        struct trc_sig sig = tb_sig(call);
        sig.comm = comm;
        sig.flags = call == TB_RECV ? TRC_SIG_P2P_IN : TRC_SIG_COLL;
        sig.source = call == TB_RECV ? TRC_PEER_ANY : TRC_PEER_NONE;
        tb_inside(tb, 0, &sig, 20 * S, 4);
    }
    return tb;
}
