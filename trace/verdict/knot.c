/* The knots of a deadlock: ranks that wait for each other, and for nobody else who is deadlocked.  All others only wait
 * for them.  Found as the strongly connected parts of who waits for whom that no edge leaves (Tarjan, without recursion:
 * jobs are large). */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>

struct edges {
    size_t *to, n;
};

struct walk {
    struct ana_case *c;
    uint32_t *number, *low; /* by rank index; number 0: not visited */
    uint32_t visited;
    size_t *stack, stacked;
    uint8_t *on_stack;
    struct edges *edges; /* of those on the path */
    size_t *path, *next, depth;
    size_t *room;  /* for the edges of one operation */
    size_t leaver; /* the first rank that waits in MPI_Finalize: it stands for all of them */
};

static bool leaves(struct ana_case *c, size_t index)
{
    const struct ana_waiting *p = ana_rank_waiting(c, index);
    return p && p->kind == ANA_WAITING_FINALIZE;
}

/* Who waits for the same as another one waits for that one instead: so the edges are few. */
static size_t waiting_for(struct walk *w, size_t index, struct ana_waiting *p)
{
    struct ana_case *c = w->c;
    size_t n = 0;
    if (p->kind == ANA_WAITING_FINALIZE && index != w->leaver) {
        w->room[n++] = w->leaver;
        return n;
    }
    for (size_t i = 0; p->kind == ANA_WAITING_FINALIZE && i < c->count; i++)
        if (!leaves(c, i))
            w->room[n++] = i;
    if (p->kind == ANA_WAITING_FINALIZE)
        return n;
    if (p->kind == ANA_WAITING_COLLECTIVE && p->group != ANA_NO_GROUP) {
        size_t first = c->waiting[ana_group_at(c, p->group)->first_waiting].index;
        if (first != index && ana_case_deadlocked(c, first)) {
            w->room[n++] = first;
            return n;
        }
    }
    return ana_waiting_for(c, p, w->room, c->count);
}

static bool find_edges(struct walk *w, size_t index, struct edges *out)
{
    struct ana_case *c = w->c;
    *out = (struct edges){0};
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++) {
        struct ana_waiting *p = &c->waiting[i];
        size_t n = p->blocked ? waiting_for(w, index, p) : 0, kept = 0;
        for (size_t k = 0; k < n; k++)
            if (ana_case_deadlocked(c, w->room[k]))
                w->room[kept++] = w->room[k];
        size_t *more = kept ? realloc(out->to, (out->n + kept) * sizeof *more) : NULL;
        if (kept && !more)
            return false;
        for (size_t k = 0; k < kept; k++)
            more[out->n++] = w->room[k];
        out->to = kept ? more : out->to;
    }
    return true;
}

static bool enter(struct walk *w, size_t index)
{
    w->number[index] = w->low[index] = ++w->visited;
    w->stack[w->stacked++] = index;
    w->on_stack[index] = 1;
    w->path[w->depth] = index;
    w->next[w->depth] = 0;
    return find_edges(w, index, &w->edges[w->depth++]);
}

/* The part whose first rank is the last one on the path is complete: it is a knot unless somebody in it waits for a
 * rank of another part, which was visited before. */
static void close_part(struct walk *w, size_t first)
{
    size_t from = w->stacked, member;
    do
        member = w->stack[--from];
    while (member != first);
    bool knot = true;
    for (size_t i = from; i < w->stacked; i++)
        knot &= !w->c->knot[w->stack[i]];
    for (size_t i = from; i < w->stacked; i++) {
        w->c->knot[w->stack[i]] = knot;
        w->on_stack[w->stack[i]] = 0;
    }
    w->stacked = from;
}

/* While a part is open knot[] says of its members that they wait for another part. */
static bool visit(struct walk *w, size_t start)
{
    bool done = enter(w, start);
    while (done && w->depth) {
        size_t at = w->path[w->depth - 1];
        struct edges *edges = &w->edges[w->depth - 1];
        if (w->next[w->depth - 1] < edges->n) {
            size_t to = edges->to[w->next[w->depth - 1]++];
            if (!w->number[to])
                done = enter(w, to);
            else if (w->on_stack[to])
                w->low[at] = w->number[to] < w->low[at] ? w->number[to] : w->low[at];
            else
                w->c->knot[at] = 1;
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
            w->c->knot[above] = 1;
        else
            w->low[above] = w->low[at] < w->low[above] ? w->low[at] : w->low[above];
    }
    while (w->depth)
        free(w->edges[--w->depth].to);
    return done;
}

bool ana_case_knots(struct ana_case *c)
{
    size_t n = c->count + 1;
    struct walk w = {.c = c, .leaver = SIZE_MAX};
    w.number = calloc(n, sizeof *w.number);
    w.low = calloc(n, sizeof *w.low);
    w.stack = calloc(n, sizeof *w.stack);
    w.on_stack = calloc(n, 1);
    w.edges = calloc(n, sizeof *w.edges);
    w.path = calloc(n, sizeof *w.path);
    w.next = calloc(n, sizeof *w.next);
    w.room = calloc(n, sizeof *w.room);
    bool done = w.number && w.low && w.stack && w.on_stack && w.edges && w.path && w.next && w.room;
    for (size_t i = 0; done && i < c->count && w.leaver == SIZE_MAX; i++)
        if (ana_case_deadlocked(c, i) && leaves(c, i))
            w.leaver = i;
    for (size_t i = 0; done && i < c->count; i++)
        if (ana_case_deadlocked(c, i) && !w.number[i])
            done = visit(&w, i);
    free(w.number);
    free(w.low);
    free(w.stack);
    free(w.on_stack);
    free(w.edges);
    free(w.path);
    free(w.next);
    free(w.room);
    return done;
}
