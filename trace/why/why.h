/* What threads do between their calls, and what waiting that causes.
 *
 * A *segment* is what a thread does outside MPI between two of its calls: it is known by the two places that call, and
 * by the program's own region that most of that time is spent in.
 * Unsuccessful polls do not end a segment, control rounds of a background loop have none.
 *
 * Fed with events and waits in one pass; memory is bounded, whatever the length of the trace:
 *   segments   ANA_SEGMENTS_OF_RANK a rank with places of their own; all others of the rank are added up in one
 *   usage      what the kernel counted meanwhile: see usage.h
 *   steps      the latest calls of each rank, and who ended its waits: see delay.h
 * Everything counts for one rank and can be added to what another reader found for it.
 *
 * One thread at a time. */
#ifndef ANA_WHY_H
#define ANA_WHY_H

#include "trace/format/histogram.h"
#include "trace/relations/relations.h"
#include "trace/util/hash_map.h"
#include "trace/util/times.h"
#include "trace/why/delay.h"
#include "trace/why/usage.h"
#include <math.h>

#define ANA_SEGMENTS_OF_RANK 1024u
#define ANA_SEGMENTS_SPREAD  65536u /* segments with a distribution of their times; others know their mean */
#define ANA_PLACES           65536u /* places that call; all others are one */
#define ANA_SPIN_NS          10000  /* polls that come closer than this, on average, wait: nothing is done between */

/* A place in the program that calls, the same on all ranks that call there. */
struct ana_why_place {
    uint32_t index, call; /* a rank that calls there; job-wide number of the call */
    uint64_t address;     /* in that rank's process */
    bool communicates;    /* with other ranks */
    bool ends;            /* it is MPI_Finalize */
    uint8_t shadow;       /* in which its calls take no time (replay.h); 0: none */
};

/* A segment of one rank. */
struct ana_segment {
    uint32_t index;    /* of the rank */
    uint32_t from, to; /* places, + 1; both 0: the segments that had no room */
    uint32_t region;   /* of the program's own, that most of it lies in (regions.h); 0: none */
    uint32_t stretch;  /* number of (from, to, region), + 1: equal on all ranks */
    uint64_t count;
    int64_t total_ns, min_ns, longest_ns, longest_at_ns; /* longest_at: when that began, in job time */
    uint32_t *bucket;                                    /* TRC_BUCKETS counts, or NULL */
    uint32_t span; /* in which it was last; total_ns was before_ns when that began */
    int64_t before_ns;
    struct ana_segment_usage *usage; /* NULL: nothing was counted */
    struct ana_cost cost;
};

/* A thread after its last call. */
struct ana_why_thread {
    int64_t end_ns, polled_ns; /* when it ended; of the time since then, what was spent in polls */
    int64_t spins_ns;          /* since when it does nothing but poll; INT64_MIN: it does not */
    uint32_t place, step;      /* 0: the next segment has no beginning; number of its last step, 0 none */
    uint32_t region;           /* that the segment which is about to end lies in */
    uint32_t span;             /* usage.h: the one under way */
    int64_t spanned_ns;        /* what ends at this time or later may end spans */
};

struct ana_why_rank {
    struct ana_why_thread *thread;
    uint32_t threads, segments;
    bool spins; /* it has waited by polling */
    struct ana_usage_rank *usage;
};

struct ana_why {
    size_t ranks;
    struct ana_why_rank *rank;
    struct ana_map segments;  /* struct ana_segment by index, from << 32 | to, region */
    struct ana_map places;    /* struct ana_why_place by hash of module or else address, call, whether it is a module */
    struct ana_map stretches; /* uint32_t, unused: their number is their place; by from << 32 | to, region */
    size_t spread;            /* segments with buckets */
    struct ana_delays *delays;     /* NULL: costs are not looked for */
    const struct ana_clock *clock; /* of usage */
    uint32_t last_span;
    bool out_of_memory; /* something is missing */
};

/* Empty sums of a job of `ranks` ranks; `delays`: waits will be told, and their causes are wanted.  False: out of
 * memory, and nothing is left to free. */
bool ana_why_init(struct ana_why *why, size_t ranks, bool delays);
/* Frees them; the struct is the caller's.  Zeros are allowed. */
void ana_why_free(struct ana_why *why);

/* Looks up what all events of the signature share, into event->use; `call` is the job-wide number of its call, and
 * `file` the one that the event is from. */
void ana_why_use(struct ana_why *why, const struct ana_event *event, uint32_t call, const struct trc_file *file);
/* Notes that events of a thread are missing here. */
void ana_why_gap(struct ana_why *why, size_t index, uint32_t thread);
/* Takes an event that does not lie in [begin_ns, end_ns), the only time that is looked at, as a whole: only what of the
 * call and of the segment before it lies inside counts. */
void ana_why_at_edge(struct ana_why *why, const struct ana_event *event, int64_t begin_ns, int64_t end_ns);
/* Before the first event of a thread that lies inside: makes a step of the call before that time. */
void ana_why_enter(struct ana_why *why, size_t index, uint32_t thread);
/* The slow path of ana_why_event: polls and control rounds, and a thread's first event. */
void ana_why_other(struct ana_why *why, const struct ana_event *event);
/* The segment that ends at an event of a thread, + 1; 0: out of memory. */
uint32_t ana_why_segment(struct ana_why *why, const struct ana_event *event, const struct ana_why_thread *thread);
/* Notes the region that the segment lies in which the thread's next event ends. */
static inline void ana_why_region(struct ana_why *why, const struct ana_event *event, uint32_t region)
{
    if (event->thread < why->rank[event->index].threads)
        why->rank[event->index].thread[event->thread].region = region;
}
/* The segment with this number + 1; valid until another is made. */
static inline struct ana_segment *ana_segment_at(const struct ana_why *why, uint32_t number)
{
    return ana_map_value(&why->segments, number - 1);
}

/* Its median, in ns: within 1/16 where there is a distribution, else the mean. */
static inline double ana_segment_median(const struct ana_segment *segment)
{
    double median = segment->bucket ? ana_bucket_percentile(segment->bucket, 0.5)
                                    : (double)segment->total_ns / (double)segment->count;
    return fmin(fmax(median, (double)segment->min_ns), (double)segment->longest_ns);
}

/* Adds what a thread did, for `ns` until `end_ns`.  Without any division: each event comes by here. */
static inline void ana_segment_add(struct ana_segment *segment, int64_t ns, int64_t end_ns)
{
    ns = ns < 0 ? 0 : ns; /* clocks */
    if (__builtin_expect(segment->count++ == 0, 0) || ns < segment->min_ns)
        segment->min_ns = ns;
    segment->total_ns = ana_plus(segment->total_ns, ns);
    if (ns > segment->longest_ns) {
        segment->longest_ns = ns;
        segment->longest_at_ns = end_ns - ns;
    }
    if (!segment->bucket)
        return;
    uint32_t *count = &segment->bucket[trc_bucket((uint64_t)ns)];
    if (__builtin_expect(++*count == 0, 0))
        *count = UINT32_MAX;
}

/* Adds a call of a rank to its steps; returns its number, 0: out of memory. */
static inline uint32_t ana_why_step_add(struct ana_why *why, size_t index, const struct ana_why_step *step)
{
    struct ana_delays *delays = why->delays;
    struct ana_why_steps *rank = &delays->rank[index];
    if (__builtin_expect(rank->so_far % (ANA_STEPS_LEAST / 4) == 0, 0) && !ana_why_steps_turn(why, index))
        return 0;
    rank->step[++rank->so_far & (delays->room - 1)] = *step;
    __builtin_prefetch(&rank->step[(rank->so_far + ANA_STEPS_AHEAD) & (delays->room - 1)], 1);
    return rank->so_far;
}

/* Notes that a thread has left a call. */
static inline void ana_why_left(struct ana_why_thread *thread, int64_t end_ns, uint32_t place)
{
    thread->end_ns = end_ns;
    thread->polled_ns = 0;
    thread->spins_ns = INT64_MIN;
    thread->place = place;
    thread->region = 0;
}

/* Takes an event, in the order of its thread.  Not for nested ones; its use must have been looked up. */
static inline __attribute__((always_inline)) void ana_why_event(struct ana_why *why, const struct ana_event *e)
{
    struct ana_use *use = e->use;
    const struct ana_why_rank *rank = &why->rank[e->index];
    if (use->is_sub) {
        use->step = e->thread < rank->threads ? rank->thread[e->thread].step : 0;
        return;
    }
    if (__builtin_expect(use->is_quiet || e->kind != TRC_RECORD_EVENT || e->thread >= rank->threads, 0)) {
        ana_why_other(why, e);
        return;
    }
    struct ana_why_thread *thread = &rank->thread[e->thread];
    uint32_t segment = 0;
    if (thread->place) {
        if (use->from != thread->place || use->region != thread->region) {
            use->segment = ana_why_segment(why, e, thread);
            use->from = thread->place;
            use->region = thread->region;
        }
        segment = use->segment;
    }
    int64_t ns = e->begin_ns - thread->end_ns - thread->polled_ns;
    if (segment && !use->is_out) {
        struct ana_segment *of = ana_segment_at(why, segment);
        if (__builtin_expect(of->span != thread->span, 0))
            ana_usage_touch(why, e->index, e->thread, segment);
        ana_segment_add(of, ns, e->begin_ns);
    }
    if (__builtin_expect(e->end_ns >= thread->spanned_ns, 0))
        ana_usage_settle(why, e, use->is_out ? 0 : segment, ns);
    if (why->delays)
        thread->step = ana_why_step_add(
            why, e->index,
            &(struct ana_why_step){.begin_ns = e->begin_ns,
                                   .end_ns = e->end_ns,
                                   .spins_ns = thread->spins_ns,
                                   .segment = segment,
                                   .back = thread->step,
                                   .place = use->place,
                                   .polled_ns = (uint32_t)ana_earlier(thread->polled_ns, INT32_MAX) & INT32_MAX});
    use->step = thread->step;
    ana_why_left(thread, e->end_ns, use->place);
}

#endif
