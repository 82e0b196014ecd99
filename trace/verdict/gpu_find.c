/* Hangs of device operations: one question after the other, the most certain first. */
#include "trace/verdict/gpu.h"
#include <stdio.h>
#include <string.h>

static void say(struct ana_case *c, struct ana_fact summary, enum ana_sentence next)
{
    c->out->summary = summary;
    c->out->next = (struct ana_fact){.id = next};
}

/* A fact about a collective: who is told by the finding's culprits. */
static struct ana_fact about(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m,
                             enum ana_sentence id)
{
    return (struct ana_fact){.id = id,
                             .who = ANA_CULPRITS,
                             .call = ana_gpu_call_of(c, &gpu->wait[m->first]),
                             .comm = m->comm,
                             .count = (int64_t)m->count,
                             .of = m->comm->def.size};
}

static void add_place(struct ana_case *c, const struct ana_gpu_meet *m)
{
    ana_case_fact(c, (struct ana_fact){ANA_SAY_DEVICE_PLACE, .number = (int64_t)m->sequence + 1, .time = m->lasted_ns});
}

/* Settles a verdict on these ranks; with `computes`, on ranks that may be about to come. */
static bool settle(struct ana_case *c, enum ana_verdict_class id, enum ana_confidence confidence, int64_t lasted_ns,
                   const size_t *index, size_t n, bool computes)
{
    if (!ana_case_settle(c, id, confidence, lasted_ns))
        return false;
    for (size_t i = 0; i < n; i++)
        ana_case_blame(c, index[i]);
    return !computes || ana_case_settle_by_time(c, id, lasted_ns);
}

/* Adds a rank to gpu->room unless it was the last one.  A damaged table may have an operation twice. */
static void add_rank(struct ana_gpu *gpu, size_t *n, size_t index)
{
    if (*n == 0 || gpu->room[*n - 1] != index)
        gpu->room[(*n)++] = index;
}

/* Writes the ranks that wait in a collective to gpu->room; returns how many. */
static size_t waiting_in(struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t n = 0;
    for (size_t i = m->first; i < m->first + m->count; i++)
        add_rank(gpu, &n, gpu->wait[i].index);
    return n;
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* Writes what NCCL or the driver reported on a rank.  False: nothing. */
static bool error_of(const struct ana_case *c, size_t index, struct ana_fact *out)
{
    const struct trc_file *file = c->job->process[index].rank.file;
    const struct trc_gpu_head *head = trc_gpu(file);
    if (head && head->watch == TRC_GPU_WATCH_STOPPED && head->error) {
        *out = (struct ana_fact){ANA_SAY_DEVICE_DRIVER_ERROR, .number = head->error};
        return true;
    }
    for (size_t k = trc_gpu_ops(file); k-- > 0;) {
        const struct trc_gpu_op *op = trc_gpu_op(file, k);
        if (op->flags & TRC_GPU_ASYNC_ERROR) {
            *out = (struct ana_fact){ANA_SAY_DEVICE_NCCL_ERROR, .name = trc_gpu_result_name(op->result),
                                     .other_comm = trc_comm(file, op->comm)};
            return true;
        }
    }
    return false;
}

/* NCCL or the driver said that something is wrong, and operations hang, or the job is over without having finished. */
static bool find_error(struct ana_case *c, struct ana_gpu *gpu, bool waits)
{
    int64_t lasted = INT64_MAX;
    size_t errors = 0, dead = 0;
    struct ana_fact first, other;
    for (size_t i = 0; waits && i < gpu->waits; i++)
        lasted = gpu->wait[i].lasted_ns < lasted ? gpu->wait[i].lasted_ns : lasted;
    for (size_t i = 0; i < c->count; i++) {
        enum ana_rank_state state = c->job->process[i].rank.state;
        dead += state == ANA_RANK_DEAD || state == ANA_RANK_ABORTED;
        if (error_of(c, i, errors ? &other : &first))
            gpu->room[errors++] = i;
    }
    if (errors == 0)
        return false;
    bool stuck = lasted != INT64_MAX && settle(c, ANA_CLASS_DEVICE, ANA_PROVEN, lasted, gpu->room, errors, false);
    if (!stuck && (c->live || !dead))
        return false;
    first.who = ANA_CULPRITS;
    if (stuck && gpu->meets) {
        first.call = ana_gpu_call_of(c, &gpu->wait[gpu->meet[0].first]);
        first.comm = gpu->meet[0].comm;
    }
    if (!stuck) {
        c->out->state = ANA_VERDICT_ABORTED;
        c->out->id = ANA_CLASS_DEVICE;
        c->out->confidence = ANA_LIKELY;
        for (size_t i = 0; i < errors; i++)
            ana_case_blame(c, gpu->room[i]);
    }
    say(c, first, ANA_SAY_DEVICE_ERROR_NEXT);
    return true;
}

/* ---- order across communicators --------------------------------------------------------------------------------- */

/* A meet that waits for itself by way of others; SIZE_MAX: there is none. */
static size_t find_cycle(const struct ana_gpu *gpu)
{
    for (size_t i = 0; i < gpu->meets; i++) {
        size_t at = gpu->meet[i].leads_to;
        for (size_t n = 0; at != SIZE_MAX && at != i && n < gpu->meets; n++)
            at = gpu->meet[at].leads_to;
        if (at == i)
            return i;
    }
    return SIZE_MAX;
}

/* Tells who is in each collective of a circle: its kernel runs there. */
static void add_circle(struct ana_case *c, struct ana_gpu *gpu, size_t first)
{
    size_t at = first;
    do {
        const struct ana_gpu_meet *m = &gpu->meet[at];
        size_t n = 0;
        for (size_t i = m->first; i < m->first + m->count; i++)
            if (gpu->wait[i].op->state == TRC_GPU_STARTED || m->missing_count)
                add_rank(gpu, &n, gpu->wait[i].index);
        struct ana_fact fact = about(c, gpu, m, ANA_SAY_DEVICE_IN);
        fact.who = ana_case_ranks(c, gpu->room, n);
        if (n)
            ana_case_fact(c, fact);
        at = m->leads_to;
    } while (at != first && c->out->facts < 4);
}

static bool find_order(struct ana_case *c, struct ana_gpu *gpu)
{
    size_t first = find_cycle(gpu);
    if (first == SIZE_MAX)
        return false;
    int64_t lasted = INT64_MAX;
    bool sure = true; /* all are on their streams: no program can take that back */
    size_t at = first;
    do {
        const struct ana_gpu_meet *m = &gpu->meet[at];
        lasted = m->lasted_ns < lasted ? m->lasted_ns : lasted;
        sure &= m->missing_count == 0 && m->nowhere == 0;
        at = m->leads_to;
    } while (at != first);
    if (!ana_case_settle(c, ANA_CLASS_CYCLE, sure ? ANA_PROVEN : ANA_LIKELY, lasted))
        return false;
    do {
        const struct ana_gpu_meet *m = &gpu->meet[at];
        for (size_t i = m->first; i < m->first + m->count; i++)
            ana_case_blame(c, gpu->wait[i].index);
        at = m->leads_to;
    } while (at != first);
    const struct ana_gpu_meet *other = &gpu->meet[gpu->meet[first].leads_to];
    struct ana_fact fact = about(c, gpu, &gpu->meet[first], ANA_SAY_DEVICE_ORDER);
    fact.other_call = ana_gpu_call_of(c, &gpu->wait[other->first]);
    fact.other_comm = other->comm;
    say(c, fact, ANA_SAY_DEVICE_ORDER_NEXT);
    add_circle(c, gpu, first);
    return true;
}

/* ---- one collective --------------------------------------------------------------------------------------------- */

/* Whether the ranks that are missing wait in MPI for those who wait here. */
static bool waits_back(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    for (size_t k = 0; k < m->missing_count; k++) {
        const struct ana_waiting *waiting = ana_rank_waiting(c, m->missing[k]);
        const struct ana_group *g =
            waiting && waiting->kind == ANA_WAITING_COLLECTIVE ? ana_group_at(c, waiting->group) : NULL;
        bool back = false;
        for (size_t i = 0; g && i < g->missing_count && !back; i++)
            for (size_t w = m->first; w < m->first + m->count; w++)
                back |= g->missing[i] == gpu->wait[w].index;
        if (!back)
            return false;
    }
    return m->missing_count > 0;
}

/* Blames those of whom there are fewer. */
static bool say_both(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    if (!ana_case_settle(c, ANA_CLASS_CYCLE, ANA_LIKELY, m->lasted_ns))
        return false;
    for (size_t i = m->first; i < m->first + m->count && m->count <= m->missing_count; i++)
        ana_case_blame(c, gpu->wait[i].index);
    for (size_t i = 0; i < m->missing_count && m->count >= m->missing_count; i++)
        ana_case_blame(c, m->missing[i]);
    struct ana_fact fact = about(c, gpu, m, ANA_SAY_DEVICE_AND_HOST);
    fact.who = ana_case_ranks(c, gpu->room, waiting_in(gpu, m));
    fact.others = ana_case_ranks(c, m->missing, m->missing_count);
    fact.other_call = ana_waiting_call(ana_rank_waiting(c, m->missing[0]));
    say(c, fact, ANA_SAY_DEVICE_AND_HOST_NEXT);
    return true;
}

#define PATIENCE 10 /* what nobody waits for takes long, and does not hang, for so many times hang_ns */

/* Whether somebody waits in it by now: its kernel runs, or the host is held up in the call.  Where all are behind other
 * work on their streams, that work may just take long. */
static bool is_waited_in(const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    for (size_t i = m->first; i < m->first + m->count; i++) {
        const struct trc_gpu_op *op = gpu->wait[i].op;
        if (op->state == TRC_GPU_STARTED || (op->state == TRC_GPU_CALLED && !(op->flags & TRC_GPU_GROUPED)))
            return true;
    }
    return false;
}
static bool may_take_long(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    return !is_waited_in(gpu, m) && m->lasted_ns / PATIENCE < c->rules.hang_ns;
}

/* What is known of those who have not come. */
struct absence {
    size_t failed, left; /* they never will: their call failed, or they gave the communicator up */
    size_t in_mpi;
    int result; /* of the first call that failed */
};

static struct absence absence_of(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    struct absence a = {0};
    for (size_t i = 0; i < m->missing_count; i++) {
        const struct trc_gpu_op *op = ana_gpu_op_of(c, m->missing[i], m->identity, m->sequence);
        const struct ana_waiting *waiting = ana_rank_waiting(c, m->missing[i]);
        const uint8_t *freed = ana_map_find(&gpu->freed, m->identity, m->missing[i], 0);
        if (op && op->state == TRC_GPU_FAILED && a.failed++ == 0)
            a.result = op->result;
        a.left += freed && *freed;
        a.in_mpi += waiting && waiting->kind != ANA_WAITING_POLL;
    }
    return a;
}

static struct ana_fact missing_fact(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m,
                                    const struct absence *a)
{
    struct ana_fact fact = about(c, gpu, m, ANA_SAY_DEVICE_MISSING);
    if (m->missing_count == 0) {
        fact.id = ANA_SAY_DEVICE_NOWHERE;
        fact.more = (int64_t)m->nowhere;
    } else if (a->failed) {
        fact.id = ANA_SAY_DEVICE_FAILED;
        fact.name = trc_gpu_result_name(a->result);
    } else if (a->left) {
        fact.id = ANA_SAY_DEVICE_GIVEN_UP;
    } else if (m->missing_count == 1 && ana_rank_waiting(c, m->missing[0])) {
        fact.other_call = ana_waiting_call(ana_rank_waiting(c, m->missing[0]));
    }
    return fact;
}

static bool find_missing(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    if (m->missing_count == 0 && m->nowhere == 0)
        return false;
    struct absence a = absence_of(c, gpu, m);
    bool never = m->missing_count > 0 && a.failed + a.left >= m->missing_count;
    if (!never && may_take_long(c, gpu, m))
        return false;
    if (!never && waits_back(c, gpu, m))
        return say_both(c, gpu, m);
    /* A rank that spins in MPI computes nothing. */
    bool waits = never || (m->missing_count && a.in_mpi == m->missing_count);
    if (!settle(c, never && a.left ? ANA_CLASS_EARLY_EXIT : ANA_CLASS_MISSING, never ? ANA_PROVEN : ANA_LIKELY,
                m->lasted_ns, m->missing, m->missing_count, !waits))
        return false;
    c->out->summary = missing_fact(c, gpu, m, &a);
    add_place(c, m);
    return true;
}

/* All ranks have come, but on some the stream has not: something before it on the device does not end. */
static bool find_blocked(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t started = 0, n = 0;
    const struct ana_gpu_wait *behind = NULL;
    for (size_t i = m->first; i < m->first + m->count; i++) {
        const struct ana_gpu_wait *w = &gpu->wait[i];
        started += w->op->state == TRC_GPU_STARTED;
        if (w->op->state == TRC_GPU_STARTED || c->moved[w->index])
            continue;
        behind = behind ? behind : w;
        add_rank(gpu, &n, w->index);
    }
    if (!behind || may_take_long(c, gpu, m) ||
        !settle(c, ANA_CLASS_DEVICE, ANA_LIKELY, m->lasted_ns, gpu->room, n, false))
        return false;
    c->out->summary = about(c, gpu, m, ANA_SAY_DEVICE_NOT_ENQUEUED);
    if (behind->op->state != TRC_GPU_CALLED) {
        char stream[32];
        snprintf(stream, sizeof stream, "%#llx", (unsigned long long)behind->op->stream);
        c->out->summary.id = ANA_SAY_DEVICE_BEHIND;
        c->out->summary.count = (int64_t)started;
        c->out->next = (struct ana_fact){ANA_SAY_DEVICE_BEHIND_NEXT, .name = ana_case_text(c, stream)};
    }
    add_place(c, m);
    return true;
}

/* All ranks have come, and the operation does not end on some or all. */
static bool find_inside(struct ana_case *c, struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    bool some = m->count < (size_t)m->comm->def.size;
    for (size_t i = m->first; i < m->first + m->count; i++)
        if (c->moved[gpu->wait[i].index] || gpu->wait[i].op->state != TRC_GPU_STARTED)
            return false;
    size_t n = some ? waiting_in(gpu, m) : 0;
    if (!settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, m->lasted_ns, gpu->room, n, false))
        return false;
    struct ana_fact fact = about(c, gpu, m, some ? ANA_SAY_DEVICE_NOT_OUT : ANA_SAY_DEVICE_INSIDE);
    fact.size = gpu->wait[m->first].op->bytes;
    say(c, fact, ANA_SAY_DEVICE_INSIDE_NEXT);
    add_place(c, m);
    return true;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static bool receives(const struct ana_case *c, const struct ana_gpu_wait *w)
{
    return strcmp(ana_gpu_call_of(c, w).name, "ncclRecv") == 0;
}

/* The other end of a message: NULL if its rank has not called it, or (*past) has by now called later ones, so that its
 * table may have forgotten it. */
static const struct trc_gpu_op *other_end(const struct ana_case *c, size_t index, const struct ana_gpu_wait *w,
                                          bool *past)
{
    *past = false;
    const struct trc_file *file = c->job->process[index].rank.file;
    for (size_t i = trc_gpu_ops(file); i-- > 0;) {
        const struct trc_gpu_op *op = trc_gpu_op(file, i);
        const struct trc_comm *comm = trc_comm(file, op->comm);
        if (!(op->flags & TRC_GPU_MESSAGE) || op->sequence < w->op->sequence || op->root != w->comm->def.rank ||
            !comm || comm->def.identity != w->comm->def.identity ||
            strcmp(trc_call(file, op->call)->name, ana_gpu_call_of(c, w).name) == 0)
            continue;
        if (op->sequence == w->op->sequence)
            return op;
        *past = true;
    }
    return NULL;
}

static void say_size(struct ana_case *c, const struct ana_gpu_wait *w, size_t partner, const struct trc_gpu_op *other)
{
    bool in = receives(c, w);
    c->out->summary = (struct ana_fact){ANA_SAY_DEVICE_OTHER_SIZE,
                                        .who = ana_one_rank(in ? w->index : partner),
                                        .others = ana_one_rank(in ? partner : w->index),
                                        .count = (int64_t)(in ? w->op->bytes : other->bytes),
                                        .of = (int64_t)(in ? other->bytes : w->op->bytes),
                                        .number = (int64_t)w->op->sequence + 1,
                                        .comm = w->comm};
}

static bool find_message(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_wait *w)
{
    size_t partner = ana_gpu_member(c, gpu, w->comm, w->index, w->op->root);
    if (partner == SIZE_MAX || w->lasted_ns < c->rules.proof_ns || c->moved[w->index])
        return false;
    bool past, waits_now = w->op->state == TRC_GPU_STARTED || w->lasted_ns / PATIENCE >= c->rules.hang_ns;
    const struct trc_gpu_op *other = other_end(c, partner, w, &past);
    if (past || (!other && !waits_now) || (other && other->bytes == w->op->bytes))
        return false;
    const struct ana_waiting *waiting = ana_rank_waiting(c, partner);
    const size_t both[] = {w->index, partner};
    /* One that spins in MPI computes nothing. */
    bool computes = !other && !(waiting && waiting->kind != ANA_WAITING_POLL);
    if (!settle(c, other ? ANA_CLASS_MISMATCHED : ANA_CLASS_UNMATCHED, other ? ANA_PROVEN : ANA_LIKELY, w->lasted_ns,
                both, 2, computes))
        return false;
    if (other) {
        say_size(c, w, partner, other);
        return true;
    }
    c->out->summary = (struct ana_fact){receives(c, w) ? ANA_SAY_DEVICE_NOT_SENT : ANA_SAY_DEVICE_NOT_RECEIVED,
                                        .who = ana_one_rank(w->index), .others = ana_one_rank(partner),
                                        .call = ana_gpu_call_of(c, w), .comm = w->comm};
    if (waiting)
        c->out->summary.other_call = ana_waiting_call(waiting);
    return true;
}

/* ---- the driver ------------------------------------------------------------------------------------------------- */

/* The recorder's question to the driver has not returned: what is known of that rank's operations is as old as that. */
static bool find_driver(struct ana_case *c, struct ana_gpu *gpu)
{
    int64_t lasted = INT64_MAX;
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->job->process[i].rank;
        const struct trc_gpu_head *head = trc_gpu(r->file);
        uint64_t inside = head ? head->inside_since : 0;
        int64_t since = inside ? ana_time_within(ana_clock_job_time(c->job->clock, i, inside)) : r->end_ns;
        if (c->moved[i] || ana_case_ended(c, i) || r->end_ns - since < c->rules.proof_ns)
            continue;
        lasted = r->end_ns - since < lasted ? r->end_ns - since : lasted;
        gpu->room[n++] = i;
    }
    if (n == 0 || !settle(c, ANA_CLASS_DEVICE, ANA_LIKELY, lasted, gpu->room, n, false))
        return false;
    struct ana_fact fact = {ANA_SAY_DEVICE_NO_ANSWER, .who = ANA_CULPRITS};
    if (gpu->meets) {
        fact.call = ana_gpu_call_of(c, &gpu->wait[gpu->meet[0].first]);
        fact.comm = gpu->meet[0].comm;
    }
    say(c, fact, ANA_SAY_DEVICE_NO_ANSWER_NEXT);
    ana_case_fact(c, (struct ana_fact){ANA_SAY_DEVICE_QUERY, .time = lasted});
    return true;
}

bool ana_gpu_anybody_waits(struct ana_case *c)
{
    struct ana_gpu gpu;
    bool found = false;
    if (ana_gpu_gather(c, &gpu))
        for (size_t i = 0; i < gpu.waits && !found; i++)
            found = !c->gone[gpu.wait[i].index] && gpu.wait[i].lasted_ns >= c->rules.proof_ns;
    ana_gpu_free(&gpu);
    return found;
}

bool ana_find_gpu(struct ana_case *c)
{
    struct ana_gpu gpu;
    bool any = ana_gpu_gather(c, &gpu);
    bool found = gpu.room && find_error(c, &gpu, any);
    found = found || (any && (ana_gpu_mismatch(c, &gpu) || find_order(c, &gpu)));
    /* Only the last meet in a chain of waits tells why. */
    for (size_t i = 0; any && i < gpu.meets && !found; i++)
        if (gpu.meet[i].leads_to == SIZE_MAX && gpu.meet[i].lasted_ns >= c->rules.proof_ns)
            found = find_missing(c, &gpu, &gpu.meet[i]);
    for (size_t i = gpu.collectives; any && i < gpu.waits && !found; i++)
        found = find_message(c, &gpu, &gpu.wait[i]);
    found = found || (any && find_driver(c, &gpu));
    for (size_t i = 0; any && i < gpu.meets && !found; i++)
        if (gpu.meet[i].leads_to == SIZE_MAX && gpu.meet[i].lasted_ns >= c->rules.proof_ns)
            found = find_blocked(c, &gpu, &gpu.meet[i]) || find_inside(c, &gpu, &gpu.meet[i]);
    ana_gpu_free(&gpu);
    return found;
}
