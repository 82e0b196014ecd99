/* Waiting operations: where each thread is, from the live pages, and what it depends on. */
#include "trace/util/grow.h"
#include "trace/verdict/epochs.h"
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

/* What it depends on is not known, or it depends on nobody. */
static void drop_dependencies(struct ana_case *c, struct ana_waiting *p)
{
    c->dependencies = p->first_dependency;
    p->dependencies = 0;
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

static bool overlap(const struct ana_held_lock *a, const struct ana_held_lock *b)
{
    return a->identity == b->identity &&
           (a->target == b->target || a->target == TRC_PEER_NONE || b->target == TRC_PEER_NONE);
}

/* The lock of an RMA window that a thread is inside a call for.  Some MPIs ask for it only in calls that need it.  *own:
 * which of the rank's locks that is; SIZE_MAX: none of them yet. */
static bool asked_lock(struct ana_case *c, const struct ana_waiting *p, struct ana_held_lock *out, size_t *own)
{
    const struct ana_last_events *mine = ana_case_last_events(c, p->index);
    bool all = strcmp(p->call->name, "MPI_Win_lock_all") == 0;
    *own = SIZE_MAX;
    if (!p->comm)
        return false;
    *out = (struct ana_held_lock){p->comm->def.identity, p->sig->peer, all || p->sig->flags & TRC_SIG_SHARED};
    if (all || strcmp(p->call->name, "MPI_Win_lock") == 0)
        return all || out->target >= 0;
    for (size_t k = 0; k < mine->locks && *own == SIZE_MAX; k++)
        if (mine->lock[k].identity == out->identity &&
            (mine->lock[k].target == out->target || mine->lock[k].target == TRC_PEER_NONE)) {
            out->shared = mine->lock[k].shared;
            *own = k;
        }
    return *own != SIZE_MAX;
}

static void add_lock(struct ana_case *c, struct ana_waiting *p, int32_t holder, int32_t target, bool shared)
{
    struct trc_sig sig = *p->sig;
    sig.peer = holder;
    add_dependency(c, p, ANA_DEPENDENCY_LOCK, &sig, 0, p->since_ns);
    if (!c->memory) {
        c->dependency[c->dependencies - 1].target = target;
        c->dependency[c->dependencies - 1].shared = shared;
    }
}

/* Depends on the ranks that hold a lock of this window in the way of the one that is asked for.  A rank may not have two
 * itself. */
static void add_locks(struct ana_case *c, struct ana_waiting *p)
{
    enum { HOLDERS_MAX = 64 }; /* of so many one will get on */
    struct ana_held_lock asked;
    size_t own;
    bool asks = asked_lock(c, p, &asked, &own);
    for (size_t i = 0; asks && i < c->count; i++) {
        const struct ana_rank *other = &c->job->process[i].rank;
        bool same_world = other->world == c->job->process[p->index].rank.world;
        const struct ana_last_events *last_events = same_world ? ana_case_last_events(c, i) : NULL;
        for (size_t k = 0; last_events && k < last_events->locks; k++) {
            const struct ana_held_lock *held = &last_events->lock[k];
            bool in_the_way = i == p->index ? k != own : !(asked.shared && held->shared);
            if (in_the_way && overlap(&asked, held))
                add_lock(c, p, other->rank, asked.target >= 0 ? asked.target : held->target, held->shared);
        }
        if (p->dependencies > HOLDERS_MAX) {
            drop_dependencies(c, p);
            return;
        }
    }
}

/* Depends on those whose part of its epoch is lacking.  False: it is in no epoch with a group. */
static bool add_epoch(struct ana_case *c, struct ana_waiting *p)
{
    enum { LACKING_MOST = 64 };
    int32_t lacking[LACKING_MOST];
    size_t n;
    bool in_epoch = ana_epoch_dependencies(c, p, lacking, LACKING_MOST, &n);
    for (size_t i = 0; in_epoch && i < n; i++) {
        struct trc_sig other = *p->sig;
        other.peer = lacking[i];
        add_dependency(c, p, ANA_DEPENDENCY_EPOCH, &other, 0, p->since_ns);
        if (!c->memory)
            c->dependency[c->dependencies - 1].completes = ana_epoch_call_of(p->call) == ANA_EPOCH_WAIT;
    }
    return in_epoch;
}

/* Adds the requests that it waits for: a wait for one request records its partner; else it may be any open one. */
static void add_requests(struct ana_case *c, struct ana_waiting *p)
{
    struct ana_last_events *last_events = ana_case_last_events(c, p->index);
    const struct trc_sig *sig = p->sig;
    bool one = p->call->opclass == TRC_OP_WAIT && sig->comm != 0;
    for (size_t i = 0; i < last_events->opens; i++) {
        const struct ana_open_request *r = &last_events->open[i];
        if (!(one ? ana_same_partner(&r->sig, sig) : r->thread == p->thread))
            continue;
        if (r->cancelling && (one || p->any)) {
            drop_dependencies(c, p);
            return;
        }
        if (!r->cancelling)
            add_request(c, p, r);
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
    bool one_sided = trc_opclass_is_one_sided(p->call->opclass) && !p->spins;
    if (one_sided && add_epoch(c, p)) {
        p->any = false;
    } else if (p->kind == ANA_WAITING_POLL && trc_opclass_is_probe(p->call->opclass)) {
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, sig, 0, p->since_ns);
    } else if (p->kind == ANA_WAITING_POLL || p->call->opclass == TRC_OP_WAIT) {
        /* Of several requests, MPI_Waitall and MPI_Testall need all. */
        bool all = strstr(p->call->name, "all");
        p->any = (p->kind == ANA_WAITING_POLL && !all) || strstr(p->call->name, "any") || strstr(p->call->name, "some");
        add_requests(c, p);
    } else if (one_sided) {
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
