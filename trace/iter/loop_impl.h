/* Shared by the files that find loops: the graph of successive calls. */
#pragma once

#include "trace/iter/loop.h"

struct ana_loop_graph {
    const struct ana_iter *iter;
    const uint32_t *place;
    struct ana_loops *loops;
    uint16_t *node_of;          /* by place, + 1 */
    struct ana_loop_set shared; /* called in several loops, or several times in one */
    bool is_over;               /* ranks have come to MPI_Finalize: no loop is still under way */
    struct ana_loop_set next[ANA_LOOP_NODES];
    struct ana_loop_set round[ANA_LOOP_NODES]; /* nodes in cycles without this node */
};

/* Whether every way round through x passes y. */
static inline bool ana_loop_passes(const struct ana_loop_graph *g, size_t x, size_t y)
{
    return x == y || !ana_loop_has(&g->round[y], x);
}

/* Adds a node to a set. */
static inline void ana_loop_put(struct ana_loop_set *set, size_t node)
{
    set->word[node / 64] |= 1ull << node % 64;
}

/* Calls of the inner loop's end between two calls that end the outer one's iterations. */
struct ana_loop_times {
    uint64_t usual;        /* more than two times in three; 0: it varies */
    bool always;           /* each time, but for one */
    bool is_exact;         /* all times are kept */
    uint64_t first, last;  /* inner calls before the first of the outer, and after the last */
    uint64_t gaps, few;    /* times outer followed outer; times with inner once between or not at all */
    uint64_t between;      /* inner calls between the first and the last of the outer */
    uint64_t inner, outer; /* calls of a rank that has both; outer is 0: there is none */
};
/* Counts it, on the first rank that has both; O(times kept). */
struct ana_loop_times ana_loop_times(const struct ana_loop_graph *g, const struct ana_loop *outer,
                                     const struct ana_loop *inner);
enum ana_loop_detour { ANA_LOOP_NONE, ANA_LOOP_CHANCE, ANA_LOOP_SELDOM };
/* Whether the outer is no loop, but something that is done every few iterations of the inner; CHANCE: or at random. */
enum ana_loop_detour ana_loop_is_detour(const struct ana_loop_graph *g, const struct ana_loop *outer,
                                        const struct ana_loop *inner);

/* Puts the loops in place of `raw` that are seen in the kinds of calls only, from the outermost inward. */
void ana_loop_kinds(struct ana_loop_graph *g, const struct ana_loop *raw, size_t levels);
/* Whether the inner loop has calls of a size that are made once in each iteration of the outer. */
bool ana_loop_has_kind(const struct ana_loop_graph *g, const struct ana_loop *outer, const struct ana_loop *inner);
/* Whether where the outer loop goes round something is left out that else is called in each iteration of the inner one:
 * the other is done instead. */
bool ana_loop_leaves_out(const struct ana_loop_graph *g, const struct ana_loop *outer, const struct ana_loop *inner);
