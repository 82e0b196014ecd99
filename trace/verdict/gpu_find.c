/* Hangs of device operations: one question after the other, the most certain first. */
#include "trace/verdict/gpu.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *op_name(const struct ana_case *c, const struct ana_gpu_wait *w)
{
    return trc_call(c->job->process[w->index].rank.file, w->op->call)->name;
}

/* "ncclAllReduce on nccl 5a3c99f0". */
static void meet_words(const struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, char *out,
                       size_t size)
{
    char comm[128];
    ana_comm_words(c->job, m->comm, comm, sizeof comm);
    snprintf(out, size, "%s on %s", op_name(c, &gpu->wait[m->first]), comm);
}

/* Writes what holds up one rank that is not in NCCL: "; it is in MPI_Recv from rank 0". */
static void elsewhere_words(struct ana_case *c, const size_t *index, size_t n, char *out, size_t size)
{
    const struct ana_waiting *waiting = n == 1 ? ana_rank_waiting(c, index[0]) : NULL;
    char call[200];
    *out = 0;
    if (!waiting)
        return;
    ana_waiting_words(c, waiting, call, sizeof call);
    snprintf(out, size, "; it is in %s", call);
}

static void add_meet_evidence(struct ana_case *c, const struct ana_gpu_meet *m)
{
    ana_case_evidence(c, "it is collective %llu on that communicator; the last to come came %.1f s ago",
                      (unsigned long long)m->sequence + 1, (double)m->lasted_ns / 1e9);
}

static void give_up(struct ana_case *c)
{
    c->out->culprits = 0;
}

/* ---- errors ----------------------------------------------------------------------------------------------------- */

/* NCCL or the driver said that something is wrong, and operations hang, or the job is over without having finished. */
static bool find_error(struct ana_case *c, const struct ana_gpu *gpu, bool waits)
{
    int64_t lasted = INT64_MAX;
    size_t first = SIZE_MAX, dead = 0;
    char what[160] = "";
    for (size_t i = 0; waits && i < gpu->waits; i++)
        lasted = gpu->wait[i].lasted_ns < lasted ? gpu->wait[i].lasted_ns : lasted;
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->job->process[i].rank;
        const struct trc_gpu_head *head = trc_gpu(r->file);
        dead += r->state == ANA_RANK_DEAD || r->state == ANA_RANK_ABORTED;
        bool found = head && head->watch == TRC_GPU_WATCH_STOPPED && head->error;
        if (found && first == SIZE_MAX)
            snprintf(what, sizeof what, "the CUDA driver reports error %d", head->error);
        for (size_t k = trc_gpu_ops(r->file); k-- > 0 && !found;) {
            const struct trc_gpu_op *op = trc_gpu_op(r->file, k);
            const struct trc_comm *comm = trc_comm(r->file, op->comm);
            char name[128];
            found = op->flags & TRC_GPU_ASYNC_ERROR;
            if (!found || first != SIZE_MAX)
                continue;
            ana_comm_words(c->job, comm, name, sizeof name);
            snprintf(what, sizeof what, "NCCL reports %s on %s", trc_gpu_result_name(op->result), name);
        }
        if (found) {
            ana_case_blame(c, i);
            first = first == SIZE_MAX ? i : first;
        }
    }
    bool stuck =
        first != SIZE_MAX && waits && lasted != INT64_MAX && ana_case_settle(c, ANA_CLASS_DEVICE, ANA_PROVEN, lasted);
    if (!stuck && (first == SIZE_MAX || c->live || !dead)) {
        give_up(c);
        return false;
    }
    if (!stuck) {
        c->out->state = ANA_VERDICT_ABORTED;
        c->out->id = ANA_CLASS_DEVICE;
        c->out->confidence = ANA_LIKELY;
    }
    char who[128], at[200] = "";
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (stuck && gpu->meets)
        meet_words(c, gpu, &gpu->meet[0], at, sizeof at);
    ana_case_say(c, "%s to %s%s%s%s", what, who, *at ? ", and " : "", at, *at ? " does not end" : "");
    ana_case_next(
        c, "the standard error of these ranks with NCCL_DEBUG=WARN, and `dmesg` of their nodes for Xid messages");
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

static bool find_order(struct ana_case *c, const struct ana_gpu *gpu)
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
        for (size_t i = m->first; i < m->first + m->count; i++)
            ana_case_blame(c, gpu->wait[i].index);
        at = m->leads_to;
    } while (at != first);
    if (!ana_case_settle(c, ANA_CLASS_CYCLE, sure ? ANA_PROVEN : ANA_LIKELY, lasted)) {
        give_up(c);
        return false;
    }
    const struct ana_gpu_meet *m = &gpu->meet[first], *other = &gpu->meet[m->leads_to];
    char a[200], b[200], who[128];
    meet_words(c, gpu, m, a, sizeof a);
    meet_words(c, gpu, other, b, sizeof b);
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    ana_case_say(c, "%s came to %s and %s in different orders, and each waits for the others", who, a, b);
    for (at = first; c->out->facts < 4;) {
        m = &gpu->meet[at];
        size_t running[8], n = 0;
        for (size_t i = m->first; i < m->first + m->count && n < 8; i++)
            if (gpu->wait[i].op->state == TRC_GPU_STARTED || m->missing_count)
                running[n++] = gpu->wait[i].index;
        meet_words(c, gpu, m, a, sizeof a);
        ana_rank_list(c->job, running, n, who, sizeof who);
        if (n)
            ana_case_evidence(c, "%s %s in %s", who, n == 1 ? "is" : "are", a);
        at = m->leads_to;
        if (at == first)
            break;
    }
    ana_case_next(
        c, "the order in which the program calls NCCL on these communicators: it must be the same on all ranks, or on "
           "streams of their own that nothing else orders");
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

static bool say_both(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m, const char *where)
{
    bool few = m->count <= m->missing_count, many = m->count >= m->missing_count;
    for (size_t i = m->first; i < m->first + m->count && few; i++)
        ana_case_blame(c, gpu->wait[i].index);
    for (size_t i = 0; i < m->missing_count && many; i++)
        ana_case_blame(c, m->missing[i]);
    if (!ana_case_settle(c, ANA_CLASS_CYCLE, ANA_LIKELY, m->lasted_ns)) {
        give_up(c);
        return false;
    }
    size_t waiting[64], n = 0;
    char missing[128], who[128], call[200];
    for (size_t i = m->first; i < m->first + m->count && n < 64; i++)
        waiting[n++] = gpu->wait[i].index;
    ana_rank_list(c->job, m->missing, m->missing_count, missing, sizeof missing);
    ana_rank_list(c->job, waiting, n, who, sizeof who);
    ana_waiting_words(c, ana_rank_waiting(c, m->missing[0]), call, sizeof call);
    ana_case_say(c, "%s wait%s in %s for %s, which wait%s in %s for %s", who, n == 1 ? "s" : "", where, missing,
                 m->missing_count == 1 ? "s" : "", call, n == 1 ? "it" : "them");
    ana_case_next(c, "the branch in the program by which these ranks came to different calls");
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

static bool find_missing(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    char where[200], who[128] = "", more[256], result[96] = "";
    if (m->missing_count == 0 && m->nowhere == 0)
        return false;
    meet_words(c, gpu, m, where, sizeof where);
    size_t failed = 0, left = 0, in_mpi = 0;
    for (size_t i = 0; i < m->missing_count; i++) {
        const struct trc_gpu_op *op = ana_gpu_op_of(c, m->missing[i], m->identity, m->sequence);
        const struct ana_waiting *waiting = ana_rank_waiting(c, m->missing[i]);
        const uint8_t *freed = ana_map_find(&gpu->freed, m->identity, m->missing[i], 0);
        failed += op && op->state == TRC_GPU_FAILED;
        left += freed && *freed;
        in_mpi += waiting && waiting->kind != ANA_WAITING_POLL;
        if (op && op->state == TRC_GPU_FAILED && !*result)
            snprintf(result, sizeof result, ": the call returned %s", trc_gpu_result_name(op->result));
        else if (freed && *freed && !*result)
            snprintf(result, sizeof result, ": it has given the communicator up");
    }
    bool never = m->missing_count > 0 && failed + left >= m->missing_count; /* it is known that they will not come */
    if (!never && may_take_long(c, gpu, m))
        return false;
    if (!never && waits_back(c, gpu, m))
        return say_both(c, gpu, m, where);
    for (size_t i = 0; i < m->missing_count; i++)
        ana_case_blame(c, m->missing[i]);
    enum ana_verdict_class id = never && left ? ANA_CLASS_EARLY_EXIT : ANA_CLASS_MISSING;
    /* A rank that spins in MPI computes nothing. */
    bool waits = never || (m->missing_count && in_mpi == m->missing_count);
    if (waits ? !ana_case_settle(c, id, never ? ANA_PROVEN : ANA_LIKELY, m->lasted_ns)
              : !ana_case_settle_by_time(c, id, m->lasted_ns)) {
        give_up(c);
        return false;
    }
    elsewhere_words(c, m->missing, m->missing_count, more, sizeof more);
    if (m->missing_count)
        ana_rank_list(c->job, m->missing, m->missing_count, who, sizeof who);
    else
        snprintf(who, sizeof who, "%zu rank%s without a trace file", m->nowhere, m->nowhere == 1 ? "" : "s");
    ana_case_say(c, "%s %s not come to %s, where %zu of %d wait%s", who,
                 (m->missing_count ? m->missing_count : m->nowhere) == 1 ? "has" : "have", where, m->count,
                 m->comm->def.size, *result ? result : more);
    add_meet_evidence(c, m);
    return true;
}

/* All ranks have come, but on some the stream has not: something before it on the device does not end. */
static bool find_blocked(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t started = 0;
    const struct ana_gpu_wait *behind = NULL;
    if (may_take_long(c, gpu, m))
        return false;
    for (size_t i = m->first; i < m->first + m->count; i++) {
        const struct ana_gpu_wait *w = &gpu->wait[i];
        started += w->op->state == TRC_GPU_STARTED;
        if (w->op->state == TRC_GPU_STARTED || c->moved[w->index])
            continue;
        behind = behind ? behind : w;
        ana_case_blame(c, w->index);
    }
    if (!behind || !ana_case_settle(c, ANA_CLASS_DEVICE, ANA_LIKELY, m->lasted_ns)) {
        give_up(c);
        return false;
    }
    char where[200], who[128];
    meet_words(c, gpu, m, where, sizeof where);
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (behind->op->state == TRC_GPU_CALLED) {
        ana_case_say(c, "all have come to %s, and on %s the call has not put it on the stream", where, who);
    } else {
        ana_case_say(c,
                     "the stream of %s has not come to %s, which %zu of %d have started: work before it does not end",
                     who, where, started, m->comm->def.size);
        ana_case_next(c, "the kernel or copy that was put on stream %#llx of that rank before it",
                      (unsigned long long)behind->op->stream);
    }
    add_meet_evidence(c, m);
    return true;
}

/* All ranks have come, and the operation does not end on some or all. */
static bool find_inside(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_meet *m)
{
    size_t all = (size_t)m->comm->def.size;
    for (size_t i = m->first; i < m->first + m->count; i++) {
        if (c->moved[gpu->wait[i].index] || gpu->wait[i].op->state != TRC_GPU_STARTED)
            return false;
        if (m->count < all)
            ana_case_blame(c, gpu->wait[i].index);
    }
    if (!ana_case_settle(c, ANA_CLASS_INSIDE, ANA_LIKELY, m->lasted_ns)) {
        give_up(c);
        return false;
    }
    char where[200], bytes[ANA_TEXT], who[128];
    meet_words(c, gpu, m, where, sizeof where);
    ana_number(bytes, sizeof bytes, ANA_BYTES, (double)gpu->wait[m->first].op->bytes, false);
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (m->count < all)
        ana_case_say(c, "%s %s not come out of %s (%s), which the others have completed", who,
                     c->out->culprits == 1 ? "has" : "have", where, bytes);
    else
        ana_case_say(c, "all %zu ranks have started %s (%s), and none completes it", all, where, bytes);
    add_meet_evidence(c, m);
    ana_case_next(
        c, "NCCL's transport and the network (NCCL_DEBUG=INFO), and the state of the GPUs: the program's calls fit "
           "together");
    return true;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

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
            strcmp(trc_call(file, op->call)->name, op_name(c, w)) == 0)
            continue;
        if (op->sequence == w->op->sequence)
            return op;
        *past = true;
    }
    return NULL;
}

static bool find_message(struct ana_case *c, const struct ana_gpu *gpu, const struct ana_gpu_wait *w)
{
    size_t partner = ana_gpu_member(c, gpu, w->comm, w->index, w->op->root);
    if (partner == SIZE_MAX || w->lasted_ns < c->rules.proof_ns || c->moved[w->index])
        return false;
    bool past, waits_now = w->op->state == TRC_GPU_STARTED || w->lasted_ns / PATIENCE >= c->rules.hang_ns;
    const struct trc_gpu_op *other = other_end(c, partner, w, &past);
    if (past || (!other && !waits_now))
        return false;
    bool in = strcmp(op_name(c, w), "ncclRecv") == 0;
    bool fits = other && other->bytes == w->op->bytes;
    ana_case_blame(c, w->index);
    ana_case_blame(c, partner);
    const struct ana_waiting *waiting = ana_rank_waiting(c, partner);
    enum ana_verdict_class id = other ? ANA_CLASS_MISMATCHED : ANA_CLASS_UNMATCHED;
    bool waits = other || (waiting && waiting->kind != ANA_WAITING_POLL); /* one that spins in MPI computes nothing */
    if (fits || (waits ? !ana_case_settle(c, id, other ? ANA_PROVEN : ANA_LIKELY, w->lasted_ns)
                       : !ana_case_settle_by_time(c, id, w->lasted_ns))) {
        give_up(c);
        return false;
    }
    char comm[128], more[256];
    ana_comm_words(c->job, w->comm, comm, sizeof comm);
    elsewhere_words(c, &partner, 1, more, sizeof more);
    struct ana_label mine = ana_rank_label(c->job, w->index), its = ana_rank_label(c->job, partner);
    const char *me = mine.text, *it = its.text;
    if (other)
        ana_case_say(c, "rank %s %s %llu bytes, rank %s %s %llu: message %llu between them on %s", me,
                     in ? "receives" : "sends", (unsigned long long)w->op->bytes, it, in ? "sends" : "receives",
                     (unsigned long long)other->bytes, (unsigned long long)w->op->sequence + 1, comm);
    else
        ana_case_say(c, "rank %s waits in %s %s rank %s on %s, which has not called %s%s", me, op_name(c, w),
                     in ? "from" : "to", it, comm, in ? "ncclSend" : "ncclRecv", more);
    return true;
}

/* ---- the driver ------------------------------------------------------------------------------------------------- */

/* The recorder's question to the driver has not returned: what is known of that rank's operations is as old as that. */
static bool find_driver(struct ana_case *c, const struct ana_gpu *gpu)
{
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; i < gpu->waits; i++) {
        size_t index = gpu->wait[i].index;
        const struct ana_rank *r = &c->job->process[index].rank;
        const struct trc_gpu_head *head = trc_gpu(r->file);
        int64_t since = head->inside_since
                            ? ana_time_within(ana_clock_job_time(c->job->clock, index, head->inside_since))
                            : r->end_ns;
        if (c->moved[index] || r->end_ns - since < c->rules.proof_ns)
            continue;
        lasted = r->end_ns - since < lasted ? r->end_ns - since : lasted;
        ana_case_blame(c, index);
    }
    if (c->out->culprits == 0 || !ana_case_settle(c, ANA_CLASS_DEVICE, ANA_LIKELY, lasted)) {
        give_up(c);
        return false;
    }
    char who[128], where[200] = "";
    ana_rank_list(c->job, c->out->culprit, c->out->culprits, who, sizeof who);
    if (gpu->meets)
        meet_words(c, gpu, &gpu->meet[0], where, sizeof where);
    ana_case_say(c, "the CUDA driver of %s does not answer%s%s", who, *where ? "; under way: " : "", where);
    ana_case_evidence(c, "a cuEventQuery of ours has not returned for %.1f s", (double)lasted / 1e9);
    ana_case_next(c, "`nvidia-smi` and `dmesg` on that node: a GPU that fell off, or its driver");
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
    bool found = find_error(c, &gpu, any);
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
