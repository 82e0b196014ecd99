/* Summaries from events: all that only they show (who waited for whom, where, how long). */
#include "trace/summary/summary_impl.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdlib.h>

/* ---- relations -------------------------------------------------------------------------------------------------- */

bool ana_waits_are_known(const struct ana_job *job, const struct ana_summary *s)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    if (analysis->records == 0 || s->counters_only)
        return false;
    return s->exact || analysis->store.waits_since_ns <= s->begin_ns;
}

ANA_COMPARE(waits_by_lost, struct ana_wait, ANA_ORDER(y->lost_ns, x->lost_ns), ANA_ORDER(x->waiter, y->waiter),
            ANA_ORDER(x->culprit, y->culprit))

/* All instances of a call, and the rank that came last most often; of two, the one with the lower index. */
struct last {
    uint64_t instances, count;
    size_t index;
};

static bool find_last(const struct ana_tally *t, struct last *of_call)
{
    struct ana_map counts; /* struct ana_count_sum by call number, rank index */
    ana_map_init(&counts, sizeof(struct ana_count_sum));
    bool ok = true;
    for (size_t i = 0; ok && i < t->last.count; i++) {
        const uint64_t *key = ana_map_key(&t->last, i);
        uint64_t call = ana_map_key(&t->collectives, key[0])[1];
        struct ana_count_sum *sum = ana_map_add(&counts, call, key[1], 0);
        ok = sum;
        if (!sum)
            break;
        uint64_t count = ((const struct ana_count_sum *)ana_map_value(&t->last, i))->count;
        sum->count += count;
        of_call[call].instances += count;
    }
    for (size_t i = 0; ok && i < counts.count; i++) {
        const uint64_t *key = ana_map_key(&counts, i);
        uint64_t count = ((const struct ana_count_sum *)ana_map_value(&counts, i))->count;
        struct last *last = &of_call[key[0]];
        if (count > last->count || (count == last->count && key[1] < last->index)) {
            last->count = count;
            last->index = key[1];
        }
    }
    ana_map_free(&counts);
    return ok;
}

/* Returns, by rank index, whether waits of other threads than the main one are no time of the rank; for the caller to
 * free.  NULL: out of memory. */
static uint8_t *list_servers(const struct ana_job *job, const struct ana_summary *s)
{
    uint8_t *serves = calloc(ana_job_members(job)->count + 1, 1);
    for (size_t i = 0; serves && i < s->rank_count; i++)
        serves[s->ranks[i].index] = s->ranks[i].serves;
    return serves;
}

/* Returns the share of the waits of other threads than main ones that are no time of their ranks. */
static double served_share(const struct ana_tally *t, const uint8_t *serves)
{
    double served = 0, all = 0;
    for (size_t i = 0; i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const double ns =
            key[0] & ANA_WAIT_ASIDE ? (double)((struct ana_wait_sum *)ana_map_value(&t->waits, i))->lost_ns : 0;
        all += ns;
        served += serves[key[1]] ? ns : 0;
    }
    return all > 0 ? served / all : 0;
}

/* Whether a wait is of a thread that serves other ranks. */
static bool is_served(const uint64_t key[3], const uint8_t *serves)
{
    return key[0] & ANA_WAIT_ASIDE && serves[key[1]];
}

/* Whether a sum counts as time of its waiter in MPI: not of a thread that serves others, nor of the device. */
static bool is_in_mpi(const uint64_t key[3], const uint8_t *serves)
{
    return key[1] != ANA_ANY_RANK && !is_served(key, serves) &&
           ana_wait_words[ana_wait_key_kind(key[0])].where != ANA_WAIT_DEVICE;
}

/* Adds each rank's loss, and others' loss waiting for it. */
static bool add_to_ranks(const struct ana_job *job, struct ana_summary *s, const struct ana_tally *t,
                         const uint8_t *serves)
{
    struct lost {
        int64_t waiting_ns, caused_ns;
    } *rank = calloc(ana_job_members(job)->count + 1, sizeof *rank);
    for (size_t i = 0; rank && i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const struct ana_wait_sum *sum = ana_map_value(&t->waits, i);
        if (is_in_mpi(key, serves))
            rank[key[1]].waiting_ns = ana_plus(rank[key[1]].waiting_ns, sum->lost_ns);
        if (key[2] != ANA_ANY_RANK && !is_served(key, serves))
            rank[key[2]].caused_ns = ana_plus(rank[key[2]].caused_ns, sum->lost_ns);
    }
    bool known = ana_waits_are_known(job, s);
    for (size_t i = 0; rank && i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        bool fact = known && stat->counted;
        stat->waiting_ns = fact ? rank[stat->index].waiting_ns : -1;
        stat->caused_ns = fact ? rank[stat->index].caused_ns : -1;
    }
    free(rank);
    return rank != NULL;
}

/* Whether a sum of waits is selected. Of pairs without own sums it is the waiter's if ranks are selected, else the
 * culprit's. */
static bool is_selected(const uint64_t key[3], const uint8_t *ranks)
{
    if (key[1] == ANA_ANY_RANK)
        return !ranks;
    if (key[2] == ANA_ANY_RANK)
        return ranks && ranks[key[1]];
    return ana_selected(ranks, key[1]) || ana_selected(ranks, key[2]);
}

/* Adds waits by kind, waiter and culprit, over all calls. */
static bool add_waits(struct ana_summary *s, const struct ana_tally *t, const uint8_t *serves)
{
    struct ana_map place; /* kind, waiter, culprit: index in s->waits + 1 */
    ana_map_init(&place, sizeof(size_t));
    s->waits = calloc(t->waits.count + 1, sizeof *s->waits);
    bool ok = s->waits;
    for (size_t i = 0; ok && i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const struct ana_wait_sum *sum = ana_map_value(&t->waits, i);
        if (!is_selected(key, s->selection.ranks) || is_served(key, serves))
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
        ana_sort(s->waits, s->wait_count, sizeof *s->waits, waits_by_lost);
    return ok;
}

/* Adds lost time, and the rank that came last, to each call. */
static bool add_to_calls(struct ana_job *job, struct ana_summary *s, const struct ana_tally *t,
                         const struct ana_tally *events, const uint8_t *serves)
{
    const struct ana_members *members = ana_job_members(job);
    int64_t *waiting = calloc(members->calls, sizeof *waiting), *seen = calloc(members->calls, sizeof *seen);
    struct last *last = calloc(members->calls, sizeof *last);
    bool ok = waiting && seen && last && find_last(t, last);
    for (size_t i = 0; ok && i < events->sites.count; i++) {
        const uint64_t *key = ana_map_key(&events->sites, i);
        const struct ana_site_sum *sum = ana_map_value(&events->sites, i);
        int64_t *of = &seen[(uint32_t)key[1]];
        if (ana_selected(s->selection.ranks, key[0]))
            *of = ana_plus(*of, s->exact ? sum->times.total_ns : sum->time_ns);
    }
    for (size_t i = 0; ok && i < t->waits.count; i++) {
        const uint64_t *key = ana_map_key(&t->waits, i);
        const struct ana_wait_sum *sum = ana_map_value(&t->waits, i);
        int64_t *in = &waiting[ana_wait_key_call(key[0])];
        if (is_in_mpi(key, serves) && ana_selected(s->selection.ranks, key[1]))
            *in = ana_plus(*in, sum->lost_ns);
    }
    for (size_t c = 0; ok && c < s->call_count; c++) {
        struct ana_call_stat *stat = &s->calls[c];
        uint32_t number = 0;
        while (number < members->calls && members->call[number].name != stat->name)
            number++;
        stat->seen_ns = seen[number] < stat->time_ns ? seen[number] : stat->time_ns;
        if (ana_waits_are_known(job, s) && (waiting[number] || trc_opclass_has_wait_states(stat->opclass)))
            stat->waiting_ns = waiting[number];
        if (last[number].instances) {
            stat->last_index = last[number].index;
            stat->last_share = (double)last[number].count / (double)last[number].instances;
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
    uint8_t *serves = list_servers(job, s);
    ana_job_analysis(job)->pass.why.served = serves ? served_share(relations, serves) : 0;
    const bool ok = serves && add_to_ranks(job, s, relations, serves) && add_waits(s, relations, serves) &&
                    add_to_calls(job, s, relations, events, serves);
    free(serves);
    return ok && ana_summary_collectives(job, s, relations) && add_sizes(s, relations) &&
           ana_summary_sites(job, s, events);
}
