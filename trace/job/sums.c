#include "trace/job/sums.h"

static void add_wait(struct ana_lane *lane, const struct ana_sum *sum)
{
    struct ana_bucket *bucket = ana_lane_hot(lane, sum->begin_ns, sum->end_ns);
    if (bucket)
        bucket->waiting_ns = ana_plus(bucket->waiting_ns, sum->end_ns - sum->begin_ns);
    else
        ana_lane_wait(lane, sum->begin_ns, sum->end_ns);
}

static void take_sums(void *user, const void *items, size_t n)
{
    struct ana_sums *sums = user;
    const struct ana_sum *sum = items;
    bool ok = true;
    for (const struct ana_sum *stop = sum + n; sum < stop; sum++) {
        struct ana_lane *lane = &sums->lane[sum->index];
        if (sum->category == ANA_SUM_WAIT) {
            add_wait(lane, sum);
            continue;
        }
        ok &= ana_sum_to_site(sums->tally, sum);
        ana_sum_to_lane(lane, sum);
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
