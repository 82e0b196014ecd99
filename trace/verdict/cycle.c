/* Ranks that wait for each other in a circle. */
#include "trace/verdict/case_impl.h"
#include <stdlib.h>
#include <string.h>

/* The first deadlocked rank that `index` waits for, rather one that is not in MPI_Finalize, which waits for all;
 * SIZE_MAX: none. */
static size_t next_in_circle(struct ana_case *c, size_t index, size_t *edges)
{
    size_t own = SIZE_MAX, leaving = SIZE_MAX;
    for (struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++) {
        size_t n = p->blocked && !p->aside ? ana_waiting_for(c, p, edges, c->count) : 0;
        for (size_t k = 0; k < n; k++) {
            const struct ana_waiting *other = ana_rank_waiting(c, edges[k]);
            if (edges[k] == index)
                own = index; /* a message from anybody may be its own */
            else if (ana_case_deadlocked(c, edges[k]) && other && other->kind == ANA_WAITING_FINALIZE)
                leaving = edges[k];
            else if (ana_case_deadlocked(c, edges[k]))
                return edges[k];
        }
    }
    return leaving != SIZE_MAX ? leaving : own;
}

/* Follows the waits from `start` until a rank comes again.  Writes the circle to `out`, in its order, and returns its
 * length; 0: there is none. */
static size_t circle_from(struct ana_case *c, size_t start, size_t *edges, size_t *path, size_t *seen)
{
    size_t n = 0;
    for (size_t at = start; at != SIZE_MAX && n <= c->count; at = next_in_circle(c, at, edges)) {
        if (seen[at] == start + 1) {
            size_t from = 0;
            while (path[from] != at)
                from++;
            memmove(path, path + from, (n - from) * sizeof *path);
            return n - from;
        }
        if (seen[at])
            return 0; /* walked before, without a circle */
        seen[at] = start + 1;
        path[n++] = at;
    }
    return 0;
}

static bool waits_for_lock(const struct ana_case *c, const struct ana_waiting *p)
{
    bool lock = false;
    for (uint32_t k = 0; k < p->dependencies; k++)
        lock |= c->dependency[p->first_dependency + k].kind == ANA_DEPENDENCY_LOCK;
    return lock;
}

/* Chooses the advice: another order of calls helps neither exchanges nor locks of windows. */
static void advise(struct ana_case *c, const size_t *path, size_t n)
{
    size_t exchanges = 0, locks = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ana_waiting *p = ana_rank_waiting(c, path[i]);
        exchanges += p->call->opclass == TRC_OP_SENDRECV;
        locks += waits_for_lock(c, p);
    }
    c->out->next.id = locks            ? ANA_SENTENCE_NEXT_LOCKS
                      : exchanges == n ? ANA_SENTENCE_NEXT_EXCHANGE
                                       : ANA_SENTENCE_NOTHING;
}

static void explain_circle(struct ana_case *c, const size_t *path, size_t n)
{
    enum { MOST = 8 }; /* links that are shown */
    ANA_SUMMARY(c, ANA_SENTENCE_CIRCLE, .count = (int64_t)n, .circle = ana_ranks_at(path, n),
                .who = ana_one_rank(path[0]), .call = ana_rank_call(c, path[0]));
    for (size_t i = 0; i < n && i < MOST; i++)
        ANA_FACT(c, ANA_SENTENCE_WAITS_FOR, .who = ana_one_rank(path[i]), .others = ana_one_rank(path[(i + 1) % n]),
                 .call = ana_rank_call(c, path[i]));
}

/* Blames all ranks that are in one collective with this one. */
static struct ana_ranks blame_all_with(struct ana_case *c, const struct ana_waiting *one)
{
    const struct ana_ranks in = ana_ranks_in(c, ana_group_at(c, one->group));
    ana_case_blame_all(c, in);
    return in;
}

/* Reports two collectives on different communicators, each lacking ranks that are in the other. */
static bool explain_orders(struct ana_case *c, const size_t *path, size_t n)
{
    const struct ana_waiting *a = ana_rank_waiting(c, path[0]), *b = ana_rank_waiting(c, path[1]);
    if (n != 2 || a->kind != ANA_WAITING_COLLECTIVE || b->kind != ANA_WAITING_COLLECTIVE)
        return false;
    c->out->next.id = ANA_SENTENCE_NEXT_ORDERS;
    ANA_SUMMARY(c, ANA_SENTENCE_TWO_ORDERS, .who = blame_all_with(c, a), .call = ana_waiting_call(a),
                .others = blame_all_with(c, b), .other_call = ana_waiting_call(b));
    return true;
}

/* The rank of the circle that waits for a message from any source, where most ranks of its knot wait for it by name;
 * SIZE_MAX: none. */
static size_t find_center(struct ana_case *c, const size_t *path, size_t n)
{
    size_t center = SIZE_MAX, peers = 0, waiting = 0;
    for (size_t i = 0; i < n && center == SIZE_MAX; i++)
        if (ana_waits_for_anybody(c, ana_rank_waiting(c, path[i])))
            center = path[i];
    for (size_t i = 0; i < c->count && center != SIZE_MAX; i++) {
        if (i == center || ana_rank_knot(c, i) != ana_rank_knot(c, center))
            continue;
        struct ana_waiting *p = ana_rank_waiting(c, i);
        peers++;
        waiting += p && p->kind != ANA_WAITING_FINALIZE && !ana_waits_for_anybody(c, p) && ana_waits_for(c, p, center);
    }
    return peers >= 2 && waiting * 2 > peers ? center : SIZE_MAX;
}

/* Whether a rank of the circle only listens, and the one before it waits for it in a collective. */
static bool has_listener(struct ana_case *c, const size_t *path, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ana_rank_waiting(c, path[i])->kind == ANA_WAITING_COLLECTIVE && ana_only_listens(c, path[(i + 1) % n]))
            return true;
    return false;
}

bool ana_find_cycle(struct ana_case *c)
{
    size_t *edges = ana_case_room(c), *path = ana_case_room(c), *seen = ana_case_room(c), n = 0;
    for (size_t i = 0; edges && path && seen && i < c->count && n == 0; i++)
        if (ana_rank_knot(c, i) && !seen[i])
            n = circle_from(c, i, edges, path, seen);
    if (n == 0 || has_listener(c, path, n) ||
        !ana_case_settle(c, ANA_CLASS_CYCLE, ana_case_certainty(c, path, n), ana_case_lasted(c, path, n)))
        return false;
    const size_t center = find_center(c, path, n);
    ana_case_blame_all(c, center == SIZE_MAX ? ana_ranks_at(path, n) : ana_one_rank(center));
    advise(c, path, n);
    if (n == 1)
        ANA_SUMMARY(c, ANA_SENTENCE_WAITS_FOR_ITSELF, .who = ana_one_rank(path[0]), .call = ana_rank_call(c, path[0]));
    else if (!explain_orders(c, path, n))
        explain_circle(c, path, n);
    bool outside = false;
    for (size_t i = 0; i < n; i++)
        outside |= !c->rank[path[i]].sure;
    if (outside)
        ANA_FACT(c, ANA_SENTENCE_OTHER_THREADS);
    ana_case_doubt_culprits(c);
    return true;
}
