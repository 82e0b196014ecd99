/* Verdicts on NCCL operations: what the ranks' tables hold at the end, and what is said of it; communicators whose
 * members only the files together know; a thousand ranks. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

enum { A = 3, B = 4 }; /* communicators by their ids: A of all ranks, B of those that the case says */

/* An operation at the end; all have gone through collective 0 of their communicators before. */
struct op {
    uint8_t comm; /* 0: none */
    enum trc_gpu_state state;
    enum tb_call call;
    uint64_t sequence;
    int64_t at;     /* in its state since, s */
    uint64_t count; /* 0: 1024 */
    int32_t root;   /* +1; 0: none */
    uint8_t stream;
    uint8_t flags;
    int32_t result;
};
struct rank {
    int32_t in_a, in_b; /* rank in A and in B + 1; 0: not a member, in_a 0: its rank in the job */
    struct op op[2];
    enum tb_call inside; /* TB_INIT: outside MPI, else in this collective since 20 s */
};

static void define(struct tb *tb, uint32_t id, uint64_t identity, int32_t rank, int32_t size)
{
    struct trc_def_comm def = {.identity = identity, .rank = rank, .size = size, .created_by = TB_NCCL_INIT};
    tb_define(tb, TRC_DEF_COMM, id, 0, 0, &def, sizeof def, 0);
    tb_comm_name(tb, id, id == A ? "a" : "b");
}

static void add(struct tb *tb, const struct op *o)
{
    if (!o->comm)
        return;
    int64_t at = o->at * S;
    struct trc_gpu_op op = {.sequence = o->sequence,
                            .count = o->count ? o->count : 1024,
                            .stream = 0x100u + o->stream,
                            .called = (uint64_t)(at - (o->state == TRC_GPU_CALLED ? 0 : 3000)),
                            .comm = o->comm,
                            .call = o->call,
                            .root = o->root - 1,
                            .result = o->result,
                            .type = 7,
                            .op = o->call == TB_NCCL_ALLREDUCE ? 0 : TRC_GPU_OP_NONE,
                            .state = (uint8_t)o->state,
                            .flags = o->flags};
    op.bytes = op.count * 4;
    op.group = (uint64_t)op.stream + o->sequence + o->comm * 1000u;
    op.enqueued = o->state >= TRC_GPU_ENQUEUED ? (uint64_t)(at - (o->state == TRC_GPU_ENQUEUED ? 0 : 2000)) : 0;
    op.started = o->state >= TRC_GPU_STARTED ? (uint64_t)(at - (o->state == TRC_GPU_STARTED ? 0 : 1000)) : 0;
    op.ended = o->state >= TRC_GPU_COMPLETED ? (uint64_t)at : 0;
    tb_gpu_op(tb, op);
}

static struct tb *make(const struct rank *r, int me, int n, int size_b)
{
    struct tb *tb = tb_new(me, n);
    tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
    tb_running(tb, END);
    define(tb, A, 0xa, r->in_a ? r->in_a - 1 : me, n);
    add(tb, &(struct op){A, TRC_GPU_COMPLETED, TB_NCCL_ALLREDUCE, 0, 3, 0, 0, 0, 0, 0});
    if (r->in_b) {
        define(tb, B, 0xb, r->in_b - 1, size_b);
        add(tb, &(struct op){B, TRC_GPU_COMPLETED, TB_NCCL_ALLREDUCE, 0, 4, 0, 0, 0, 0, 0});
    }
    for (int i = 0; i < 2; i++)
        add(tb, &r->op[i]);
    if (r->inside != TB_INIT) {
        struct trc_sig sig = tb_sig(r->inside);
        sig.comm = TB_WORLD;
        sig.flags = TRC_SIG_COLL;
        tb_inside(tb, 0, &sig, 20 * S, 1);
    }
    return tb;
}

static void judge(const char *what, enum ana_verdict_state state, enum ana_verdict_class id, const char *culprits,
                  const char *says)
{
    struct ana_job *job = folder_open();
    char got[128] = "";
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "%s: out of memory", what);
    if (!v) {
        ana_job_close(job);
        return;
    }
    for (size_t i = 0; i < v->culprits && i < 16; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? "," : "",
                 ana_job_rank(job, v->culprit[i])->rank);
    CHECK(v->state == state && v->id == id && strcmp(got, culprits) == 0 && strstr(v->summary.text, says),
          "%s: %s %s culprits %s: %s\n  want %s %s culprits %s: %s", what, ana_verdict_state_name(v->state),
          v->id ? ana_verdict_class_name(v->id) : "-", got, v->summary.text, ana_verdict_state_name(state),
          id ? ana_verdict_class_name(id) : "-", culprits, says);
    ana_job_close(job);
}

#define NONE                                                                                                           \
    {                                                                                                                  \
        .in_a = 0                                                                                                      \
    }
#define REDUCE(standing, at)                                                                                           \
    {                                                                                                                  \
        A, TRC_GPU_##standing, TB_NCCL_ALLREDUCE, 1, at, 0, 0, 0, 0, 0                                                 \
    }
#define RUNS                                                                                                           \
    {                                                                                                                  \
        .op = { REDUCE(STARTED, 30) }                                                                                  \
    }
#define DONE_LONG                                                                                                      \
    {                                                                                                                  \
        .op = { REDUCE(COMPLETED, 30) }                                                                                \
    }

static const struct {
    const char *what;
    int n, size_b;
    struct rank rank[4];
    enum ana_verdict_state state;
    enum ana_verdict_class id;
    const char *culprits, *says;
} cases[] = {
    {"missing",
     4,
     0,
     {RUNS, RUNS, NONE, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "rank 2 has not come to ncclAllReduce on a, where 3 of 4 wait"},
    {"missing, in other ranks' numbers",
     3,
     0,
     {{.in_a = 3, .op = {REDUCE(STARTED, 30)}}, {.in_a = 1}, {.in_a = 2, .op = {REDUCE(STARTED, 30)}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     "rank 1 has not come"},
    {"missing on a part, whose members only the files know",
     4,
     2,
     {NONE, {.in_b = 1, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}}}, NONE, {.in_b = 2}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "3",
     "rank 3 has not come to ncclAllReduce on b, where 1 of 2 wait"},
    {"not for long",
     4,
     0,
     {{.op = {REDUCE(STARTED, 90)}}, {.op = {REDUCE(STARTED, 90)}}, NONE, NONE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     ""},
    {"count",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 512, 0, 0, 0, 0}}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "rank 1 gave 512 x float32 to ncclAllReduce where the other 2 gave 1024 x float32: collective 2 on a"},
    {"count, and one was content with it",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_COMPLETED, TB_NCCL_ALLREDUCE, 1, 30, 512, 0, 0, 0, 0}}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "rank 1 gave 512"},
    {"operation, two against two",
     4,
     0,
     {RUNS,
      {.op = {{A, TRC_GPU_STARTED, TB_NCCL_BROADCAST, 1, 30, 0, 1, 0, 0, 0}}},
      RUNS,
      {.op = {{A, TRC_GPU_STARTED, TB_NCCL_BROADCAST, 1, 30, 0, 1, 0, 0, 0}}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "0,1,2,3",
     "rank 1 called ncclBroadcast where rank 0 called ncclAllReduce"},
    {"order on one stream",
     2,
     2,
     {{.in_b = 1, .op = {REDUCE(STARTED, 30), {B, TRC_GPU_ENQUEUED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}}},
      {.in_b = 2, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}, REDUCE(ENQUEUED, 30)}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,1",
     "in different orders"},
    {"a chain: only its end is to blame",
     3,
     2,
     {{.in_b = 1, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}, REDUCE(ENQUEUED, 30)}},
      {.op = {REDUCE(STARTED, 30)}},
      {.in_b = 2, .op = {REDUCE(STARTED, 30)}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,2",
     "rank 0 waits in ncclAllReduce on b for rank 2, which waits in ncclAllReduce on a for it"},
    {"a chain that ends in a missing rank",
     3,
     2,
     {{.in_b = 1, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}, REDUCE(ENQUEUED, 30)}},
      {.op = {REDUCE(STARTED, 30)}},
      {.in_b = 2}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "rank 2 has not come to ncclAllReduce on b"},
    {"a stream that is blocked",
     3,
     0,
     {RUNS, {.op = {REDUCE(ENQUEUED, 30)}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_DEVICE,
     "1",
     "the stream of rank 1 has not come to ncclAllReduce on a, which 2 of 3 have started"},
    {"all are in it", 3, 0, {RUNS, RUNS, RUNS}, ANA_VERDICT_HUNG, ANA_CLASS_INSIDE, "", "all 3 ranks have started"},
    {"one does not come out",
     3,
     0,
     {DONE_LONG, RUNS, DONE_LONG},
     ANA_VERDICT_HUNG,
     ANA_CLASS_INSIDE,
     "1",
     "rank 1 has not come out of ncclAllReduce on a (4.10 kB), which the others have completed"},
    {"its call failed",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_FAILED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 2}}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     "the call returned ncclSystemError"},
    {"its call failed, and it waits in MPI for the others",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_FAILED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 2}}, .inside = TB_BARRIER}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     "the call returned ncclSystemError"},
    {"in MPI for each other, and one outside",
     4,
     0,
     {RUNS, {.inside = TB_BARRIER}, NONE, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "1",
     "ranks 0 and 3 wait in ncclAllReduce on a for rank 1, which waits in MPI_Barrier for them"},
    {"an error that NCCL tells",
     3,
     0,
     {RUNS,
      {.op = {REDUCE(STARTED, 30), {A, TRC_GPU_FAILED, TB_NCCL_ASYNC, 0, 40, 0, 0, 0, TRC_GPU_ASYNC_ERROR, 6}}},
      RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_DEVICE,
     "1",
     "NCCL reports ncclRemoteError on a to rank 1"},
    {"in MPI for each other",
     3,
     0,
     {{.inside = TB_BARRIER}, RUNS, {.inside = TB_BARRIER}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "1",
     "rank 1 waits in ncclAllReduce on a for ranks 0 and 2, which wait in MPI_Barrier for it"},
    {"a message that nobody sends",
     2,
     0,
     {{.op = {{A, TRC_GPU_STARTED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}}, NONE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "1",
     "rank 0 waits in ncclRecv from rank 1 on a, which has not called ncclSend"},
    {"a message of other size",
     2,
     0,
     {{.op = {{A, TRC_GPU_STARTED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}},
      {.op = {{A, TRC_GPU_STARTED, TB_NCCL_SEND, 0, 30, 77, 1, 0, TRC_GPU_MESSAGE, 0}}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "0,1",
     "rank 0 receives 4096 bytes, rank 1 sends 308: message 1 between them on a"},
    {"a message that its sender has long forgotten",
     2,
     0,
     {{.op = {{A, TRC_GPU_STARTED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}},
      {.op = {{A, TRC_GPU_COMPLETED, TB_NCCL_SEND, 1200, 30, 0, 1, 0, TRC_GPU_MESSAGE, 0}}}},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "gone"},
    {"kernels that take long on all: nobody waits",
     3,
     0,
     {{.op = {REDUCE(ENQUEUED, 30)}}, {.op = {REDUCE(ENQUEUED, 30)}}, {.op = {REDUCE(ENQUEUED, 30)}}},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "gone"},
    {"a kernel that takes long, and one that comes later",
     3,
     0,
     {{.op = {REDUCE(ENQUEUED, 30)}}, NONE, {.op = {REDUCE(ENQUEUED, 30)}}},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "gone"},
    {"a message behind a kernel that takes long",
     2,
     0,
     {{.op = {{A, TRC_GPU_ENQUEUED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}}, NONE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "gone"},
    {"without a driver nothing is known",
     2,
     0,
     {{.op = {{A, TRC_GPU_ENQUEUED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, TRC_GPU_BLIND, 0}}}, NONE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "gone"},
};

static void big(void)
{
    enum { N = 1000 };
    folder_make("verdict-gpu");
    for (int r = 0; r < N; r++) {
        struct rank one = {.op = {REDUCE(STARTED, 30)}};
        if (r == 777)
            one.op[0].comm = 0;
        struct tb *tb = make(&one, r, N, 0);
        folder_write(tb, r);
        tb_free(tb);
    }
    judge("a thousand", ANA_VERDICT_HUNG, ANA_CLASS_MISSING, "777",
          "rank 777 has not come to ncclAllReduce on a, where 999");
    folder_remove();
}

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_make("verdict-gpu");
        for (int r = 0; r < cases[i].n; r++) {
            struct rank one = cases[i].rank[r];
            struct tb *tb = make(&one, r, cases[i].n, cases[i].size_b);
            folder_write(tb, r);
            tb_free(tb);
        }
        judge(cases[i].what, cases[i].state, cases[i].id, cases[i].culprits, cases[i].says);
        folder_remove();
    }
    big();
    return check_result();
}
