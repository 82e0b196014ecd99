/* Waiting operations: where each thread is, from the live pages. */
#include "trace/util/grow.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

#define SPIN_NS   INT64_C(100000000) /* longest mean time from access to access of a loop that polls a window */
#define POLLED_NS 1000000000         /* a thread whose last poll is not older than this at the end of its file polls */

static enum ana_waiting_kind kind_of(const struct trc_sig *sig, const struct trc_call *call,
                                     const struct trc_comm *comm)
{
    bool collective = sig->flags & TRC_SIG_COLL && !(sig->flags & (TRC_SIG_START | TRC_SIG_ENQUEUE)) && comm;
    bool is_probe = trc_opclass_is_probe(call->opclass); /* MPI_Probe waits, MPI_Iprobe asks */
    if (trc_opclass_is(call->opclass, TRC_FACT_POLLS) && (!is_probe || strncmp(call->name, "MPI_I", 5) == 0))
        return ANA_WAITING_POLL;
    if (call->opclass == TRC_OP_FINALIZE)
        return ANA_WAITING_FINALIZE;
    if (ana_waits_for_partners(call))
        return ANA_WAITING_MESSAGES;
    return collective ? ANA_WAITING_COLLECTIVE : ANA_WAITING_OTHER;
}

/* Whether a thread makes call after call: between two samples, or until just before the end of its file. */
static bool makes_calls(const struct ana_case *c, size_t index, const struct trc_thread *thread)
{
    const struct ana_process *p = &c->members->process[index];
    if (p->alive && c->samples->taken >= 2)
        return c->samples->seen[1][index].calls != c->samples->seen[0][index].calls;
    return p->rank.end_ns - ana_time_within(ana_clock_job_time(c->members->clock, index, thread->last_end)) < POLLED_NS;
}

/* Whether a thread polls, or has waited in a call for so long that other ranks' activity meanwhile is worth a look. */
static bool somebody_waits_long(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->members->process[i].rank;
        const struct trc_sig *last = r->inside ? NULL : ana_last_call(r->file, NULL);
        if (r->inside ? r->inside_ns >= c->rules.hang_ns : last && last->flags & TRC_SIG_POLL)
            return true;
    }
    return false;
}

/* The thread of a rank that makes call after call and has completed nothing by them for long; SIZE_MAX: none. */
static size_t spinning_thread(struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->members->process[index];
    const struct trc_file *file = p->rank.file;
    uint32_t t = 0;
    const struct trc_sig *last = c->rank[index].gone || ana_case_ended(c, index) ? NULL : ana_last_call(file, &t);
    bool polls = last && last->flags & TRC_SIG_POLL; /* the target of its poll is known */
    if (!last || polls || !ana_case_events_known(c, index) || !ana_may_be_vain(trc_call(file, last->call)->opclass) ||
        (p->alive && c->samples->taken < 2) || !makes_calls(c, index, trc_thread(file, t)))
        return SIZE_MAX;
    const struct ana_last_events *e = ana_case_last_events(c, index);
    const int64_t since = e->effect_ns == INT64_MIN ? p->rank.begin_ns : e->effect_ns;
    const int64_t known = e->progress_ns[t] > since ? e->progress_ns[t] - since : 0; /* the file may lack last calls */
    bool works =
        trc_opclass_is_one_sided(trc_call(file, last->call)->opclass) && e->vain && known / SPIN_NS >= (int64_t)e->vain;
    return ana_case_end(c, index) - since >= c->rules.hang_ns && !works ? t : SIZE_MAX;
}

static void set_spinning(struct ana_case *c, struct ana_waiting *p)
{
    const struct ana_last_events *last_events = ana_case_last_events(c, p->index);
    const struct ana_rank *r = &c->members->process[p->index].rank;
    c->rank[p->index].moved = 0;
    p->since_ns = last_events->effect_ns == INT64_MIN ? r->begin_ns : last_events->effect_ns;
    p->lasted_ns = ana_case_end(c, p->index) - p->since_ns;
    p->spins = p->blocked = true;
    p->vain = last_events->vain;
}

static bool add_waiting(struct ana_case *c, size_t index, uint32_t thread, const struct trc_sig *sig, bool inside)
{
    const struct ana_rank *r = &c->members->process[index].rank;
    const struct trc_thread *t = trc_thread(r->file, thread);
    if (!ana_grow(&c->waiting, c->waiting_count, &c->waiting_room, sizeof *c->waiting))
        return false;
    struct ana_waiting *p = &c->waiting[c->waiting_count++];
    *p = (struct ana_waiting){.index = index, .thread = thread, .sig = sig, .group = ANA_NO_GROUP};
    p->call = trc_call(r->file, sig->call);
    p->comm = trc_comm(r->file, sig->comm);
    p->identity = ana_comm_identity(c->job, index, p->comm);
    p->nested = inside ? trc_live_nested(r->file, thread) : NULL;
    p->kind = inside ? kind_of(sig, p->call, p->comm) : ANA_WAITING_POLL;
    p->sequence = t->inside_sequence;
    p->since_ns = ana_time_within(ana_clock_job_time(c->members->clock, index, inside ? t->inside_since : t->last_end));
    bool waits = !inside || trc_opclass_is(p->call->opclass, TRC_FACT_WAITS) || p->kind != ANA_WAITING_OTHER;
    if (p->kind == ANA_WAITING_POLL) { /* a thread seen inside such a call may be in and out of it */
        /* Only the events tell since when it polls in vain.  They are not read of ranks that move, or before that can
         * be seen. */
        bool ask = !c->rank[index].moved && (!c->members->process[index].alive || (c->samples->taken >= 2));
        ask &= ana_case_events_known(c, index);
        int64_t progress = ask ? ana_case_last_events(c, index)->progress_ns[thread] : r->end_ns;
        p->since_ns = progress != INT64_MIN ? progress : r->begin_ns;
    }
    int64_t end = ana_case_end(c, index);
    p->lasted_ns = end > p->since_ns ? end - p->since_ns : 0;
    p->blocked = waits && !c->rank[index].gone && !c->rank[index].moved && p->lasted_ns >= c->rules.proof_ns;
    return true;
}

/* Marks ranks in a collective whose number may differ between ranks: conclusions from them are no proof. */
static bool doubt_orders(struct ana_case *c)
{
    struct ana_map doubtful;
    bool done = true;
    ana_map_init(&doubtful, 1);
    for (size_t i = 0; i < c->waiting_count; i++)
        if (trc_order_in_doubt(c->waiting[i].comm, c->waiting[i].sequence))
            done &= ana_map_add(&doubtful, c->waiting[i].identity, 0, 0) != NULL;
    for (size_t i = 0; i < c->waiting_count && doubtful.count; i++)
        if (c->waiting[i].comm && ana_map_find(&doubtful, c->waiting[i].identity, 0, 0))
            c->rank[c->waiting[i].index].sure = 0;
    ana_map_free(&doubtful);
    return done;
}

/* A host in no other call waits for the operations under way on its device, as far as is known. */
static bool wait_for_device(struct ana_case *c, size_t index)
{
    struct ana_waiting device;
    size_t first = c->first_waiting[index];
    if (ana_case_ended(c, index) || !ana_gpu_waiting(c, index, &device))
        return true;
    for (size_t i = first; i < c->waiting_count; i++)
        if (c->waiting[i].kind == ANA_WAITING_OTHER &&
            trc_opclass_category(c->waiting[i].call->opclass) == TRC_CAT_NCCL)
            c->waiting[i].kind = ANA_WAITING_DEVICE;
    if (c->waiting_count > first)
        return true;
    if (!ana_grow(&c->waiting, c->waiting_count, &c->waiting_room, sizeof *c->waiting))
        return false;
    c->waiting[c->waiting_count++] = device;
    return true;
}

bool ana_case_waiting(struct ana_case *c)
{
    bool long_wait = somebody_waits_long(c);
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->members->process[i].rank;
        c->first_waiting[i] = c->waiting_count;
        size_t threads = 0, spinning = long_wait ? spinning_thread(c, i) : SIZE_MAX;
        for (uint32_t t = 0; t < trc_threads(r->file) && !ana_case_ended(c, i) && !r->off; t++) {
            const struct trc_thread *thread = trc_thread(r->file, t);
            const struct trc_sig *inside = t == spinning ? NULL : trc_live_sig(r->file, t, thread->inside);
            const struct trc_sig *last = trc_live_sig(r->file, t, thread->last);
            threads += thread->tid != 0;
            if (t == spinning) {
                if (!add_waiting(c, i, t, last, false))
                    return false;
                set_spinning(c, &c->waiting[c->waiting_count - 1]);
                continue;
            }
            bool polls = last && last->flags & TRC_SIG_POLL && makes_calls(c, i, thread);
            if ((inside || polls) && !add_waiting(c, i, t, inside ? inside : last, inside != NULL))
                return false;
        }
        c->rank[i].sure = r->counted && !r->off && c->waiting_count - c->first_waiting[i] >= threads;
        if (!wait_for_device(c, i))
            return false;
    }
    c->first_waiting[c->count] = c->waiting_count;
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        struct ana_standing *rank = &c->rank[p->index];
        rank->waits |= (uint8_t)(1u << p->kind);
        rank->blocked |= (uint8_t)(p->blocked << p->kind);
    }
    return doubt_orders(c);
}
