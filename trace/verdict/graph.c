/* Who waits for whom, and who can still move on. */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

#define GROUPS_LOOKED 256u /* collectives whose members are looked at one by one */

/* ---- collectives ------------------------------------------------------------------------------------------------ */

struct ana_group *ana_case_group(struct ana_case *c, uint64_t identity, uint64_t sequence)
{
    return ana_map_find(&c->groups, identity, sequence, 0);
}

static bool add_to_group(struct ana_case *c, struct ana_waiting *p, size_t at)
{
    struct ana_group *g = ana_map_add(&c->groups, p->identity, p->sequence, 0);
    if (!g)
        return false;
    if (g->inside++ == 0) {
        g->identity = p->identity;
        g->sequence = p->sequence;
        g->comm = p->comm;
        g->first_waiting = at;
    }
    g->blocked |= p->blocked;
    p->group = (uint32_t)(g - (struct ana_group *)c->groups.values);
    return true;
}

/* Whether the rank has come to this collective, or is past it. */
static bool has_come(struct ana_case *c, size_t index, uint64_t identity, uint64_t sequence)
{
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++) {
        const struct ana_waiting *p = &c->waiting[i];
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

void ana_group_look(struct ana_case *c, struct ana_group *g)
{
    if (g->looked)
        return;
    g->looked = true;
    size_t all = members_of(g->comm), mine = c->waiting[g->first_waiting].index, found = 0;
    if (all <= g->inside)
        return;
    struct ana_range range = ana_members(c->job, mine, g->comm, false);
    g->missing = calloc(range.to - range.from + 1, sizeof *g->missing);
    if (!g->missing) {
        c->memory = true;
        return;
    }
    for (size_t m = range.from; m < range.to; m++) {
        size_t index = ana_member(c->job, mine, g->comm, m);
        found += index != SIZE_MAX;
        if (index != SIZE_MAX && !has_come(c, index, g->identity, g->sequence))
            g->missing[g->missing_count++] = index;
    }
    g->nowhere = all > found ? all - found : 0;
}

static bool make_groups(struct ana_case *c)
{
    for (size_t i = 0; i < c->waiting_count; i++)
        if (c->waiting[i].kind == ANA_WAITING_COLLECTIVE && !add_to_group(c, &c->waiting[i], i))
            return false;
    size_t looked = 0;
    for (size_t i = 0; i < c->groups.count; i++)
        if (ana_group_at(c, i)->blocked && looked++ < GROUPS_LOOKED)
            ana_group_look(c, ana_group_at(c, i));
    return true;
}

/* ---- who can move on -------------------------------------------------------------------------------------------- */

bool ana_rank_blocked(const struct ana_case *c, size_t index)
{
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++)
        if (c->waiting[i].blocked)
            return true;
    return false;
}

struct ana_waiting *ana_rank_waiting(struct ana_case *c, size_t index)
{
    struct ana_waiting *longest = NULL;
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++)
        if (c->waiting[i].blocked && (!longest || c->waiting[i].lasted_ns > longest->lasted_ns))
            longest = &c->waiting[i];
    return longest;
}

/* Whether a partner can move on; one without a file may do anything. */
static bool partner_free(const struct ana_case *c, size_t index)
{
    return index == SIZE_MAX || c->free[index];
}

/* Whom a rank in a collective needs, of those who have not come to it. */
struct need {
    bool all;    /* every one of them; else it is not known which */
    size_t root; /* data comes from there; SIZE_MAX: no root, or it is itself */
    size_t missing, free;
    bool root_missing, root_free;
};

static struct need need_of(const struct ana_case *c, size_t index, const struct trc_comm *comm,
                           const struct trc_call *call, const struct trc_sig *sig)
{
    enum trc_shape shape = trc_opclass_shape(call->opclass);
    size_t root = ana_partner(c->job, index, comm, sig->peer);
    bool from = shape == TRC_SHAPE_FROM_ROOT, to = shape == TRC_SHAPE_TO_ROOT;
    bool inter = comm && comm->def.remote_size > 0; /* each side waits for the other */
    return (struct need){.all = !inter && (shape == TRC_SHAPE_ALL || (to && root == index)),
                         .root = from && root != index ? root : SIZE_MAX};
}

static void need_add(struct ana_case *c, struct need *need, size_t index)
{
    bool free = partner_free(c, index);
    need->missing++;
    need->free += free;
    if (index == need->root) {
        need->root_missing = true;
        need->root_free = free;
    }
}

/* Whether the need is met: all that it names can move on.  Where it is not known whom it needs, one is enough: no
 * verdict is better than a wrong one. */
static bool need_met(const struct need *need)
{
    if (need->root_missing)
        return need->root_free;
    return need->missing == 0 || (need->all ? need->free == need->missing : need->free > 0);
}

static bool missing_free(struct ana_case *c, const struct ana_group *g, struct need need)
{
    for (size_t i = 0; i < g->missing_count; i++)
        need_add(c, &need, g->missing[i]);
    need.missing += g->nowhere;
    need.free += g->nowhere; /* who has no file may do anything */
    return need_met(&need);
}

static bool collective_free(struct ana_case *c, const struct ana_dependency *w)
{
    struct ana_group *g = ana_case_group(c, w->identity, w->sequence);
    struct need need = need_of(c, w->index, w->comm, w->request->call, &w->request->sig);
    if (g) {
        ana_group_look(c, g);
        return missing_free(c, g, need);
    }
    if (!w->comm)
        return true;
    size_t all = members_of(w->comm), found = 0;
    struct ana_range range = ana_members(c->job, w->index, w->comm, false);
    for (size_t m = range.from; m < range.to; m++) {
        size_t index = ana_member(c->job, w->index, w->comm, m);
        found += index != SIZE_MAX;
        if (index != SIZE_MAX && !has_come(c, index, w->identity, w->sequence))
            need_add(c, &need, index);
    }
    size_t nowhere = all > found ? all - found : 0;
    need.missing += nowhere;
    need.free += nowhere;
    return need_met(&need);
}

static bool any_source_free(struct ana_case *c, const struct ana_waiting *p, struct ana_dependency *w)
{
    if (!w->comm)
        return true;
    bool remote = w->comm->def.remote_size > 0;
    size_t all = (size_t)(remote ? w->comm->def.remote_size : w->comm->def.size), found = 0;
    struct ana_range range = ana_members(c->job, w->index, w->comm, remote);
    for (size_t m = range.from; m < range.to; m++) {
        size_t index = ana_member(c->job, w->index, w->comm, m);
        found += index != SIZE_MAX;
        if (index != SIZE_MAX && index != p->index && partner_free(c, index))
            return true;
    }
    if (found < all && !(w->comm->def.flags & TRC_COMM_SELF))
        return true; /* one without a file may send */
    if (w->met < 0) {
        range = ana_members(c->job, w->index, w->comm, false);
        for (size_t m = range.from; m < range.to && w->met <= 0; m++) {
            size_t index = ana_member(c->job, w->index, w->comm, m);
            if (index != SIZE_MAX && index != p->index) {
                w->met = -1;
                ana_dependency_check(c, p, w, index);
            }
        }
    }
    return w->met > 0;
}

static bool dependency_is_free(struct ana_case *c, const struct ana_waiting *p, struct ana_dependency *w)
{
    if (w->kind == ANA_DEPENDENCY_COLLECTIVE)
        return collective_free(c, w);
    if (w->peer == TRC_PEER_ANY)
        return any_source_free(c, p, w);
    size_t partner = ana_dependency_partner(c, w);
    if (partner_free(c, partner))
        return true;
    /* Some MPIs ask the target for a lock; it answers only inside MPI. */
    if (w->kind == ANA_DEPENDENCY_LOCK)
        return partner_free(c, ana_partner(c->job, w->index, w->comm, w->target));
    ana_dependency_check(c, p, w, partner);
    return w->met > 0;
}

static bool can_move_on(struct ana_case *c, struct ana_waiting *p)
{
    if (p->kind == ANA_WAITING_FINALIZE)
        return false;
    if (p->kind == ANA_WAITING_COLLECTIVE) {
        struct ana_group *g = ana_group_at(c, p->group);
        return !g->looked || missing_free(c, g, need_of(c, p->index, p->comm, p->call, p->sig));
    }
    if (p->kind == ANA_WAITING_OTHER)
        return true;
    ana_waiting_dependencies(c, p);
    bool all = true, any = p->dependencies == 0;
    for (uint32_t i = 0; i < p->dependencies; i++) {
        bool one = dependency_is_free(c, p, &c->dependency[p->first_dependency + i]);
        all &= one;
        any |= one;
    }
    return p->any ? any : all;
}

static bool rank_free(struct ana_case *c, size_t index)
{
    bool blocked = false;
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++) {
        struct ana_waiting *p = &c->waiting[i];
        blocked |= p->blocked;
        if (p->blocked && can_move_on(c, p))
            return true;
    }
    return !blocked;
}

bool ana_case_graph(struct ana_case *c)
{
    if (!make_groups(c))
        return false;
    for (size_t i = 0; i < c->count; i++) {
        bool ended = c->gone[i] || ana_case_ended(c, i);
        c->free[i] = !ended && !ana_rank_blocked(c, i);
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < c->count; i++)
            if (!c->free[i] && !c->gone[i] && !ana_case_ended(c, i) && rank_free(c, i)) {
                c->free[i] = 1;
                more = true;
            }
    }
    return true;
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

/* Each rank once. */
static size_t add_edge(struct ana_case *c, size_t index, size_t n, size_t *out, size_t max)
{
    if (index != SIZE_MAX && !c->free[index] && n < max && c->edge_to[index] != c->edges_asked) {
        c->edge_to[index] = c->edges_asked;
        out[n++] = index;
    }
    return n;
}

/* `any` not NULL: without the edges of a message from any source; *any becomes the last such dependency, else NULL. */
static size_t find_edges(struct ana_case *c, struct ana_waiting *p, size_t *out, size_t max,
                         const struct ana_dependency **any)
{
    size_t n = 0;
    c->edges_asked++;
    if (any)
        *any = NULL;
    if (p->kind == ANA_WAITING_COLLECTIVE) {
        const struct ana_group *g = ana_group_at(c, p->group);
        for (size_t i = 0; i < g->missing_count; i++)
            n = add_edge(c, g->missing[i], n, out, max);
    }
    if (p->kind != ANA_WAITING_MESSAGES && p->kind != ANA_WAITING_POLL)
        return n;
    ana_waiting_dependencies(c, p);
    for (uint32_t i = 0; i < p->dependencies; i++) {
        struct ana_dependency *w = &c->dependency[p->first_dependency + i];
        if (dependency_is_free(c, p, w))
            continue;
        if (w->kind != ANA_DEPENDENCY_COLLECTIVE && w->peer != TRC_PEER_ANY) {
            n = add_edge(c, ana_dependency_partner(c, w), n, out, max);
            continue;
        }
        if (any && w->kind == ANA_DEPENDENCY_MESSAGE) {
            *any = w;
            continue;
        }
        struct ana_range range = w->comm ? ana_members(c->job, w->index, w->comm, false) : (struct ana_range){0, 0};
        for (size_t m = range.from; m < range.to; m++) {
            size_t index = ana_member(c->job, w->index, w->comm, m);
            if (index == SIZE_MAX || index == p->index)
                continue;
            if (w->kind == ANA_DEPENDENCY_MESSAGE || !has_come(c, index, w->identity, w->sequence))
                n = add_edge(c, index, n, out, max);
        }
    }
    return n;
}

size_t ana_waiting_for(struct ana_case *c, struct ana_waiting *waiting, size_t *out, size_t max)
{
    return find_edges(c, waiting, out, max, NULL);
}

size_t ana_waiting_for_known(struct ana_case *c, struct ana_waiting *waiting, size_t *out, size_t max,
                             const struct ana_dependency **any)
{
    return find_edges(c, waiting, out, max, any);
}

size_t ana_dependency_partner(const struct ana_case *c, const struct ana_dependency *w)
{
    return ana_partner(c->job, w->index, w->comm, w->peer);
}

bool ana_case_deadlocked(const struct ana_case *c, size_t index)
{
    return !c->free[index] && !c->gone[index] && !ana_case_ended(c, index) && ana_rank_blocked(c, index);
}

/* A deadlock is proven where all threads of its ranks are blocked inside calls.  A thread that polls or is outside MPI
 * may do something else; for an RMA window not all dependencies are known. */
enum ana_confidence ana_case_certainty(const struct ana_case *c, const size_t *index, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (index[i] != SIZE_MAX && !c->sure[index[i]] && !ana_case_ended(c, index[i]))
            return ANA_LIKELY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = index[i] == SIZE_MAX ? c->waiting_count : c->first_waiting[index[i]]; k < c->waiting_count;
             k++) {
            if (c->waiting[k].index != index[i])
                break;
            bool window = trc_opclass_is_one_sided(c->waiting[k].call->opclass);
            if (c->waiting[k].kind == ANA_WAITING_POLL || window)
                return ANA_LIKELY;
        }
    return ANA_PROVEN;
}
