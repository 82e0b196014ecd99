#include "trace/sums/tally.h"
#include "trace/members/process.h"
#include <stdlib.h>

static void init_maps(struct ana_tally *tally)
{
    ana_map_init(&tally->calls, sizeof(struct ana_call_sum));
    ana_map_init(&tally->threads, sizeof(struct ana_thread_sum));
    ana_map_init(&tally->sites, sizeof(struct ana_site_sum));
    ana_map_init(&tally->pairs, sizeof(struct ana_pair_sum));
    ana_map_init(&tally->collectives, sizeof(struct ana_collective_sum));
    ana_map_init(&tally->last, sizeof(struct ana_count_sum));
    ana_map_init(&tally->waits, sizeof(struct ana_wait_sum));
}

bool ana_tally_init(struct ana_tally *tally, size_t ranks)
{
    *tally = (struct ana_tally){
        .ranks = ranks,
        .rank = calloc(ranks + 1, sizeof *tally->rank),
    };
    init_maps(tally);
    return tally->rank;
}

void ana_tally_free(struct ana_tally *tally)
{
    for (size_t i = 0; i < tally->sites.count; i++)
        ana_counts_free(&((struct ana_site_sum *)ana_map_value(&tally->sites, i))->times.counts);
    for (size_t i = 0; i < tally->pairs.count; i++) {
        struct ana_times_slim *latency = ((struct ana_pair_sum *)ana_map_value(&tally->pairs, i))->latency;
        if (latency)
            ana_counts_free(&latency->counts);
        free(latency);
    }
    for (size_t i = 0; i < ANA_TALLY_SIZES; i++)
        free(tally->size[i]);
    struct ana_map *map[] = {&tally->calls,       &tally->threads, &tally->sites, &tally->pairs,
                             &tally->collectives, &tally->last,    &tally->waits};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        ana_map_free(map[i]);
    free(tally->rank);
    *tally = (struct ana_tally){0};
}

/* The value of a key; when out of memory, a place whose contents nobody reads. */
static void *sum_of(struct ana_tally *tally, struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    void *value = ana_map_add(map, a, b, c);
    if (!value)
        tally->out_of_memory = true;
    return value;
}

/* Adds bytes and messages, also of items that are no call of their own. */
static void tally_bytes(struct ana_tally *tally, const struct ana_event *e, uint64_t sent, uint64_t received)
{
    struct ana_rank_sum *rank = &tally->rank[e->index];
    uint32_t flags = e->sig->flags;
    rank->sent += sent;
    rank->received += received;
    rank->sent_messages += (flags & TRC_SIG_P2P_OUT) && !(flags & TRC_SIG_COMPLETE);
    rank->received_messages += (flags & TRC_SIG_P2P_IN) && !(flags & (TRC_SIG_START | TRC_SIG_CANCELLED));
}

/* The place of a key's value, + 1; 0: out of memory. */
static uint32_t place_of(struct ana_tally *tally, struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    char *value = sum_of(tally, map, a, b, c);
    return value ? (uint32_t)((size_t)(value - (char *)map->values) / map->value_size) + 1 : 0;
}

/* The place of a key in a map that queued facts add to: making it may move the others, so these are added first. */
static uint32_t queued_place_of(struct ana_tally *tally, struct ana_map *map, uint64_t a, uint64_t b, uint64_t c)
{
    if (tally->queue && ana_map_is_full(map) && !ana_map_find(map, a, b, c))
        ana_queue_drain(tally->queue);
    return place_of(tally, map, a, b, c);
}

void ana_tally_site(struct ana_tally *tally, const struct ana_event *e, uint32_t around)
{
    struct ana_use *use = e->use;
    use->site = place_of(tally, &tally->sites, e->index, ana_tally_site_call(use->number, around), e->sig->site);
}

void ana_tally_use(const struct ana_event *e, uint32_t call)
{
    struct ana_use *use = e->use;
    use->number = call;
    use->sent = ana_event_sent(e->sig);
    use->received = ana_event_received(e->sig, use->call->opclass);
    use->is_sub = e->sig->flags & TRC_SIG_SUB;
    use->category = trc_opclass_category(use->call->opclass);
}

static struct ana_call_sum *call_sum(struct ana_tally *tally, const struct ana_event *e)
{
    return sum_of(tally, &tally->calls, e->use->number, trc_sig_class(e->sig), 0);
}

static struct ana_site_sum *site_sum(const struct ana_tally *tally, const struct ana_use *use)
{
    return use->site ? ana_map_value(&tally->sites, use->site - 1) : NULL; /* NULL: out of memory */
}

void ana_tally_call(struct ana_tally *tally, const struct ana_event *e)
{
    const struct ana_use *use = e->use;
    uint64_t sent = use->sent * ana_event_times(e), received = use->received * ana_event_times(e);
    uint64_t calls = ana_event_calls(e);
    tally_bytes(tally, e, sent, received);
    tally->rank[e->index].calls += calls;
    struct ana_call_sum *sum = call_sum(tally, e);
    if (sum) {
        ana_small_add(&sum->times, ana_event_all(e), calls);
        sum->sent += sent;
        sum->received += received;
    }
}

void ana_tally_passing(struct ana_tally *tally, const struct ana_event *e)
{
    struct ana_call_sum *sum = call_sum(tally, e);
    struct ana_site_sum *site = site_sum(tally, e->use);
    uint64_t calls = ana_event_calls(e);
    if (sum) {
        ana_small_add(&sum->times, ana_event_all(e), calls);
        sum->passing += calls;
    }
    if (site)
        tally->out_of_memory |= !ana_slim_add(&site->times, ana_event_all(e), calls);
}

void ana_tally_time(struct ana_tally *tally, const struct ana_event *e, int64_t begin_ns, int64_t end_ns)
{
    begin_ns = e->begin_ns > begin_ns ? e->begin_ns : begin_ns;
    end_ns = e->end_ns < end_ns ? e->end_ns : end_ns;
    if (end_ns <= begin_ns)
        return;
    struct ana_thread_sum *thread = sum_of(tally, &tally->threads, e->index, e->thread, 0);
    if (!thread)
        return;
    int64_t inside = end_ns - begin_ns;
    if (e->kind == TRC_RECORD_FOLD && e->end_ns > e->begin_ns)
        inside = ana_rounded((double)e->busy_ns * (double)inside / (double)(e->end_ns - e->begin_ns));
    enum trc_opclass opclass = e->use->call->opclass;
    int64_t *ns = &thread->ns[trc_opclass_category(opclass)];
    if (!trc_opclass_is(opclass, TRC_FACT_EDGE) && opclass != TRC_OP_ABORT) /* the run lies between these */
        *ns = ana_plus(*ns, inside);
    struct ana_call_sum *sum = call_sum(tally, e);
    struct ana_site_sum *site = site_sum(tally, e->use);
    if (sum)
        sum->time_ns = ana_plus(sum->time_ns, inside);
    if (site)
        site->time_ns = ana_plus(site->time_ns, inside);
    if (site && e->thread == ANA_MAIN_THREAD && !(e->sig->flags & TRC_SIG_CONTROL))
        site->inside_ns = ana_plus(site->inside_ns, inside);
}

uint32_t ana_tally_pair_place(struct ana_tally *tally, size_t source, size_t destination)
{
    return destination < tally->ranks ? queued_place_of(tally, &tally->pairs, source, destination, 0) : 0;
}

void ana_tally_pair_begin(struct ana_pair_sum *pair, uint32_t place)
{
    pair->latency_min_ns = INT64_MAX;
    if (!pair->latency && place <= ANA_TALLY_PAIR_HISTOGRAMS)
        pair->latency = calloc(1, sizeof *pair->latency);
}

struct ana_size_sum *ana_tally_size_make(struct ana_tally *tally, uint32_t size_class)
{
    struct ana_size_sum *sum = size_class < ANA_TALLY_SIZES ? calloc(1, sizeof *sum) : NULL;
    if (sum)
        tally->size[size_class] = sum;
    else
        tally->out_of_memory = true; /* another thread may set it, too */
    return sum;
}

/* Returns whether a wait may be of any pair of ranks, so that there may be too many pairs. */
static bool is_of_any_pair(const struct ana_stored_wait *w)
{
    const enum ana_wait_where where = ana_wait_words[w->kind].where;
    return (where == ANA_WAIT_COLLECTIVE || where == ANA_WAIT_DEVICE) && !(ana_wait_key(w) & ANA_WAIT_ASIDE);
}

struct ana_wait_places ana_tally_wait_places(struct ana_tally *tally, const struct ana_stored_wait *w)
{
    struct ana_map *waits = &tally->waits;
    const uint64_t key = ana_wait_key(w);
    if (w->waiter < tally->ranks && is_of_any_pair(w) && !ana_map_find(waits, key, w->waiter, w->culprit)) {
        const size_t share = ANA_TALLY_WAITS / tally->ranks;
        if (tally->rank[w->waiter].pairs >= (share > ANA_TALLY_LEAST_WAITS ? share : ANA_TALLY_LEAST_WAITS))
            return (struct ana_wait_places){queued_place_of(tally, waits, key, ANA_ANY_RANK, w->culprit),
                                            queued_place_of(tally, waits, key, w->waiter, ANA_ANY_RANK)};
        tally->rank[w->waiter].pairs++;
    }
    return (struct ana_wait_places){queued_place_of(tally, waits, key, w->waiter, w->culprit), 0};
}

void ana_tally_latency(const struct ana_tally *tally, struct ana_times_small *out)
{
    *out = tally->other_latency;
    for (size_t i = 0; i < tally->pairs.count; i++) {
        const struct ana_pair_sum *pair = ana_map_value(&tally->pairs, i);
        if (pair->latency)
            ana_small_merge_slim(out, pair->latency);
    }
}

void ana_tally_instance(struct ana_tally *tally, const struct ana_stored_instance *k)
{
    struct ana_collective_sum *sum = sum_of(tally, &tally->collectives, k->comm_identity, k->call, k->place);
    if (!sum)
        return;
    sum->comm = k->comm;
    ana_small_add(&sum->skew, k->last_ns - k->first_ns, 1);
    sum->lost_ns = ana_plus(sum->lost_ns, k->lost_ns);
    size_t at = (size_t)(sum - (struct ana_collective_sum *)tally->collectives.values);
    struct ana_count_sum *last = sum_of(tally, &tally->last, at, k->last_index, 0);
    if (last)
        last->count++;
}

void ana_tally_part(struct ana_tally *tally, size_t index, bool last)
{
    tally->rank[index].collectives++;
    tally->rank[index].came_last += last;
}
