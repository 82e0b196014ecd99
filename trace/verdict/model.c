/* The model of MPI's waiting: needs of each operation under way, as nodes of the wait-for graph.
 *
 *     MPI_Recv, MPI_Probe       its message: its source, or anybody of the communicator
 *     MPI_Send, MPI_Ssend       its receiver
 *     MPI_Sendrecv, MPI_Wait*   all their messages and collectives; MPI_Waitany, _Waitsome, polls: any of them
 *     a collective              by its shape: all ranks yet to come, the root, the ranks before it, neighbours
 *                               that it gets from, or any of them where it is not known which it needs
 *     MPI_Win_lock ..           who holds the lock, or its target, who may have to answer while it is outside MPI
 *     MPI_Win_start, _wait ..   group members whose part of the epoch is lacking (epochs.c)
 *     operations on a device    gpu_model.c
 *     calls that complete nothing, again and again: something that is not known and has not come
 *     MPI_Comm_spawn ..         members that have not come (spawn.c)
 *     MPI_Finalize              all; a rank inside it frees no others
 *     anything else             is not known: it may move
 *
 * A rank moves while one of its threads does, or computes outside.  A rank without a file may do anything. */
#include "trace/verdict/life.h"
#include "trace/verdict/verdict_impl.h"

#define GROUPS_LOOKED 256u /* collectives whose members are looked at one by one */

/* ---- collectives ------------------------------------------------------------------------------------------------ */

/* Somebody is in it, or has started it and waits; `needed`: nothing else can end that wait. */
static void enter_group(struct ana_group *g, const struct ana_waiting *p, const struct trc_comm *comm,
                        struct ana_call call, bool needed)
{
    if (g->inside++ == 0) {
        g->comm = comm;
        g->call = call;
        g->lasted_ns = g->waited_ns = INT64_MAX;
    }
    g->sure |= p->kind == ANA_WAITING_COLLECTIVE || (p->kind == ANA_WAITING_MESSAGES && needed);
    g->blocked |= needed && p->blocked;
    if (p->blocked && p->lasted_ns < g->waited_ns)
        g->waited_ns = p->lasted_ns;
    if (p->blocked && needed && p->lasted_ns < g->lasted_ns)
        g->lasted_ns = p->lasted_ns;
}

static struct ana_group *add_group(struct ana_case *c, uint64_t identity, uint64_t sequence)
{
    struct ana_group *g = ana_map_add(&c->groups, identity, sequence, 0);
    c->memory |= !g;
    if (g) {
        g->identity = identity;
        g->sequence = sequence;
    }
    return g;
}

static bool add_to_group(struct ana_case *c, struct ana_waiting *p)
{
    struct ana_group *g = add_group(c, p->identity, p->sequence);
    if (!g)
        return false;
    enter_group(g, p, p->comm, ana_waiting_call(p), true);
    p->group = (uint32_t)(g - (struct ana_group *)c->groups.values);
    return true;
}

/* Whether the rank has come to this collective, or is past it. */
static bool has_come(struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence)
{
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++) {
        if (p->kind == ANA_WAITING_COLLECTIVE && p->identity == identity && p->sequence >= sequence)
            return true;
    }
    const uint64_t *newest = ana_map_find(&ana_case_last_events(c, index)->newest, identity, 0, 0);
    return newest && *newest > sequence;
}

static size_t members_of(const struct trc_comm *comm)
{
    return comm->def.flags & TRC_COMM_SELF ? 0 : (size_t)comm->def.size + (size_t)comm->def.remote_size;
}

/* Returns the missing leader of the other group in MPI_Intercomm_create; SIZE_MAX: none is missing. */
static size_t missing_leader(struct ana_case *c, const struct ana_group *g)
{
    for (size_t i = 0, other; i < c->waiting_count; i++)
        if (c->waiting[i].identity == g->identity && c->waiting[i].sequence == g->sequence &&
            !ana_other_leader(c, &c->waiting[i], &other) && other != SIZE_MAX)
            return other;
    return SIZE_MAX;
}

/* Finds the members that have not come, once. */
static void find_missing(struct ana_case *c, struct ana_group *g)
{
    if (g->looked)
        return;
    g->looked = true;
    size_t all = members_of(g->comm), mine = g->call.index, found = 0, leader = missing_leader(c, g);
    if (all <= g->inside && leader == SIZE_MAX)
        return;
    struct ana_range range = ana_members(c->job, mine, g->comm, false);
    size_t most = range.to - range.from + 1;
    g->missing = ana_case_alloc(c, most * sizeof *g->missing);
    g->place = ana_case_alloc(c, most * sizeof *g->place);
    if (!g->missing || !g->place)
        return;
    for (size_t m = range.from; m < range.to; m++) {
        size_t index = ana_member(c->job, mine, g->comm, m);
        found += index != SIZE_MAX;
        if (index == SIZE_MAX || has_come(c, index, g->identity, g->sequence))
            continue;
        g->place[g->missing_count] = m - range.from;
        g->missing[g->missing_count++] = index;
    }
    if (leader != SIZE_MAX) {
        g->place[g->missing_count] = all;
        g->missing[g->missing_count++] = leader;
    }
    g->nowhere = all > found ? all - found : 0;
}

static bool make_groups(struct ana_case *c)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->kind == ANA_WAITING_COLLECTIVE && !add_to_group(c, p))
            return false;
    size_t looked = 0;
    for (size_t i = 0; i < c->groups.count; i++)
        if (ana_group_at(c, i)->blocked && looked++ < GROUPS_LOOKED)
            find_missing(c, ana_group_at(c, i));
    return true;
}

/* ---- needs in a collective -------------------------------------------------------------------------------------- */

/* A node that moves when any one of the ranks that have not come moves. */
static size_t any_missing(struct ana_case *c, const struct ana_group *g)
{
    size_t node = ana_graph_node(&c->graph, ANA_WAITS_ANY);
    for (size_t i = 0; i < g->missing_count; i++)
        ana_graph_wait(&c->graph, node, g->missing[i]);
    if (g->missing_count == 0 || g->nowhere)
        ana_graph_set_moving(&c->graph, node);
    return node;
}

/* A node that moves when all ranks that have not come and have a lower place than `below` move. */
static size_t all_missing(struct ana_case *c, const struct ana_group *g, size_t below)
{
    size_t node = ana_graph_node(&c->graph, ANA_WAITS_ALL);
    for (size_t i = 0; i < g->missing_count; i++)
        if (g->place[i] < below)
            ana_graph_wait(&c->graph, node, g->missing[i]);
    return node;
}

static bool lacks_below(const struct ana_group *g, int32_t place)
{
    for (size_t i = 0; i < g->missing_count; i++)
        if (place >= 0 && g->place[i] < (size_t)place)
            return true;
    return false;
}

/* One node for all who need the same; 0: not made yet, since node 0 is a rank. */
static size_t shared(struct ana_case *c, struct ana_group *g, bool all)
{
    size_t *node = all ? &g->node_all : &g->node_any;
    if (!*node)
        *node = all ? all_missing(c, g, SIZE_MAX) : any_missing(c, g);
    return *node;
}

static size_t root_node(struct ana_case *c, struct ana_group *g, size_t root)
{
    if (!g->node_root) {
        g->node_root = ana_graph_node(&c->graph, ANA_WAITS_ALL);
        ana_graph_wait(&c->graph, g->node_root, root);
    }
    return g->node_root;
}

/* A node that moves when all ranks that this rank gets from, and that have not come, move; some MPIs need any of the
 * others. */
static size_t missing_sources(struct ana_case *c, struct ana_group *g, size_t index, const struct trc_comm *comm)
{
    const struct trc_ranks *sources = comm && comm->sources ? trc_ranks(ana_case_file(c, index), comm->sources) : NULL;
    size_t node = SIZE_MAX;
    for (uint32_t i = 0; sources && i < sources->n; i++) {
        size_t source = ana_partner(c->job, index, comm, sources->rank[i]);
        if (!ana_group_misses(g, source))
            continue;
        node = node == SIZE_MAX ? ana_graph_node(&c->graph, ANA_WAITS_ALL) : node;
        ana_graph_wait(&c->graph, node, source);
    }
    return node == SIZE_MAX ? shared(c, g, false) : node;
}

static size_t need_of_group(struct ana_case *c, struct ana_group *g, size_t index, const struct trc_comm *comm,
                            const struct trc_call *call, const struct trc_sig *sig)
{
    size_t root = ana_partner(c->job, index, comm, sig->peer);
    if (comm && comm->def.remote_size > 0) /* each side waits for the other: whom it needs is not known */
        return shared(c, g, false);
    switch (trc_opclass_shape(call->opclass)) {
    case TRC_SHAPE_ALL:
        return shared(c, g, true);
    case TRC_SHAPE_PREFIX:
        return comm && lacks_below(g, comm->def.rank) ? all_missing(c, g, (size_t)comm->def.rank) : shared(c, g, false);
    case TRC_SHAPE_TO_ROOT:
        return shared(c, g, root == index);
    case TRC_SHAPE_FROM_ROOT:
        return root != index && ana_group_misses(g, root) ? root_node(c, g, root) : shared(c, g, false);
    case TRC_SHAPE_NEIGHBORS:
        return missing_sources(c, g, index, comm);
    default:
        return shared(c, g, false);
    }
}

/* The node of a collective that a rank has started and waits for; SIZE_MAX: it may end. */
static size_t need_of_started(struct ana_case *c, const struct ana_waiting *p, struct ana_dependency *d)
{
    const struct ana_open_request *r = d->request;
    struct ana_group *g = d->comm ? add_group(c, d->identity, d->sequence) : NULL;
    if (!g)
        return SIZE_MAX;
    enter_group(g, p, d->comm, (struct ana_call){r->call->name, r->call->opclass, d->index, &r->sig},
                p->dependencies == 1 || !p->any);
    find_missing(c, g);
    return need_of_group(c, g, d->index, d->comm, r->call, &r->sig);
}

/* ---- needs of other operations ---------------------------------------------------------------------------------- */

/* The node of a message that anybody of a communicator may send. */
static size_t any_source(struct ana_case *c, const struct ana_dependency *d)
{
    size_t *node = ana_map_add(&c->sources, d->identity, d->comm->def.remote_size > 0 ? d->index : 0, 0);
    bool remote = d->comm->def.remote_size > 0;
    size_t all = (size_t)(remote ? d->comm->def.remote_size : d->comm->def.size), found = 0;
    if (!node || *node) {
        c->memory |= !node;
        return node ? *node : SIZE_MAX;
    }
    *node = ana_graph_node(&c->graph, ANA_WAITS_ANY);
    struct ana_range range = ana_members(c->job, d->index, d->comm, remote);
    for (size_t m = range.from; m < range.to; m++) {
        size_t index = ana_member(c->job, d->index, d->comm, m);
        found += index != SIZE_MAX;
        if (index != SIZE_MAX)
            ana_graph_wait(&c->graph, *node, index);
    }
    if (found < all && !(d->comm->def.flags & TRC_COMM_SELF))
        ana_graph_set_moving(&c->graph, *node);
    return *node;
}

static void wait_for_rank(struct ana_case *c, size_t node, size_t index)
{
    if (index == SIZE_MAX) /* a rank without a file may do anything */
        ana_graph_set_moving(&c->graph, node);
    else
        ana_graph_wait(&c->graph, node, index);
}

static size_t need_of_dependency(struct ana_case *c, const struct ana_waiting *p, struct ana_dependency *d)
{
    if (d->kind == ANA_DEPENDENCY_COLLECTIVE)
        return need_of_started(c, p, d);
    d->node = ana_graph_node(&c->graph, ANA_WAITS_ANY);
    if (d->peer != TRC_PEER_ANY)
        wait_for_rank(c, d->node, ana_dependency_partner(c, d));
    else if (d->comm)
        ana_graph_wait(&c->graph, d->node, any_source(c, d));
    else
        ana_graph_set_moving(&c->graph, d->node);
    if (d->kind == ANA_DEPENDENCY_LOCK && d->target >= 0) { /* some MPIs ask it for the lock: it answers inside MPI */
        size_t target = ana_partner(c->job, d->index, d->comm, d->target);
        if (target == SIZE_MAX || !ana_rank_blocked(c, target))
            ana_graph_set_moving(&c->graph, d->node);
    }
    return d->node;
}

/* Waits of a thread for messages, requests or locks. */
static size_t need_of_dependencies(struct ana_case *c, struct ana_waiting *p)
{
    ana_waiting_dependencies(c, p);
    size_t node = ana_graph_node(&c->graph, p->any ? ANA_WAITS_ANY : ANA_WAITS_ALL);
    for (struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies); d++) {
        size_t need = need_of_dependency(c, p, d);
        if (need == SIZE_MAX)
            ana_graph_set_moving(&c->graph, node);
        else
            ana_graph_wait(&c->graph, node, need);
    }
    if (p->dependencies == 0)
        ana_graph_set_moving(&c->graph, node);
    return node;
}

/* SIZE_MAX: it may move. */
static size_t need_of(struct ana_case *c, struct ana_waiting *p)
{
    switch (p->kind) {
    case ANA_WAITING_FINALIZE:
        return c->finalize;
    case ANA_WAITING_COLLECTIVE:
        return ana_group_at(c, p->group)->looked
                   ? need_of_group(c, ana_group_at(c, p->group), p->index, p->comm, p->call, p->sig)
                   : SIZE_MAX;
    case ANA_WAITING_MESSAGES:
    case ANA_WAITING_POLL:
        return need_of_dependencies(c, p);
    case ANA_WAITING_DEVICE:
        return ana_gpu_need(c, p->index);
    case ANA_WAITING_OTHER:
        return ana_spawn_need(c, p);
    }
    return SIZE_MAX;
}

static void add_rank(struct ana_case *c, size_t index)
{
    bool blocked = false, keeper = false;
    ana_rank_threads(c, index);
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        keeper |= p->keeps_lock;
    c->rank[index].lives = ana_has_living_threads(c, index);
    if (c->rank[index].gone || ana_case_ended(c, index)) {
        ana_graph_remove(&c->graph, index);
        return;
    }
    if (!(c->rank[index].blocked >> ANA_WAITING_FINALIZE & 1))
        ana_graph_wait(&c->graph, c->finalize, index);
    for (struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++) {
        if (!p->blocked)
            continue;
        blocked = true;
        if (p->spins) { /* nobody knows what would end it */
            p->node = ana_graph_node(&c->graph, ANA_NEVER_MOVES);
            c->rank[index].sure = 0;
        } else {
            p->node = need_of(c, p);
        }
        if (!p->aside || !keeper)
            wait_for_rank(c, index, p->node);
    }
    if (!blocked || c->rank[index].lives)
        ana_graph_set_moving(&c->graph, index);
}

/* Whether a message from any source is under way. */
static bool find_any_message(struct ana_case *c, const struct ana_waiting *p, struct ana_dependency *d)
{
    struct ana_range range = ana_members(c->job, d->index, d->comm, false);
    for (size_t m = range.from; m < range.to && d->met <= 0; m++) {
        size_t index = ana_member(c->job, d->index, d->comm, m);
        if (index == SIZE_MAX) /* messages to itself count */
            continue;
        d->met = -1;
        ana_dependency_check(c, p, d, index);
    }
    return d->met > 0;
}

/* Whether a thread has asked in vain for so long that no message that has come is the one it asks for. */
static bool asks_in_vain(const struct ana_case *c, const struct ana_waiting *p)
{
    return p->any && p->dependencies > 1 && p->lasted_ns >= c->rules.hang_ns;
}

/* Asks of each message that somebody stuck waits for whether it is under way, or was taken.  That is asked last, since
 * it may mean to read two ranks' events in full. */
static void find_messages(struct ana_case *c)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        bool vain = asks_in_vain(c, p), unsure = false;
        uint32_t met = 0;
        for (struct ana_dependency *d = ana_need(c, p, 0);
             d < ana_need(c, p, p->dependencies) && !ana_graph_moves(&c->graph, p->index); d++) {
            if (!p->blocked || d->kind == ANA_DEPENDENCY_COLLECTIVE || ana_graph_moves(&c->graph, d->node))
                continue;
            if (d->peer == TRC_PEER_ANY)
                find_any_message(c, p, d);
            else
                ana_dependency_check(c, p, d, ana_dependency_partner(c, d));
            met += d->met > 0;
            unsure |= d->unsure;
            if (d->met > 0 && !vain)
                ana_graph_set_moving(&c->graph, d->node);
        }
        if (met && met == p->dependencies)
            ana_graph_set_moving(&c->graph, p->index);
        c->rank[p->index].sure &= !unsure && (!met || !vain);
    }
}

bool ana_case_graph(struct ana_case *c)
{
    if (!make_groups(c))
        return false;
    ana_graph_init(&c->graph, c->count);
    if (c->graph.memory)
        return false;
    c->finalize = ana_graph_node(&c->graph, ANA_NEVER_MOVES);
    ana_gpu_model(c);
    ana_doubt_threads(c);
    for (size_t i = 0; i < c->count; i++)
        add_rank(c, i);
    ana_graph_solve(&c->graph);
    find_messages(c);
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->aside)
            ana_graph_remove(&c->graph, p->node);
    ana_graph_find_knots(&c->graph);
    return !c->graph.memory;
}

/* ---- results of the model --------------------------------------------------------------------------------------- */

size_t ana_waiting_for(struct ana_case *c, struct ana_waiting *waiting, size_t *out, size_t max)
{
    return ana_graph_blockers(&c->graph, waiting->node, out, max);
}

bool ana_waits_for_anybody(const struct ana_case *c, const struct ana_waiting *p)
{
    for (const struct ana_dependency *d = ana_need(c, p, 0); p && d < ana_need(c, p, p->dependencies); d++)
        if (d->kind == ANA_DEPENDENCY_MESSAGE && d->peer == TRC_PEER_ANY)
            return true;
    return false;
}

bool ana_waits_for(struct ana_case *c, struct ana_waiting *waiting, size_t index)
{
    size_t *blocker = ana_case_room(c), n = blocker ? ana_waiting_for(c, waiting, blocker, c->count) : 0;
    while (n && blocker[n - 1] != index)
        n--;
    return n;
}

size_t ana_dependency_partner(const struct ana_case *c, const struct ana_dependency *d)
{
    return ana_partner(c->job, d->index, d->comm, d->peer);
}

bool ana_case_deadlocked(const struct ana_case *c, size_t index)
{
    return !ana_graph_moves(&c->graph, index) && !c->rank[index].gone && !ana_case_ended(c, index);
}

/* Whether all threads of all ranks of a knot are accounted for: one moving thread would free the others. */
static bool is_sure_knot(const struct ana_case *c, uint32_t knot)
{
    bool aside = false; /* a thread of theirs may be freed by anybody else who cannot move */
    for (const struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        aside |= p->aside && ana_rank_knot(c, p->index) == knot;
    for (size_t i = 0; i < c->count; i++)
        if ((ana_rank_knot(c, i) == knot || (aside && ana_case_deadlocked(c, i))) && !c->rank[i].sure)
            return false;
    return true;
}

/* Whether all that it waits for is others' part of an epoch. */
static bool in_known_epoch(const struct ana_case *c, const struct ana_waiting *p)
{
    bool known = p->tested && p->dependencies && p->call->opclass == TRC_OP_RMA_SYNC;
    for (const struct ana_dependency *d = ana_need(c, p, 0); known && d < ana_need(c, p, p->dependencies); d++)
        known = d->kind == ANA_DEPENDENCY_EPOCH;
    return known;
}

/* A deadlock is proven where all threads of its ranks are blocked inside calls.  A thread that polls or is outside MPI
 * may do something else; for an RMA window not all dependencies are known. */
enum ana_confidence ana_case_certainty(const struct ana_case *c, const size_t *index, size_t n)
{
    uint32_t sure = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t knot = index[i] == SIZE_MAX ? sure : ana_rank_knot(c, index[i]);
        if (knot != sure && !is_sure_knot(c, knot))
            return ANA_LIKELY;
        sure = knot;
    }
    for (size_t i = 0; i < n; i++)
        if (index[i] != SIZE_MAX && !c->rank[index[i]].sure && !ana_case_ended(c, index[i]))
            return ANA_LIKELY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = index[i] == SIZE_MAX ? c->waiting_count : c->first_waiting[index[i]]; k < c->waiting_count;
             k++) {
            if (c->waiting[k].index != index[i])
                break;
            bool window = trc_opclass_is_one_sided(c->waiting[k].call->opclass) && !in_known_epoch(c, &c->waiting[k]);
            if (c->waiting[k].kind == ANA_WAITING_POLL || c->waiting[k].kind == ANA_WAITING_DEVICE || window)
                return ANA_LIKELY;
        }
    return ANA_PROVEN;
}
