/* Summaries of a selection, for screens and report: joins the counters with data from events. */
#include "trace/job/upper.h"
#include "trace/summary/summary_impl.h"
#include "trace/job/off.h"
#include "trace/job/window.h"
#include "trace/util/sort.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSOR_KNOWN 0.5 /* share of the ranks' time: processor time counted for less says nothing */

/* ---- calls and cells -------------------------------------------------------------------------------------------- */

ANA_COMPARE(by_call_then_size, struct ana_call_cell *const, ANA_ORDER((*x)->call, (*y)->call),
            ANA_ORDER((*x)->size_class, (*y)->size_class))

ANA_COMPARE(by_time, struct ana_call_stat, ANA_ORDER(y->time_ns, x->time_ns), ANA_ORDER(y->times.count, x->times.count),
            strcmp(x->name, y->name))

static struct ana_call_stat stat_of(const struct ana_job *job, const struct ana_call_cell *cell, int size_class)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_call_stat stat = {
        .name = members->call[cell->call].name,
        .opclass = members->call[cell->call].opclass,
        .size_class = size_class,
        .times = ana_times_of(&cell->times),
        .ended = cell->times.calls - cell->passing,
        .time_ns = cell->time_ns,
        .open_ns = cell->open_ns,
        .unknown = cell->unknown,
        .sent = cell->sent,
        .received = cell->received,
        .waiting_ns = -1,
        .last_index = SIZE_MAX,
        .last_share = NAN,
    };
    ana_times_decades(&cell->times, stat.decade);
    return stat;
}

bool ana_summary_calls(struct ana_job *job, struct ana_summary *s, struct ana_call_cell **cells, size_t n)
{
    struct ana_call_cell *sum = malloc(sizeof *sum);
    struct ana_call_stat *sorted = calloc(n + 1, sizeof *sorted);
    s->calls = calloc(n + 1, sizeof *s->calls);
    s->cells = calloc(n + 1, sizeof *s->cells);
    bool ok = sum && sorted && s->calls && s->cells;
    if (n)
        ana_sort(cells, n, sizeof *cells, by_call_then_size);
    for (size_t i = 0; i < n; i++)
        cells[i]->unknown = cells[i]->size_class == TRC_SIZE_UNKNOWN ? cells[i]->times.calls - cells[i]->passing : 0;
    for (size_t i = 0; ok && i < n;) {
        *sum = *cells[i];
        sorted[i] = stat_of(job, cells[i], cells[i]->size_class);
        size_t next = i + 1;
        for (; next < n && cells[next]->call == cells[i]->call; next++) {
            sorted[next] = stat_of(job, cells[next], cells[next]->size_class);
            ana_times_merge(&sum->times, &cells[next]->times);
            sum->passing += cells[next]->passing;
            sum->unknown += cells[next]->unknown;
            sum->time_ns = ana_plus(sum->time_ns, cells[next]->time_ns);
            sum->open_ns = ana_plus(sum->open_ns, cells[next]->open_ns);
            sum->sent += cells[next]->sent;
            sum->received += cells[next]->received;
        }
        s->calls[s->call_count] = stat_of(job, sum, -1);
        /* A call that MPI itself made inside other calls only has no row of its own. */
        const struct ana_call_stat *last = &s->calls[s->call_count];
        if (last->times.count || last->time_ns || last->sent || last->received)
            s->call_count++;
        i = next;
    }
    if (ok)
        ana_sort(s->calls, s->call_count, sizeof *s->calls, by_time);
    /* Sorts the cells in the order of their calls. */
    for (size_t c = 0; c < s->call_count; c++)
        for (size_t i = 0; i < n && s->cell_count < n; i++)
            if (sorted[i].name == s->calls[c].name)
                s->cells[s->cell_count++] = sorted[i];
    free(sum);
    free(sorted);
    return ok;
}

/* ---- pairs and ranks --------------------------------------------------------------------------------------------- */

ANA_COMPARE(by_ends, struct ana_pair, ANA_ORDER(x->source, y->source), ANA_ORDER(x->destination, y->destination))

/* Fills the latencies of a pair, as far as they are known. */
static void fill_latency(struct ana_pair *pair, const struct ana_tally *relations)
{
    const struct ana_pair_sum *sum = ana_map_find(&relations->pairs, pair->source, pair->destination, 0);
    pair->latency_min_ns = pair->latency_p50_ns = pair->bandwidth = NAN;
    if (!sum || sum->matched == 0)
        return;
    pair->latency_min_ns = (double)(sum->latency ? sum->latency->min_ns : sum->latency_min_ns);
    if (sum->latency)
        pair->latency_p50_ns =
            fmin(fmax(ana_counts_percentile(&sum->latency->counts, 0.5), (double)sum->latency->min_ns),
                 (double)sum->latency->max_ns);
    if (sum->moving_ns > 0)
        pair->bandwidth = (double)sum->moved / ((double)sum->moving_ns / 1e9);
    pair->waited_ns = sum->waited_ns;
}

bool ana_summary_pairs(struct ana_summary *s, const struct ana_map *sums, const struct ana_tally *relations)
{
    s->pairs = calloc(sums->count + 1, sizeof *s->pairs);
    for (size_t i = 0; s->pairs && i < sums->count; i++) {
        const uint64_t *key = ana_map_key(sums, i);
        const struct ana_pair_sum *sum = ana_map_value(sums, i);
        struct ana_pair *pair = &s->pairs[s->pair_count++];
        *pair =
            (struct ana_pair){.source = key[0], .destination = key[1], .messages = sum->messages, .bytes = sum->bytes};
        fill_latency(pair, relations);
    }
    ana_sort(s->pairs, s->pair_count, sizeof *s->pairs, by_ends);
    return s->pairs;
}

void ana_summary_rank_time(const struct ana_job *job, const struct ana_summary *s, struct ana_rank_stat *stat)
{
    const struct ana_process *p = &ana_job_members(job)->process[stat->index];
    int64_t begin_ns = s->exact ? INT64_MIN : s->begin_ns, end_ns = s->exact ? INT64_MAX : s->end_ns;
    stat->counted = p->rank.counted;
    if (!stat->counted)
        return;
    int64_t from = p->run_begin_ns > begin_ns ? p->run_begin_ns : begin_ns;
    int64_t to = p->run_end_ns < end_ns ? p->run_end_ns : end_ns;
    stat->wall_ns = to > from ? to - from : 0;
    stat->off_ns = s->exact ? p->rank.off_ns : ana_off_within(job, stat->index, from, to);
    stat->off_ns = stat->off_ns < stat->wall_ns ? stat->off_ns : stat->wall_ns;
    stat->wall_ns -= stat->off_ns;
    int64_t open_from = p->open_begin_ns > from ? p->open_begin_ns : from;
    if (p->open_category >= 0 && to > open_from && ana_filter_matches_open(job, &s->selection, stat->index)) {
        int64_t *sum = p->open_category == TRC_CAT_NCCL ? &stat->nccl_ns : &stat->mpi_sum_ns;
        stat->category_ns[p->open_category] = ana_plus(stat->category_ns[p->open_category], to - open_from);
        *sum = ana_plus(*sum, to - open_from);
    }
    stat->mpi_ns = 0;
    for (int c = TRC_CAT_COMPUTE + 1; c < TRC_CATEGORIES; c++)
        if (c != TRC_CAT_NCCL)
            stat->mpi_ns = ana_plus(stat->mpi_ns, stat->category_ns[c]);
    int64_t calls_ns = ana_plus(stat->mpi_ns, stat->category_ns[TRC_CAT_NCCL]);
    if (stat->wall_ns < calls_ns)
        stat->wall_ns = calls_ns; /* caused by rounding, or calls after the last sign of life */
    stat->category_ns[TRC_CAT_COMPUTE] = stat->wall_ns - calls_ns;
}

/* Sets how much of the ranks' time the analysis has read. */
static void set_seen(const struct ana_job *job, struct ana_summary *s)
{
    for (size_t i = 0; i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        const struct ana_process *p = &ana_job_members(job)->process[stat->index];
        struct ana_span known = ana_known_time(job, stat->index), run = {p->run_begin_ns, p->run_end_ns};
        int64_t all_ns = ana_span_overlap(run, (struct ana_span){s->begin_ns, s->end_ns});
        int64_t from = known.begin_ns > s->begin_ns ? known.begin_ns : s->begin_ns;
        int64_t to = known.end_ns < s->end_ns ? known.end_ns : s->end_ns;
        int64_t seen_ns = ana_span_overlap(run, (struct ana_span){from, to});
        if (stat->off_ns && seen_ns < all_ns)
            seen_ns -= ana_off_within(job, stat->index, from, to);
        stat->seen_ns = seen_ns < all_ns ? seen_ns : stat->wall_ns;
    }
}

/* The share of the time outside calls that was on a processor; NAN: processor time was hardly counted. */
static double processor_of(const struct ana_summary *s)
{
    const int64_t *ns = s->outside_calls.ns;
    double known = 0, ranks = 0, compute = (double)ns[ANA_ACCOUNT_COMPUTE];
    for (size_t i = 0; i < s->rank_count; i++) {
        ranks += s->ranks[i].processor_known >= 0;
        known += s->ranks[i].processor_known >= 0 ? s->ranks[i].processor_known : 0;
    }
    double all = compute + (double)ns[ANA_ACCOUNT_QUEUED] + (double)ns[ANA_ACCOUNT_OFF_CPU];
    return s->has_accounts && all > 0 && known >= PROCESSOR_KNOWN * ranks ? compute / all : NAN;
}

/* POP: see job.h. */
static struct ana_efficiency efficiency_of(const struct ana_summary *s)
{
    double sum = 0, longest = 0, wall = 0, ranks = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        ranks += s->ranks[i].counted;
        double useful = (double)s->ranks[i].category_ns[TRC_CAT_COMPUTE];
        sum += useful;
        longest = fmax(longest, useful);
        wall = fmax(wall, (double)s->ranks[i].wall_ns);
    }
    struct ana_efficiency e = {NAN, NAN, NAN, NAN, NAN, processor_of(s)};
    if (longest > 0 && wall > 0) {
        e.load_balance = sum / ranks / longest;
        e.communication = longest / wall;
        e.parallel = e.load_balance * e.communication * (isnan(e.processor) ? 1 : e.processor);
    }
    return e;
}

static bool list_ranks(struct ana_job *job, struct ana_summary *s)
{
    const struct ana_members *members = ana_job_members(job);
    s->ranks = calloc(members->count + 1, sizeof *s->ranks);
    for (size_t i = 0; s->ranks && i < members->count; i++)
        if (ana_selected(s->selection.ranks, i))
            s->ranks[s->rank_count++] = (struct ana_rank_stat){.index = i, .waiting_ns = -1, .caused_ns = -1};
    return s->ranks != NULL;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

enum trc_status ana_summarize(struct ana_job *job, struct ana_selection selection, struct ana_summary *s)
{
    struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_members *members = ana_job_members(job);
    const struct ana_time_range *range = ana_job_range(job);
    *s = (struct ana_summary){.selection = selection};
    if (!analysis->match)
        return TRC_BAD;
    bool part = !ana_of_all_time(&selection) || ana_has_filter(&selection);
    s->selection.ranks = NULL;
    if (selection.ranks) {
        uint8_t *copy = malloc(members->count + 1);
        if (!copy)
            return TRC_BAD;
        s->selection.ranks = memcpy(copy, selection.ranks, members->count);
    }
    s->begin_ns =
        selection.begin_ns > members->begin_ns && !ana_of_all_time(&selection) ? selection.begin_ns : members->begin_ns;
    s->end_ns = selection.end_ns < members->end_ns ? selection.end_ns : members->end_ns;
    s->exact = !part;
    s->analysed = ana_analysis_share(job);
    s->counters_only = !part && ana_analysis_ahead(job);
    bool ok =
        list_ranks(job, s) && !analysis->unread && !(analysis->pass.merge && ana_merge_failed(analysis->pass.merge));
    if (part) {
        double share = ok ? ana_time_range_select(job, &selection) : -1;
        s->analysed = fmin(s->analysed, share);
        int64_t until_ns = ana_time_range_until(job); /* shares and rates relate to the known time */
        s->end_ns = until_ns > s->end_ns ? s->end_ns : until_ns > s->begin_ns ? until_ns : s->begin_ns;
        s->cut_calls = range->cut;
        const struct ana_pass *pass =
            ana_is_window(job, &selection) && !ana_has_filter(&selection) ? &analysis->pass : &range->pass;
        ok = share >= 0 && ana_summary_time_range(job, s) && ana_summary_segments(job, s, pass) &&
             ana_summary_accesses(s, &range->pass.accesses);
    } else {
        ana_time_range_release(job);
        ok = ok && ana_summary_counters(job, s) &&
             ana_summary_relations(job, s, &analysis->pass.tally, &analysis->pass.tally) &&
             ana_summary_segments(job, s, &analysis->pass) && ana_summary_accesses(s, &analysis->pass.accesses) &&
             ana_summary_networks(job, s, &analysis->pass.why);
    }
    if (!ok) {
        ana_summary_free(s);
        return TRC_BAD;
    }
    struct ana_match_counts counts = ana_match_counts(analysis->match);
    s->unmatched_sends = counts.unmatched_sends;
    s->unmatched_receives = counts.unmatched_receives;
    s->uncertain_messages = counts.uncertain;
    s->efficiency = efficiency_of(s);
    if (ana_has_filter(&selection)) /* activity besides these calls is not all computing */
        s->efficiency = (struct ana_efficiency){NAN, NAN, NAN, NAN, NAN, NAN};
    if (!ana_summary_prices(job, s, &analysis->pass) || !ana_iterations_find(job, &s->selection, &s->iterations)) {
        ana_summary_free(s);
        return TRC_BAD;
    }
    set_seen(job, s);
    if (!part && !s->selection.ranks)
        ana_job_upper(job)->summarized(job, s);
    return TRC_OK;
}

enum trc_status ana_summarize_all(struct ana_job *job, struct ana_selection selection, struct ana_summary *out)
{
    ana_job_advance(job, 0);
    enum trc_status status = ana_summarize(job, selection, out);
    if (status != TRC_OK || out->analysed >= 1 || out->exact)
        return status;
    ana_summary_free(out); /* it asked for the events of the part */
    ana_job_advance(job, 0);
    return ana_summarize(job, selection, out);
}

enum trc_status ana_summarize_counters(struct ana_job *job, struct ana_summary *s)
{
    const struct ana_members *members = ana_job_members(job);
    *s = (struct ana_summary){.selection = {.end_ns = INT64_MAX},
                              .exact = true,
                              .counters_only = true,
                              .begin_ns = members->begin_ns,
                              .end_ns = members->end_ns};
    if (!list_ranks(job, s) || !ana_summary_counters(job, s)) {
        ana_summary_free(s);
        return TRC_BAD;
    }
    s->efficiency = efficiency_of(s);
    return TRC_OK;
}

void ana_summary_free(struct ana_summary *s)
{
    free((void *)(uintptr_t)s->selection.ranks);
    free(s->ranks);
    free(s->calls);
    free(s->cells);
    free(s->pairs);
    free(s->sizes);
    free(s->outliers);
    free(s->slow);
    free(s->collectives);
    free(s->waits);
    free(s->files);
    free(s->sites);
    free(s->path_parts);
    ana_summary_segments_free(s);
    free(s->regions);
    free(s->region_block);
    free(s->prices);
    free(s->price_ranks);
    free(s->networks);
    free(s->iterations.mark);
    *s = (struct ana_summary){0};
}
