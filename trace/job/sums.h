/* What calls and waits add to the sums of their sites and to the timelines of their ranks.
 *
 * They are told by a queue (trace/util/beside.h): a thread beside may add them up. */
#ifndef ANA_SUMS_H
#define ANA_SUMS_H

#include "trace/job/tally.h"
#include "trace/job/timeline.h"
#include "trace/util/beside.h"

/* A call, or several of a fold; a SUB item, which is no call and takes no time; or a wait. */
struct ana_sum {
    int64_t begin_ns, end_ns;
    int64_t busy_ns;                /* inside, of that time */
    uint64_t sent, received, calls; /* of all of them */
    uint32_t index, site;           /* rank; place of its site's sum + 1, 0: unknown */
    uint32_t category;              /* enum trc_category, or: */
};
#define ANA_SUM_WAIT UINT32_MAX

struct ana_sums {
    struct ana_queue queue; /* of struct ana_sum */
    struct ana_tally *tally;
    struct ana_lane *lane;
    bool out_of_memory; /* since the last ana_sums_sync */
};

/* What an event adds; its use must have been looked up. */
static inline struct ana_sum ana_sum_of(const struct ana_event *e)
{
    const struct ana_use *use = e->use;
    bool folded = e->kind == TRC_RECORD_FOLD;
    uint64_t times = folded ? e->count : 1;
    int64_t begin_ns = use->is_sub ? e->end_ns : e->begin_ns;
    return (struct ana_sum){
        .begin_ns = begin_ns,
        .end_ns = e->end_ns,
        .busy_ns = folded ? e->busy_ns : e->end_ns - begin_ns,
        .sent = use->sent * times,
        .received = use->received * times,
        .calls = use->is_sub ? 0 : times,
        .index = (uint32_t)e->index,
        .site = use->site,
        .category = use->category,
    };
}

/* Adds a call to its site.  False: out of memory, percentiles do not know it. */
static inline bool ana_sum_to_site(struct ana_tally *tally, const struct ana_sum *sum)
{
    if (!sum->site)
        return true; /* there was no memory for it, which the tally knows */
    struct ana_site_sum *site = ana_map_value(&tally->sites, sum->site - 1);
    site->sent += sum->sent;
    site->received += sum->received;
    return ana_slim_add(&site->times, sum->calls > 1 ? sum->busy_ns / (int64_t)sum->calls : sum->busy_ns, sum->calls);
}

/* Adds the time and bytes of a call to its rank's timeline. */
static inline void ana_sum_to_lane(struct ana_lane *lane, const struct ana_sum *sum)
{
    struct ana_bucket *bucket = ana_lane_hot(lane, sum->begin_ns, sum->end_ns);
    if (bucket) {
        bucket->ns[sum->category] = ana_plus(bucket->ns[sum->category], sum->busy_ns);
        bucket->calls += sum->calls;
        bucket->sent += sum->sent;
        bucket->received += sum->received;
        return;
    }
    if (sum->calls)
        ana_lane_spend(lane, sum->begin_ns, sum->end_ns, sum->busy_ns, (enum trc_category)sum->category);
    if (sum->calls || sum->sent || sum->received)
        ana_lane_count(lane, sum->end_ns, sum->calls, sum->sent, sum->received);
}

/* Begins to add to the sites of a tally and to the lanes of its ranks, which must outlive the sums; `beside`: threads that
 * do it, NULL: the caller does.  False: out of memory. */
bool ana_sums_open(struct ana_sums *sums, struct ana_tally *tally, struct ana_lane *lane, struct ana_beside *beside);
/* Ends that; what is under way is lost.  Zeros are allowed. */
void ana_sums_close(struct ana_sums *sums);
/* Returns once all is added: before the sites or lanes are read, or the sites move. */
void ana_sums_sync(struct ana_sums *sums);

/* Adds an event whose use was looked up. */
static inline void ana_sums_event(struct ana_sums *sums, const struct ana_event *e)
{
    *(struct ana_sum *)ana_queue_room(&sums->queue, sizeof(struct ana_sum)) = ana_sum_of(e);
}
/* Adds a wait to its waiter's timeline. */
static inline void ana_sums_wait(struct ana_sums *sums, const struct ana_wait_span *span)
{
    struct ana_sum *sum = ana_queue_room(&sums->queue, sizeof *sum);
    sum->category = ANA_SUM_WAIT;
    sum->index = (uint32_t)span->waiter;
    sum->begin_ns = span->begin_ns;
    sum->end_ns = span->end_ns;
}

#endif
