/* Ranks that wait for each other in a circle. */
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

/* The first deadlocked rank that `index` waits for; SIZE_MAX: none. */
static size_t next_in_circle(struct ana_case *c, size_t index, size_t *edges)
{
    size_t own = SIZE_MAX;
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++) {
        struct ana_waiting *p = &c->waiting[i];
        size_t n = p->blocked ? ana_waiting_for(c, p, edges, c->count) : 0;
        for (size_t k = 0; k < n; k++) {
            if (edges[k] == index)
                own = index; /* a message from anybody may be its own */
            else if (ana_case_deadlocked(c, edges[k]))
                return edges[k];
        }
    }
    return own;
}

/* Follows the waits from `start` until a rank comes again.  Writes the circle to `out`, in its order, and returns its
 * length; 0: there is none. */
static size_t circle_from(struct ana_case *c, size_t start, size_t *edges, size_t *path, uint32_t *seen, uint32_t stamp)
{
    size_t n = 0;
    for (size_t at = start; at != SIZE_MAX && n <= c->count; at = next_in_circle(c, at, edges)) {
        if (seen[at] == stamp) {
            size_t from = 0;
            while (path[from] != at)
                from++;
            memmove(path, path + from, (n - from) * sizeof *path);
            return n - from;
        }
        if (seen[at])
            return 0; /* walked before, without a circle */
        seen[at] = stamp;
        path[n++] = at;
    }
    return 0;
}

static struct ana_call call_of(struct ana_case *c, size_t index)
{
    return ana_waiting_call(ana_rank_waiting(c, index));
}

static void say_circle(struct ana_case *c, const size_t *path, size_t n)
{
    enum { MOST = 8 }; /* links that are told */
    c->out->summary = (struct ana_fact){ANA_SAY_CIRCLE, .count = (int64_t)n, .circle = ana_case_ranks(c, path, n),
                                        .who = ana_one_rank(path[0]), .call = call_of(c, path[0])};
    for (size_t i = 0; i < n && i < MOST; i++)
        ana_case_fact(c, (struct ana_fact){ANA_SAY_WAITS_FOR, .who = ana_one_rank(path[i]),
                                           .others = ana_one_rank(path[(i + 1) % n]), .call = call_of(c, path[i])});
}

/* Blames all who are in the same collective as this one. */
static struct ana_ranks blame_all_with(struct ana_case *c, const struct ana_waiting *one)
{
    size_t *in = calloc(c->waiting_count, sizeof *in), n = 0;
    c->memory |= !in;
    for (size_t i = 0; in && i < c->waiting_count; i++)
        if (c->waiting[i].kind == ANA_WAITING_COLLECTIVE && c->waiting[i].group == one->group) {
            ana_case_blame(c, c->waiting[i].index);
            in[n++] = c->waiting[i].index;
        }
    struct ana_ranks ranks = ana_case_ranks(c, in, n);
    free(in);
    return ranks;
}

/* Tells of two collectives on different communicators, each of which lacks ranks that are in the other. */
static bool say_orders(struct ana_case *c, const size_t *path, size_t n)
{
    const struct ana_waiting *a = ana_rank_waiting(c, path[0]), *b = ana_rank_waiting(c, path[1]);
    if (n != 2 || a->kind != ANA_WAITING_COLLECTIVE || b->kind != ANA_WAITING_COLLECTIVE)
        return false;
    c->out->summary = (struct ana_fact){ANA_SAY_TWO_ORDERS, .who = blame_all_with(c, a), .call = ana_waiting_call(a),
                                        .others = blame_all_with(c, b), .other_call = ana_waiting_call(b)};
    return true;
}

bool ana_find_cycle(struct ana_case *c)
{
    size_t *edges = calloc(c->count + 1, sizeof *edges), *path = calloc(c->count + 1, sizeof *path), n = 0;
    uint32_t *seen = calloc(c->count + 1, sizeof *seen);
    for (size_t i = 0; edges && path && seen && i < c->count && n < 1; i++)
        if (ana_rank_knot(c, i) && !seen[i])
            n = circle_from(c, i, edges, path, seen, (uint32_t)i + 1);
    bool found =
        n >= 1 && ana_case_settle(c, ANA_CLASS_CYCLE, ana_case_certainty(c, path, n), ana_case_lasted(c, path, n));
    if (found) {
        bool deviants = ana_blame_deviants(c, path, n);
        for (size_t i = 0; i < n && !deviants; i++)
            ana_case_blame(c, path[i]);
        if (n == 1)
            c->out->summary =
                (struct ana_fact){ANA_SAY_WAITS_FOR_ITSELF, .who = ana_one_rank(path[0]), .call = call_of(c, path[0])};
        else if (!say_orders(c, path, n))
            say_circle(c, path, n);
        bool outside = false;
        for (size_t i = 0; i < n; i++)
            outside |= !c->sure[path[i]];
        if (outside)
            ana_case_fact(c, (struct ana_fact){.id = ANA_SAY_OTHER_THREADS});
    }
    free(edges);
    free(path);
    free(seen);
    return found;
}
