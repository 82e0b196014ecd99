/* What calls and waits add to the sums of their sites and to the timelines of their ranks.
 *
 * They are told by a queue (trace/util/beside.h): a thread beside may add them up. */
#ifndef ANA_SUMS_H
#define ANA_SUMS_H

#include "trace/job/tally.h"
#include "trace/job/timeline.h"
#include "trace/util/beside.h"

struct ana_sum {
    int64_t begin_ns, end_ns; /* of BYTES both are when they were handed over */
    union {
        struct {
            uint64_t sent, received;
        };
        struct {
            int64_t busy_ns; /* inside the calls, all of them */
            uint64_t calls;
        } fold;
    };
    uint32_t index, site; /* rank; place of its site's sum + 1, 0: unknown */
    enum ana_sum_kind {
        ANA_SUM_CALL,
        ANA_SUM_BYTES, /* those of a SUB item, which is no call, or of a fold */
        ANA_SUM_FOLD,  /* several calls */
        ANA_SUM_WAIT
    } kind : 8;
    enum trc_category category : 8;
};

struct ana_sums {
    struct ana_queue queue; /* of struct ana_sum */
    struct ana_tally *tally;
    struct ana_lane *lane;
    bool out_of_memory; /* since the last ana_sums_sync */
};

/* The slow path of ana_sum_to_lane: where not all of it lies in the bucket that was used last. */
bool ana_sum_apart(struct ana_lane *lane, const struct ana_sum *sum);

/* Adds what is left of it from `begin_ns` on, all of which lies in this bucket. */
static inline void ana_sum_to_bucket(struct ana_bucket *bucket, const struct ana_sum *sum, int64_t begin_ns)
{
    int64_t ns = sum->end_ns - begin_ns;
    if (sum->kind <= ANA_SUM_BYTES) {
        bucket->ns[sum->category] = ana_plus(bucket->ns[sum->category], ns);
        bucket->calls += sum->kind == ANA_SUM_CALL;
        bucket->sent += sum->sent;
        bucket->received += sum->received;
    } else if (sum->kind == ANA_SUM_WAIT) {
        bucket->waiting_ns = ana_plus(bucket->waiting_ns, ns);
    } else {
        bucket->ns[sum->category] = ana_plus(bucket->ns[sum->category], sum->fold.busy_ns);
        bucket->calls += sum->fold.calls;
    }
}

/* Adds it to its rank's timeline.  False: out of memory, not all was added. */
static inline bool ana_sum_to_lane(struct ana_lane *lane, const struct ana_sum *sum)
{
    struct ana_bucket *bucket = ana_lane_hot(lane, sum->begin_ns, sum->end_ns);
    if (__builtin_expect(!bucket, 0))
        return ana_sum_apart(lane, sum);
    ana_sum_to_bucket(bucket, sum, sum->begin_ns);
    return true;
}

/* Adds calls or bytes to their site.  False: out of memory, percentiles do not know it. */
static inline bool ana_sum_to_site(struct ana_tally *tally, const struct ana_sum *sum)
{
    if (!sum->site)
        return true; /* there was no memory for it, which the tally knows */
    struct ana_site_sum *site = ana_map_value(&tally->sites, sum->site - 1);
    if (__builtin_expect(sum->kind == ANA_SUM_FOLD, 0))
        return ana_slim_add(&site->times, sum->fold.busy_ns / (int64_t)sum->fold.calls, sum->fold.calls);
    site->sent += sum->sent;
    site->received += sum->received;
    return sum->kind != ANA_SUM_CALL || ana_slim_add_one(&site->times, sum->end_ns - sum->begin_ns);
}

/* What an event adds, whose use was looked up; returns how many of out[] were filled, 0 .. 2. */
size_t ana_sums_of(const struct ana_event *event, struct ana_sum out[2]);

/* Begins to add to the sites of a tally and to the lanes of its ranks, which must outlive the sums; `beside`: threads
 * that do it, NULL: the caller does.  False: out of memory. */
bool ana_sums_open(struct ana_sums *sums, struct ana_tally *tally, struct ana_lane *lane, struct ana_beside *beside);
/* Ends that; what is under way is lost.  Zeros are allowed. */
void ana_sums_close(struct ana_sums *sums);
/* Returns once all is added: before the sites or lanes are read, or the sites move. */
void ana_sums_sync(struct ana_sums *sums);

/* The slow path of ana_sums_event: a fold. */
void ana_sums_fold(struct ana_sums *sums, const struct ana_event *event);
/* Room for a sum, which the caller fills in at once. */
static inline struct ana_sum *ana_sums_room(struct ana_sums *sums)
{
    return ana_queue_room(&sums->queue, sizeof(struct ana_sum));
}
/* Whether an event, whose use was looked up, adds nothing: no call, by which nothing was handed over. */
static inline bool ana_sums_nothing(const struct ana_event *e)
{
    return e->use->is_sub && !(e->use->sent | e->use->received);
}
/* What an event adds that is no fold, and not nothing. */
static inline void ana_sum_fill(struct ana_sum *sum, const struct ana_event *e)
{
    const struct ana_use *use = e->use;
    sum->begin_ns = use->is_sub ? e->end_ns : e->begin_ns;
    sum->end_ns = e->end_ns;
    sum->sent = use->sent;
    sum->received = use->received;
    sum->index = (uint32_t)e->index;
    sum->site = use->site;
    sum->kind = use->is_sub ? ANA_SUM_BYTES : ANA_SUM_CALL;
    sum->category = use->category;
}
/* Adds an event that is no fold. */
static inline void ana_sums_plain(struct ana_sums *sums, const struct ana_event *e)
{
    if (!ana_sums_nothing(e))
        ana_sum_fill(ana_sums_room(sums), e);
}
/* Adds any event, likewise. */
static inline void ana_sums_event(struct ana_sums *sums, const struct ana_event *e)
{
    if (e->kind == TRC_RECORD_FOLD)
        ana_sums_fold(sums, e);
    else
        ana_sums_plain(sums, e);
}
/* Adds a wait to its waiter's timeline. */
static inline void ana_sums_wait(struct ana_sums *sums, const struct ana_wait_span *span)
{
    struct ana_sum *sum = ana_sums_room(sums);
    sum->kind = ANA_SUM_WAIT;
    sum->index = (uint32_t)span->waiter;
    sum->begin_ns = span->begin_ns;
    sum->end_ns = span->end_ns;
}

#endif
