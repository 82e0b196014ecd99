/* Causes of waiting: each wait is followed back to the segments that made the other ranks late.
 *
 * The latest calls of each rank are kept as *steps*, with the rank that ended each wait.  A way starts at the begin of
 * a call and goes back in time through the segment before it and the call before; in a call that waited, only the time
 * after the wait counts, and the way goes on at the rank that ended it: it alone decided when the wait was over.
 *
 * For a wait two such ways are followed, from the call of the late rank and from the call of the waiter, until they
 * meet.  Their lengths differ by the time waited.  It is charged to the parts that the late rank's way has more of
 * than the waiter's, in proportion: a rank that was late only because of another rank is not blamed, nor is work that
 * all do alike.  After Scalasca's delay costs (Boehme, Geimer, Wolf, Arnold: "Identifying the root causes of wait
 * states in large-scale parallel applications", ICPP 2010), with ways in place of intervals between two ranks.
 *
 * A GPU that waits for a launch is waited for in no call, so there is no second way: its wait is charged to the work
 * of the late rank, and of the ranks it had waited for itself, in that time before its launch.
 *
 * The costs add up to the waits to the nanosecond: time charged to no segment is charged to the time inside calls, or
 * to the unknown. */
#pragma once

#include "trace/cause/ahead.h"
#include "trace/cause/run_facts.h"
#include "trace/util/thread_pool.h"
#include "trace/util/hash_map.h"
#include "trace/util/archive.h"
#include <stddef.h>

#define ANA_STEPS_OF_RANK     4096u      /* steps of a rank in a job of few ranks; a power of two */
#define ANA_STEPS             (1u << 18) /* total of all ranks, if that leaves each ANA_STEPS_LEAST */
#define ANA_STEPS_LEAST       128u
#define ANA_STEPS_TURN        (ANA_STEPS_LEAST / 4) /* steps of a rank between two checks for due work */
#define ANA_STEPS_SETTLE      ANA_STEPS_LEAST       /* new steps of each rank before settled ones are replayed */
#define ANA_STEPS_AHEAD       8u                    /* steps: prefetch distance, and spare room at the end */
#define ANA_BACKTRACE_MOST    512                   /* steps on the two ways of one wait */
#define ANA_BACKTRACE_OF_STEP 8                     /* steps on ways, on average, for each call */
#define ANA_WAITS_PENDING     (1u << 16)            /* waits that are still to be followed */
#define ANA_BACKTRACE_PARTS   16u                   /* parts of the waits, followed side by side */
#define ANA_BACKTRACE_FEW     64u                   /* waits of a part, at least */
#define ANA_DELAY_LAG_NS      1000000000 /* delay before a wait is followed: all events before it are known by then */

/* Waiting that something caused. */
struct ana_cost {
    int64_t direct_ns; /* waits for the rank that did it */
    int64_t passed_ns; /* waits for other ranks, made late by this one */
    int64_t aside_ns;  /* part of both: waits of other threads than main ones */
    /* Sum over the late calls of the longest of the waits for each.  Ranks that wait for one call wait at once, so
     * mending the cause ends the run no earlier than by this, but for work that nobody waits for. */
    int64_t longest_ns;
    uint64_t waits;
    double squares;  /* sum of the squared waits, in ns^2 */
    uint64_t late;   /* latest late call */
    int64_t late_ns; /* the longest of its waits so far */
};

/* One call of a thread.  Small, since ten thousand ranks have a million steps. */
struct ana_cause_step {
    int64_t begin_ns, end_ns;
    int64_t release_ns;               /* end of its last wait; with a releaser only */
    uint32_t releaser, releaser_step; /* rank index, + 1, 0: no wait; its step when it came */
    uint32_t segment;                 /* before it, + 1; 0 none */
    uint16_t place;                   /* call place, + 1; 0 unknown */
    uint16_t back : 14;               /* distance to the thread's step before; 0: none */
    uint16_t polled : 1;              /* some of the segment was spent in unsuccessful polls (ana_step_until), */
    uint16_t spins : 1;               /* the step had been polled for */
    uint32_t edges;                   /* number of the last of its edges (replay.h); 0 none */
    uint32_t mark : 31;               /* mark of path.c */
    uint32_t needed : 1;              /* another step needs its begin (replay.c) */
};
#define ANA_STEP_BACK_MOST 16383u /* larger distances are stored as this: such a step is not kept */
_Static_assert(ANA_STEPS_OF_RANK <= ANA_STEP_BACK_MOST, "what is kept is nearer");

/* The steps of a rank: a ring. */
struct ana_cause_rank {
    struct ana_cause_step *step; /* NULL: it had none yet */
    uint32_t so_far;
    bool several, lost; /* it has several threads; no memory: none of its steps is known */
    int64_t spins_ns;   /* begin of polling for its next step; INT64_MIN: none */
};
/* Costs charged to no segment of a rank: time in its calls, and unknown time. */
struct ana_rank_cost {
    struct ana_cost inside, unknown;
};

/* Facts about a segment and about a place. */
struct ana_cause_segment {
    struct ana_cost cost;
    uint32_t from, segment_kind;
};
struct ana_cause_place {
    bool communicates, ends, edge;
    bool delays;           /* calls have segments of their own: time in them makes others wait */
    uint8_t scenario;      /* scenario without the time of its calls (replay.h); 0: none */
    ana_pair ideal, calls; /* 1: calls take no time in a scenario, of the first and the last two */
};

struct ana_causes {
    struct ana_queue queue; /* facts on their way; drained before somebody reads or changes the rest */
    struct ana_cause_rank *rank;
    struct ana_rank_cost *rank_cost; /* by rank */
    struct ana_cause_step *step;     /* steps of all ranks; pages appear when first written (trace/util/pages.h) */
    int64_t *until;                  /* results of ana_step_until by step, where not its begin; in pages, too */
    size_t ranks;
    struct ana_cause_segment *segment; /* indexed by number - 1 */
    struct ana_cause_place *place;     /* indexed by number - 1 */
    struct ana_map inside;             /* uint32_t: number + 1 of the segment inside calls, by rank, place */
    size_t segments, segment_room, places, place_room;
    uint32_t segment_kinds;
    uint32_t room, mask;        /* steps of a rank, a power of two; the same - 1 */
    int64_t backtrace_left;     /* steps on ways that the calls so far have paid for */
    struct ana_late_wait *wait; /* a ring of ANA_WAITS_PENDING */
    uint64_t waits, followed;   /* waits so far, and followed; the ring holds the difference */
    int64_t due_ns;             /* waits that ended by then may be followed */
    int64_t waited_ns;          /* total of all waits, followed or not */
    struct ana_backtrace *backtrace[ANA_BACKTRACE_PARTS];
    struct ana_thread_pool *thread_pool; /* threads that may do parts; NULL: there are none */
    struct ana_path *path;
    struct ana_replay *replay;
    bool out_of_memory; /* something is missing */
    bool closed;        /* no more facts: ana_causes_archive has filled it in */
};

/* A step of a rank by its number, the first being 1; NULL: none, or no longer kept. */
static inline struct ana_cause_step *ana_step_at(const struct ana_causes *causes, size_t index, uint32_t number)
{
    const struct ana_cause_rank *rank = &causes->rank[index];
    bool kept = number && rank->so_far - number <= causes->mask; /* a later one is far more than that back */
    return kept ? &rank->step[number & causes->mask] : NULL;
}

/* The number of the thread's step before one whose number is given; 0: there is none. */
static inline uint32_t ana_step_back(const struct ana_cause_step *step, uint32_t number)
{
    return step->back ? number - step->back : 0;
}
/* Returns the end of the segment before a step: the begin of polling for it, or else its begin less the time of other
 * polls. */
static inline int64_t ana_step_until(const struct ana_causes *causes, const struct ana_cause_step *step)
{
    return __builtin_expect(step->polled, 0) ? causes->until[step - causes->step] : step->begin_ns;
}

/* Returns the facts about a segment by its known number + 1. */
static inline struct ana_cause_segment *ana_cause_segment_at(const struct ana_causes *causes, uint32_t number)
{
    return &causes->segment[number - 1];
}
/* Returns the number + 1 of the segment that the time in a rank's calls of a place is; 0: it is none. */
static inline uint32_t ana_segment_inside(const struct ana_causes *causes, size_t index, uint32_t place)
{
    if (__builtin_expect(!place || !causes->place[place - 1].delays, 1))
        return 0;
    const uint32_t *number = ana_map_find(&causes->inside, index, place, 0);
    return number ? *number : 0;
}
/* The place that calls, by its number + 1, of a step; NULL: unknown. */
static inline struct ana_cause_place *ana_cause_place_at(const struct ana_causes *causes, uint32_t number)
{
    return number ? &causes->place[number - 1] : NULL;
}

/* Returns the number of steps kept of a rank in a job of `ranks`; a power of two. */
uint32_t ana_steps_room(size_t ranks);
/* Room for the causes of waiting of `ranks` ranks, found by `thread_pool` (NULL: by the caller).  NULL:
 * out of memory. */
struct ana_causes *ana_causes_new(size_t ranks, struct ana_thread_pool *thread_pool);
/* Frees them; NULL is none. */
void ana_causes_free(struct ana_causes *causes);

/* Room for one fact, which the caller fills in at once; ranks and numbers in it must be of the job.  Facts are taken by
 * the hundred, on the same thread or on another.  Never fails: `out_of_memory` is set. */
static inline struct ana_run_fact *ana_causes_room(struct ana_causes *causes)
{
    return ana_queue_room(&causes->queue, sizeof(struct ana_run_fact));
}
/* Follows all waits that can be followed once the job has come to `now_ns`, in job time: before costs are compared. */
void ana_causes_follow(struct ana_causes *causes, int64_t now_ns);
/* Returns the cost of a segment, by its number + 1. */
struct ana_cost ana_causes_cost(const struct ana_causes *causes, uint32_t segment);

struct ana_path_sums;
/* Saves the results, or loads them into causes that have no facts: of `segments` segments and `places` places. When
 * saving, `path` is the whole path, and saves[i] the time scenario i saves (ana_replay_saves); loaded causes return
 * just these values from then on, whatever they are asked. */
void ana_causes_archive(struct ana_archive *archive, struct ana_causes *causes, size_t segments, size_t places,
                        const struct ana_path_sums *path, const int64_t *saves);
