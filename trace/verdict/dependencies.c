/* Dependencies of a waiting operation: the table waits.def, and how each of its needs is found. */
#include "trace/util/grow.h"
#include "trace/verdict/epochs.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define IN_TURNS_NS 1000000000 /* polls of one loop end within this of each other */

/* Returns the new dependency; NULL: out of memory. */
static struct ana_dependency *add_dependency(struct ana_case *c, struct ana_waiting *p, enum ana_dependency_kind kind,
                                             const struct trc_sig *sig, uint64_t sequence, int64_t begin_ns)
{
    if (!ana_grow(&c->dependency, c->dependencies, &c->dependency_room, sizeof *c->dependency)) {
        c->memory = true;
        return NULL;
    }
    bool in = kind == ANA_DEPENDENCY_MESSAGE;
    const struct trc_comm *comm = trc_comm(ana_case_file(c, p->index), sig->comm);
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
    return &c->dependency[c->dependencies - 1];
}

/* Drops the dependencies: they are not known, or the operation depends on nobody. */
static void drop_dependencies(struct ana_case *c, struct ana_waiting *p)
{
    c->dependencies = p->first_dependency;
    p->dependencies = 0;
}

static void add_request(struct ana_case *c, struct ana_waiting *p, const struct ana_open_request *r)
{
    uint32_t flags = r->sig.flags;
    struct ana_dependency *d = NULL;
    if (flags & TRC_SIG_P2P_OUT && (d = add_dependency(c, p, ANA_DEPENDENCY_RECEIVER, &r->sig, 0, r->begin_ns)))
        d->started = true;
    const bool has_come = r->call->opclass == TRC_OP_MPROBE || r->call->opclass == TRC_OP_IMRECV;
    if (flags & TRC_SIG_P2P_IN && !has_come)
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, &r->sig, 0, r->begin_ns);
    if (flags & TRC_SIG_COLL &&
        (d = add_dependency(c, p, ANA_DEPENDENCY_COLLECTIVE, &r->sig, r->sequence, r->begin_ns)))
        d->request = r;
}

static bool overlap(const struct ana_held_lock *a, const struct ana_held_lock *b)
{
    return a->identity == b->identity &&
           (a->target == b->target || a->target == TRC_PEER_NONE || b->target == TRC_PEER_NONE);
}

/* Finds the lock of an RMA window that a thread is inside a call for. Some MPIs ask for it only in calls that need
 * it. *own: index of that lock among the rank's locks; SIZE_MAX: the rank holds none. */
static bool asked_lock(struct ana_case *c, const struct ana_waiting *p, struct ana_held_lock *out, size_t *own)
{
    const struct ana_last_events *mine = ana_case_last_events(c, p->index);
    bool all = strcmp(p->call->name, "MPI_Win_lock_all") == 0;
    *own = SIZE_MAX;
    if (!p->comm)
        return false;
    *out = (struct ana_held_lock){p->comm->def.identity, p->sig->peer, all || p->sig->flags & TRC_SIG_SHARED, 0};
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

static void add_lock(struct ana_case *c, struct ana_waiting *p, int32_t holder, int32_t target,
                     const struct ana_held_lock *held)
{
    struct trc_sig sig = *p->sig;
    sig.peer = holder;
    struct ana_dependency *d = add_dependency(c, p, ANA_DEPENDENCY_LOCK, &sig, 0, p->since_ns);
    if (d) {
        d->target = target;
        d->shared = held->shared;
        d->site = held->site;
    }
}

/* Depends on the ranks that hold a lock of this window in the way of the one that is asked for.  A rank may not have
 * two itself. */
static void add_locks(struct ana_case *c, struct ana_waiting *p)
{
    enum { HOLDERS_MAX = 64 }; /* more holders than this: one will get on */
    struct ana_held_lock asked;
    size_t own;
    bool asks = asked_lock(c, p, &asked, &own);
    for (size_t i = 0; asks && i < c->count; i++) {
        const struct ana_rank *other = &c->members->process[i].rank;
        bool same_world = other->world == c->members->process[p->index].rank.world;
        const struct ana_last_events *last_events = same_world ? ana_case_last_events(c, i) : NULL;
        for (size_t k = 0; last_events && k < last_events->locks; k++) {
            const struct ana_held_lock *held = &last_events->lock[k];
            bool in_the_way = i == p->index ? k != own : !(asked.shared && held->shared);
            if (in_the_way && overlap(&asked, held))
                add_lock(c, p, other->rank, asked.target >= 0 ? asked.target : held->target, held);
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
        struct ana_dependency *d = add_dependency(c, p, ANA_DEPENDENCY_EPOCH, &other, 0, p->since_ns);
        if (d)
            d->completes = ana_epoch_call_of(p->call) == ANA_EPOCH_WAIT;
    }
    return in_epoch;
}

/* Adds the requests that it waits for: a wait for one request records its partner; else it may be any open one. */
static void add_requests(struct ana_case *c, struct ana_waiting *p)
{
    struct ana_last_events *last_events = ana_case_last_events(c, p->index);
    const struct trc_sig *sig = p->sig;
    bool one = p->call->opclass == TRC_OP_WAIT && sig->comm != 0;
    for (size_t i = 0; i < last_events->opens; i++) { /* the newest of equal ones completes last */
        const struct ana_open_request *r = &last_events->open[one ? last_events->opens - 1 - i : i];
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
    /* The start of the request is no longer in the file, but the live page tells enough. */
    if (one && sig->rtag != TRC_TAG_NONE)
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, sig, 0, p->since_ns);
    else if (one && sig->tag != TRC_TAG_NONE)
        add_dependency(c, p, ANA_DEPENDENCY_RECEIVER, sig, 0, p->since_ns);
}

/* Adds the needs of the poll that a loop makes in turns with this one: MPI_Iprobe, and MPI_Test of requests. */
static void add_other_poll(struct ana_case *c, struct ana_waiting *p)
{
    const struct ana_last_events *e = ana_case_last_events(c, p->index);
    const bool probes = trc_opclass_is_probe(p->call->opclass);
    const struct ana_last_poll *own = probes ? &e->probe : &e->test, *other = probes ? &e->test : &e->probe;
    if (!own->sig.flags || !other->sig.flags || own->thread != p->thread || other->thread != p->thread ||
        other->end_ns < own->end_ns - IN_TURNS_NS)
        return;
    p->any = true;
    if (probes)
        add_requests(c, p);
    else
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, &other->sig, 0, p->since_ns);
}

/* ---- needs of a call ------------------------------------------------------------------------------------------ */

enum { RECEIVER = 1, MESSAGE = 2, REQUESTS = 4, EPOCH = 8, LOCK = 16 };
enum { ALL, ANY };
static const struct waits {
    enum trc_opclass opclass;
    const char *call;
    bool any;
    unsigned needs;
} table[] = {
#define WAITS(class, call, how, needs) {TRC_OP_##class, call, how, needs},
#include "trace/verdict/waits.def"
#undef WAITS
};

/* The first row that the call fits; NULL: none. */
static const struct waits *waits_of(const struct trc_call *call)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].opclass == call->opclass && (!*table[i].call || strcmp(table[i].call, call->name) == 0))
            return &table[i];
    return NULL;
}

bool ana_waits_for_partners(const struct trc_call *call)
{
    return waits_of(call) != NULL;
}

void ana_waiting_dependencies(struct ana_case *c, struct ana_waiting *p)
{
    if (p->tested)
        return;
    p->tested = true;
    p->first_dependency = (uint32_t)c->dependencies;
    const struct waits *waits = waits_of(p->call);
    const struct trc_sig *sig = p->sig;
    bool out = sig->flags & TRC_SIG_P2P_OUT, in = sig->flags & TRC_SIG_P2P_IN || trc_opclass_is_probe(p->call->opclass);
    bool unknown = p->spins && trc_opclass_is_one_sided(p->call->opclass);
    unsigned needs = waits && !unknown ? waits->needs : 0;
    p->any = waits && waits->any;
    if (needs & EPOCH && add_epoch(c, p)) {
        p->any = false; /* it needs the whole group */
        return;
    }
    if (needs & LOCK)
        add_locks(c, p);
    if (needs & REQUESTS)
        add_requests(c, p);
    struct ana_dependency *sent =
        needs & RECEIVER && out ? add_dependency(c, p, ANA_DEPENDENCY_RECEIVER, sig, 0, p->since_ns) : NULL;
    if (sent)
        sent->half = in;
    if (needs & MESSAGE && in)
        add_dependency(c, p, ANA_DEPENDENCY_MESSAGE, sig, 0, p->since_ns);
    if (p->kind == ANA_WAITING_POLL && !p->spins)
        add_other_poll(c, p);
}
