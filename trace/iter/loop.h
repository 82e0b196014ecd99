/* The loops of a program, found from the order in which places call.
 *
 * The segments of all ranks are the edges of one graph: its nodes are the places that call.  A loop is a cycle in
 * it; the one gone round longest is the program's (of about as long ones the one with most calls).  The places called
 * least often, but ANA_LOOP_TIMES at least, that every way round through them passes, are called once in each
 * iteration: they are its *head*.  The cycles left without the head are the inner loops, whatever their number of
 * times.  A place that only some ranks call, or only some iterations, is passed by no other place's ways alone.
 *
 * Where all halos or all sums are made in one function, the loops of a program call at the same places, and the graph
 * shows the innermost only.  Calls of a place are therefore distinguished by where its thread had called since the call
 * before, and by size and callers (their *kind*, iter.h): in `for i { for j { halo; sum }; sum }` the first halo of the
 * inner loop comes after two sums.  A kind ends iterations of a loop if
 *   it is regular: as many calls come in a row, and as many calls or the same kinds come between two rows, mostly (of
 *   three kinds or more that have other sizes or callers the rows may have any length), and
 *   nothing explains it: the calls before it, and not before the usual calls there, are at no place of its own, which
 *   would be a node that is called as seldom.
 * A place most of whose calls are of such kinds is *shared*: that it is called says nothing of any loop.
 *
 * `for i { step; every 10th time: save }` calls as `for i { for j in 0..9 { step }; save }` does.  A level is therefore
 * taken for a *detour* from the level inside where
 *   it only reads and writes files, or
 *   it comes every n-th time, and the first or last time the count was smaller: no loop was cut off there (the last
 *   time of a job that did not end counts for n >= ANA_LOOP_DETOUR only: an iteration may be under way; up to
 *   ANA_LOOP_BEFORE calls more at the begin say nothing), or
 *   it comes every n-th time (n >= ANA_LOOP_DETOUR_FAR), before the first and after the last, or
 *   something is left out where it comes, that else is called each time inside: it is done in place of that, unless
 *   it comes every second or third time, as a function does that each iteration calls so often, or after a number of
 *   times that varies, is never one, and starts or ends the run: a loop that ends in the middle leaves out its second
 *   half, or
 *   it has fewer places than the level inside, and comes every n-th time but for a few (n >= ANA_LOOP_DETOUR_FAR), or
 *   more than once in ANA_LOOP_DETOUR_NEAR times, or at random, a part of 1 in ANA_LOOP_DETOUR_FEW after one time or
 *   none: an inner loop seldom runs once, or
 *   it is a kind of calls, and something inside it is a detour, or a loop that has places of its own goes round less
 *   than ANA_LOOP_DETOUR_NEAR times in it: calls of most of its iterations are alike. */
#pragma once

#include "trace/iter/iter.h"

#define ANA_LOOP_TIMES       5
#define ANA_LOOP_DETOUR      5
#define ANA_LOOP_DETOUR_FAR  8
#define ANA_LOOP_DETOUR_NEAR 2
#define ANA_LOOP_DETOUR_FEW  3
#define ANA_LOOP_BEFORE      2
#define ANA_LOOP_NODES       256u /* places that are looked at: those called most often, by most ranks */
#define ANA_LOOP_LEVELS      6u

/* A set of nodes. */
struct ana_loop_set {
    uint64_t word[ANA_LOOP_NODES / 64];
};
/* Whether a node is in a set; node < ANA_LOOP_NODES. */
static inline bool ana_loop_has(const struct ana_loop_set *set, size_t node)
{
    return set->word[node / 64] >> node % 64 & 1;
}

/* A place that calls, on all ranks. */
struct ana_loop_node {
    uint32_t place;   /* number of trace/why, + 1 */
    uint32_t mark;    /* mark of the rank that calls there most often */
    uint32_t ranks;   /* number of ranks that call there */
    uint32_t members; /* members of its communicator, if it is a collective */
    uint64_t bits;    /* bit in ana_iter_kind.after */
    uint64_t count;   /* calls of the rank that has most */
    uint64_t rows;    /* calls of this rank that do not directly follow another there */
    bool is_io;
    double span_ns, first_ns; /* time from first to last call, summed over ranks; time of the first, on average */
};

/* A loop: one level of nested ones. */
struct ana_loop {
    struct ana_loop_set in, head; /* nodes; nodes called once in each iteration */
    size_t end;    /* the one of the head that ends iterations: the last, a collective of most ranks if there is one */
    uint64_t turn; /* kind of its calls that do (iter.h); 0: all */
    enum ana_iter_sort sort;
    uint64_t count; /* iterations of the rank with most */
    bool is_detour; /* no loop, but something that is done every few iterations of a level inside */
};

struct ana_loops {
    struct ana_loop_node *node;
    size_t nodes;
    struct ana_loop level[ANA_LOOP_LEVELS]; /* levels from the outermost inward */
    size_t levels;
    size_t iteration; /* the outermost level that is no detour */
};

/* Finds the loops; `place` gives for each place of `why` the one of the same name, + 1.  No level: there is no loop.
 * False: out of memory.  Free with ana_loops_free. */
bool ana_loops_find(const struct ana_iter *iter, const struct ana_why *why, const uint32_t *place,
                    struct ana_loops *loops);
/* The mark of a rank whose calls end iterations of a loop, + 1, or one of its kinds; 0: it has none. */
uint32_t ana_loop_mark(const struct ana_iter *iter, const uint32_t *place, const struct ana_loops *loops,
                       const struct ana_loop *loop, size_t index);
/* Whether ANA_LOOP_TIMES calls that end iterations of a loop have the same callers, on the rank with most: else it is a
 * function that a program calls in several phases. */
bool ana_loop_is_repeated(const struct ana_iter *iter, const struct ana_loops *loops, const struct ana_loop *loop);
/* Frees them; the struct is the caller's. */
void ana_loops_free(struct ana_loops *loops);
