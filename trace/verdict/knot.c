/* The knots of a deadlock: ranks that wait for each other, and for nobody else who is deadlocked.  All others only wait
 * for them.  Found as the strongly connected parts of who waits for whom that no edge leaves (Tarjan, without recursion:
 * jobs are large).
 *
 * Many ranks wait for the same: so a collective, MPI_Finalize and a message from any source of a communicator are nodes,
 * too, between those who wait and those they wait for. */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

struct edges {
    size_t *to, n;
};

struct walk {
    struct ana_case *c;
    size_t groups, finalize, any; /* the first node of each kind behind the ranks */
    struct ana_map sources;       /* communicators of messages from any source; value: such a dependency */
    uint32_t *number, *low;       /* by node; number 0: not visited */
    uint32_t visited, knots;
    size_t *stack, stacked;
    uint8_t *on_stack;
    uint8_t *leaves;     /* of an open part's node: somebody waits for another part; of a closed one: it holds ranks */
    struct edges *edges; /* of those on the path */
    size_t *path, *next, depth;
    size_t *room; /* for the edges of one node */
};

static bool is_rank(const struct walk *w, size_t node)
{
    return node < w->groups;
}

static bool waits_in_finalize(const struct ana_case *c, size_t index)
{
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++)
        if (c->waiting[i].blocked && c->waiting[i].kind == ANA_WAITING_FINALIZE)
            return true;
    return false;
}

static bool add_edges(struct edges *out, const size_t *to, size_t n)
{
    size_t *more = n ? realloc(out->to, (out->n + n) * sizeof *more) : NULL;
    if (n && !more)
        return false;
    for (size_t i = 0; i < n; i++)
        more[out->n++] = to[i];
    out->to = n ? more : out->to;
    return true;
}

static size_t keep_deadlocked(const struct ana_case *c, size_t *index, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (ana_case_deadlocked(c, index[i]))
            index[kept++] = index[i];
    return kept;
}

/* The node of a communicator whose messages somebody waits for, whoever sends them; 0: out of memory. */
static size_t source_node(struct walk *w, const struct ana_dependency *any)
{
    const struct ana_dependency **slot = ana_map_add(&w->sources, any->identity, 0, 0);
    if (!slot)
        return 0;
    *slot = *slot ? *slot : any;
    return w->any + (size_t)(slot - (const struct ana_dependency **)w->sources.values);
}

static bool rank_edges(struct walk *w, size_t index, struct edges *out)
{
    struct ana_case *c = w->c;
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++) {
        struct ana_waiting *p = &c->waiting[i];
        const struct ana_dependency *any = NULL;
        size_t n = 0;
        if (!p->blocked)
            continue;
        if (p->kind == ANA_WAITING_FINALIZE)
            w->room[n++] = w->finalize;
        else if (p->kind == ANA_WAITING_COLLECTIVE && p->group != ANA_NO_GROUP)
            w->room[n++] = w->groups + p->group;
        else
            n = keep_deadlocked(c, w->room, ana_waiting_for_known(c, p, w->room, c->count, &any));
        if (any && !(w->room[n++] = source_node(w, any)))
            return false;
        if (!add_edges(out, w->room, n))
            return false;
    }
    return true;
}

static bool find_edges(struct walk *w, size_t node, struct edges *out)
{
    struct ana_case *c = w->c;
    size_t n = 0;
    *out = (struct edges){0};
    if (is_rank(w, node))
        return rank_edges(w, node, out);
    if (node < w->finalize) {
        const struct ana_group *g = ana_group_at(c, node - w->groups);
        for (size_t i = 0; i < g->missing_count; i++)
            w->room[n++] = g->missing[i];
    } else if (node == w->finalize) {
        for (size_t i = 0; i < c->count; i++)
            if (!waits_in_finalize(c, i))
                w->room[n++] = i;
    } else {
        const struct ana_dependency *any = *(const struct ana_dependency **)ana_map_value(&w->sources, node - w->any);
        struct ana_range range =
            any->comm ? ana_members(c->job, any->index, any->comm, false) : (struct ana_range){0, 0};
        for (size_t m = range.from; m < range.to && n < c->count; m++) {
            size_t index = ana_member(c->job, any->index, any->comm, m);
            if (index != SIZE_MAX)
                w->room[n++] = index;
        }
    }
    return add_edges(out, w->room, keep_deadlocked(c, w->room, n));
}

static bool enter_node(struct walk *w, size_t node)
{
    w->number[node] = w->low[node] = ++w->visited;
    w->stack[w->stacked++] = node;
    w->on_stack[node] = 1;
    w->path[w->depth] = node;
    w->next[w->depth] = 0;
    return find_edges(w, node, &w->edges[w->depth++]);
}

/* The part that begins with this node is complete.  It is a knot unless somebody in it waits for another part; one that
 * holds no rank counts as nobody. */
static void close_part(struct walk *w, size_t first)
{
    size_t from = w->stacked, node;
    bool leaves = false, ranks = false;
    do {
        node = w->stack[--from];
        leaves |= w->leaves[node];
        ranks |= is_rank(w, node);
    } while (node != first);
    uint32_t knot = ranks && !leaves ? ++w->knots : 0;
    for (size_t i = from; i < w->stacked; i++) {
        node = w->stack[i];
        w->on_stack[node] = 0;
        w->leaves[node] = ranks || leaves;
        if (is_rank(w, node))
            w->c->knot[node] = knot;
    }
    w->stacked = from;
}

static bool walk_from(struct walk *w, size_t start)
{
    bool done = enter_node(w, start);
    while (done && w->depth) {
        size_t at = w->path[w->depth - 1];
        struct edges *edges = &w->edges[w->depth - 1];
        if (w->next[w->depth - 1] < edges->n) {
            size_t to = edges->to[w->next[w->depth - 1]++];
            if (!w->number[to])
                done = enter_node(w, to);
            else if (w->on_stack[to])
                w->low[at] = w->number[to] < w->low[at] ? w->number[to] : w->low[at];
            else
                w->leaves[at] |= w->leaves[to];
            continue;
        }
        free(edges->to);
        w->depth--;
        bool part = w->low[at] == w->number[at];
        if (part)
            close_part(w, at);
        if (!w->depth)
            break;
        size_t above = w->path[w->depth - 1];
        if (part)
            w->leaves[above] |= w->leaves[at];
        else
            w->low[above] = w->low[at] < w->low[above] ? w->low[at] : w->low[above];
    }
    while (w->depth)
        free(w->edges[--w->depth].to);
    return done;
}

bool ana_case_knots(struct ana_case *c)
{
    struct walk w = {.c = c, .groups = c->count};
    w.finalize = w.groups + c->groups.count;
    w.any = w.finalize + 1;
    size_t n = w.any + c->waiting_count + 1; /* at most one communicator for each operation */
    ana_map_init(&w.sources, sizeof(const struct ana_dependency *));
    w.number = calloc(n, sizeof *w.number);
    w.low = calloc(n, sizeof *w.low);
    w.stack = calloc(n, sizeof *w.stack);
    w.on_stack = calloc(n, 1);
    w.leaves = calloc(n, 1);
    w.edges = calloc(n, sizeof *w.edges);
    w.path = calloc(n, sizeof *w.path);
    w.next = calloc(n, sizeof *w.next);
    w.room = calloc(c->count + 2, sizeof *w.room);
    bool done = w.number && w.low && w.stack && w.on_stack && w.leaves && w.edges && w.path && w.next && w.room;
    for (size_t i = 0; done && i < c->count; i++)
        if (ana_case_deadlocked(c, i) && !w.number[i])
            done = walk_from(&w, i);
    ana_map_free(&w.sources);
    free(w.number);
    free(w.low);
    free(w.stack);
    free(w.on_stack);
    free(w.leaves);
    free(w.edges);
    free(w.path);
    free(w.next);
    free(w.room);
    return done;
}
