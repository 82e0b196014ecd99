#include "trace/sums/sums.h"

size_t ana_sums_of(const struct ana_event *e, struct ana_run_fact out[2])
{
    const struct ana_use *use = e->use;
    bool folded = e->kind == TRC_RECORD_FOLD, bytes = use->sent | use->received, apart = use->is_sub || folded;
    bool large = ana_why_is_large(use);
    uint64_t times = folded ? e->count : 1;
    /* Rounds of a background loop count as time outside calls. */
    const bool control = e->sig->flags & TRC_SIG_CONTROL;
    struct ana_run_fact fact = {.index = (uint32_t)e->index,
                                .category = (uint8_t)use->category,
                                .thread = control ? ANA_NO_THREAD : (uint16_t)e->thread};
    size_t n = 0;
    if (bytes && (apart || large)) {
        fact.kind = ANA_RUN_BYTES;
        fact.sum.begin_ns = fact.sum.end_ns = e->end_ns;
        fact.sum.sent = use->sent * times;
        fact.sum.received = use->received * times;
        fact.sum.site = use->site;
        out[n++] = fact;
    }
    if (use->is_sub || !times)
        return n;
    fact.call.begin_ns = e->begin_ns;
    fact.call.end_ns = e->end_ns;
    if (folded) {
        fact.kind = ANA_RUN_FOLD;
        fact.sum.busy_ns = e->busy_ns;
        fact.sum.calls = times;
        fact.sum.site = use->site;
    } else {
        fact.kind = ANA_RUN_COUNT;
        fact.call.site = use->site;
        fact.call.sent = large ? 0 : (uint32_t)use->sent;
        fact.call.received = large ? 0 : (uint32_t)use->received;
    }
    out[n++] = fact;
    return n;
}

void ana_sums_emit(struct ana_why *why, const struct ana_event *e)
{
    struct ana_run_fact fact[2];
    size_t n = ana_sums_of(e, fact);
    for (size_t i = 0; i < n; i++)
        *ana_why_emit(why, fact[i].kind, fact[i].index) = fact[i];
}

/* Adds polls, and anything older than the last used bucket. */
static bool add_late(struct ana_lane *lane, const struct ana_run_fact *fact, int64_t begin_ns, int64_t end_ns)
{
    bool spent;
    switch (fact->kind) {
    case ANA_RUN_CALL:
    case ANA_RUN_COUNT:
        spent = ana_lane_spend(lane, begin_ns, end_ns, end_ns - begin_ns, fact->category);
        return ana_lane_count(lane, end_ns, 1, fact->call.sent, fact->call.received) && spent;
    case ANA_RUN_BYTES:
        return ana_lane_count(lane, end_ns, 0, fact->sum.sent, fact->sum.received);
    case ANA_RUN_FOLD:
        spent = ana_lane_spend(lane, begin_ns, end_ns, fact->sum.busy_ns, fact->category);
        return ana_lane_count(lane, end_ns, fact->sum.calls, 0, 0) && spent;
    default:
        return ana_lane_wait(lane, begin_ns, end_ns);
    }
}

bool ana_sum_partly(struct ana_lane *lane, const struct ana_run_fact *fact, int64_t begin_ns, int64_t end_ns)
{
    struct ana_bucket *bucket = fact->kind == ANA_RUN_FOLD ? NULL : ana_lane_reach(lane, end_ns);
    if (!bucket)
        return add_late(lane, fact, begin_ns, end_ns);
    int64_t from_ns = begin_ns;
    bool ok = true;
    if (begin_ns < lane->hot_begin_ns) {
        from_ns = lane->hot_begin_ns;
        if (fact->kind == ANA_RUN_WAIT)
            ok = ana_lane_wait(lane, begin_ns, from_ns);
        else
            ok = ana_lane_spend(lane, begin_ns, from_ns, from_ns - begin_ns, fact->category);
    }
    ana_sum_to_bucket(bucket, fact->kind, fact, end_ns - from_ns);
    return ok;
}

/* Adds a wait that counts: to those like it, and to its waiter's timeline, if that waits in a call. */
static bool add_wait(const struct ana_sums *sums, const struct ana_run_fact *fact)
{
    const struct ana_late_wait *late = &fact->wait.late;
    const int64_t wait_ns = late->end_ns - fact->wait.begin_ns;
    ana_tally_wait(sums->tally, fact->wait.places, wait_ns);
    if (late->site) {
        struct ana_site_sum *site = ana_map_value(&sums->tally->sites, late->site - 1);
        site->wait_ns = ana_plus(site->wait_ns, wait_ns);
    }
    return late->device ||
           ana_sum_to_lane(&sums->lane[late->waiter], ANA_RUN_WAIT, fact, fact->wait.begin_ns, late->end_ns);
}

static void consume_facts(void *user, const void *items, size_t n)
{
    struct ana_sums *sums = user;
    struct ana_tally *tally = sums->tally;
    struct ana_lane *lane = sums->lane;
    const struct ana_run_fact *fact = items;
    bool ok = true;
    for (const struct ana_run_fact *stop = fact + n; fact < stop; fact++)
        switch (fact->kind) {
        case ANA_RUN_CALL:
        case ANA_RUN_COUNT:
            ok &= ana_sum_to_lane(&lane[fact->index], ANA_RUN_CALL, fact, fact->call.begin_ns, fact->call.end_ns);
            ok &= ana_sum_to_site(tally, ANA_RUN_CALL, fact, true);
            break;
        case ANA_RUN_BYTES:
        case ANA_RUN_FOLD:
            ok &= ana_sum_to_lane(&lane[fact->index], fact->kind, fact, fact->sum.begin_ns, fact->sum.end_ns);
            ok &= ana_sum_to_site(tally, fact->kind, fact, true);
            break;
        case ANA_RUN_WAIT:
            if (fact->wait.late.counts)
                ok &= add_wait(sums, fact);
            break;
        case ANA_RUN_MESSAGE:
            ok &= ana_tally_message(tally, &fact->need.moved);
            break;
        case ANA_RUN_SENT:
            ana_tally_sent(tally, fact->sent.pair, fact->sent.bytes);
            break;
        }
    if (!ok)
        sums->out_of_memory = true;
}

void ana_sums_open(struct ana_sums *sums, struct ana_tally *tally, struct ana_lane *lane, struct ana_causes *causes)
{
    *sums = (struct ana_sums){.tally = tally, .lane = lane};
    tally->queue = &causes->queue;
    ana_queue_add_consumer(&causes->queue, consume_facts, sums);
}
