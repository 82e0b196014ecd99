#include "trace/sums/sums.h"

size_t ana_sums_of(const struct ana_event *e, struct ana_told out[2])
{
    const struct ana_use *use = e->use;
    bool folded = e->kind == TRC_RECORD_FOLD, bytes = use->sent | use->received, apart = use->is_sub || folded;
    bool large = ana_why_is_large(use);
    uint64_t times = folded ? e->count : 1;
    /* Rounds of a background loop count as time outside calls. */
    const bool control = e->sig->flags & TRC_SIG_CONTROL;
    struct ana_told told = {.index = (uint32_t)e->index,
                            .category = (uint8_t)use->category,
                            .thread = control ? ANA_NO_THREAD : (uint16_t)e->thread};
    size_t n = 0;
    if (bytes && (apart || large)) {
        told.kind = ANA_TOLD_BYTES;
        told.sum.begin_ns = told.sum.end_ns = e->end_ns;
        told.sum.sent = use->sent * times;
        told.sum.received = use->received * times;
        told.sum.site = use->site;
        out[n++] = told;
    }
    if (use->is_sub || !times)
        return n;
    told.call.begin_ns = e->begin_ns;
    told.call.end_ns = e->end_ns;
    if (folded) {
        told.kind = ANA_TOLD_FOLD;
        told.sum.busy_ns = e->busy_ns;
        told.sum.calls = times;
        told.sum.site = use->site;
    } else {
        told.kind = ANA_TOLD_COUNT;
        told.call.site = use->site;
        told.call.sent = large ? 0 : (uint32_t)use->sent;
        told.call.received = large ? 0 : (uint32_t)use->received;
    }
    out[n++] = told;
    return n;
}

void ana_sums_tell(struct ana_why *why, const struct ana_event *e)
{
    struct ana_told told[2];
    size_t n = ana_sums_of(e, told);
    for (size_t i = 0; i < n; i++)
        *ana_why_tell(why, told[i].kind, told[i].index) = told[i];
}

/* Adds polls, and anything older than the last used bucket. */
static bool add_late(struct ana_lane *lane, const struct ana_told *told, int64_t begin_ns, int64_t end_ns)
{
    bool spent;
    switch (told->kind) {
    case ANA_TOLD_CALL:
    case ANA_TOLD_COUNT:
        spent = ana_lane_spend(lane, begin_ns, end_ns, end_ns - begin_ns, told->category);
        return ana_lane_count(lane, end_ns, 1, told->call.sent, told->call.received) && spent;
    case ANA_TOLD_BYTES:
        return ana_lane_count(lane, end_ns, 0, told->sum.sent, told->sum.received);
    case ANA_TOLD_FOLD:
        spent = ana_lane_spend(lane, begin_ns, end_ns, told->sum.busy_ns, told->category);
        return ana_lane_count(lane, end_ns, told->sum.calls, 0, 0) && spent;
    default:
        return ana_lane_wait(lane, begin_ns, end_ns);
    }
}

bool ana_sum_apart(struct ana_lane *lane, const struct ana_told *told, int64_t begin_ns, int64_t end_ns)
{
    struct ana_bucket *bucket = told->kind == ANA_TOLD_FOLD ? NULL : ana_lane_reach(lane, end_ns);
    if (!bucket)
        return add_late(lane, told, begin_ns, end_ns);
    int64_t from_ns = begin_ns;
    bool ok = true;
    if (begin_ns < lane->hot_begin_ns) {
        from_ns = lane->hot_begin_ns;
        if (told->kind == ANA_TOLD_WAIT)
            ok = ana_lane_wait(lane, begin_ns, from_ns);
        else
            ok = ana_lane_spend(lane, begin_ns, from_ns, from_ns - begin_ns, told->category);
    }
    ana_sum_to_bucket(bucket, told->kind, told, end_ns - from_ns);
    return ok;
}

/* Adds a wait that counts: to those like it, and to its waiter's timeline, if that waits in a call. */
static bool add_wait(const struct ana_sums *sums, const struct ana_told *told)
{
    const struct ana_late_wait *late = &told->wait.late;
    const int64_t wait_ns = late->end_ns - told->wait.begin_ns;
    ana_tally_wait(sums->tally, told->wait.sum, wait_ns);
    if (late->site) {
        struct ana_site_sum *site = ana_map_value(&sums->tally->sites, late->site - 1);
        site->wait_ns = ana_plus(site->wait_ns, wait_ns);
    }
    return late->device ||
           ana_sum_to_lane(&sums->lane[late->waiter], ANA_TOLD_WAIT, told, told->wait.begin_ns, late->end_ns);
}

static void take_sums(void *user, const void *items, size_t n)
{
    struct ana_sums *sums = user;
    struct ana_tally *tally = sums->tally;
    struct ana_lane *lane = sums->lane;
    const struct ana_told *told = items;
    bool ok = true;
    for (const struct ana_told *stop = told + n; told < stop; told++)
        switch (told->kind) {
        case ANA_TOLD_CALL:
        case ANA_TOLD_COUNT:
            ok &= ana_sum_to_lane(&lane[told->index], ANA_TOLD_CALL, told, told->call.begin_ns, told->call.end_ns);
            ok &= ana_sum_to_site(tally, ANA_TOLD_CALL, told, true);
            break;
        case ANA_TOLD_BYTES:
        case ANA_TOLD_FOLD:
            ok &= ana_sum_to_lane(&lane[told->index], told->kind, told, told->sum.begin_ns, told->sum.end_ns);
            ok &= ana_sum_to_site(tally, told->kind, told, true);
            break;
        case ANA_TOLD_WAIT:
            if (told->wait.counts)
                ok &= add_wait(sums, told);
            break;
        case ANA_TOLD_MESSAGE:
            ok &= ana_tally_message(tally, &told->need.moved);
            break;
        case ANA_TOLD_SENT:
            ana_tally_sent(tally, told->sent.pair, told->sent.bytes);
            break;
        }
    if (!ok)
        sums->out_of_memory = true;
}

void ana_sums_open(struct ana_sums *sums, struct ana_tally *tally, struct ana_lane *lane, struct ana_causes *causes)
{
    *sums = (struct ana_sums){.tally = tally, .lane = lane};
    ana_queue_also(&causes->queue, take_sums, sums);
}
