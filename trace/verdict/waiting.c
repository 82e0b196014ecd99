/* Waiting operations: where each thread is, from the live pages, and what it depends on. */
#include "trace/util/grow.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

#define POLLED_NS 1000000000 /* a thread whose last poll is not older than this at the end of its file polls */

static enum ana_waiting_kind kind_of(const struct trc_sig *sig, const struct trc_call *call,
                                     const struct trc_comm *comm)
{
    bool collective = sig->flags & TRC_SIG_COLL && !(sig->flags & (TRC_SIG_START | TRC_SIG_ENQUEUE)) && comm;
    if (trc_opclass_is(call->opclass, TRC_FACT_PARTNER))
        return ANA_WAITING_MESSAGES;
    if (trc_opclass_is(call->opclass, TRC_FACT_POLLS))
        return ANA_WAITING_POLL;
    if (call->opclass == TRC_OP_FINALIZE)
        return ANA_WAITING_FINALIZE;
    return collective ? ANA_WAITING_COLLECTIVE : ANA_WAITING_OTHER;
}

/* Whether a thread makes call after call: between two samples, or until just before the end of its file. */
static bool makes_calls(const struct ana_case *c, size_t index, const struct trc_thread *thread)
{
    const struct ana_process *p = &c->job->process[index];
    if (p->alive && c->samples->taken >= 2)
        return c->samples->seen[1][index].calls != c->samples->seen[0][index].calls;
    return p->rank.end_ns - ana_time_within(ana_clock_job_time(c->job->clock, index, thread->last_end)) < POLLED_NS;
}

/* Whether somebody polls, or has waited in a call for so long that what others do meanwhile is worth a look. */
static bool somebody_waits_long(const struct ana_case *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct ana_rank *r = &c->job->process[i].rank;
        const struct trc_sig *last = r->inside ? NULL : ana_last_call(r->file, NULL);
        if (r->inside ? r->inside_ns >= c->rules.hang_ns : last && last->flags & TRC_SIG_POLL)
            return true;
    }
    return false;
}

/* The thread of a rank that makes call after call and has completed nothing by them for long; SIZE_MAX: none. */
static size_t spinning_thread(struct ana_case *c, size_t index)
{
    const struct ana_process *p = &c->job->process[index];
    const struct trc_file *file = p->rank.file;
    uint32_t t = 0;
    const struct trc_sig *last = c->gone[index] || ana_case_ended(c, index) ? NULL : ana_last_call(file, &t);
    bool polls = last && last->flags & TRC_SIG_POLL; /* what it polls for is known */
    if (!last || polls || !ana_case_events_known(c, index) || !ana_may_be_vain(trc_call(file, last->call)->opclass) ||
        (p->alive && c->samples->taken < 2) || !makes_calls(c, index, trc_thread(file, t)))
        return SIZE_MAX;
    int64_t effect_ns = ana_case_last_events(c, index)->effect_ns;
    int64_t since = effect_ns == INT64_MIN ? p->rank.begin_ns : effect_ns;
    return ana_case_end(c, index) - since >= c->rules.hang_ns ? t : SIZE_MAX;
}

static void set_spinning(struct ana_case *c, struct ana_waiting *p)
{
    const struct ana_last_events *last_events = ana_case_last_events(c, p->index);
    const struct ana_rank *r = &c->job->process[p->index].rank;
    c->moved[p->index] = 0;
    p->since_ns = last_events->effect_ns == INT64_MIN ? r->begin_ns : last_events->effect_ns;
    p->lasted_ns = ana_case_end(c, p->index) - p->since_ns;
    p->spins = p->blocked = true;
    p->vain = last_events->vain;
}

/* Whether who is seen inside this call may be in and out of it: MPI_Test, MPI_Iprobe and the like. */
static bool returns_at_once(const struct trc_call *call)
{
    bool probe = trc_opclass_is_probe(call->opclass) && strncmp(call->name, "MPI_I", 5) == 0;
    return probe || call->opclass == TRC_OP_TEST;
}

static bool add_waiting(struct ana_case *c, size_t index, uint32_t thread, const struct trc_sig *sig, bool inside)
{
    const struct ana_rank *r = &c->job->process[index].rank;
    const struct trc_thread *t = trc_thread(r->file, thread);
    if (!ana_grow(&c->waiting, c->waiting_count, &c->waiting_room, sizeof *c->waiting))
        return false;
    struct ana_waiting *p = &c->waiting[c->waiting_count++];
    *p = (struct ana_waiting){.index = index, .thread = thread, .sig = sig, .group = ANA_NO_GROUP};
    p->call = trc_call(r->file, sig->call);
    p->comm = trc_comm(r->file, sig->comm);
    p->identity = ana_comm_identity(c->job, index, p->comm);
    p->kind = inside ? kind_of(sig, p->call, p->comm) : ANA_WAITING_POLL;
    p->sequence = t->inside_sequence;
    p->since_ns = ana_time_within(ana_clock_job_time(c->job->clock, index, inside ? t->inside_since : t->last_end));
    bool waits = !inside || trc_opclass_is(p->call->opclass, TRC_FACT_WAITS) || p->kind != ANA_WAITING_OTHER;
    bool test = p->kind == ANA_WAITING_POLL && (!inside || returns_at_once(p->call));
    if (test || (p->kind == ANA_WAITING_POLL && sig->flags & TRC_SIG_POLL)) {
        /* Only the events tell since when it polls in vain.  They are not read of ranks that move, or before that can
         * be seen. */
        bool ask = !c->moved[index] && (!c->job->process[index].alive || (c->samples->taken >= 2));
        ask &= ana_case_events_known(c, index);
        int64_t progress = ask ? ana_case_last_events(c, index)->progress_ns[thread] : r->end_ns;
        p->since_ns = progress != INT64_MIN ? progress : r->begin_ns;
    }
    int64_t end = ana_case_end(c, index);
    p->lasted_ns = end > p->since_ns ? end - p->since_ns : 0;
    p->blocked = waits && !c->gone[index] && !c->moved[index] && p->lasted_ns >= c->rules.proof_ns;
    return true;
}

/* Marks ranks in a collective whose number may differ between ranks: what follows from them is no proof. */
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
            c->sure[c->waiting[i].index] = 0;
    ana_map_free(&doubtful);
    return done;
}

/* A host in no other call waits for what is under way on its device, as far as is known. */
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
        const struct ana_rank *r = &c->job->process[i].rank;
        c->first_waiting[i] = c->waiting_count;
        size_t threads = 0, spinning = long_wait ? spinning_thread(c, i) : SIZE_MAX;
        for (uint32_t t = 0; t < trc_threads(r->file) && !ana_case_ended(c, i); t++) {
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
        c->sure[i] = r->counted && c->waiting_count - c->first_waiting[i] >= threads;
        if (!wait_for_device(c, i))
            return false;
    }
    c->first_waiting[c->count] = c->waiting_count;
    return doubt_orders(c);
}

/* ---- dependencies ----------------------------------------------------------------------------------------------- */

static void add_dependency(struct ana_case *c, struct ana_waiting *p, enum ana_dependency_kind kind,
                           const struct trc_sig *sig, uint64_t sequence, int64_t begin_ns)
{
    if (!ana_grow(&c->dependency, c->dependencies, &c->dependency_room, sizeof *c->dependency)) {
        c->memory = true;
        return;
    }
    bool in = kind == ANA_DEPENDENCY_MESSAGE;
    const struct trc_comm *comm = trc_comm(c->job->process[p->index].rank.file, sig->comm);
    c->dependency[c->dependencies++] = (struct ana_dependency){.kind = kind,
                                                               .index = p->index,
                                                               .peer = in ? sig->source : sig->peer,
                                                               .tag = in ? sig->rtag : sig->tag,
                                                               .identity = ana_comm_identity(c->job, p->index, comm),
                                                               .sequence = sequence,
                                                               .bytes = in ? sig->received : sig->sent,
                                                               .comm = comm,
                                                               .begin_ns = begin_ns,
                                                               .met = -1,
                                                               .near_tag = TRC_TAG_NONE};
    p->dependencies++;
}

static void add_request(struct ana_case *c, struct ana_waiting *p, const struct ana_open_request *r)
{
    uint32_t flags = r->sig.flags;
    if (flags & TRC_SIG_P2P_OUT)
        add_dependency(c, p, ANA_DEPENDENCY_RECEIVER, &r->sig, 0, r->begin_ns);
    if (flags & TRC_SIG_P2P_OUT && !c->memory)
        c->dependency[c->dependencies - 1].started = true;
    if (flags & TRC_SIG_P2P_IN && r->call->opclass != TRC_OP_MPROBE)
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, &r->sig, 0, r->begin_ns);
    if (flags & TRC_SIG_COLL) {
        add_dependency(c, p, ANA_DEPENDENCY_COLLECTIVE, &r->sig, r->sequence, r->begin_ns);
        if (!c->memory)
            c->dependency[c->dependencies - 1].request = r;
    }
}

/* Depends on the ranks that hold a lock of this RMA window at the same target, unless both share it.  MPI_Win_lock_all
 * shares. */
static void add_locks(struct ana_case *c, struct ana_waiting *p)
{
    enum { HOLDERS_MAX = 64 }; /* of so many one will get on */
    int32_t target = p->sig->peer;
    const struct ana_rank *me = &c->job->process[p->index].rank;
    if (!p->comm || target < 0)
        return;
    bool asks = strcmp(p->call->name, "MPI_Win_lock") == 0, shared = asks && p->sig->flags & TRC_SIG_SHARED;
    const struct ana_last_events *mine = ana_case_last_events(c, p->index);
    for (size_t k = 0; k < mine->locks && !asks; k++)
        if (mine->lock[k].identity == p->comm->def.identity && mine->lock[k].target == target) {
            asks = true; /* some MPIs ask for it only now */
            shared = mine->lock[k].shared;
        }
    for (size_t i = 0; asks && i < c->count; i++) {
        const struct ana_rank *other = &c->job->process[i].rank;
        const struct ana_last_events *last_events =
            i == p->index || other->world != me->world ? NULL : ana_case_last_events(c, i);
        for (size_t k = 0; last_events && k < last_events->locks; k++)
            if (last_events->lock[k].identity == p->comm->def.identity && last_events->lock[k].target == target &&
                !(shared && last_events->lock[k].shared)) {
                struct trc_sig holder = *p->sig;
                holder.peer = other->rank;
                add_dependency(c, p, ANA_DEPENDENCY_LOCK, &holder, 0, p->since_ns);
                if (!c->memory) {
                    c->dependency[c->dependencies - 1].target = target;
                    c->dependency[c->dependencies - 1].shared = last_events->lock[k].shared;
                }
            }
        if (p->dependencies > HOLDERS_MAX) {
            c->dependencies = p->first_dependency;
            p->dependencies = 0;
            return;
        }
    }
}

/* Adds the requests that it waits for: a wait for one request records its partner; else it may be any open one. */
static void add_requests(struct ana_case *c, struct ana_waiting *p)
{
    struct ana_last_events *last_events = ana_case_last_events(c, p->index);
    const struct trc_sig *sig = p->sig;
    bool one = p->call->opclass == TRC_OP_WAIT && sig->comm != 0;
    for (size_t i = 0; i < last_events->opens; i++) {
        const struct ana_open_request *r = &last_events->open[i];
        bool same = r->sig.comm == sig->comm && r->sig.peer == sig->peer && r->sig.tag == sig->tag &&
                    r->sig.source == sig->source && r->sig.rtag == sig->rtag;
        if (r->cancelled == ANA_CANCELLED || !(one ? same : r->thread == p->thread))
            continue;
        add_request(c, p, r);
        c->sure[p->index] &= r->cancelled == ANA_NOT_CANCELLED;
        if (one && p->dependencies)
            return;
    }
    /* Its start is no longer in the file, but the live page tells enough. */
    if (one && sig->rtag != TRC_TAG_NONE)
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, sig, 0, p->since_ns);
    else if (one && sig->tag != TRC_TAG_NONE)
        add_dependency(c, p, ANA_DEPENDENCY_RECEIVER, sig, 0, p->since_ns);
}

void ana_waiting_dependencies(struct ana_case *c, struct ana_waiting *p)
{
    if (p->tested)
        return;
    p->tested = true;
    p->first_dependency = (uint32_t)c->dependencies;
    const struct trc_sig *sig = p->sig;
    if (p->kind == ANA_WAITING_POLL && trc_opclass_is_probe(p->call->opclass)) {
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, sig, 0, p->since_ns);
    } else if (p->kind == ANA_WAITING_POLL || p->call->opclass == TRC_OP_WAIT) {
        add_requests(c, p);
        /* Of several requests, MPI_Waitall and MPI_Testall need all. */
        bool all = strstr(p->call->name, "all");
        p->any = (p->kind == ANA_WAITING_POLL && !all) || strstr(p->call->name, "any") || strstr(p->call->name, "some");
    } else if (trc_opclass_is_one_sided(p->call->opclass)) {
        add_locks(c, p);
        p->any = true; /* who of them has it, and who waits for it as well, is not known */
    } else if (p->kind == ANA_WAITING_MESSAGES) {
        if (sig->flags & TRC_SIG_P2P_OUT)
            add_dependency(c, p, ANA_DEPENDENCY_RECEIVER, sig, 0, p->since_ns);
        if (sig->flags & TRC_SIG_P2P_OUT && sig->flags & TRC_SIG_P2P_IN && !c->memory)
            c->dependency[c->dependencies - 1].half = true;
        if (sig->flags & TRC_SIG_P2P_IN)
            add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, sig, 0, p->since_ns);
    }
}
