/* Ranks that are in the same collective of a communicator with other arguments. */
#include "trace/members/members.h"
#include "trace/util/hash.h"
#include "trace/verdict/differs.h"
#include "trace/verdict/gpu.h"
#include <string.h>

/* Values that all ranks must agree on, as terms of struct ana_agreed. */
enum { CALL, COUNT, TYPE, ROOT, OPERATION };

/* "ncclBcast" and "ncclBroadcastConfig" are "ncclBroadcast". */
static uint64_t call_of(const char *name)
{
    size_t n = strlen(name), end = sizeof "Config" - 1;
    if (strcmp(name, "ncclBcast") == 0)
        return ana_hash_text("ncclBroadcast");
    return ana_hash(name, n > end && strcmp(name + n - end, "Config") == 0 ? n - end : n);
}

/* A reduction that the program made has a number of the rank's own. */
static struct ana_agreed terms_of(size_t index, const struct trc_gpu_op *op, const char *call)
{
    return (struct ana_agreed){{[CALL] = call_of(call),
                                [COUNT] = op->count,
                                [TYPE] = op->type,
                                [ROOT] = (uint32_t)op->root,
                                [OPERATION] = op->op == TRC_GPU_OP_OWN ? ANA_AGREES_WITH_ALL : op->op},
                               index};
}

/* Ranks that came to one collective. */
struct meeting {
    struct ana_gpu_wait *op; /* only their rank, operation and communicator are set */
    struct ana_agreed *terms;
    size_t count;
};

static struct ana_fact fact_of(const struct ana_case *c, const struct ana_gpu_wait *odd,
                               const struct ana_gpu_wait *usual, size_t term)
{
    struct ana_fact fact = {.call = ana_gpu_call_of(c, odd), .comm = odd->comm};
    fact.number = (int64_t)odd->op->sequence + 1;
    switch (term) {
    case CALL:
        fact.id = ANA_SENTENCE_OTHER_CALL;
        fact.other_call = ana_gpu_call_of(c, usual);
        break;
    case ROOT:
        fact.id = ANA_SENTENCE_OTHER_ROOT;
        fact.count = odd->op->root;
        fact.of = usual->op->root;
        break;
    case OPERATION:
        fact.id = ANA_SENTENCE_OTHER_OPERATION;
        fact.name = trc_gpu_op_name(odd->op);
        fact.other_name = trc_gpu_op_name(usual->op);
        break;
    default:
        fact.id = ANA_SENTENCE_OTHER_DATA;
        fact.count = (int64_t)odd->op->count;
        fact.of = (int64_t)usual->op->count;
        fact.name = trc_gpu_type_name(odd->op);
        fact.other_name = trc_gpu_type_name(usual->op);
    }
    return fact;
}

static bool judge(struct ana_case *c, const struct ana_gpu_meet *m, const struct meeting *meeting)
{
    struct ana_difference d;
    c->memory |= !ana_find_difference(meeting->terms, meeting->count, &d);
    if (d.odds == 0 || !ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, m->lasted_ns))
        return false;
    ana_case_explain_difference(c, meeting->terms, meeting->count, &d,
                                fact_of(c, &meeting->op[d.odd], &meeting->op[d.usual], d.term));
    return true;
}

/* The two ends of a message. */
static bool judge_message(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    const struct ana_gpu_wait *w = &gpu->wait[m->first];
    size_t partner = ana_gpu_member(c, gpu, w->comm, w->index, w->op->root);
    bool past, in = m->to == w->comm->def.rank;
    const struct trc_gpu_op *other = partner == SIZE_MAX ? NULL : ana_gpu_other_end(c, partner, w, &past);
    if (!other || other->bytes == w->op->bytes || !ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, m->lasted_ns))
        return false;
    ana_case_blame(c, w->index);
    ana_case_blame(c, partner);
    ANA_SUMMARY(c, ANA_SENTENCE_DEVICE_OTHER_SIZE, .who = ana_one_rank(in ? w->index : partner),
                .others = ana_one_rank(in ? partner : w->index), .count = (int64_t)(in ? w->op->bytes : other->bytes),
                .of = (int64_t)(in ? other->bytes : w->op->bytes), .number = (int64_t)w->op->sequence + 1,
                .comm = w->comm);
    return true;
}

static void gather(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, struct meeting *out)
{
    out->count = 0;
    for (size_t i = 0; i < c->count; i++) {
        bool in = ana_gpu_is_member(c, gpu, m, i);
        const struct trc_gpu_op *op = in ? ana_gpu_op_of(c, i, m->identity, m->sequence) : NULL;
        if (!op || op->state == TRC_GPU_FAILED)
            continue;
        const struct trc_file *file = ana_case_file(c, i);
        out->op[out->count] = (struct ana_gpu_wait){.index = i, .op = op, .comm = trc_comm(file, op->comm)};
        out->terms[out->count++] = terms_of(i, op, trc_call(file, op->call)->name);
    }
}

bool ana_gpu_mismatch(struct ana_case *c, const struct ana_gpu *gpu)
{
    struct meeting all = {.op = ana_case_alloc(c, c->count * sizeof *all.op),
                          .terms = ana_case_alloc(c, c->count * sizeof *all.terms)};
    for (size_t i = 0; i < gpu->meets && all.op && all.terms; i++) {
        const struct ana_gpu_meet *m = &gpu->meet[i];
        if (m->old && !ana_gpu_is_message(m))
            gather(c, gpu, m, &all);
        if (m->old && (ana_gpu_is_message(m) ? judge_message(c, gpu, m) : judge(c, m, &all)))
            return true;
    }
    return false;
}
