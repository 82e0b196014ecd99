/* Additions of calls, messages and waits to the sums of their sites and pairs, and to the timelines of their ranks.
 * Facts (trace/cause/run_facts.h) add to them, maybe on another thread. */
#pragma once

#include "trace/sums/tally.h"
#include "trace/sums/timeline.h"
#include "trace/why/emit.h"

struct ana_sums {
    struct ana_tally *tally; /* only its maps sites, pairs, waits; `sites` belongs to the thread that makes them */
    struct ana_lane *lane;
    bool out_of_memory;
};

/* The slow path of ana_sum_to_lane: where not all of it lies in the bucket that was used last. */
bool ana_sum_partly(struct ana_lane *lane, const struct ana_run_fact *fact, int64_t begin_ns, int64_t end_ns);

/* Adds to a bucket what something of this kind comes to, for `ns` that lie in it.  Where the kind is known, it costs
 * nothing: each call passes here. */
static inline __attribute__((always_inline)) void
ana_sum_to_bucket(struct ana_bucket *bucket, enum ana_run_fact_kind kind, const struct ana_run_fact *fact, int64_t ns)
{
    switch (kind) {
    case ANA_RUN_CALL:
    case ANA_RUN_COUNT:
        bucket->ns[fact->category] = ana_plus(bucket->ns[fact->category], ns);
        bucket->calls++;
        bucket->sent += fact->call.sent;
        bucket->received += fact->call.received;
        break;
    case ANA_RUN_BYTES:
        bucket->sent += fact->sum.sent;
        bucket->received += fact->sum.received;
        break;
    case ANA_RUN_FOLD:
        bucket->ns[fact->category] = ana_plus(bucket->ns[fact->category], fact->sum.busy_ns);
        bucket->calls += fact->sum.calls;
        break;
    default: /* a wait */
        bucket->waiting_ns = ana_plus(bucket->waiting_ns, ns);
    }
}

/* Adds something of this kind that took this time to its rank's timeline.  False: out of memory, not all was added. */
static inline __attribute__((always_inline)) bool ana_sum_to_lane(struct ana_lane *lane, enum ana_run_fact_kind kind,
                                                                  const struct ana_run_fact *fact, int64_t begin_ns,
                                                                  int64_t end_ns)
{
    struct ana_bucket *bucket = ana_lane_hot(lane, begin_ns, end_ns);
    if (__builtin_expect(!bucket, 0))
        return ana_sum_partly(lane, fact, begin_ns, end_ns);
    ana_sum_to_bucket(bucket, kind, fact, end_ns - begin_ns);
    return true;
}

/* Adds a call, bytes or a fold to their site; `whole`: also the time inside calls, which ana_tally_time adds of a part
 * of the run.  False: out of memory, percentiles do not know it. */
static inline __attribute__((always_inline)) bool ana_sum_to_site(struct ana_tally *tally, enum ana_run_fact_kind kind,
                                                                  const struct ana_run_fact *fact, bool whole)
{
    bool is_call = kind == ANA_RUN_CALL || kind == ANA_RUN_COUNT;
    uint32_t number = is_call ? fact->call.site : fact->sum.site;
    if (!number)
        return true; /* no memory for the site, known to the tally */
    struct ana_site_sum *site = ana_map_value(&tally->sites, number - 1);
    if (whole && fact->thread == ANA_MAIN_THREAD && kind != ANA_RUN_BYTES)
        site->inside_ns =
            ana_plus(site->inside_ns, is_call ? fact->call.end_ns - fact->call.begin_ns : fact->sum.busy_ns);
    if (kind == ANA_RUN_FOLD)
        return ana_slim_add(&site->times, fact->sum.busy_ns, fact->sum.calls);
    site->sent += is_call ? fact->call.sent : fact->sum.sent;
    site->received += is_call ? fact->call.received : fact->sum.received;
    return !is_call || ana_slim_add(&site->times, fact->call.end_ns - fact->call.begin_ns, 1);
}

/* Lists the additions of an event with a known use; returns the number of filled out[], 0 .. 2. */
size_t ana_sums_of(const struct ana_event *event, struct ana_run_fact out[2]);

/* Adds the facts of `causes` to a tally and to the lanes of its ranks from now on; both must outlive the sums. */
void ana_sums_open(struct ana_sums *sums, struct ana_tally *tally, struct ana_lane *lane, struct ana_causes *causes);

/* Emits what an event adds that was emitted by no ANA_RUN_CALL. */
void ana_sums_emit(struct ana_why *why, const struct ana_event *event);
/* Whether an event, whose use was looked up, adds nothing: no call, by which nothing was handed over. */
static inline bool ana_sums_nothing(const struct ana_event *e)
{
    return e->use->is_sub && !(e->use->sent | e->use->received);
}
