/* Hangs of device operations: one question after the other, the most certain first. */
#include "trace/util/hash.h"
#include "trace/verdict/differs.h"
#include "trace/verdict/gpu.h"
#include "trace/verdict/life.h"
#include <string.h>

struct ana_fact ana_gpu_fact(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m,
                             enum ana_sentence id)
{
    return (struct ana_fact){.id = id,
                             .who = ANA_CULPRITS,
                             .call = ana_gpu_call_of(c, &gpu->wait[m->first]),
                             .comm = m->comm,
                             .count = (int64_t)m->count,
                             .of = (int64_t)m->size};
}

static void add_place(struct ana_case *c, const struct ana_gpu_meet *m)
{
    enum ana_sentence id = ana_gpu_is_message(m) ? ANA_SENTENCE_DEVICE_MESSAGE_PLACE : ANA_SENTENCE_COLLECTIVE_NUMBER;
    ANA_FACT(c, id, .number = (int64_t)m->sequence + 1, .comm = m->comm, .time = m->lasted_ns);
}

/* Settles a verdict on these ranks; with `computes`, on ranks that may be about to come. */
static bool settle(struct ana_case *c, enum ana_verdict_class id, enum ana_confidence confidence, int64_t lasted_ns,
                   const size_t *index, size_t n, bool computes)
{
    if (!ana_case_settle(c, id, confidence, lasted_ns))
        return false;
    ana_case_blame_all(c, ana_ranks_at(index, n));
    return !computes || ana_case_settle_by_time(c, id, lasted_ns);
}

/* Adds a rank to gpu->room unless it was the last one.  A damaged table may have an operation twice. */
static void add_rank(struct ana_gpu *gpu, size_t *n, size_t index)
{
    if (*n == 0 || gpu->room[*n - 1] != index)
        gpu->room[(*n)++] = index;
}

size_t ana_gpu_waiting_in(struct ana_gpu *gpu, const struct ana_gpu_meet *m, bool started)
{
    size_t n = 0;
    for (size_t i = m->first; i < m->first + m->count; i++)
        if (!started || gpu->wait[i].op->state == TRC_GPU_STARTED)
            add_rank(gpu, &n, gpu->wait[i].index);
    return n;
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* Makes the summary of a device's trouble, with the first operation under way if `stuck`. */
static void explain_device(struct ana_case *c, struct ana_fact fact, bool stuck, enum ana_sentence next)
{
    fact.who = ANA_CULPRITS;
    if (stuck && c->gpu->meets) {
        fact.call = ana_gpu_call_of(c, &c->gpu->wait[c->gpu->meet[0].first]);
        fact.comm = c->gpu->meet[0].comm;
    }
    c->out->summary = fact;
    ANA_NEXT(c, next);
}

/* Writes what NCCL or the driver reported on a rank.  False: nothing. */
static bool error_of(const struct ana_case *c, size_t index, struct ana_fact *out)
{
    const struct trc_file *file = ana_case_file(c, index);
    const struct trc_gpu_head *head = trc_gpu(file);
    if (head && head->watch == TRC_GPU_WATCH_STOPPED && head->error) {
        *out = (struct ana_fact){ANA_SENTENCE_DEVICE_DRIVER_ERROR, .number = head->error};
        return true;
    }
    for (size_t k = trc_gpu_ops(file); k-- > 0;) {
        const struct trc_gpu_op *op = trc_gpu_op(file, k);
        if (op->flags & TRC_GPU_ASYNC_ERROR) {
            *out = (struct ana_fact){ANA_SENTENCE_DEVICE_NCCL_ERROR, .name = trc_gpu_result_name(op->result),
                                     .other_comm = trc_comm(file, op->comm)};
            return true;
        }
    }
    return false;
}

/* NCCL or the driver said that something is wrong, and operations hang, or the job is over without having finished. */
static bool find_error(struct ana_case *c, struct ana_gpu *gpu)
{
    int64_t lasted = INT64_MAX;
    size_t errors = 0, dead = 0;
    struct ana_fact first, other;
    for (size_t i = 0; i < gpu->waits; i++)
        lasted = gpu->wait[i].lasted_ns < lasted ? gpu->wait[i].lasted_ns : lasted;
    for (size_t i = 0; i < c->count; i++) {
        enum ana_rank_state state = c->members->process[i].rank.state;
        dead += state == ANA_RANK_DEAD || state == ANA_RANK_ABORTED;
        if (error_of(c, i, errors ? &other : &first))
            gpu->room[errors++] = i;
    }
    if (errors == 0)
        return false;
    bool stuck = lasted != INT64_MAX && settle(c, ANA_CLASS_DEVICE, ANA_PROVEN, lasted, gpu->room, errors, false);
    if (!stuck && (c->live || !dead))
        return false;
    if (!stuck) {
        ana_case_set(c, ANA_VERDICT_ABORTED, ANA_CLASS_DEVICE, ANA_LIKELY);
        ana_case_blame_all(c, ana_ranks_at(gpu->room, errors));
    }
    explain_device(c, first, stuck, ANA_SENTENCE_DEVICE_ERROR_NEXT);
    return true;
}

/* ---- other calls, or other arguments ---------------------------------------------------------------------------- */

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
    return (struct ana_agreed){{[ANA_TERM_CALL] = call_of(call),
                                [ANA_TERM_AMOUNT] = op->count,
                                [ANA_TERM_TYPE] = op->type,
                                [ANA_TERM_ROOT] = (uint32_t)op->root,
                                [ANA_TERM_OPERATION] = op->op == TRC_GPU_OP_OWN ? ANA_AGREES_WITH_ALL : op->op},
                               index};
}

static struct ana_given_call given(const struct ana_case *c, const struct ana_gpu_wait *wait)
{
    return (struct ana_given_call){ana_gpu_call_of(c, wait).name, trc_gpu_type_name(wait->op),
                                   trc_gpu_op_name(wait->op), wait->op->site};
}

/* The ranks that came to one collective.  Only rank, operation and communicator of `op` are set. */
static bool judge_collective(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m,
                             struct ana_gpu_wait *op, struct ana_agreed *terms)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const bool in = ana_gpu_is_member(c, gpu, m, i);
        const struct trc_file *file = ana_case_file(c, i);
        const struct trc_gpu_op *its = in ? ana_gpu_op_of(c, i, m->identity, m->sequence) : NULL;
        if (!its || its->state == TRC_GPU_FAILED)
            continue;
        op[n] = (struct ana_gpu_wait){.index = i, .op = its, .comm = trc_comm(file, its->comm)};
        terms[n++] = terms_of(i, its, trc_call(file, its->call)->name);
    }
    struct ana_difference d;
    c->memory |= !ana_find_difference(terms, n, &d);
    if (d.odds == 0 || !ana_case_settle(c, ANA_CLASS_MISMATCHED, ANA_PROVEN, m->lasted_ns))
        return false;
    ana_case_explain_difference(c, terms, n, &d, given(c, &op[d.odd]), given(c, &op[d.usual]), op[d.odd].comm,
                                (int64_t)m->sequence + 1);
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

static bool find_mismatch(struct ana_case *c, const struct ana_gpu *gpu)
{
    struct ana_gpu_wait *op = ana_case_alloc(c, c->count * sizeof *op);
    struct ana_agreed *terms = ana_case_alloc(c, c->count * sizeof *terms);
    for (size_t i = 0; i < gpu->meets && op && terms; i++) {
        const struct ana_gpu_meet *m = &gpu->meet[i];
        if (m->old && (ana_gpu_is_message(m) ? judge_message(c, gpu, m) : judge_collective(c, gpu, m, op, terms)))
            return true;
    }
    return false;
}

/* ---- one collective or message ---------------------------------------------------------------------------------- */

#define PATIENCE 10 /* an operation that nobody waits for is slow, not hung, for this multiple of hang_ns */

static bool may_take_long(const struct ana_case *c, const struct ana_gpu_meet *m)
{
    return !m->waited_in && m->lasted_ns / PATIENCE < c->rules.hang_ns;
}

/* Whether an operation of it is behind one that is not over: then that one tells why. */
static bool is_behind(const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    for (size_t i = m->first; i < m->first + m->count; i++) {
        const struct ana_gpu_wait *w = &gpu->wait[i];
        if (w->op->state < TRC_GPU_STARTED && w->ahead != SIZE_MAX && gpu->meet[gpu->wait[w->ahead].meet].old)
            return true;
    }
    return false;
}

/* Facts known about the ranks that have not come. */
struct absence {
    size_t failed, left; /* they never will: their call failed, or they gave the communicator up */
    size_t outside; /* ranks in gpu->room that can come by themselves; the others wait, and the cause is elsewhere */
    size_t in_mpi;  /* ranks of `outside` in a call whose peer is not known */
    int result;     /* result of the first call that failed */
};

/* Writes to gpu->room the ranks to blame if they do not come. */
static struct absence find_absence(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    struct absence a = {0};
    for (size_t i = 0; i < m->missing_count; i++) {
        size_t index = m->missing[i];
        const struct trc_gpu_op *op = ana_gpu_op_of(c, index, m->identity, m->sequence);
        const struct ana_waiting *waiting = ana_rank_waiting(c, index);
        const uint8_t *freed = ana_map_find(&gpu->freed, m->identity, index, 0);
        if (op && op->state == TRC_GPU_FAILED && a.failed++ == 0)
            a.result = op->result;
        a.left += freed && *freed;
        bool knows = waiting && (waiting->kind == ANA_WAITING_COLLECTIVE || waiting->kind == ANA_WAITING_MESSAGES ||
                                 waiting->kind == ANA_WAITING_DEVICE);
        if (knows)
            continue;
        a.in_mpi += waiting && waiting->kind != ANA_WAITING_POLL;
        gpu->room[a.outside++] = index;
    }
    return a;
}

void ana_gpu_explain_unmatched(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    const struct ana_gpu_wait *w = &gpu->wait[m->first];
    bool in = m->to == w->comm->def.rank;
    struct ana_fact fact =
        ana_gpu_fact(c, gpu, m, in ? ANA_SENTENCE_DEVICE_NOT_SENT : ANA_SENTENCE_DEVICE_NOT_RECEIVED);
    const struct ana_waiting *waiting = ana_rank_waiting(c, m->missing[0]);
    fact.who = ana_one_rank(w->index);
    fact.others = ana_one_rank(m->missing[0]);
    if (waiting)
        fact.other_call = ana_waiting_call(waiting);
    if (waiting) /* it is somewhere else, and which of the two is wrong is not known */
        ana_case_blame(c, w->index);
    ana_case_blame(c, m->missing[0]);
    c->out->summary = fact;
}

static struct ana_fact missing_fact(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m,
                                    const struct absence *a)
{
    struct ana_fact fact = ana_gpu_fact(c, gpu, m, ANA_SENTENCE_NOT_COME);
    if (m->missing_count == 0) {
        fact.id = ANA_SENTENCE_DEVICE_NOWHERE;
        fact.more = (int64_t)m->nowhere;
    } else if (a->failed) {
        fact.id = ANA_SENTENCE_DEVICE_FAILED;
        fact.name = trc_gpu_result_name(a->result);
    } else if (a->left) {
        fact.id = ANA_SENTENCE_DEVICE_GIVEN_UP;
    } else if (m->missing_count == 1 && ana_rank_waiting(c, m->missing[0])) {
        fact.other_call = ana_rank_call(c, m->missing[0]);
    }
    return fact;
}

/* `sure`: only of whom it is known that they never will come. */
static bool find_missing(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m, bool sure)
{
    if (m->missing_count == 0 && (m->nowhere == 0 || ana_gpu_is_message(m)))
        return false;
    struct absence a = find_absence(c, gpu, m);
    bool never = m->missing_count > 0 && a.failed + a.left >= m->missing_count;
    if (never != sure || (!never && is_behind(gpu, m)))
        return false;
    if (!never && (may_take_long(c, m) || (a.outside == 0 && m->nowhere == 0)))
        return false;
    /* A rank that spins in MPI computes nothing. */
    bool waits = never || (a.outside && a.in_mpi == a.outside);
    enum ana_verdict_class id = never && a.left         ? ANA_CLASS_EARLY_EXIT
                                : ana_gpu_is_message(m) ? ANA_CLASS_UNMATCHED
                                                        : ANA_CLASS_MISSING;
    if (!settle(c, id, never ? ANA_PROVEN : ANA_LIKELY, m->lasted_ns, never ? m->missing : gpu->room,
                never ? m->missing_count : a.outside, !waits))
        return false;
    if (ana_gpu_is_message(m)) {
        ana_gpu_explain_unmatched(c, gpu, m);
    } else {
        c->out->summary = missing_fact(c, gpu, m, &a);
        add_place(c, m);
    }
    return true;
}

/* All have come, but on some the stream has not: something before it on the device does not end; or the operation does
 * not end on some or all. */
static bool find_stuck(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t n = 0;
    bool moved = false, some = m->count < m->size;
    const struct ana_gpu_wait *behind = NULL;
    for (size_t i = m->first; i < m->first + m->count; i++) {
        const struct ana_gpu_wait *w = &gpu->wait[i];
        bool started = w->op->state == TRC_GPU_STARTED, moves = c->rank[w->index].moved;
        moved |= moves;
        if (started || moves)
            continue;
        behind = behind ? behind : w;
        add_rank(gpu, &n, w->index);
    }
    if (behind ? may_take_long(c, m) : moved || m->started < m->count || (some && ana_gpu_is_message(m)))
        return false; /* one end of a message may complete long before the other */
    if (!behind && some)
        n = ana_gpu_waiting_in(gpu, m, false);
    if (!settle(c, behind ? ANA_CLASS_DEVICE : ANA_CLASS_INSIDE, ANA_LIKELY, m->lasted_ns, gpu->room, n, false))
        return false;
    bool enqueued = behind && behind->op->state != TRC_GPU_CALLED;
    struct ana_fact fact = ana_gpu_fact(c, gpu, m,
                                        enqueued ? ANA_SENTENCE_DEVICE_BEHIND
                                        : behind ? ANA_SENTENCE_DEVICE_NOT_ENQUEUED
                                        : some   ? ANA_SENTENCE_DEVICE_NOT_OUT
                                                 : ANA_SENTENCE_DEVICE_INSIDE);
    fact.size = gpu->wait[m->first].op->bytes;
    if (behind)
        fact.call = ana_gpu_call_of(c, behind);
    if (enqueued) {
        fact.count = (int64_t)m->started;
        ANA_NEXT(c, ANA_SENTENCE_DEVICE_BEHIND_NEXT, .handle = behind->op->stream);
    } else if (!behind) {
        ANA_NEXT(c, ANA_SENTENCE_DEVICE_INSIDE_NEXT);
    }
    c->out->summary = fact;
    add_place(c, m);
    return true;
}

/* ---- the driver ------------------------------------------------------------------------------------------------- */

/* The recorder's question to the driver has not returned: knowledge of that rank's operations is as old as the
 * question. */
static bool find_driver(struct ana_case *c, struct ana_gpu *gpu)
{
    int64_t lasted = INT64_MAX;
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->members->process[i].rank;
        const struct trc_gpu_head *head = trc_gpu(r->file);
        uint64_t inside = head ? head->inside_since : 0;
        int64_t since = inside ? ana_time_within(ana_clock_job_time(c->members->clock, i, inside)) : r->end_ns;
        if (c->rank[i].moved || ana_case_ended(c, i) || r->end_ns - since < c->rules.proof_ns)
            continue;
        lasted = r->end_ns - since < lasted ? r->end_ns - since : lasted;
        gpu->room[n++] = i;
    }
    if (n == 0 || !settle(c, ANA_CLASS_DEVICE, ANA_LIKELY, lasted, gpu->room, n, false))
        return false;
    explain_device(c, (struct ana_fact){.id = ANA_SENTENCE_DEVICE_NO_ANSWER}, true, ANA_SENTENCE_DEVICE_NO_ANSWER_NEXT);
    ANA_FACT(c, ANA_SENTENCE_DEVICE_QUERY, .time = lasted);
    return true;
}

bool ana_gpu_anybody_waits(struct ana_case *c)
{
    for (size_t i = 0; i < c->gpu->waits; i++)
        if (!c->rank[c->gpu->wait[i].index].gone && c->gpu->wait[i].lasted_ns >= c->rules.proof_ns)
            return true;
    return false;
}

bool ana_find_gpu(struct ana_case *c)
{
    struct ana_gpu *gpu = c->gpu;
    bool found = find_error(c, gpu) || find_mismatch(c, gpu);
    for (size_t i = 0; i < gpu->meets && !found; i++)
        found = gpu->meet[i].old && find_missing(c, gpu, &gpu->meet[i], true);
    found = found || ana_gpu_knot(c, gpu);
    for (size_t i = 0; i < gpu->meets && !found; i++)
        found = gpu->meet[i].old && find_missing(c, gpu, &gpu->meet[i], false);
    found = found || (gpu->waits && find_driver(c, gpu));
    for (size_t i = 0; i < gpu->meets && !found; i++) {
        const struct ana_gpu_meet *m = &gpu->meet[i];
        if (m->old && m->missing_count == 0 && m->nowhere == 0 && !is_behind(gpu, m))
            found = find_stuck(c, gpu, m);
    }
    return found;
}
