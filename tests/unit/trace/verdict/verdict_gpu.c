/* Verdicts on NCCL operations: the ranks' tables at the end, and the verdict; communicators whose
 * members only the files together know; a thousand ranks. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "tests/support/verdict_facts.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S   INT64_C(1000000000)
#define END (100 * S)

enum { A = 3, B = 4 }; /* communicators by their ids: A of all ranks, B of some, as the case says */

/* An operation at the end; all have gone through collective 0 of their communicators before. */
struct op {
    uint8_t comm; /* 0: none */
    enum trc_gpu_state state;
    enum tb_call call;
    uint64_t sequence;
    int64_t at;     /* begin of its state, s */
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
                  const char *tells)
{
    struct ana_job *job = folder_open();
    char got[128] = "", told[1024] = "";
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "%s: out of memory", what);
    if (!v) {
        ana_job_close(job);
        return;
    }
    for (size_t i = 0; i < v->culprits && i < 16; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d", i ? "," : "",
                 ana_job_rank(job, v->culprit[i])->rank);
    if (v->summary.id)
        fact_fields(job, &v->summary, told, sizeof told);
    CHECK(v->state == state && v->id == id && strcmp(got, culprits) == 0 &&
              (!tells || fact_has(job, &v->summary, tells)),
          "%s: %s %s culprits %s: %s\n  want %s %s culprits %s: %s", what, ana_verdict_state_name(v->state),
          v->id ? ana_verdict_class_name(v->id) : "-", got, told, ana_verdict_state_name(state),
          id ? ana_verdict_class_name(id) : "-", culprits, tells ? tells : "");
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
    const char *culprits, *tells;
} cases[] = {
    {"missing",
     4,
     0,
     {RUNS, RUNS, NONE, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "NOT_COME; who=2; call=ncclAllReduce; comm=a; count=3; of=4"},
    {"missing, in other ranks' numbers",
     3,
     0,
     {{.in_a = 3, .op = {REDUCE(STARTED, 30)}}, {.in_a = 1}, {.in_a = 2, .op = {REDUCE(STARTED, 30)}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     "NOT_COME; who=1"},
    {"missing on a part, whose members only the files know",
     4,
     2,
     {NONE, {.in_b = 1, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}}}, NONE, {.in_b = 2}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "3",
     "NOT_COME; who=3; call=ncclAllReduce; comm=b; count=1; of=2"},
    {"not for long",
     4,
     0,
     {{.op = {REDUCE(STARTED, 90)}}, {.op = {REDUCE(STARTED, 90)}}, NONE, NONE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     NULL},
    {"count",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 512, 0, 0, 0, 0}}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "OTHER_DATA; who=1; call=ncclAllReduce; count=512; name=float32; more=2; of=1024; other_name=float32; number=2; "
     "comm=a"},
    {"count, and one was content with it",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_COMPLETED, TB_NCCL_ALLREDUCE, 1, 30, 512, 0, 0, 0, 0}}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "1",
     "OTHER_DATA; who=1; count=512"},
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
     "OTHER_CALL; who=1; call=ncclBroadcast; others=0; other_call=ncclAllReduce"},
    {"order on one stream",
     2,
     2,
     {{.in_b = 1, .op = {REDUCE(STARTED, 30), {B, TRC_GPU_ENQUEUED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}}},
      {.in_b = 2, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}, REDUCE(ENQUEUED, 30)}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,1",
     "DEVICE_ORDER"},
    {"a chain: only its end is to blame",
     3,
     2,
     {{.in_b = 1, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}, REDUCE(ENQUEUED, 30)}},
      {.op = {REDUCE(STARTED, 30)}},
      {.in_b = 2, .op = {REDUCE(STARTED, 30)}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "0,2",
     "DEVICE_AND_HOST; who=0; call=ncclAllReduce; comm=b; others=2; other_call=ncclAllReduce on a"},
    {"a chain that ends in a missing rank",
     3,
     2,
     {{.in_b = 1, .op = {{B, TRC_GPU_STARTED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 0}, REDUCE(ENQUEUED, 30)}},
      {.op = {REDUCE(STARTED, 30)}},
      {.in_b = 2}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "2",
     "NOT_COME; who=2; call=ncclAllReduce; comm=b"},
    {"a stream that is blocked",
     3,
     0,
     {RUNS, {.op = {REDUCE(ENQUEUED, 30)}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_DEVICE,
     "1",
     "DEVICE_BEHIND; who=1; call=ncclAllReduce; comm=a; count=2; of=3"},
    {"all are in it",
     3,
     0,
     {RUNS, RUNS, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_INSIDE,
     "",
     "DEVICE_INSIDE; call=ncclAllReduce; count=3; size=4096"},
    {"one does not come out",
     3,
     0,
     {DONE_LONG, RUNS, DONE_LONG},
     ANA_VERDICT_HUNG,
     ANA_CLASS_INSIDE,
     "1",
     "DEVICE_NOT_OUT; who=1; call=ncclAllReduce; comm=a; size=4096"},
    {"its call failed",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_FAILED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 2}}}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     "DEVICE_FAILED; name=ncclSystemError"},
    {"its call failed, and it waits in MPI for the others",
     3,
     0,
     {RUNS, {.op = {{A, TRC_GPU_FAILED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, 0, 2}}, .inside = TB_BARRIER}, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISSING,
     "1",
     "DEVICE_FAILED; name=ncclSystemError"},
    {"in MPI for each other, and one outside",
     4,
     0,
     {RUNS, {.inside = TB_BARRIER}, NONE, RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "1",
     "DEVICE_AND_HOST; who=0,3; call=ncclAllReduce; comm=a; others=1; other_call=MPI_Barrier"},
    {"an error that NCCL tells",
     3,
     0,
     {RUNS,
      {.op = {REDUCE(STARTED, 30), {A, TRC_GPU_FAILED, TB_NCCL_ASYNC, 0, 40, 0, 0, 0, TRC_GPU_ASYNC_ERROR, 6}}},
      RUNS},
     ANA_VERDICT_HUNG,
     ANA_CLASS_DEVICE,
     "1",
     "DEVICE_NCCL_ERROR; name=ncclRemoteError; other_comm=a; who=1"},
    {"in MPI for each other",
     3,
     0,
     {{.inside = TB_BARRIER}, RUNS, {.inside = TB_BARRIER}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_CYCLE,
     "1",
     "DEVICE_AND_HOST; who=1; call=ncclAllReduce; comm=a; others=0,2; other_call=MPI_Barrier"},
    {"a message that nobody sends",
     2,
     0,
     {{.op = {{A, TRC_GPU_STARTED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}}, NONE},
     ANA_VERDICT_HUNG,
     ANA_CLASS_UNMATCHED,
     "1",
     "DEVICE_NOT_SENT; who=0; call=ncclRecv; others=1; comm=a"},
    {"a message of other size",
     2,
     0,
     {{.op = {{A, TRC_GPU_STARTED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}},
      {.op = {{A, TRC_GPU_STARTED, TB_NCCL_SEND, 0, 30, 77, 1, 0, TRC_GPU_MESSAGE, 0}}}},
     ANA_VERDICT_HUNG,
     ANA_CLASS_MISMATCHED,
     "0,1",
     "DEVICE_OTHER_SIZE; who=0; count=4096; others=1; of=308; number=1; comm=a"},
    {"a message that its sender has long forgotten",
     2,
     0,
     {{.op = {{A, TRC_GPU_STARTED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}},
      {.op = {{A, TRC_GPU_COMPLETED, TB_NCCL_SEND, 1200, 30, 0, 1, 0, TRC_GPU_MESSAGE, 0}}}},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "KILLED"},
    {"kernels that take long on all: nobody waits",
     3,
     0,
     {{.op = {REDUCE(ENQUEUED, 30)}}, {.op = {REDUCE(ENQUEUED, 30)}}, {.op = {REDUCE(ENQUEUED, 30)}}},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "KILLED"},
    {"a kernel that takes long, and one that comes later",
     3,
     0,
     {{.op = {REDUCE(ENQUEUED, 30)}}, NONE, {.op = {REDUCE(ENQUEUED, 30)}}},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "KILLED"},
    {"a message behind a kernel that takes long",
     2,
     0,
     {{.op = {{A, TRC_GPU_ENQUEUED, TB_NCCL_RECV, 0, 30, 0, 2, 0, TRC_GPU_MESSAGE, 0}}}, NONE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "KILLED"},
    {"without a driver nothing is known",
     2,
     0,
     {{.op = {{A, TRC_GPU_ENQUEUED, TB_NCCL_ALLREDUCE, 1, 30, 0, 0, 0, TRC_GPU_BLIND, 0}}}, NONE},
     ANA_VERDICT_ABORTED,
     ANA_CLASS_KILLED,
     "",
     "KILLED"},
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
          "NOT_COME; who=777; call=ncclAllReduce; comm=a; count=999");
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
        judge(cases[i].what, cases[i].state, cases[i].id, cases[i].culprits, cases[i].tells);
        folder_remove();
    }
    big();
    return check_result();
}
