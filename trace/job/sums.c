#include "trace/job/sums.h"

size_t ana_sums_of(const struct ana_event *e, struct ana_sum out[2])
{
    const struct ana_use *use = e->use;
    bool folded = e->kind == TRC_RECORD_FOLD, bytes = use->sent | use->received, apart = use->is_sub || folded;
    uint64_t times = folded ? e->count : 1;
    struct ana_sum sum = {.begin_ns = apart ? e->end_ns : e->begin_ns,
                          .end_ns = e->end_ns,
                          .sent = use->sent * times,
                          .received = use->received * times,
                          .index = (uint32_t)e->index,
                          .site = use->site,
                          .kind = apart ? ANA_SUM_BYTES : ANA_SUM_CALL,
                          .category = use->category};
    size_t n = 0;
    if (bytes || !apart)
        out[n++] = sum;
    if (!folded || use->is_sub || !times)
        return n;
    sum.begin_ns = e->begin_ns;
    sum.kind = ANA_SUM_FOLD;
    sum.fold.busy_ns = e->busy_ns;
    sum.fold.calls = times;
    out[n++] = sum;
    return n;
}

void ana_sums_fold(struct ana_sums *sums, const struct ana_event *e)
{
    struct ana_sum sum[2];
    size_t n = ana_sums_of(e, sum);
    for (size_t i = 0; i < n; i++)
        *ana_sums_room(sums) = sum[i];
}

/* Adds polls, and what is older than the bucket that was used last. */
static bool add_late(struct ana_lane *lane, const struct ana_sum *sum)
{
    int64_t ns = sum->end_ns - sum->begin_ns;
    bool ok = true;
    if (sum->kind == ANA_SUM_WAIT)
        ok &= ana_lane_wait(lane, sum->begin_ns, sum->end_ns);
    if (sum->kind == ANA_SUM_FOLD) {
        ok &= ana_lane_spend(lane, sum->begin_ns, sum->end_ns, sum->fold.busy_ns, sum->category);
        ok &= ana_lane_count(lane, sum->end_ns, sum->fold.calls, 0, 0);
    }
    if (sum->kind == ANA_SUM_CALL)
        ok &= ana_lane_spend(lane, sum->begin_ns, sum->end_ns, ns, sum->category);
    if (sum->kind <= ANA_SUM_BYTES)
        ok &= ana_lane_count(lane, sum->end_ns, sum->kind == ANA_SUM_CALL, sum->sent, sum->received);
    return ok;
}

bool ana_sum_apart(struct ana_lane *lane, const struct ana_sum *sum)
{
    struct ana_bucket *bucket = sum->kind == ANA_SUM_FOLD ? NULL : ana_lane_reach(lane, sum->end_ns);
    if (!bucket)
        return add_late(lane, sum);
    int64_t begin_ns = sum->begin_ns, from_ns = begin_ns;
    bool ok = true;
    if (begin_ns < lane->hot_begin_ns) {
        from_ns = lane->hot_begin_ns;
        if (sum->kind == ANA_SUM_WAIT)
            ok = ana_lane_wait(lane, begin_ns, from_ns);
        else
            ok = ana_lane_spend(lane, begin_ns, from_ns, from_ns - begin_ns, sum->category);
    }
    ana_sum_to_bucket(bucket, sum, from_ns);
    return ok;
}

static void take_sums(void *user, const void *items, size_t n)
{
    struct ana_sums *sums = user;
    const struct ana_sum *sum = items;
    bool ok = true;
    for (const struct ana_sum *stop = sum + n; sum < stop; sum++) {
        ok &= ana_sum_to_lane(&sums->lane[sum->index], sum);
        if (sum->kind != ANA_SUM_WAIT)
            ok &= ana_sum_to_site(sums->tally, sum);
    }
    sums->out_of_memory |= !ok;
}

bool ana_sums_open(struct ana_sums *sums, struct ana_tally *tally, struct ana_lane *lane, struct ana_beside *beside)
{
    *sums = (struct ana_sums){.tally = tally, .lane = lane};
    return ana_queue_open(&sums->queue, beside, sizeof(struct ana_sum), take_sums, sums);
}

void ana_sums_close(struct ana_sums *sums)
{
    ana_queue_close(&sums->queue);
}

void ana_sums_sync(struct ana_sums *sums)
{
    if (!sums->tally)
        return;
    ana_queue_drain(&sums->queue);
    sums->tally->out_of_memory |= sums->out_of_memory;
    sums->out_of_memory = false;
}
