/* Segments: work of threads between their calls, and the waiting it causes.
 *
 * A *segment* is what a thread does outside MPI between two of its calls: it is known by the two places that call, and
 * by the program's own region that most of that time is spent in.
 * The time inside a long local call (MPI-IO, library) is a segment, too: others may wait because of it.
 * Unsuccessful polls do not end a segment, control rounds of a background loop have none.
 *
 * Fed with events and waits in one pass; memory is bounded, whatever the length of the trace:
 *   segments   ANA_SEGMENTS_OF_RANK a rank with places of their own; all others of the rank are added up in one
 *   usage      the kernel's counts meanwhile: see usage.h
 *   steps      the latest calls of each rank, by their numbers; the waits they caused: see trace/cause
 * Everything counts for one rank and can be added to what another reader found for it.
 *
 * One thread at a time; but another may emit the facts of the events meanwhile (pipeline.h).  It then owns `calls` and
 * fills the queue of facts. */
#pragma once

#include "trace/account/usage.h"
#include "trace/cause/causes.h"
#include "trace/format/histogram.h"
#include "trace/relations/relations.h"
#include "trace/util/hash_map.h"
#include "trace/util/spans.h"
#include "trace/util/times.h"
#include "trace/why/pipeline.h"
#include "trace/why/calls.h"
#include "trace/why/usage.h"
#include <math.h>

#define ANA_SEGMENTS_OF_RANK 1024u
#define ANA_SEGMENTS_SPREAD  65536u     /* segments with a distribution of their times; others know their mean */
#define ANA_PLACES           65534u     /* places that call; all others are one; their numbers have 16 bits */
#define ANA_INSIDE           UINT32_MAX /* region of the time inside local calls of a place, which is from and to */
#define ANA_INSIDE_NS        10000      /* shorter local calls have no segment */
#define ANA_SPIN_NS          10000 /* polls that come closer than this, on average, wait: nothing is done between */

/* A place in the program that calls, the same on all ranks that call there. */
struct ana_why_place {
    uint32_t index, call; /* a rank that calls there; job-wide number of the call */
    uint64_t address;     /* address in that rank's process */
    bool ends;            /* it is MPI_Finalize */
};

/* A segment of one rank. */
struct ana_segment {
    uint32_t index;        /* index of the rank */
    uint32_t from, to;     /* places, + 1; both 0: the segments that had no room */
    uint32_t region;       /* program region that most of it lies in (regions.h); 0: none */
    uint32_t segment_kind; /* number of (from, to, region), + 1: equal on all ranks */
    uint64_t count;
    int64_t total_ns, min_ns, longest_ns, longest_at_ns; /* longest_at: when that began, in job time */
    struct ana_counts counts;                            /* distribution of its times, */
    bool is_spread;                                      /* ... if they are counted */
    uint32_t span; /* last span it was in; total_ns was before_ns when that began */
    int64_t before_ns;
    struct ana_segment_usage *usage; /* NULL: nothing was counted */
};

/* A thread after its last call. */
struct ana_why_thread {
    int64_t end_ns, polled_ns; /* end of the call; time in polls since then */
    int64_t spins_ns, spun_ns; /* begin of mere polling, INT64_MIN: none; time inside the polls since then */
    uint32_t place, step;      /* 0: the next segment has no beginning; number of its last step, 0 none */
    uint32_t region;           /* region of the segment about to end */
    uint32_t span;             /* usage.h: the one under way */
    int64_t spanned_ns;        /* events that end at this time or later may end spans */
    int64_t calls_ns;          /* inside completed calls so far */
    int64_t counted_ns;        /* part before the span under way began */
    bool has_gap;              /* records are missing since its last call */
    bool loops;                /* it has made control rounds: others of the process do its work */
};

struct ana_why_rank {
    struct ana_why_thread *thread;
    uint32_t threads, segments;
    uint32_t steps; /* calls emitted to trace/cause so far */
    uint32_t noted; /* value of `steps` when ana_why.noted was set */
    struct ana_usage_rank *usage;
    struct ana_account_usage account; /* processor time of its main thread */
    int64_t unknown_ns;               /* time of the main thread without records */
    struct ana_still still;
};

struct ana_why {
    size_t ranks;
    struct ana_why_rank *rank;
    struct ana_map segments; /* struct ana_segment by index, from << 32 | to, region */
    struct ana_map places;   /* struct ana_why_place by hash of module or else address, call, whether it is a module */
    struct ana_map segment_kinds; /* uint32_t, unused: their number is their place; by from << 32 | to, region */
    size_t spread;                /* segments with buckets */
    struct ana_causes *causes;    /* NULL: costs are not looked for */
    struct ana_queue *pipeline;   /* facts go this way (pipeline.h); NULL: to the causes at once */
    struct ana_why_calls calls;
    uint64_t steps;                /* steps of all ranks so far, about */
    uint64_t choose_at, replay_at; /* steps at the next choice, and at the next replay */
    int64_t chosen_ns, noted_ns;   /* job time of a choice, and when steps were noted */
    bool noted;                    /* a choice is due when a rank is some steps further than noted */
    const struct ana_clock *clock; /* of usage */
    struct ana_span counted;       /* part of the run that processor time is accounted of */
    uint32_t last_span;
    double served;      /* share of the waits of other threads than main ones that costs leave out */
    bool out_of_memory; /* something is missing */
};

/* Empty sums of a job of `ranks` ranks; causes: waits will follow, and their causes are wanted, found by `thread_pool`
 * (NULL: the caller's).  False: out of memory, and nothing is left to free. */
bool ana_why_init(struct ana_why *why, size_t ranks, bool causes, struct ana_thread_pool *thread_pool);
/* Frees them; the struct is the caller's.  Zeros are allowed. */
void ana_why_free(struct ana_why *why);

/* Looks up what all events of the signature share, into event->use; `call` is the job-wide number of its call, and
 * `file` the one that the event is from. */
void ana_why_use(struct ana_why *why, const struct ana_event *event, uint32_t call, const struct trc_file *file);
/* Returns a number of the callers of a call at `site`, the same on all ranks: of their names, where these are known. */
uint64_t ana_why_callers(const struct trc_file *file, uint64_t site);
/* Notes that events of a thread are missing here. */
void ana_why_gap(struct ana_why *why, size_t index, uint32_t thread);
/* Adds the time without records that a call of the thread ends. */
void ana_why_end_gap(struct ana_why *why, const struct ana_event *event, struct ana_why_thread *thread);
/* Processes an event that does not lie in [begin_ns, end_ns), the selected time, as a whole: only what of the
 * call and of the segment before it lies inside counts. */
void ana_why_at_edge(struct ana_why *why, struct ana_event *event, int64_t begin_ns, int64_t end_ns);
/* Before the first event of a thread that lies inside: makes a step of the call before that time. */
void ana_why_enter(struct ana_why *why, size_t index, uint32_t thread);
/* The slow path of ana_why_event: polls and control rounds, and a thread's first event. */
void ana_why_other(struct ana_why *why, struct ana_event *event, enum ana_run_fact_kind kind);
/* Adds the time inside a local call to its segment. */
void ana_why_inside(struct ana_why *why, const struct ana_event *event);
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

/* Returns the median of a segment, in ns: within 1/16 where there is a distribution, else the mean. */
static inline double ana_segment_median(const struct ana_segment *segment)
{
    double median = segment->is_spread ? ana_counts_percentile(&segment->counts, 0.5)
                                       : (double)segment->total_ns / (double)segment->count;
    return fmin(fmax(median, (double)segment->min_ns), (double)segment->longest_ns);
}

/* Adds what a thread did, for `ns` until `end_ns`.  Without any division: each event passes here.  False: out of
 * memory, the distribution does not know it. */
static inline bool ana_segment_add(struct ana_segment *segment, int64_t ns, int64_t end_ns)
{
    ns = ns < 0 ? 0 : ns; /* clocks */
    if (__builtin_expect(ns < segment->min_ns, 0) || __builtin_expect(segment->count == 0, 0))
        segment->min_ns = ns;
    if (__builtin_expect(ns > segment->longest_ns, 0)) {
        segment->longest_ns = ns;
        segment->longest_at_ns = end_ns - ns;
    }
    segment->count++;
    segment->total_ns = ana_plus(segment->total_ns, ns);
    return !segment->is_spread || ana_counts_add(&segment->counts, (uint64_t)ns, 1);
}

/* The slow path of ana_why_step: does the due work. */
void ana_why_turn(struct ana_why *why, const struct ana_why_rank *rank, int64_t now_ns);

/* Room for a fact, in `pipeline` if there is one. */
static inline struct ana_run_fact *ana_why_room(struct ana_why *why, struct ana_queue *pipeline)
{
    return pipeline ? &ana_pipeline_room(pipeline, ANA_PIPELINE_FACT)->fact : ana_causes_room(why->causes);
}

/* Whether its bytes are too many for ANA_RUN_CALL. */
static inline bool ana_why_is_large(const struct ana_use *use)
{
    return (use->sent | use->received) > UINT32_MAX;
}

/* Emits the bytes that an event hands over. */
static inline void ana_why_emit_bytes(struct ana_why *why, const struct ana_event *e, struct ana_queue *pipeline)
{
    struct ana_run_fact *fact = ana_why_room(why, pipeline);
    fact->kind = ANA_RUN_BYTES;
    fact->category = (uint8_t)e->use->category;
    fact->index = (uint32_t)e->index;
    fact->sum.begin_ns = fact->sum.end_ns = e->end_ns;
    fact->sum.sent = e->use->sent;
    fact->sum.received = e->use->received;
    fact->sum.site = e->use->site;
}

/* Emits, before a call, its rare facts: since when it has been polled for, and many bytes. */
void ana_why_emit_rare(struct ana_why *why, const struct ana_event *event, const struct ana_why_thread *thread,
                       bool large);

/* Emits a call of a rank, which is the next step of `thread`, as ANA_RUN_CALL or _STEP.  Returns its
 * number. */
static inline __attribute__((always_inline)) uint32_t ana_why_step(struct ana_why *why, const struct ana_event *e,
                                                                   const struct ana_why_thread *thread,
                                                                   uint32_t segment, enum ana_run_fact_kind kind,
                                                                   struct ana_queue *pipeline)
{
    const struct ana_use *use = e->use;
    struct ana_why_rank *rank = &why->rank[e->index];
    uint32_t steps = rank->steps;
    if (__builtin_expect(steps % ANA_STEPS_TURN == 0, 0))
        ana_why_turn(why, rank, e->end_ns);
    bool large = kind == ANA_RUN_CALL && ana_why_is_large(use);
    if (__builtin_expect(large || thread->spins_ns != INT64_MIN, 0))
        ana_why_emit_rare(why, e, thread, large);
    struct ana_run_fact *fact = ana_why_room(why, pipeline);
    fact->kind = (uint8_t)kind;
    fact->category = (uint8_t)use->category;
    fact->thread = (uint16_t)e->thread;
    fact->index = (uint32_t)e->index;
    fact->call.begin_ns = e->begin_ns;
    fact->call.end_ns = e->end_ns;
    fact->call.segment = segment;
    fact->call.back = thread->step;
    fact->call.place = use->place;
    fact->call.polled_ns = (uint32_t)ana_earlier(thread->polled_ns, INT32_MAX);
    fact->call.mark = use->mark;
    fact->call.size = use->size;
    fact->call.site = use->site;
    fact->call.segment_ns = (float)(e->begin_ns - thread->end_ns);
    fact->call.sent = large ? 0 : (uint32_t)use->sent;
    fact->call.received = large ? 0 : (uint32_t)use->received;
    if (!pipeline)
        ana_why_calls_add(&why->calls, fact);
    return rank->steps = steps + 1;
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

/* Time of a thread before a call: its segment, which has taken that up, valid until another is made; NULL: not
 * known. */
struct ana_why_gap {
    const struct ana_segment *segment;
    int64_t ns;
};

/* Processes a call, which is no poll, no fold and no control round, of a known thread, and emits it, as ANA_RUN_CALL or
 * _STEP. */
static inline __attribute__((always_inline)) struct ana_why_gap
ana_why_call_of(struct ana_why *why, struct ana_event *e, struct ana_why_thread *thread, enum ana_run_fact_kind kind,
                struct ana_queue *pipeline)
{
    struct ana_use *use = e->use;
    uint32_t segment = 0, place = thread->place;
    if (place) {
        if (__builtin_expect(use->from != place || use->region != thread->region, 0)) {
            use->segment = ana_why_segment(why, e, thread);
            use->from = place;
            use->region = thread->region;
        }
        segment = use->segment;
    } else if (__builtin_expect(thread->has_gap, 0)) {
        ana_why_end_gap(why, e, thread);
    }
    if (__builtin_expect(use->is_local, 0) && e->end_ns - e->begin_ns >= ANA_INSIDE_NS)
        ana_why_inside(why, e);
    struct ana_why_gap gap = {NULL, e->begin_ns - thread->end_ns - thread->polled_ns};
    if (segment && !use->is_out) {
        struct ana_segment *of = ana_segment_at(why, segment);
        if (__builtin_expect(of->span != thread->span, 0))
            ana_usage_touch(why, e->index, e->thread, segment);
        if (__builtin_expect(!ana_segment_add(of, gap.ns, e->begin_ns), 0))
            why->out_of_memory = true;
        gap.segment = of;
    }
    if (__builtin_expect(e->end_ns >= thread->spanned_ns, 0))
        ana_usage_settle(why, e, use->is_out ? 0 : segment, gap.ns);
    thread->calls_ns = ana_plus(thread->calls_ns, e->end_ns - e->begin_ns);
    if (why->causes)
        thread->step = ana_why_step(why, e, thread, segment, kind, pipeline);
    e->step = thread->step;
    ana_why_left(thread, e->end_ns, use->place);
    return gap;
}

/* Processes an event, in the order of its thread.  Not for nested ones; its use must have been looked up.
 * Returns the gap before it, if it is a call. */
static inline __attribute__((always_inline)) struct ana_why_gap ana_why_event(struct ana_why *why, struct ana_event *e,
                                                                              enum ana_run_fact_kind kind)
{
    const struct ana_use *use = e->use;
    const struct ana_why_rank *rank = &why->rank[e->index];
    struct ana_why_thread *thread = e->thread < rank->threads ? &rank->thread[e->thread] : NULL;
    if (use->is_sub) {
        e->step = thread ? thread->step : 0;
        return (struct ana_why_gap){0};
    }
    if (__builtin_expect(use->is_quiet || e->kind != TRC_RECORD_EVENT || !thread, 0)) {
        ana_why_other(why, e, kind);
        return (struct ana_why_gap){0};
    }
    return ana_why_call_of(why, e, thread, kind, why->pipeline);
}

struct ana_path_sums;
/* Saves all that the summaries read, or loads it into empty sums with causes; `calls`
 * is how many calls the job has.  When saving, `path` and `saves` are as for ana_causes_archive. */
void ana_why_archive(struct ana_archive *archive, struct ana_why *why, size_t calls, const struct ana_path_sums *path,
                     const int64_t *saves);
