/* Summaries from events: what only they tell (who waited for whom, where, how long). */
#include "trace/job/job_impl.h"
#include "trace/util/hash.h"
#include <math.h>
#include <stdlib.h>

/* ---- relations -------------------------------------------------------------------------------------------------- */

static bool knows_waits(const struct ana_job *job, const struct ana_summary *s)
{
    if (job->records == 0)
        return false;
    return s->exact || job->store.waits_since_ns <= s->begin_ns;
}

static int by_lost(int64_t a, int64_t b)
{
    return a > b ? -1 : a < b;
}
static int collectives_by_lost(const void *a, const void *b)
{
    const struct ana_collective *x = a, *y = b;
    int order = by_lost(x->lost_ns, y->lost_ns);
    return order ? order : x->instances > y->instances ? -1 : x->instances < y->instances;
}
static int waits_by_lost(const void *a, const void *b)
{
    const struct ana_wait *x = a, *y = b;
    int order = by_lost(x->lost_ns, y->lost_ns);
    return order                    ? order
           : x->waiter != y->waiter ? (x->waiter > y->waiter) - (x->waiter < y->waiter)
                                    : (x->culprit > y->culprit) - (x->culprit < y->culprit);
}
static int sites_by_time(const void *a, const void *b)
{
    return by_lost(((const struct ana_site *)a)->time_ns, ((const struct ana_site *)b)->time_ns);
}

struct last {
    uint64_t count;
    size_t index;
};

static void keep_most(struct last *last, uint64_t count, size_t index)
{
    if (count > last->count || (count == last->count && index < last->index))
        *last = (struct last){count, index};
}

/* Counts of those of which no instance is complete, by communicator and call. */
static void count_open(struct ana_job *job, struct ana_map *lost)
{
    for (size_t i = 0; i < ana_match_open_instances(job->match); i++) {
        struct ana_instance open;
        if (!ana_match_open_instance(job->match, i, &open))
            continue;
        struct ana_count_sum *n = ana_map_add(lost, open.comm_identity, ana_call_number(job, open.call), 0);
        if (n && n->count++ == 0)
            ana_comm_name(job, open.comm_identity, open.comm);
    }
}

/* Those of which instances are complete; of `lost` only the others are left. */
static void add_complete(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t, const struct last *last,
                         struct ana_map *lost)
{
    for (size_t i = 0; i < t->collectives.count; i++) {
        const uint64_t *key = ana_map_key(&t->collectives, i);
        const struct ana_collective_sum *sum = ana_map_value(&t->collectives, i);
        struct ana_count_sum *missing = ana_map_find(lost, key[0], key[1], 0);
        struct ana_times skew = ana_small_of(&sum->skew);
        s->collectives[s->collective_count++] = (struct ana_collective){
            .name = job->call[key[1]].name,
            .comm_identity = key[0],
            .comm_name = ana_comm_name(job, key[0], sum->comm),
            .instances = sum->skew.calls,
            .incomplete = missing ? missing->count : 0,
            .skew_p50_ns = skew.p50_ns,
            .skew_p99_ns = skew.p99_ns,
            .skew_max_ns = skew.max_ns,
            .lost_ns = trc_opclass_has_wait_states(job->call[key[1]].opclass) ? sum->lost_ns : -1,
            .last_index = last[i].index,
            .last_share = (double)last[i].count / (double)sum->skew.calls,
        };
        if (missing)
            missing->count = 0;
    }
}

static void add_incomplete(const struct ana_job *job, struct ana_summary *s, const struct ana_map *lost)
{
    for (size_t i = 0; i < lost->count; i++) {
        const uint64_t *key = ana_map_key(lost, i);
        const struct ana_count_sum *n = ana_map_value(lost, i);
        char **name = ana_map_find(&job->comm_names, key[0], 0, 0);
        if (n->count)
            s->collectives[s->collective_count++] = (struct ana_collective){
                .name = job->call[key[1]].name,
                .comm_identity = key[0],
                .comm_name = name && *name ? *name : "?",
                .incomplete = n->count,
                .skew_p50_ns = NAN,
                .skew_p99_ns = NAN,
                .skew_max_ns = NAN,
                .last_index = SIZE_MAX,
                .last_share = NAN,
            };
    }
}

static bool add_collectives(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    struct ana_map lost;
    ana_map_init(&lost, sizeof(struct ana_count_sum));
    if (s->exact)
        count_open(job, &lost);
    size_t room = t->collectives.count + lost.count + 1;
    s->collectives = calloc(room, sizeof *s->collectives);
    struct last *last = calloc(room, sizeof *last);
    bool ok = s->collectives && last;
    for (size_t i = 0; ok && i < t->last.count; i++) {
        const uint64_t *key = ana_map_key(&t->last, i);
        const struct ana_collective_sum *sum = ana_map_find(&t->collectives, key[0], key[1], 0);
        const struct ana_count_sum *n = ana_map_value(&t->last, i);
        if (sum)
            keep_most(&last[sum - (const struct ana_collective_sum *)t->collectives.values], n->count, key[2]);
    }
    if (ok) {
        add_complete(job, s, t, last, &lost);
        add_incomplete(job, s, &lost);
        qsort(s->collectives, s->collective_count, sizeof *s->collectives, collectives_by_lost);
    }
    free(last);
    ana_map_free(&lost);
    return ok;
}

/* Adds what each rank lost, and what others lost waiting for it. */
static bool add_to_ranks(const struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    struct lost {
        int64_t waiting_ns, caused_ns;
    } *rank = calloc(job->count + 1, sizeof *rank);
    for (size_t i = 0; rank && i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const struct ana_wait_sum *sum = ana_map_value(&t->waits, i);
        if (ana_wait_key_kind(key[0]) != ANA_LATE_ON_DEVICE) /* its GPU waited, not the rank */
            rank[key[1]].waiting_ns = ana_plus(rank[key[1]].waiting_ns, sum->lost_ns);
        rank[key[2]].caused_ns = ana_plus(rank[key[2]].caused_ns, sum->lost_ns);
    }
    bool known = knows_waits(job, s);
    for (size_t i = 0; rank && i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        bool told = known && stat->counted;
        stat->waiting_ns = told ? rank[stat->index].waiting_ns : -1;
        stat->caused_ns = told ? rank[stat->index].caused_ns : -1;
    }
    free(rank);
    return rank != NULL;
}

/* Adds waits by kind, waiter and culprit, over all calls. */
static bool add_waits(struct ana_summary *s, const struct ana_tally *t)
{
    struct ana_map place; /* kind, waiter, culprit: index in s->waits + 1 */
    ana_map_init(&place, sizeof(size_t));
    s->waits = calloc(t->waits.count + 1, sizeof *s->waits);
    bool ok = s->waits;
    for (size_t i = 0; ok && i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const struct ana_wait_sum *sum = ana_map_value(&t->waits, i);
        if (!ana_selected(s->selection.ranks, key[1]) && !ana_selected(s->selection.ranks, key[2]))
            continue;
        enum ana_wait_kind kind = ana_wait_key_kind(key[0]);
        size_t *at = ana_map_add(&place, kind, key[1], key[2]);
        ok = at;
        if (!at)
            break;
        if (!*at) {
            s->waits[s->wait_count] = (struct ana_wait){.kind = kind, .waiter = key[1], .culprit = key[2]};
            *at = ++s->wait_count;
        }
        struct ana_wait *wait = &s->waits[*at - 1];
        wait->count += sum->count;
        wait->lost_ns = ana_plus(wait->lost_ns, sum->lost_ns);
        wait->squares += sum->squares;
    }
    ana_map_free(&place);
    if (ok)
        qsort(s->waits, s->wait_count, sizeof *s->waits, waits_by_lost);
    return ok;
}

/* A place in the program: the same call site on all ranks that have it. */
struct place {
    size_t index; /* rank that spends most there */
    uint64_t address;
    int64_t most_ns;
    size_t ranks;
    struct ana_site_sum sum;
};

static void add_to_place(struct place *place, const uint64_t *key, const struct ana_site_sum *sum)
{
    struct ana_times_small *to = &place->sum.times;
    const struct ana_times_small *from = &sum->times;
    if (!place->ranks || from->total_ns > place->most_ns) {
        place->index = key[0];
        place->address = key[2];
        place->most_ns = from->total_ns;
    }
    place->ranks++;
    place->sum.sent += sum->sent;
    place->sum.received += sum->received;
    place->sum.time_ns = ana_plus(place->sum.time_ns, sum->time_ns);
    if (!from->calls)
        return;
    if (!to->calls || from->min_ns < to->min_ns)
        to->min_ns = from->min_ns;
    if (!to->calls || from->max_ns > to->max_ns)
        to->max_ns = from->max_ns;
    to->calls += from->calls;
    to->total_ns = ana_plus(to->total_ns, from->total_ns);
    for (size_t i = 0; i < TRC_BUCKETS; i++)
        to->count[i] += from->count[i];
}

static bool add_sites(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t)
{
    struct ana_map places; /* call number, module or else address, whether it is a module */
    bool done = true;
    const char *function, *module;
    ana_map_init(&places, sizeof(struct place));
    for (size_t i = 0; i < t->sites.count && done; i++) {
        const uint64_t *key = ana_map_key(&t->sites, i);
        const struct ana_site_sum *sum = ana_map_value(&t->sites, i);
        bool empty = !sum->times.calls && !sum->time_ns && !sum->sent && !sum->received;
        if (!ana_selected(s->selection.ranks, key[0]) || empty)
            continue;
        trc_site(job->process[key[0]].rank.file, key[2], &function, &module);
        struct place *place = ana_map_add(&places, key[1], module ? ana_hash_text(module) : key[2], module != NULL);
        done = place != NULL;
        if (done)
            add_to_place(place, key, sum);
    }
    s->sites = done ? calloc(places.count + 1, sizeof *s->sites) : NULL;
    for (size_t i = 0; s->sites && i < places.count; i++) {
        const struct place *place = ana_map_value(&places, i);
        struct ana_site *site = &s->sites[s->site_count++];
        *site = (struct ana_site){
            .call = job->call[ana_map_key(&places, i)[0]].name,
            .address = place->address,
            .index = place->index,
            .ranks = place->ranks,
            .times = ana_small_of(&place->sum.times),
            .time_ns = s->exact ? place->sum.times.total_ns : place->sum.time_ns,
            .sent = place->sum.sent,
            .received = place->sum.received,
        };
        site->identity = ana_site_identity(job, place->index, (uint32_t)ana_map_key(&places, i)[0], place->address);
        trc_site(job->process[place->index].rank.file, place->address, &site->function, &site->module);
        if (job->line_finder && site->module)
            site->line = job->line_finder(job->line_context, job->process[place->index].rank.file, site->module);
    }
    ana_map_free(&places);
    if (s->sites)
        qsort(s->sites, s->site_count, sizeof *s->sites, sites_by_time);
    return s->sites != NULL;
}

/* Adds lost time, and who came last, to each call. */
static bool add_to_calls(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t,
                         const struct ana_tally *events)
{
    int64_t *waiting = calloc(job->calls, sizeof *waiting), *seen = calloc(job->calls, sizeof *seen);
    struct last *last = calloc(job->calls, sizeof *last);
    bool ok = waiting && seen && last;
    for (size_t i = 0; ok && i < events->sites.count; i++) {
        const uint64_t *key = ana_map_key(&events->sites, i);
        const struct ana_site_sum *sum = ana_map_value(&events->sites, i);
        if (ana_selected(s->selection.ranks, key[0]))
            seen[key[1]] = ana_plus(seen[key[1]], s->exact ? sum->times.total_ns : sum->time_ns);
    }
    for (size_t i = 0; ok && i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const struct ana_wait_sum *sum = ana_map_value(&t->waits, i);
        int64_t *in = &waiting[ana_wait_key_call(key[0])];
        if (ana_selected(s->selection.ranks, key[1]))
            *in = ana_plus(*in, sum->lost_ns);
    }
    for (size_t i = 0; ok && i < t->last_of_call.count; i++) {
        const uint64_t *key = ana_map_key(&t->last_of_call, i);
        keep_most(&last[key[0]], ((const struct ana_count_sum *)ana_map_value(&t->last_of_call, i))->count, key[1]);
    }
    for (size_t c = 0; ok && c < s->call_count; c++) {
        struct ana_call_stat *stat = &s->calls[c];
        uint32_t number = 0;
        while (number < job->calls && job->call[number].name != stat->name)
            number++;
        stat->seen_ns = seen[number] < stat->time_ns ? seen[number] : stat->time_ns;
        if (knows_waits(job, s) && (waiting[number] || trc_opclass_has_wait_states(stat->opclass)))
            stat->waiting_ns = waiting[number];
        const struct ana_count_sum *n = ana_map_find(&t->instances, number, 0, 0);
        if (n && n->count) {
            stat->last_index = last[number].index;
            stat->last_share = (double)last[number].count / (double)n->count;
        }
    }
    free(waiting);
    free(seen);
    free(last);
    return ok;
}

static bool add_sizes(struct ana_summary *s, const struct ana_tally *t)
{
    s->sizes = calloc(ANA_TALLY_SIZES, sizeof *s->sizes);
    for (int i = 0; s->sizes && i < (int)ANA_TALLY_SIZES; i++) {
        const struct ana_size_sum *sum = t->size[i];
        if (sum)
            s->sizes[s->size_count++] = (struct ana_size_stat){
                .size_class = i,
                .bytes = sum->bytes,
                .latency = ana_small_of(&sum->latency),
                .wait = ana_small_of(&sum->wait),
                .bandwidth = sum->moving_ns > 0 ? (double)sum->bytes / ((double)sum->moving_ns / 1e9) : NAN,
            };
    }
    return s->sizes != NULL;
}

bool ana_summary_relations(struct ana_job *job, struct ana_summary *s, const struct ana_tally *relations,
                           const struct ana_tally *events)
{
    for (size_t i = 0; i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        stat->collectives = events->rank[stat->index].collectives;
        stat->came_last = events->rank[stat->index].came_last;
    }
    struct ana_times_small latency;
    ana_tally_latency(relations, &latency);
    s->message_latency = ana_small_of(&latency);
    s->clock_violations = relations->clock_violations;
    return add_to_ranks(job, s, relations) && add_collectives(job, s, relations) && add_waits(s, relations) &&
           add_sizes(s, relations) && add_sites(job, s, events) && add_to_calls(job, s, relations, events);
}
