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
#ifndef ANA_DELAY_H
#define ANA_DELAY_H

#include "trace/relations/waits.h"
#include <stdbool.h>
#include <stdint.h>

#define ANA_STEPS_OF_RANK 4096u      /* of a job of few ranks; a power of two */
#define ANA_STEPS         (1u << 18) /* of all ranks together, where that leaves each ANA_STEPS_LEAST */
#define ANA_STEPS_LEAST   128u
#define ANA_STEPS_AHEAD   8u /* so far ahead of a rank's steps memory is fetched: many ranks have more than caches hold */
#define ANA_WAY_MOST      512        /* steps on the two ways of one wait */
#define ANA_WAY_OF_STEP   8          /* steps on ways, on average, for each call */
#define ANA_DELAY_LAG_NS  1000000000 /* a wait is followed so late that what came before it has been told */

/* Waiting that something caused. */
struct ana_cost {
    int64_t direct_ns; /* of ranks that waited for the one who did it */
    int64_t passed_ns; /* of ranks that waited for others, whom this had made late */
    uint64_t waits;
    double squares; /* of them, in ns^2 */
};

/* One call of a thread: a line of the cache. */
struct ana_why_step {
    int64_t begin_ns, end_ns;
    int64_t release_ns;               /* when its last wait ended; with a releaser only */
    int64_t spins_ns;                 /* since when it had been polled for; INT64_MIN: it was not */
    uint32_t segment, back;           /* before it, + 1; number of the thread's step before; 0 none */
    uint32_t releaser, releaser_step; /* rank index, + 1, 0: no wait; its step when it came */
    uint32_t place;                   /* that calls, + 1; 0 unknown */
    uint32_t edges;                   /* number of the last of its edges (replay.h); 0 none */
    uint32_t mark;                    /* of path.c */
    uint32_t polled_ns : 31;          /* of the segment, in unsuccessful polls: not above 2 s */
    uint32_t needed : 1;              /* another step needs its begin (replay.c) */
};

struct ana_why;

/* The steps of a rank: a ring. */
struct ana_why_steps {
    struct ana_why_step *step; /* NULL: it had none yet */
    uint32_t so_far;
    struct ana_cost inside, unknown; /* charged to time in its calls, and to what is not known of it */
};

/* A wait that is still to be followed. */
struct ana_late_wait {
    uint32_t waiter, culprit, waiter_step, culprit_step;
    int64_t ns, end_ns;
    bool device; /* of a GPU: no call of the waiter's is longer by it */
};

struct ana_delays {
    struct ana_why_steps *rank;
    size_t ranks;
    uint64_t steps;    /* of all ranks so far, about */
    uint64_t replayed; /* of these, when the run was replayed last */
    uint32_t room;     /* steps of a rank; a power of two */
    int64_t way_left;  /* steps on ways that the calls so far have paid for */
    struct ana_late_wait *wait;
    uint64_t waits, followed; /* so far; the ring holds those between */
    int64_t waited_ns;        /* of all waits, followed or not */
    struct ana_ways *ways;
    struct ana_path *path;
    struct ana_replay *replay;
};

/* A step of a rank by its number, the first being 1; NULL: none, or no longer kept. */
static inline struct ana_why_step *ana_step_at(const struct ana_delays *delays, size_t index, uint32_t number)
{
    const struct ana_why_steps *rank = &delays->rank[index];
    bool kept = number && number <= rank->so_far && rank->so_far - number < delays->room;
    return kept ? &rank->step[number & (delays->room - 1)] : NULL;
}

/* Room for the delays of `ranks` ranks; NULL: out of memory. */
struct ana_delays *ana_delays_new(size_t ranks);
/* Frees them; NULL is none. */
void ana_delays_free(struct ana_delays *delays);

/* The slow path of ana_why_step_add: makes the ring of a rank, and follows waits that would lose their steps.  False: out of
 * memory. */
bool ana_why_steps_turn(struct ana_why *why, size_t index);

/* Takes a wait: `whole` as it was found, of which `left_ns` had not been counted before. */
void ana_why_wait(struct ana_why *why, const struct ana_wait_span *whole, int64_t left_ns);
/* Takes a message for which nobody waited inside a call: its receiver may have polled until it came. */
void ana_why_polled(struct ana_why *why, const struct ana_message *message);
/* Takes a message, after its waits: what its calls need. */
void ana_why_message(struct ana_why *why, const struct ana_message *message);
/* Takes a collective likewise. */
void ana_why_instance(struct ana_why *why, const struct ana_instance *instance);
/* Takes the completion of a nonblocking one, after its wait. */
void ana_why_joined(struct ana_why *why, const struct ana_joined *joined);
/* Takes a wait of a GPU for a launch by another rank, of which `counted_ns` count: no call of the waiter's is longer by
 * it. */
void ana_why_device_wait(struct ana_why *why, const struct ana_wait_span *span, int64_t counted_ns);
/* Takes what a call needs of a particular rank, after its wait. */
void ana_why_need(struct ana_why *why, const struct ana_need *need);
/* Follows the waits that ended ANA_DELAY_LAG_NS before `now_ns`, in job time, and replays the run up to there; INT64_MAX:
 * all.  `idle`: nothing more will come for now. */
void ana_why_settle(struct ana_why *why, int64_t now_ns, bool idle);
/* All that was charged so far, in ns: equal to delays->waited_ns once all waits are settled. */
int64_t ana_why_charged(const struct ana_why *why);

#endif
