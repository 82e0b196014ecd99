/* What the waiting of some ranks was caused by: each wait is followed back to the segments that made the others late.
 *
 * The latest calls of each rank are kept as *steps*, with who ended the waits in them.  From the begin of a call one
 * comes back in time through the segment before it and the call before that; where that call waited, only what came
 * after the wait counts, and the way goes on at the rank that ended it: it alone decided when the wait was over.
 *
 * For a wait two such ways are gone, from the call of the one who came late and from that of the one who waits, until
 * they meet.  They differ in length by what was waited.  It is charged to what the late one's way has more of than the
 * waiter's, in proportion: so a rank that was only late because another was is not blamed, and what all do alike is
 * not either.  After Scalasca's delay costs (Boehme, Geimer, Wolf, Arnold: "Identifying the root causes of wait states
 * in large-scale parallel applications", ICPP 2010), with ways in place of intervals between two ranks.
 *
 * A GPU that waits for a launch is waited for in no call, so there is no second way: that is charged to what the late
 * rank, and whom it had waited for itself, did in that time before its launch.
 *
 * The costs add up to the waits to the nanosecond: what is charged to no segment is charged to the time inside calls,
 * or to nothing known. */
#ifndef ANA_CAUSES_H
#define ANA_CAUSES_H

#include "trace/cause/ahead.h"
#include "trace/cause/told.h"
#include "trace/util/beside.h"
#include "trace/util/hash_map.h"
#include "trace/util/keep.h"
#include <stddef.h>

#define ANA_STEPS_OF_RANK 4096u      /* of a job of few ranks; a power of two */
#define ANA_STEPS         (1u << 18) /* of all ranks together, where that leaves each ANA_STEPS_LEAST */
#define ANA_STEPS_LEAST   128u
#define ANA_STEPS_TURN    (ANA_STEPS_LEAST / 4) /* of a rank, between two looks at what is due */
#define ANA_STEPS_SETTLE  ANA_STEPS_LEAST       /* of each rank, after which what is settled is replayed */
#define ANA_STEPS_AHEAD   8u         /* so far ahead memory of a rank is fetched, and there is as much more */
#define ANA_WAY_MOST      512        /* steps on the two ways of one wait */
#define ANA_WAY_OF_STEP   8          /* steps on ways, on average, for each call */
#define ANA_WAITS_PENDING (1u << 16) /* waits that are still to be followed */
#define ANA_WAY_PARTS     16u        /* that waits are followed in, side by side */
#define ANA_WAY_FEW       64u        /* waits of a part, at least */
#define ANA_DELAY_LAG_NS  1000000000 /* a wait is followed so late that what came before it has been told */

/* Waiting that something caused. */
struct ana_cost {
    int64_t direct_ns; /* of ranks that waited for the one who did it */
    int64_t passed_ns; /* of ranks that waited for others, whom this had made late */
    uint64_t waits;
    double squares; /* of them, in ns^2 */
};

/* One call of a thread.  Ten thousand ranks have a million of them, so it is small. */
struct ana_cause_step {
    int64_t begin_ns, end_ns;
    int64_t release_ns;               /* when its last wait ended; with a releaser only */
    uint32_t releaser, releaser_step; /* rank index, + 1, 0: no wait; its step when it came */
    uint32_t segment;                 /* before it, + 1; 0 none */
    uint16_t place;                   /* that calls, + 1; 0 unknown */
    uint16_t back : 14;               /* so many steps earlier was the thread's one before; 0: there was none */
    uint16_t polled : 1;              /* some of the segment was spent in unsuccessful polls (ana_step_until), */
    uint16_t spins : 1;               /* ... and it had been polled for */
    uint32_t edges;                   /* number of the last of its edges (replay.h); 0 none */
    uint32_t mark : 31;               /* of path.c */
    uint32_t needed : 1;              /* another step needs its begin (replay.c) */
};
#define ANA_STEP_BACK_MOST 16383u /* what is farther back counts as that: it is not kept */
_Static_assert(ANA_STEPS_OF_RANK <= ANA_STEP_BACK_MOST, "what is kept is nearer");

/* The steps of a rank: a ring. */
struct ana_cause_rank {
    struct ana_cause_step *step; /* NULL: it had none yet */
    uint32_t so_far;
    bool several, lost; /* it has several threads; no memory: none of its steps is known */
    int64_t spins_ns;   /* since when its next step has been polled for; INT64_MIN: it has not */
};
/* What is charged to no segment of a rank: to time in its calls, and to what is not known of it. */
struct ana_cause_apart {
    struct ana_cost inside, unknown;
};

/* What is known here of a segment and of a place. */
struct ana_cause_segment {
    struct ana_cost cost;
    uint32_t from, stretch;
};
struct ana_cause_place {
    bool communicates, ends, edge;
    bool delays;           /* its calls have segments of their own: time in them makes others wait */
    uint8_t shadow;        /* in which its calls take no time (replay.h); 0: none */
    ana_pair ideal, calls; /* 1 in those of the first and the last two shadows where they take none */
};

struct ana_causes {
    struct ana_cause_rank *rank;
    struct ana_cause_apart *apart; /* by rank */
    struct ana_cause_step *step;   /* of all ranks; memory that is there where it was written to (trace/util/pages.h) */
    int64_t *until;                /* likewise, by step: those of ana_step_until that are not its begin */
    size_t ranks;
    struct ana_cause_segment *segment; /* by number - 1 */
    struct ana_cause_place *place;     /* likewise */
    struct ana_map inside;             /* uint32_t: number + 1 of the segment inside calls, by rank, place */
    size_t segments, segment_room, places, place_room;
    uint64_t steps;    /* of all ranks so far, about */
    uint64_t replayed; /* of these, when the run was replayed last */
    uint32_t stretches;
    uint32_t room, mask;        /* steps of a rank, a power of two; that - 1 */
    int64_t way_left;           /* steps on ways that the calls so far have paid for */
    struct ana_late_wait *wait; /* a ring of ANA_WAITS_PENDING */
    uint64_t waits, followed;   /* so far; the ring holds those between */
    int64_t due_ns;             /* waits that ended by then may be followed */
    int64_t waited_ns;          /* of all waits, followed or not */
    struct ana_ways *ways[ANA_WAY_PARTS];
    struct ana_beside *beside; /* threads that may do parts; NULL: there are none */
    struct ana_path *path;
    struct ana_replay *replay;
    bool out_of_memory; /* something is missing */
    bool closed;        /* nothing more will be told: ana_causes_keep has filled it in */
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
/* When the segment before a step ends: when polling for it began, or else its begin less the time of other polls. */
static inline int64_t ana_step_until(const struct ana_causes *causes, const struct ana_cause_step *step)
{
    return __builtin_expect(step->polled, 0) ? causes->until[step - causes->step] : step->begin_ns;
}

/* What is known of a segment by its number + 1, which was told. */
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

/* How many steps of a rank are kept, of a job of `ranks`; a power of two. */
uint32_t ana_steps_room(size_t ranks);
/* Room for the causes of waiting of `ranks` ranks, which threads `beside` may help to find (NULL: the caller's).  NULL:
 * out of memory. */
struct ana_causes *ana_causes_new(size_t ranks, struct ana_beside *beside);
/* Frees them; NULL is none. */
void ana_causes_free(struct ana_causes *causes);

/* Takes what is told, one after the other; what it names must be of the job.  Never fails: `out_of_memory` is set. */
void ana_causes_take(struct ana_causes *causes, const struct ana_told *told, size_t n);
/* Follows all waits that can be by now: before costs are compared. */
void ana_causes_follow(struct ana_causes *causes);
/* What a segment costs, by its number + 1. */
struct ana_cost ana_causes_cost(const struct ana_causes *causes, uint32_t segment);
/* All that was charged so far, in ns: equal to causes->waited_ns once all waits are settled. */
int64_t ana_causes_charged(const struct ana_causes *causes);

struct ana_path_sums;
/* Keeps what was found, or takes it up into causes that were told nothing: of `segments` segments and `places` places.
 * When saving, `path` is the whole path, and saves[i] what shadow i saves (ana_replay_saves); loaded causes say just
 * that from then on, whatever they are asked. */
void ana_causes_keep(struct ana_keep *keep, struct ana_causes *causes, size_t segments, size_t places,
                     const struct ana_path_sums *path, const int64_t *saves);

#endif
