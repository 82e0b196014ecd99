/* Ranks that wait for each other in a circle. */
#include "trace/verdict/verdict_impl.h"
#include <stdio.h>
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

static int by_index(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void list_sorted(const struct ana_case *c, const size_t *path, size_t n, char *who, size_t size)
{
    size_t *sorted = malloc(n * sizeof *sorted);
    snprintf(who, size, "%zu ranks", n);
    if (!sorted)
        return;
    memcpy(sorted, path, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_index);
    ana_rank_list(c->job, sorted, n, who, size);
    free(sorted);
}

static void say_circle(struct ana_case *c, const size_t *path, size_t n)
{
    char who[128], call[256], ring[160];
    size_t at = 0;
    if (n == 1) {
        ana_waiting_words(c, ana_rank_waiting(c, path[0]), call, sizeof call);
        ana_case_say(c, "rank %s waits for itself in %s", ana_rank_label(c->job, path[0]).text, call);
        return;
    }
    list_sorted(c, path, n, who, sizeof who);
    for (size_t i = 0; i <= n && at < sizeof ring - 1; i++) {
        int k = i < 8 || i == n ? snprintf(ring + at, sizeof ring - at, "%s%s", i ? " -> " : "",
                                           ana_rank_label(c->job, path[i % n]).text)
                                : snprintf(ring + at, sizeof ring - at, "%s", i == 8 ? " -> ..." : "");
        at += k > 0 ? (size_t)k : 0;
    }
    ana_waiting_words(c, ana_rank_waiting(c, path[0]), call, sizeof call);
    ana_case_say(c, "%s wait for each other in a circle: %s (rank %s in %s)", who, ring,
                 ana_rank_label(c->job, path[0]).text, call);
    for (size_t i = 0; i < n && i < 8; i++) {
        ana_waiting_words(c, ana_rank_waiting(c, path[i]), call, sizeof call);
        ana_case_evidence(c, "rank %s waits for rank %s: %s", ana_rank_label(c->job, path[i]).text,
                          ana_rank_label(c->job, path[(i + 1) % n]).text, call);
    }
}

/* Writes about two collectives on different communicators, each of which lacks ranks that are in the other. */
static bool say_orders(struct ana_case *c, const size_t *path, size_t n)
{
    struct ana_waiting *a = ana_rank_waiting(c, path[0]), *b = ana_rank_waiting(c, path[1]);
    if (n != 2 || a->kind != ANA_WAITING_COLLECTIVE || b->kind != ANA_WAITING_COLLECTIVE)
        return false;
    size_t *in_a = calloc(c->waiting_count + 1, sizeof *in_a), *in_b = calloc(c->waiting_count + 1, sizeof *in_b),
           na = 0, nb = 0;
    for (size_t i = 0; in_a && in_b && i < c->waiting_count; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        if (p->kind != ANA_WAITING_COLLECTIVE || (p->group != a->group && p->group != b->group))
            continue;
        ana_case_blame(c, p->index);
        if (p->group == a->group)
            in_a[na++] = p->index;
        else
            in_b[nb++] = p->index;
    }
    char first[128], second[128], call_a[256], call_b[256];
    if (in_a && in_b) {
        ana_rank_list(c->job, in_a, na, first, sizeof first);
        ana_rank_list(c->job, in_b, nb, second, sizeof second);
        ana_waiting_words(c, a, call_a, sizeof call_a);
        ana_waiting_words(c, b, call_b, sizeof call_b);
        const char *kind = ana_comm_kind(a->comm), *other = ana_comm_kind(b->comm);
        char two[48];
        if (kind == other)
            snprintf(two, sizeof two, "two %ss", kind);
        else
            snprintf(two, sizeof two, "a %s and a %s", kind, other);
        ana_case_say(c, "collectives on %s, in opposite order or with one left out: %s %s in %s, %s in %s", two, first,
                     na == 1 ? "waits" : "wait", call_a, second, call_b);
    }
    free(in_a);
    free(in_b);
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
        if (!say_orders(c, path, n))
            say_circle(c, path, n);
        bool outside = false;
        for (size_t i = 0; i < n; i++)
            outside |= !c->sure[path[i]];
        if (outside)
            ana_case_evidence(c,
                              "other threads of these ranks are outside MPI: they may hold or wait for a lock, such as "
                              "Python's");
    }
    free(edges);
    free(path);
    free(seen);
    return found;
}
