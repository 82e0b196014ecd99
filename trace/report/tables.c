/* The report's tables of ranks, calls, collectives, waits, segments, messages and places. */
#include "trace/job/site_words.h"
#include "trace/horovod/horovod.h"
#include "trace/report/page.h"
#include "trace/metric/csv.h"
#include "trace/util/ranges.h"
#include "trace/util/trouble.h"
#include "trace/verdict/verdict.h"
#include "trace/util/sort.h"
#include "trace/util/rows.h"
#include "trace/util/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 20
#define BLAMED     8u
#define MOST_ROWS  12
#define FEW        3 /* rows that are shown whatever they say */

/* ---- ranks ------------------------------------------------------------------------------------------------------ */

static int oddness_of(enum ana_rank_state state)
{
    static const int odd[] = {1, 2, 0, 6, 5, 3, 4}; /* order: run, wait, done, abort, dead, off, ? */
    TRC_ASSERT_ROWS(odd, ANA_RANK_UNKNOWN);
    return odd[state];
}

/* Ranks with an odd state first, then the costliest for others. */
ANA_COMPARE(compare_trouble, struct ana_rank_row, (oddness_of(y->rank->state) - oddness_of(x->rank->state)),
            ANA_ORDER(y->stat->caused_ns, x->stat->caused_ns), ANA_ORDER(x->stat->index, y->stat->index))

ANA_COMPARE(compare_index, struct ana_rank_row, ANA_ORDER(x->stat->index, y->stat->index))

/* Leaves one row of each group of ranks that behave alike, in the order of the groups; returns their number. */
static size_t keep_one_each(const struct ana_alike *alike, struct ana_rank_row *rows, size_t n)
{
    size_t kept = 0;
    for (uint32_t group = 0; group < alike->groups; group++) {
        size_t i = kept;
        while (i < n && alike->group_of[rows[i].stat->index] != group)
            i++;
        if (i == n)
            continue;
        const struct ana_rank_row row = rows[i];
        rows[i] = rows[kept];
        rows[kept++] = row;
    }
    return kept;
}

/* Writes the other ranks of a rank's group. */
static void put_alike(const struct ana_page *p, const struct ana_rank_row *of)
{
    char others[160];
    struct ana_ranges ranges;
    const uint32_t number = p->alike->group_of[of->stat->index];
    if (number >= p->alike->groups || p->alike->group[number].count < 2)
        return;
    const struct ana_alike_group *group = &p->alike->group[number];
    ana_ranges_begin(&ranges, others, sizeof others, ANA_RANGES_MOST, true);
    for (size_t i = 0; i < group->count; i++)
        if (p->alike->member[group->first + i] != of->stat->index)
            ana_ranges_add(&ranges, ana_rank_id(ana_job_rank(p->job, p->alike->member[group->first + i])));
    ana_ranges_end(&ranges);
    fprintf(p->out, "       and %zu more that behave alike: %s\n", group->count - 1, others);
}

/* The call or operation that the rank is inside. */
static void put_inside(struct ana_page *p, const void *row)
{
    const struct ana_rank_row *of = row;
    const struct ana_rank *r = of->rank;
    char what[256];
    if (p->alike)
        put_alike(p, of);
    if (r->inside && r->state != ANA_RANK_DONE) {
        ana_inside(p->job, of->stat->index, what, sizeof what);
        fprintf(p->out, "       inside %s%s for %s\n", what, strchr(what, ' ') ? "," : "",
                ANA_SPOKEN((double)r->inside_ns));
    } else if (r->gpu_op && r->state != ANA_RANK_DONE) {
        ana_gpu_inside(p->job, of->stat->index, what, sizeof what);
        fprintf(p->out, "       %s for %s\n", what, ANA_SPOKEN((double)r->gpu_ns));
    }
}

#define RANK_SHARES " (MPI, wait: of its time; late: of its collectives)"

static void put_ranks(struct ana_page *p)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN(5, "rank", RANK_NUMBER),       ANA_COLUMN_GAP(1),
        ANA_COLUMN(-12, "host", RANK_HOST),       ANA_COLUMN_GAP(1),
        ANA_COLUMN(-5, "state", RANK_STATE),      ANA_COLUMN(8, "wall", RANK_WALL),
        ANA_COLUMN(6, "MPI", RANK_MPI_SHARE),     ANA_COLUMN(6, "wait", RANK_WAITING),
        ANA_COLUMN(6, "late", RANK_LATE),         ANA_COLUMN(9, "sent", RANK_SENT),
        ANA_COLUMN(9, "received", RANK_RECEIVED), ANA_COLUMN(9, "calls", RANK_CALLS)};
    size_t n = p->s->rank_count, shown = p->whole_tables ? n : ana_shown(n, MOST_RANKS);
    struct ana_rank_row *rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        return;
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct ana_rank_row){.rank = ana_job_rank(p->job, p->s->ranks[i].index), .stat = &p->s->ranks[i]};
    ana_sort(rows, n, sizeof *rows, compare_trouble);
    if (!p->brief)
        ana_sort(rows, shown, sizeof *rows, compare_index);
    struct ana_alike alike = {0};
    size_t blamed[BLAMED];
    if (p->brief && n > MOST_RANKS &&
        ana_alike_find(p->job, p->s, blamed, ana_alike_blame(p->s, blamed, BLAMED), &alike)) {
        n = keep_one_each(&alike, rows, n);
        p->alike = &alike;
    }
    struct ana_table table = ANA_TABLE(columns, rows, n);
    ana_page_table(p,
                   p->alike    ? "RANKS, one of each kind" RANK_SHARES
                   : n > shown ? "RANKS, those with most trouble" RANK_SHARES
                               : "RANKS" RANK_SHARES,
                   table, MOST_RANKS, p->alike ? "kinds of ranks" : "ranks", put_inside);
    p->alike = NULL;
    ana_alike_free(&alike);
    free(rows);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Libraries with their shares; only where there is more than MPI. */
static void put_libraries(const struct ana_page *p)
{
    const struct ana_metric *out = &ana_metrics[ANA_METRIC_LIBRARY_SENT],
                            *in = &ana_metrics[ANA_METRIC_LIBRARY_RECEIVED];
    const struct ana_gpu_summary none = {0};
    struct ana_carried by[ANA_LIBRARIES];
    ana_gpu_carried(p->s, &none, by);
    for (size_t i = 0; by[ANA_LIBRARY_NCCL].calls && i < ANA_LIBRARY_COPIES; i++)
        ana_page_line(p, "%s: %" PRIu64 " calls, %s sent, %s received", by[i].name, by[i].calls,
                      ANA_METRIC_TEXT(out, &by[i], &p->whole, p->utf8),
                      ANA_METRIC_TEXT(in, &by[i], &p->whole, p->utf8));
}

static void put_calls(struct ana_page *p)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN(-18, "call", CALL_NAME), ANA_COLUMN(8, "calls", CALL_COUNT),
        ANA_COLUMN(8, "time", CALL_TIME),   ANA_COLUMN(6, "wait", CALL_WAITING_OF_IT),
        ANA_COLUMN(9, "sent", CALL_SENT),   ANA_COLUMN(9, "received", CALL_RECEIVED),
        ANA_COLUMN(7, "p50", CALL_P50),     ANA_COLUMN(7, "p99", CALL_P99),
        ANA_COLUMN(7, "max", CALL_MAX)};
    struct ana_table table = ANA_TABLE(columns, p->s->calls, p->s->call_count);
    while (p->brief && table.count && !(p->s->calls[table.count - 1].times.total_ns >= 0.001 * p->whole.seen_ns))
        table.count--;
    ana_page_table(p, "CALLS, by time (wait: of the time in calls that ended)", table, MOST_ROWS, "calls", NULL);
    put_libraries(p);
}

static void put_incomplete(struct ana_page *p, const void *row)
{
    const struct ana_collective *c = row;
    if (c->incomplete)
        fprintf(p->out, "    %" PRIu64 " more that not all ranks came to\n", c->incomplete);
}

static void put_collectives(struct ana_page *p)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN(-17, "call", COLLECTIVE_NAME),         ANA_COLUMN_GAP(1),
        ANA_COLUMN(-15, "called from", COLLECTIVE_PLACE), ANA_COLUMN_GAP(1),
        ANA_COLUMN(-12, "communicator", COLLECTIVE_COMM), ANA_COLUMN(7, "times", COLLECTIVE_INSTANCES),
        ANA_COLUMN(9, "skew p50", COLLECTIVE_SKEW_P50),   ANA_COLUMN(6, "lost", COLLECTIVE_LOST),
        ANA_COLUMN(5, "last", COLLECTIVE_LAST),           ANA_COLUMN(6, "in", COLLECTIVE_LAST_SHARE)};
    struct ana_table table = ANA_TABLE(columns, p->s->collectives, p->s->collective_count);
    while (p->brief && table.count && !(p->s->collectives[table.count - 1].lost_ns >= 0.01 * p->whole.seen_ns))
        table.count--;
    ana_page_table(p, "COLLECTIVES, by time lost waiting for the last (as a share of all ranks' time)", table,
                   MOST_ROWS, "collectives", put_incomplete);
}

/* ---- waits and messages ----------------------------------------------------------------------------------------- */

static void put_waits(struct ana_page *p)
{
    static const struct ana_column columns[] = {ANA_COLUMN(8, "rank", WAIT_CULPRIT),
                                                ANA_COLUMN_GAP(2),
                                                ANA_COLUMN(-22, "", WAIT_WORDS),
                                                ANA_COLUMN(8, "rank", WAIT_WAITER),
                                                ANA_COLUMN(10, "times", WAIT_COUNT),
                                                ANA_COLUMN(10, "lost", WAIT_LOST),
                                                ANA_COLUMN(13, "of its time", WAIT_OF_TIME)};
    struct ana_table table = ANA_TABLE(columns, p->s->waits, p->s->wait_count);
    ana_page_table(p, "WHO WAITS FOR WHOM", table, MOST_ROWS, "such pairs", NULL);
}

/* The waits for one culprit of one kind, in a brief page. */
static void put_blame(struct ana_page *p)
{
    enum { MOST = 3 };
    size_t n;
    struct ana_wait_group *by = ana_wait_groups(p->s, &n);
    for (size_t i = 0; i < n && i < MOST && by[i].all.lost_ns >= 0.01 * p->whole.seen_ns; i++) {
        fputs(i ? "" : "\nWHO WAITS FOR WHOM\n", p->out);
        const bool known = by[i].all.culprit != ANA_ANY_RANK;
        ana_page_line(p, "%s%s %s %zu rank%s%s: %s lost", known ? "rank " : "another rank",
                      known ? ana_rank_label(p->job, by[i].all.culprit).text : "",
                      ana_wait_words[by[i].all.kind].does_whom, by[i].waiters, by[i].waiters == 1 ? "" : "s",
                      by[i].others ? " and others" : "", ANA_SPOKEN((double)by[i].all.lost_ns));
    }
    free(by);
}

ANA_COMPARE(compare_bytes, struct ana_pair, ANA_ORDER(y->bytes, x->bytes), ANA_ORDER(y->messages, x->messages),
            ANA_ORDER(x->source, y->source), ANA_ORDER(x->destination, y->destination))

static void put_messages(struct ana_page *p)
{
    static const struct ana_column columns[] = {ANA_COLUMN(8, "from", PAIR_SOURCE),
                                                ANA_COLUMN(8, "to", PAIR_DESTINATION),
                                                ANA_COLUMN(11, "messages", PAIR_MESSAGES),
                                                ANA_COLUMN(11, "bytes", PAIR_BYTES),
                                                ANA_COLUMN(13, "latency min", PAIR_LATENCY_MIN),
                                                ANA_COLUMN(8, "p50", PAIR_LATENCY_P50),
                                                ANA_COLUMN(12, "bandwidth", PAIR_BANDWIDTH),
                                                ANA_COLUMN(8, "waited", PAIR_WAITED)};
    size_t n = p->s->pair_count;
    struct ana_pair *sorted = n ? malloc(n * sizeof *sorted) : NULL;
    if (!sorted)
        return;
    memcpy(sorted, p->s->pairs, n * sizeof *sorted);
    ana_sort(sorted, n, sizeof *sorted, compare_bytes);
    struct ana_table table = ANA_TABLE(columns, sorted, n);
    ana_page_table(p, "MESSAGES, by bytes", table, MOST_ROWS, "pairs", NULL);
    free(sorted);
}

static void describe_size(const void *row, char *out, size_t size)
{
    ana_size_class(out, size, ((const struct ana_size_stat *)row)->size_class);
}

static void put_sizes(struct ana_page *p)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN_WORDS(8, "from", describe_size), ANA_COLUMN(10, "messages", SIZE_MESSAGES),
        ANA_COLUMN(9, "min", SIZE_LATENCY_MIN),     ANA_COLUMN(8, "p50", SIZE_LATENCY_P50),
        ANA_COLUMN(8, "p99", SIZE_LATENCY_P99),     ANA_COLUMN(11, "bandwidth", SIZE_BANDWIDTH),
        ANA_COLUMN(7, "late", SIZE_WAITS),          ANA_COLUMN(9, "by p50", SIZE_WAIT_P50),
        ANA_COLUMN(8, "max", SIZE_WAIT_MAX)};
    struct ana_table table = ANA_TABLE(columns, p->s->sizes, p->s->size_count);
    ana_page_table(p, "MESSAGES BY SIZE, send begun to receive completed; and how late the send began", table, 24,
                   "sizes", NULL);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void describe_file(const void *row, char *out, size_t size)
{
    const char *name = trc_base_name(((const struct ana_file_stat *)row)->name);
    snprintf(out, size, "%s", name ? name : "?");
}

static void put_files(struct ana_page *p)
{
    static const struct ana_column columns[] = {ANA_COLUMN_WORDS(-19, "file", describe_file),
                                                ANA_COLUMN(6, "ranks", FILE_RANKS),
                                                ANA_COLUMN(7, "time", FILE_TIME),
                                                ANA_COLUMN(9, "read", FILE_READ),
                                                ANA_COLUMN(10, "rate", FILE_READ_RATE),
                                                ANA_COLUMN(8, "size", FILE_READ_SIZE),
                                                ANA_COLUMN(9, "written", FILE_WRITTEN),
                                                ANA_COLUMN(10, "rate", FILE_WRITE_RATE)};
    struct ana_table table = ANA_TABLE(columns, p->s->files, p->s->file_count);
    ana_page_table(p, "FILES, used by MPI-IO", table, MOST_ROWS, "files", NULL);
}

/* ---- segments --------------------------------------------------------------------------------------------------- */

static void describe_segment(const void *row, char *out, size_t size)
{
    ana_segment_words(row, out, size);
}

static void put_segments(struct ana_page *p)
{
    static const struct ana_column columns[] = {ANA_COLUMN_WORDS(-40, "from -> to", describe_segment),
                                                ANA_COLUMN(7, "times", SEGMENT_TIMES),
                                                ANA_COLUMN(8, "median", SEGMENT_MEDIAN),
                                                ANA_COLUMN(6, "worst", SEGMENT_WORST_RANK),
                                                ANA_COLUMN(8, "takes", SEGMENT_WORST),
                                                ANA_COLUMN(8, "lost", SEGMENT_COSTS)};
    struct ana_table table = ANA_TABLE(columns, p->s->segments, p->s->segment_count);
    while (!p->whole_tables && table.count > (p->brief ? 0 : FEW) &&
           !(p->s->segments[table.count - 1].cost_ns >= (p->brief ? 0.01 : 0.001) * p->whole.seen_ns))
        table.count--; /* rows without a cost are left to the screen */
    ana_page_table(p, "BETWEEN CALLS, OR INSIDE LOCAL ONES, by what others lose (share of all time)", table, MOST_ROWS,
                   "segments", NULL);
}

/* ---- regions ---------------------------------------------------------------------------------------------------- */

static void put_regions(struct ana_page *p)
{
    static const struct ana_column columns[] = {
        ANA_COLUMN(-28, "region", REGION_NAME), ANA_COLUMN(8, "times", REGION_TIMES),
        ANA_COLUMN(8, "time", REGION_TOTAL),    ANA_COLUMN(8, "own", REGION_OWN),
        ANA_COLUMN(10, "in calls", REGION_MPI), ANA_COLUMN(6, "worst", REGION_WORST_RANK),
        ANA_COLUMN(8, "takes", REGION_WORST)};
    uint64_t left = 0;
    struct ana_table table = ANA_TABLE(columns, p->s->regions, p->s->region_count);
    ana_page_table(p, "REGIONS of the program's own, by time", table, MOST_ROWS, "regions", NULL);
    for (size_t i = 0; i < p->s->region_count; i++)
        left += p->s->regions[i].left;
    if (left || p->s->region_unmatched)
        ana_page_line(p,
                      "Ends do not fit: %" PRIu64 " regions ended only with one around them (without a time), %" PRIu64
                      " ends were of none that was open.",
                      left, p->s->region_unmatched);
}

/* ---- prices ----------------------------------------------------------------------------------------------------- */

static void put_prices(struct ana_page *p)
{
    char words[400], saves[120], why[160], part[ANA_TEXT];
    const struct ana_summary *s = p->s;
    size_t shown = 0;
    if (p->csv)
        ana_csv_rows(p->csv, ANA_KIND_PRICE, s->prices, sizeof *s->prices, s->price_count, &p->whole);
    for (size_t i = 0; i < s->price_count && shown < FEW + 2; i++) {
        const struct ana_price *price = &s->prices[i];
        if ((double)price->saves_ns < 0.01 * (double)s->path_ns)
            break;
        if (shown++ == 0)
            fprintf(p->out, "\nWHAT TO MEND\n");
        ana_price_words(p->job, price, words, sizeof words);
        ana_price_saving(s, price, saves, sizeof saves);
        if (price->path_ns < 0) {
            ana_page_line(p, "%s: %s", words, saves);
            continue;
        }
        ana_metric_text(part, sizeof part, &ana_metrics[ANA_METRIC_PRICE_PATH], price, &p->whole, p->utf8);
        ana_reason_words(&price->reason, why, sizeof why);
        ana_page_line(p, "%s: %s of the critical path; %s%s%s", words, part, saves, why[0] ? "; " : "", why);
    }
}

/* ---- iterations ------------------------------------------------------------------------------------------------- */

static void put_iterations(struct ana_page *p)
{
    char words[400], why[160];
    const struct ana_iterations *of = &p->s->iterations;
    const struct ana_loop_level *loop = &of->loop[of->level];
    if (!of->levels)
        return;
    fprintf(p->out, "\nITERATIONS\n");
    ana_page_line(p, "%" PRIu64 " iterations, median %s; each ends with %s at %s", loop->count,
                  ANA_SPOKEN(loop->median_ns), loop->end.call, loop->end.place);
    for (size_t i = 0; i < loop->slow_count && i < FEW; i++) {
        const struct ana_slow_iteration *slow = &loop->slow[i];
        if (!ana_iteration_is_slow(loop, slow))
            break;
        ana_iteration_words(p->job, loop, slow, words, sizeof words);
        ana_reason_words(&slow->reason, why, sizeof why);
        ana_page_line(p, "%s%s%s", words, why[0] ? "; " : "", why);
    }
    for (size_t i = 0; i < of->levels && !p->brief; i++)
        if (i != of->level)
            ana_page_line(p, "%s: %" PRIu64 " times %s at %s, median %s", i < of->level ? "every few" : "inside",
                          of->loop[i].count, of->loop[i].end.call, of->loop[i].end.place,
                          ANA_SPOKEN(of->loop[i].median_ns));
}

/* Steps of each Horovod process set: number, length, and the difference in the slowest. */
static void put_steps(struct ana_page *p)
{
    char words[400];
    const struct ana_hvd *hvd = ana_job_horovod(p->job);
    for (size_t i = 0, shown = 0; i < hvd->sets; i++) {
        const struct ana_hvd_set *set = &hvd->set[i];
        if (set->steps < 2)
            continue;
        if (shown++ == 0)
            fprintf(p->out, "\nSTEPS\n");
        ana_page_line(p, "%" PRIu64 " steps of Horovod's process set %zu, median %s", set->steps, i,
                      ANA_SPOKEN(set->usual.all));
        for (size_t k = 0; k < set->slow_steps && k < FEW; k++) {
            const struct ana_hvd_step *slow = &set->slow[k];
            if ((double)(slow->end_ns - slow->from_ns) < SLOW_ITERATION * set->usual.all)
                break;
            ana_hvd_step_words(p->job, set, slow, words, sizeof words);
            ana_page_line(p, "%s", words);
        }
    }
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* The source line, else the function, the module or the address. */
static void describe_place(const void *row, char *out, size_t size)
{
    const struct ana_site *s = row;
    ana_place_words(&(struct ana_place_names){s->line, s->function, s->module, s->address}, out, size);
}

/* The callers between a place and MPI. */
static void put_way(struct ana_page *p, const void *row)
{
    const struct ana_site *s = row;
    const struct trc_file *file = ana_job_rank(p->job, s->index)->file;
    char words[ANA_CALLER];
    uint32_t place = s->path ? trc_path_place(file, s->path) : 0;
    for (uint32_t i = place; i-- > 0;) {
        ana_caller_words(p->job, s->index, s->path->site[i], words, sizeof words);
        fprintf(p->out, "  %60s%s\n", i + 1 == place ? "by " : "", words);
    }
}

static void put_places(struct ana_page *p)
{
    static const struct ana_column columns[] = {ANA_COLUMN(-20, "call", SITE_CALL),
                                                ANA_COLUMN(10, "calls", SITE_COUNT),
                                                ANA_COLUMN(9, "time", SITE_TIME),
                                                ANA_COLUMN(7, "ranks", SITE_RANKS),
                                                ANA_COLUMN_GAP(2),
                                                ANA_COLUMN_WORDS(-31, "place", describe_place)};
    struct ana_table table = ANA_TABLE(columns, p->s->sites, p->s->site_count);
    ana_page_table(p, "WHERE", table, MOST_ROWS, "places", put_way);
}

ana_section *const ana_page_brief[] = {put_prices, put_ranks,        put_collectives, put_blame, put_iterations,
                                       put_calls,  ana_page_devices, put_segments,    put_files, NULL};

const struct ana_page_part ana_page_parts[] = {
    {"ranks", put_ranks, false},          {"calls", put_calls, false},       {"collectives", put_collectives, false},
    {"devices", ana_page_devices, false}, {"waits", put_waits, false},       {"segments", put_segments, false},
    {"regions", put_regions, false},      {"prices", put_prices, false},     {"iterations", put_iterations, true},
    {"steps", put_steps, true},           {"messages", put_messages, false}, {"sizes", put_sizes, false},
    {"files", put_files, false},          {"places", put_places, false},     {0}};
