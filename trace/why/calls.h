/* The latest calls of each rank, by the numbers of their steps: call site and segment before.
 *
 * Memory is bounded: a ring a rank.  One thread at a time: the one that emits the steps to trace/cause. */
#pragma once

#include "trace/cause/run_facts.h"
#include <stddef.h>

/* Facts about a call. */
struct ana_why_call {
    uint32_t place, segment; /* call place; segment before it, 0: unknown; both + 1 */
    float segment_ns;        /* duration of the segment */
    uint32_t site;           /* number of its call site's sum, + 1; 0: unknown, or not of the main thread */
};

/* Polls without pause before a call. */
struct ana_why_spin {
    int64_t begin_ns, until_ns; /* begin of the first poll, begin of the call */
    float share;                /* share of that time inside the polls */
    uint32_t step;              /* number of the call's step */
    const struct trc_call *call;
};
#define ANA_WHY_SPINS 16u /* latest ones that are kept of a rank */

struct ana_why_calls_of {
    struct ana_why_call *call; /* a ring; NULL: there were none, or no memory */
    struct ana_why_spin *spin; /* a ring; NULL: there were none, or no memory */
    uint32_t steps, spins;     /* so far */
};

struct ana_why_calls {
    struct ana_why_calls_of *rank;
    size_t ranks;
    uint32_t room;      /* size of each ring; a power of two */
    bool out_of_memory; /* something is missing */
};

/* Empty rings of `room` calls, a power of two, for `ranks` ranks.  False: out of memory. */
bool ana_why_calls_init(struct ana_why_calls *calls, size_t ranks, uint32_t room);
/* Frees them; the struct is the caller's.  Zeros are allowed. */
void ana_why_calls_free(struct ana_why_calls *calls);

/* Makes the ring of a rank.  False: out of memory. */
bool ana_why_calls_make(struct ana_why_calls *calls, struct ana_why_calls_of *rank);

/* Adds the polls before the next step of a rank. */
void ana_why_calls_spin(struct ana_why_calls *calls, const struct ana_run_fact *fact);
/* The latest polls that ended with this step of a rank, or with the one before; valid until more are added.  NULL:
 * none, or no longer kept. */
const struct ana_why_spin *ana_why_spin_at(const struct ana_why_calls *calls, size_t index, uint32_t step);

/* Adds the call of the next step of a rank. */
static inline void ana_why_calls_put(struct ana_why_calls *calls, size_t index, struct ana_why_call call)
{
    struct ana_why_calls_of *rank = &calls->rank[index];
    uint32_t number = ++rank->steps;
    if (__builtin_expect(!rank->call, 0) && !ana_why_calls_make(calls, rank))
        return;
    rank->call[number & (calls->room - 1)] = call;
}

/* Adds a fact, if it is a step or part of one (ANA_RUN_CALL, _STEP, _SPINS): the next of its rank. */
static inline void ana_why_calls_add(struct ana_why_calls *calls, const struct ana_run_fact *fact)
{
    if (fact->kind == ANA_RUN_POLLS)
        ana_why_calls_spin(calls, fact);
    if (fact->kind > ANA_RUN_STEP)
        return;
    uint32_t segment = fact->call.back ? fact->call.segment : 0;
    ana_why_calls_put(calls, fact->index,
                      (struct ana_why_call){fact->call.place, segment, fact->call.segment_ns,
                                            fact->thread == ANA_MAIN_THREAD ? fact->call.site : 0});
}

/* A call of a rank by the number of its step, zeros: none; NULL: none, or no longer kept. */
static inline const struct ana_why_call *ana_why_call_at(const struct ana_why_calls *calls, size_t index,
                                                         uint32_t number)
{
    const struct ana_why_calls_of *rank = &calls->rank[index];
    bool kept = rank->call && rank->steps - number < calls->room; /* a later one is far more than that back */
    return kept ? &rank->call[number & (calls->room - 1)] : NULL;
}
