/* Finds nodes that can still move: a least fixed point; and the cause of a standstill: Tarjan's strongly connected
 * parts, without recursion, since jobs are large. */
#include "trace/util/grow.h"
#include "trace/util/sort.h"
#include "trace/verdict/graph.h"
#include <stdlib.h>
#include <string.h>

void ana_graph_init(struct ana_graph *g, size_t ranks)
{
    *g = (struct ana_graph){.ranks = ranks, .edges = 1};
    g->knot = calloc(ranks + 1, sizeof *g->knot);
    g->node = calloc(ranks + 64, sizeof *g->node);
    g->node_room = g->node ? ranks + 64 : 0;
    g->memory = !g->knot || !g->node;
    g->nodes = g->node ? ranks : 0;
}

void ana_graph_free(struct ana_graph *g)
{
    free(g->node);
    free(g->edge);
    free(g->knot);
    *g = (struct ana_graph){0};
}

size_t ana_graph_node(struct ana_graph *g, enum ana_node_kind kind)
{
    if (g->nodes > UINT32_MAX / 2 || !ana_grow(&g->node, g->nodes, &g->node_room, sizeof *g->node)) {
        g->memory = true;
        return SIZE_MAX;
    }
    g->node[g->nodes] = (struct ana_graph_node){.kind = (uint8_t)kind};
    return g->nodes++;
}

void ana_graph_wait(struct ana_graph *g, size_t node, size_t other)
{
    if (node >= g->nodes || other >= g->nodes)
        return;
    if (g->edges > UINT32_MAX / 2 || !ana_grow(&g->edge, g->edges, &g->edge_room, sizeof *g->edge)) {
        g->memory = true;
        return;
    }
    g->edge[g->edges] =
        (struct ana_graph_edge){(uint32_t)node, (uint32_t)other, g->node[node].first, g->node[other].waited};
    g->node[node].first = g->node[other].waited = (uint32_t)g->edges++;
}

void ana_graph_count(struct ana_graph *g, size_t node)
{
    if (node < g->nodes)
        g->node[node].counts = 1;
}

/* Marks as moving the nodes that wait for the `depth` nodes on the stack and need nobody else.  The stack has room for
 * all. */
static void propagate(struct ana_graph *g, uint32_t *stack, size_t depth)
{
    while (depth) {
        for (uint32_t e = g->node[stack[--depth]].waited; e; e = g->edge[e].next_waited) {
            struct ana_graph_node *node = &g->node[g->edge[e].from];
            bool needs_more = node->kind == ANA_NEVER_MOVES || (node->kind == ANA_WAITS_ALL && --node->open > 0);
            if (node->moves || needs_more)
                continue;
            node->moves = 1;
            stack[depth++] = g->edge[e].from;
        }
    }
}

static uint32_t *make_stack(struct ana_graph *g)
{
    uint32_t *stack = malloc((g->nodes + 1) * sizeof *stack);
    g->memory |= !stack;
    return stack;
}

void ana_graph_set_moving(struct ana_graph *g, size_t node)
{
    if (node >= g->nodes || g->node[node].moves)
        return;
    g->node[node].moves = 1;
    uint32_t *stack = g->solved ? make_stack(g) : NULL;
    if (stack) {
        stack[0] = (uint32_t)node;
        propagate(g, stack, 1);
    }
    free(stack);
}

void ana_graph_remove(struct ana_graph *g, size_t node)
{
    if (node < g->nodes) {
        g->node[node].kind = ANA_NEVER_MOVES;
        g->node[node].removed = 1;
    }
}

void ana_graph_solve(struct ana_graph *g)
{
    uint32_t *stack = make_stack(g);
    size_t seeds = 0;
    for (size_t i = 0; stack && i < g->nodes; i++) {
        struct ana_graph_node *node = &g->node[i];
        node->open = 0;
        for (uint32_t e = node->first; e; e = g->edge[e].next)
            node->open++;
        node->moves |= node->kind == ANA_WAITS_ALL && !node->open;
        if (node->moves)
            stack[seeds++] = (uint32_t)i;
    }
    if (stack)
        propagate(g, stack, seeds);
    free(stack);
    g->solved = true;
}

/* ---- knots ------------------------------------------------------------------------------------------------------ */

/* Tarjan's numbers of a node. */
struct visit {
    uint32_t number, low; /* number 0: not visited */
    uint32_t edge;        /* next edge to follow */
    bool on_stack;
    bool leaves; /* open part: it waits for another part; closed part: it holds ranks, or waits for others */
};

struct walk {
    struct ana_graph *g;
    struct visit *visit; /* by node */
    uint32_t visited;
    uint32_t *stack, *path; /* open nodes; the path to where it is */
    size_t stacked, depth;
};

static void enter(struct walk *w, uint32_t node)
{
    w->visited++;
    w->visit[node] = (struct visit){w->visited, w->visited, w->g->node[node].first, true, false};
    w->stack[w->stacked++] = node;
    w->path[w->depth++] = node;
}

static bool counts(const struct ana_graph *g, size_t node)
{
    return node < g->ranks || g->node[node].counts;
}

/* The part that begins with this node is complete.  It is a knot unless somebody in it waits for another part. */
static void close_part(struct walk *w, uint32_t first)
{
    struct ana_graph *g = w->g;
    size_t from = w->stacked;
    bool leaves = false, ranks = false;
    uint32_t node;
    do {
        node = w->stack[--from];
        leaves |= w->visit[node].leaves;
        ranks |= counts(g, node);
    } while (node != first);
    uint32_t knot = ranks && !leaves ? ++g->knots : 0;
    for (size_t i = from; i < w->stacked; i++) {
        node = w->stack[i];
        w->visit[node].on_stack = false;
        w->visit[node].leaves = ranks || leaves;
        g->knot[node] = knot;
    }
    w->stacked = from;
}

/* Follows one edge.  False: the node has no more. */
static bool follow(struct walk *w)
{
    struct visit *at = &w->visit[w->path[w->depth - 1]];
    if (!at->edge)
        return false;
    uint32_t to = w->g->edge[at->edge].to;
    at->edge = w->g->edge[at->edge].next;
    if (w->g->node[to].moves || w->g->node[to].removed)
        return true;
    const struct visit *other = &w->visit[to];
    if (!other->number)
        enter(w, to);
    else if (other->on_stack)
        at->low = other->number < at->low ? other->number : at->low;
    else
        at->leaves |= other->leaves;
    return true;
}

static void walk_from(struct walk *w, uint32_t start)
{
    enter(w, start);
    while (w->depth) {
        if (follow(w))
            continue;
        const uint32_t node = w->path[--w->depth];
        struct visit *at = &w->visit[node], *above = w->depth ? &w->visit[w->path[w->depth - 1]] : at;
        bool part = at->low == at->number;
        if (part)
            close_part(w, node);
        if (part && w->depth)
            above->leaves |= at->leaves;
        else if (at->low < above->low)
            above->low = at->low;
    }
}

void ana_graph_find_knots(struct ana_graph *g)
{
    size_t n = g->nodes + 1;
    struct visit *visit = calloc(n, sizeof *visit);
    uint32_t *room = calloc(n, 2 * sizeof *room), *knot = realloc(g->knot, n * sizeof *knot);
    g->memory |= !visit || !room || !knot;
    if (knot) {
        g->knot = knot;
        memset(knot, 0, n * sizeof *knot);
    }
    if (visit && room && knot) {
        struct walk w = {.g = g, .visit = visit, .stack = room, .path = room + n};
        for (size_t i = 0; i < g->nodes; i++)
            if (counts(g, i) && !g->node[i].moves && !g->node[i].removed && !visit[i].number)
                walk_from(&w, (uint32_t)i);
    }
    free(visit);
    free(room);
}

static int by_number(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

size_t ana_graph_blockers(struct ana_graph *g, size_t node, size_t *out, size_t max)
{
    size_t n = 0, depth = 0;
    uint32_t *stack = node < g->nodes ? make_stack(g) : NULL;
    if (!stack)
        return 0;
    g->asked++;
    stack[depth++] = (uint32_t)node;
    while (depth)
        for (uint32_t e = g->node[stack[--depth]].first; e; e = g->edge[e].next) {
            uint32_t to = g->edge[e].to;
            if (g->node[to].moves || g->node[to].asked == g->asked)
                continue;
            g->node[to].asked = g->asked;
            if (to >= g->ranks)
                stack[depth++] = to;
            else if (n < max)
                out[n++] = to;
        }
    free(stack);
    if (n > 1)
        ana_sort(out, n, sizeof *out, by_number);
    return n;
}
