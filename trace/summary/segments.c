/* Summaries of what threads do between their calls: the segments of all ranks, joined by the places in the program. */
#include "trace/summary/summary_impl.h"
#include "trace/why/modes.h"
#include "trace/why/emit.h"
#include "trace/util/hash.h"
#include "trace/util/numfmt.h"
#include "trace/util/trouble.h"
#include "trace/util/sort.h"
#include "trace/util/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row in the making. */
struct row {
    uint32_t from, to; /* places, + 1; 0: several */
    uint32_t region;
    int64_t cost_ns, total_ns;
    uint32_t at; /* index in the summary */
};

struct rows {
    struct ana_map by_places; /* struct row by (from, to, region) */
    uint32_t *place;          /* place of the pass -> first of the same name, + 1 */
};

/* ---- places ----------------------------------------------------------------------------------------------------- */

bool ana_places_join(const struct ana_job *job, const struct ana_why *why, bool by_line, uint32_t *place)
{
    struct ana_map names; /* uint32_t by name and call */
    ana_map_init(&names, sizeof(uint32_t));
    bool ok = true;
    for (size_t i = 0; ok && i < why->places.count; i++) {
        const struct ana_why_place *of = ana_map_value(&why->places, i);
        uint32_t *first = ana_map_add(&names, ana_site_name(job, of->index, of->address, by_line), of->call, 0);
        ok = first;
        if (ok && !*first)
            *first = (uint32_t)i + 1;
        place[i] = ok ? *first : 0;
    }
    ana_map_free(&names);
    return ok;
}

/* Returns a hash of a place's name, stable when places are numbered anew. */
static uint64_t place_hash(const struct ana_job *job, const struct ana_why *why, uint32_t place)
{
    const struct ana_why_place *of = ana_map_value(&why->places, place - 1);
    return ana_site_identity(job, of->index, of->call, of->address);
}

void ana_segment_end_of(const struct ana_job *job, const struct ana_why *why, uint32_t place,
                        struct ana_segment_end *out)
{
    const struct ana_members *members = ana_job_members(job);
    if (!place)
        return;
    const struct ana_why_place *of = ana_map_value(&why->places, place - 1);
    const struct trc_file *file = members->process[of->index].rank.file;
    const char *function, *module;
    trc_site(file, of->address, &function, &module);
    const char *line = ana_site_line(job, of->index, module);
    function = ana_site_function(job, of->index, module, function);
    out->call = members->call[of->call].name;
    if (line)
        snprintf(out->place, sizeof out->place, "%s", trc_base_name(line));
    else if (function && function[0])
        snprintf(out->place, sizeof out->place, "%s", function);
    else if (module && module[0])
        snprintf(out->place, sizeof out->place, "%s", trc_base_name(module));
    else
        snprintf(out->place, sizeof out->place, "0x%" PRIx64, trc_site_address(file, of->address));
}

static const char *short_name(const char *call)
{
    return strncmp(call, "MPI_", 4) == 0 ? call + 4 : call;
}

void ana_segment_words(const struct ana_segment_stat *segment, char *out, size_t size)
{
    size_t file = strlen(segment->from.place) - (size_t)ana_place_tail(segment->from.place);
    const char *region = segment->region, *colon = region[0] ? ": " : "";
    if (segment->inside) {
        snprintf(out, size, "inside %s %s", short_name(segment->to.call), segment->to.place);
        return;
    }
    bool same = segment->from.place[file] == ':' && strncmp(segment->from.place, segment->to.place, file + 1) == 0;
    if (segment->from.call)
        snprintf(out, size, "%s%s%s %s -> %s %s", region, colon, short_name(segment->from.call), segment->from.place,
                 short_name(segment->to.call), segment->to.place + (same ? file : 0));
    else
        snprintf(out, size, "all others");
}

static int64_t all_of(const struct ana_cost *cost)
{
    return ana_plus(cost->direct_ns, cost->passed_ns);
}

/* ---- rows ------------------------------------------------------------------------------------------------------- */

static struct row *row_of(const struct rows *rows, const struct ana_segment *segment)
{
    uint32_t from = segment->from ? rows->place[segment->from - 1] : 0;
    uint32_t to = segment->to ? rows->place[segment->to - 1] : 0;
    return ana_map_find(&rows->by_places, from, to, segment->region);
}

uint64_t ana_segment_identity(const struct ana_job *job, const struct ana_why *why, uint32_t from, uint32_t to,
                              const char *region)
{
    uint64_t places = from ? place_hash(job, why, from) * 31 + place_hash(job, why, to) : 0;
    return region[0] ? places * 31 + ana_hash_text(region) : places;
}

/* Returns the row of the segment of this index; NULL: it has none. */
static struct row *find_row(const struct rows *rows, const struct ana_summary *s, const struct ana_why *why, size_t i)
{
    const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
    return segment->count && ana_selected(s->selection.ranks, segment->index) ? row_of(rows, segment) : NULL;
}

/* Lists the rows.  Time inside calls has one if it makes others wait. */
static bool list_rows(struct rows *rows, const struct ana_summary *s, const struct ana_why *why)
{
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        struct ana_cost cost = ana_why_cost(why, (uint32_t)i + 1);
        bool waits = cost.direct_ns > 0 || cost.passed_ns > 0;
        if (!segment->count || !ana_selected(s->selection.ranks, segment->index) ||
            (segment->region == ANA_INSIDE && !waits))
            continue;
        uint32_t from = segment->from ? rows->place[segment->from - 1] : 0;
        uint32_t to = segment->to ? rows->place[segment->to - 1] : 0;
        struct row *row = ana_map_add(&rows->by_places, from, to, segment->region);
        if (!row)
            return false;
        row->from = from;
        row->to = to;
        row->region = segment->region;
        row->total_ns = ana_plus(row->total_ns, segment->total_ns);
        row->cost_ns = ana_plus(row->cost_ns, all_of(&cost));
    }
    return true;
}

/* Orders segments of several places last; others by cost and time. */
ANA_COMPARE(by_weight, struct row *const, ANA_ORDER(!(*x)->from, !(*y)->from), ANA_ORDER((*y)->cost_ns, (*x)->cost_ns),
            ANA_ORDER((*y)->total_ns, (*x)->total_ns), ANA_ORDER((*x)->from, (*y)->from), ANA_ORDER((*x)->to, (*y)->to),
            ANA_ORDER((*x)->region, (*y)->region))

/* Assigns a place in the summary to each of the heaviest rows, and the last one to all others.  SIZE_MAX: out of
 * memory. */
static size_t choose_rows(struct rows *rows)
{
    size_t n = rows->by_places.count, used = 0;
    struct row **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++)
        sorted[i] = ana_map_value(&rows->by_places, i);
    ana_sort(sorted, n, sizeof *sorted, by_weight);
    for (size_t i = 0; i < n; i++) {
        sorted[i]->at = (uint32_t)(used < ANA_SEGMENT_ROWS ? used++ : used - 1);
        if (i >= ANA_SEGMENT_ROWS) {
            sorted[ANA_SEGMENT_ROWS - 1]->from = sorted[ANA_SEGMENT_ROWS - 1]->to = 0;
            sorted[i]->from = sorted[i]->to = sorted[ANA_SEGMENT_ROWS - 1]->region = sorted[i]->region = 0;
        }
    }
    free(sorted);
    return used;
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static void add_to_row(struct ana_segment_stat *row, const struct ana_segment *segment, const struct ana_cost *cost,
                       uint32_t *bucket)
{
    size_t index = segment->index;
    if (segment->count > row->times_by_rank[index])
        row->by_rank_ns[index] = ana_segment_median(segment);
    row->ranks += row->times_by_rank[index] == 0;
    row->times_by_rank[index] += segment->count;
    row->times += segment->count;
    row->total_ns = ana_plus(row->total_ns, segment->total_ns);
    int64_t cost_ns = all_of(cost);
    row->cost_by_rank_ns[index] = ana_plus(row->cost_by_rank_ns[index], cost_ns);
    row->waits_by_rank[index] += cost->waits;
    row->squares_by_rank[index] += cost->squares;
    row->cost_ns = ana_plus(row->cost_ns, cost_ns);
    row->direct_ns = ana_plus(row->direct_ns, cost->direct_ns);
    row->shortest_ns = segment->min_ns < row->shortest_ns ? segment->min_ns : row->shortest_ns;
    if (segment->longest_ns > row->longest_ns) {
        row->longest_ns = segment->longest_ns;
        row->longest_at_ns = segment->longest_at_ns;
        row->longest_index = index;
    }
    ana_counts_add_to(&segment->counts, bucket);
}

/* Adds those times of the worst rank that are far longer than usual; their buckets tell them within 1/16. */
static void add_spikes(struct ana_segment_stat *row, const struct ana_segment *segment)
{
    double usual = row->by_rank_ns[row->worst_index];
    for (uint32_t i = 0; segment->index == row->worst_index && i < segment->counts.n; i++) {
        uint32_t b = segment->counts.first + i, n = segment->counts.count[i];
        double low = (double)trc_bucket_low(b), each = (low + (double)trc_bucket_low(b + 1) - 1) / 2;
        if (low < SPIKE_TIMES * usual || !n)
            continue;
        row->spikes += n;
        row->spikes_ns += n * fmin(each, (double)segment->longest_ns);
    }
}

/* Compares the ranks of a row by their times from bucket `first` on; `room` is for `ranks` numbers. */
static void compare_ranks(struct ana_segment_stat *row, size_t ranks, const uint32_t *bucket, uint32_t first,
                          double *room)
{
    size_t n = 0;
    for (size_t i = 0; i < ranks; i++) {
        if (!row->times_by_rank[i])
            continue;
        room[n++] = row->by_rank_ns[i];
        int64_t cost = row->cost_by_rank_ns[i], worst = row->cost_by_rank_ns[row->worst_index];
        if (n == 1 || cost > worst || (cost == worst && row->by_rank_ns[i] > row->by_rank_ns[row->worst_index]))
            row->worst_index = i;
    }
    row->median_ns = ana_median(room, n);
    row->worst_ns = row->by_rank_ns[row->worst_index];
    double p99_ns = ana_bucket_percentile(bucket + first, first, TRC_BUCKETS - first, 0.99);
    row->p99_ns = fmin(fmax(p99_ns, (double)row->shortest_ns), (double)row->longest_ns);
}

/* The long mode of a row (trace/why/modes.h). */
struct long_mode {
    double limit_ns;             /* NAN: none */
    struct ana_long_times *rank; /* rank index -> long times; NULL: none, or out of memory */
};

/* Replaces the median of each rank by the median of its long times, if most ranks have equally many. */
static void measure_long_work(struct ana_segment_stat *row, size_t ranks, const struct long_mode *mode,
                              const uint32_t *bucket, double *room)
{
    if (!mode->rank || !ana_long_is_shared(mode->rank, ranks, row->worst_index))
        return;
    for (size_t i = 0; i < ranks; i++) {
        row->long_times += mode->rank[i].times;
        if (mode->rank[i].times) {
            row->times_by_rank[i] = mode->rank[i].times;
            row->by_rank_ns[i] = mode->rank[i].median_ns;
        }
    }
    compare_ranks(row, ranks, bucket, trc_bucket((uint64_t)ceil(mode->limit_ns)), room);
}

/* Finds the rows whose segments have two modes, and measures the longer one. */
static void find_long_work(const struct ana_job *job, struct ana_summary *s, const struct ana_why *why,
                           const struct rows *rows, const uint32_t *bucket, double *room)
{
    const struct ana_members *members = ana_job_members(job);
    struct long_mode *mode = calloc(s->segment_count + 1, sizeof *mode);
    for (int pass = 0; mode && pass < 2; pass++)
        for (size_t i = 0; i < why->segments.count; i++) {
            const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
            const struct row *row = find_row(rows, s, why, i);
            if (!row || !row->from)
                continue;
            struct long_mode *of = &mode[row->at];
            if (pass == 0) {
                const double limit_ns = ana_long_limit(&segment->counts);
                of->rank = of->rank || isnan(limit_ns) ? of->rank : calloc(members->count, sizeof *of->rank);
                of->limit_ns = of->limit_ns > 0 ? fmin(of->limit_ns, limit_ns) : limit_ns;
            } else if (of->rank && segment->count > of->rank[segment->index].times) {
                of->rank[segment->index] = ana_long_times_of(&segment->counts, of->limit_ns);
            }
        }
    for (size_t i = 0; mode && i < s->segment_count; i++) {
        measure_long_work(&s->segments[i], members->count, &mode[i], bucket + i * TRC_BUCKETS, room);
        free(mode[i].rank);
    }
    free(mode);
}

/* Returns the excess of all its ranks together over the time if each had taken the median, in ns. */
static double excess_of(const struct ana_segment_stat *row)
{
    return (double)row->total_ns - row->median_ns * (double)(row->long_times ? row->long_times : row->times);
}

ANA_COMPARE(by_cost, struct ana_segment_stat, ANA_ORDER(y->cost_ns, x->cost_ns), ANA_ORDER(excess_of(y), excess_of(x)),
            ANA_ORDER(y->total_ns, x->total_ns))

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Makes room for `n` rows with their numbers by rank, which lie in blocks that the first row begins. */
static bool make_rows(struct ana_summary *s, size_t n, size_t ranks)
{
    double *by_rank = calloc(n * ranks + 1, sizeof *by_rank);
    int64_t *cost = calloc(n * ranks + 1, sizeof *cost);
    uint64_t *times = calloc(n * ranks + 1, sizeof *times), *waits = calloc(n * ranks + 1, sizeof *waits);
    double *squares = calloc(n * ranks + 1, sizeof *squares);
    s->segments = calloc(n + 1, sizeof *s->segments);
    void *block[] = {by_rank, cost, times, waits, squares};
    memcpy(s->segment_block, block, sizeof block);
    if (!by_rank || !cost || !times || !waits || !squares || !s->segments)
        return false;
    for (size_t i = 0; i < n * ranks; i++)
        by_rank[i] = NAN;
    for (size_t i = 0; i < n; i++)
        s->segments[i] = (struct ana_segment_stat){.by_rank_ns = by_rank + i * ranks,
                                                   .cost_by_rank_ns = cost + i * ranks,
                                                   .times_by_rank = times + i * ranks,
                                                   .waits_by_rank = waits + i * ranks,
                                                   .squares_by_rank = squares + i * ranks,
                                                   .shortest_ns = INT64_MAX,
                                                   .longest_ns = -1};
    s->segment_count = n;
    return true;
}

/* Fills the rows in; `bucket` has TRC_BUCKETS counts for each, `room` a number for each rank. */
static void fill_rows(const struct ana_job *job, struct ana_summary *s, const struct ana_pass *pass,
                      const struct rows *rows, uint32_t *bucket, double *room)
{
    const struct ana_why *why = &pass->why;
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        const struct row *row = find_row(rows, s, why, i);
        if (row) {
            uint32_t at = row->at;
            struct ana_cost cost = ana_why_cost(why, (uint32_t)i + 1);
            add_to_row(&s->segments[at], segment, &cost, bucket + (size_t)at * TRC_BUCKETS);
        }
    }
    for (size_t i = 0; i < rows->by_places.count; i++) {
        const struct row *row = ana_map_value(&rows->by_places, i);
        ana_segment_end_of(job, why, row->from, &s->segments[row->at].from);
        ana_segment_end_of(job, why, row->to, &s->segments[row->at].to);
        const char *region = ana_regions_name(&pass->regions, row->region);
        snprintf(s->segments[row->at].region, sizeof s->segments[row->at].region, "%s", region);
        s->segments[row->at].inside = row->from && row->region == ANA_INSIDE;
        s->segments[row->at].identity =
            ana_segment_identity(job, why, row->from, row->to, s->segments[row->at].region) +
            s->segments[row->at].inside;
    }
    for (size_t i = 0; i < s->segment_count; i++)
        compare_ranks(&s->segments[i], ana_job_members(job)->count, bucket + i * TRC_BUCKETS, 0, room);
    find_long_work(job, s, why, rows, bucket, room);
    for (size_t i = 0; i < why->segments.count; i++) {
        const struct ana_segment *segment = ana_segment_at(why, (uint32_t)i + 1);
        const struct row *row = find_row(rows, s, why, i);
        if (row)
            add_spikes(&s->segments[row->at], segment);
    }
    for (size_t i = 0; i < s->segment_count && !why->causes; i++)
        s->segments[i].cost_ns = s->segments[i].direct_ns = -1;
}

/* Finds why the worst ranks take longer, then sorts the rows. */
static bool finish_rows(struct ana_summary *s, const struct ana_why *why, const struct rows *rows)
{
    uint32_t *row = malloc((why->segments.count + 1) * sizeof *row);
    for (size_t i = 0; row && i < why->segments.count; i++) {
        const struct row *of = find_row(rows, s, why, i);
        row[i] = of ? of->at : UINT32_MAX;
    }
    bool ok = row && ana_summary_usage(s, why, row);
    free(row);
    ana_sort(s->segments, s->segment_count, sizeof *s->segments, by_cost);
    return ok;
}

/* Adds the waiting charged to time inside calls and to nothing known, and each rank's total charge. */
static void add_other_costs(struct ana_summary *s, const struct ana_why *why)
{
    s->cost_inside_ns = s->cost_unknown_ns = why->causes ? 0 : -1;
    for (size_t i = 0; why->causes && i < why->ranks; i++) {
        const struct ana_rank_cost rank_cost = ana_why_rank_cost(why, i);
        if (!ana_selected(s->selection.ranks, i))
            continue;
        s->cost_inside_ns = ana_plus(s->cost_inside_ns, all_of(&rank_cost.inside));
        s->cost_unknown_ns = ana_plus(s->cost_unknown_ns, all_of(&rank_cost.unknown));
    }
    for (size_t i = 0; i < s->rank_count; i++) {
        struct ana_rank_stat *stat = &s->ranks[i];
        if (!why->causes) { /* a part of the run: summed from its waits */
            stat->charged_ns = s->exact ? -1 : stat->charged_ns;
            continue;
        }
        const struct ana_rank_cost rank_cost = ana_why_rank_cost(why, stat->index);
        stat->charged_ns = ana_plus(all_of(&rank_cost.inside), all_of(&rank_cost.unknown));
        for (size_t k = 0; k < s->segment_count; k++)
            stat->charged_ns = ana_plus(stat->charged_ns, s->segments[k].cost_by_rank_ns[stat->index]);
    }
}

bool ana_summary_segments(struct ana_job *job, struct ana_summary *s, const struct ana_pass *pass)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_why *why = &pass->why;
    struct rows rows = {.place = calloc(why->places.count + 1, sizeof *rows.place)};
    ana_map_init(&rows.by_places, sizeof(struct row));
    bool ok = rows.place && ana_places_join(job, why, true, rows.place) && list_rows(&rows, s, why);
    size_t n = ok ? choose_rows(&rows) : SIZE_MAX;
    ok = n != SIZE_MAX && make_rows(s, n, members->count);
    uint32_t *bucket = ok ? calloc(n * TRC_BUCKETS + 1, sizeof *bucket) : NULL;
    double *room = ok ? calloc(members->count + 1, sizeof *room) : NULL;
    ok = bucket && room;
    if (ok)
        fill_rows(job, s, pass, &rows, bucket, room);
    ok = ok && finish_rows(s, why, &rows);
    add_other_costs(s, why);
    free(bucket);
    free(room);
    free(rows.place);
    ana_map_free(&rows.by_places);
    return ok;
}

void ana_summary_segments_free(struct ana_summary *s)
{
    free(s->segments);
    for (size_t i = 0; i < sizeof s->segment_block / sizeof *s->segment_block; i++)
        free(s->segment_block[i]);
}
