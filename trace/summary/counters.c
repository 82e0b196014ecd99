/* Summaries from the counters in the live pages: exact, even where events were recycled. */
#include "trace/summary/summary_impl.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A cell that is being summed.  Buckets of files with equally long ticks are added first, and converted to ns together.
 */
struct cell {
    struct ana_call_cell sum;
    double ns_per_tick;
    uint64_t ticks[TRC_BUCKETS];
};

static void flush_ticks(struct cell *cell)
{
    if (cell->ns_per_tick > 0)
        ana_times_add_ticks(&cell->sum.times, cell->ticks, cell->ns_per_tick);
    memset(cell->ticks, 0, sizeof cell->ticks);
}

static void add_row(struct cell *cell, const struct trc_counter *row, double ns_per_tick)
{
    struct ana_times_sum *times = &cell->sum.times;
    cell->sum.sent += row->sent;
    cell->sum.received += row->received;
    if (row->calls == 0)
        return;
    if (fabs(cell->ns_per_tick - ns_per_tick) > 1e-4 * ns_per_tick) {
        flush_ticks(cell);
        cell->ns_per_tick = ns_per_tick;
    }
    double min = (double)row->min_ticks * ns_per_tick, max = (double)row->max_ticks * ns_per_tick;
    if (times->calls == 0 || min < times->min_ns)
        times->min_ns = min;
    if (times->calls == 0 || max > times->max_ns)
        times->max_ns = max;
    times->calls += row->calls;
    int64_t ns = ana_rounded((double)row->ticks * ns_per_tick);
    times->total_ns = ana_plus(times->total_ns, ns);
    cell->sum.time_ns = ana_plus(cell->sum.time_ns, ns);
    uint64_t counted = 0;
    const struct ana_counts *of = &row->histogram;
    for (uint32_t b = 0; b < of->n; b++)
        counted += of->count[b];
    /* Number of calls of a count: 1, unless the recorder halved the histogram (trc_stream_age).  Just after a
     * call, calls and counts differ by that one. */
    double each = counted > UINT32_MAX / 4 ? fmin((double)row->calls / (double)counted, 1e6) : 1;
    for (uint32_t b = 0; b < of->n; b++)
        cell->ticks[of->first + b] += each > 1 ? (uint64_t)((double)of->count[b] * each + 0.5) : of->count[b];
}

/* Whether a call lies outside the rank's run, which begins after Init and ends with Finalize. */
static bool outside_run(enum trc_opclass opclass)
{
    return trc_opclass_is(opclass, TRC_FACT_EDGE) || opclass == TRC_OP_ABORT;
}

static void add_ns(int64_t *sum, double ns)
{
    *sum = ana_plus(*sum, ana_rounded(ns));
}

static bool add_rows(struct ana_job *job, size_t index, size_t thread, struct ana_map *cells,
                     int64_t category_ns[TRC_CATEGORIES], double *outside_ticks, double *row_ticks)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[index].rank.file;
    double ns_per_tick = trc_ns_per_tick(file);
    size_t n;
    const struct trc_counter *row = trc_rows(file, thread, &n);
    for (size_t k = 0; k < n; k++, row++) {
        if (row->call_plus_1 == 0)
            continue;
        uint32_t call = ana_call_number_of(ana_job_members(job), index, (uint32_t)row->call_plus_1 - 1);
        struct cell *cell = ana_map_add(cells, call, row->size_class, 0);
        if (!cell)
            return false;
        cell->sum.call = call;
        cell->sum.size_class = row->size_class;
        add_row(cell, row, ns_per_tick);
        enum trc_opclass opclass = members->call[call].opclass;
        *row_ticks += (double)row->ticks;
        if (outside_run(opclass))
            *outside_ticks += (double)row->ticks;
        else
            add_ns(&category_ns[trc_opclass_category(opclass)], (double)row->ticks * ns_per_tick);
    }
    return true;
}

/* Adds the call that a thread is inside.  False: out of memory. */
static bool add_open(struct ana_job *job, size_t index, size_t thread, struct ana_map *cells)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_rank *rank = &members->process[index].rank;
    const struct trc_thread *live = trc_thread(rank->file, thread);
    const struct trc_sig *sig = live->inside ? trc_live_sig(rank->file, thread, live->inside) : NULL;
    if (!sig)
        return true;
    const int64_t since = ana_time_within(ana_clock_job_time(members->clock, index, live->inside_since));
    const uint32_t call = ana_call_number_of(ana_job_members(job), index, sig->call);
    const uint16_t size_class = trc_sig_class(sig);
    struct cell *cell = ana_map_add(cells, call, size_class, 0);
    if (!cell)
        return false;
    cell->sum.call = call;
    cell->sum.size_class = size_class;
    if (rank->end_ns > since) {
        cell->sum.open_ns = ana_plus(cell->sum.open_ns, rank->end_ns - since);
        cell->sum.time_ns = ana_plus(cell->sum.time_ns, rank->end_ns - since);
    }
    return true;
}

/* Adds a rank: time by category of the thread that spent most in MPI and does more than serve, and the sum over all
 * threads. */
static bool add_rank(struct ana_job *job, struct ana_rank_stat *stat, struct ana_summary *s, struct ana_map *cells)
{
    const struct ana_process *p = &ana_job_members(job)->process[stat->index];
    double ns_per_tick = trc_ns_per_tick(p->rank.file), most = -1;
    for (size_t t = 0; t < trc_threads(p->rank.file); t++) {
        const struct trc_thread *thread = trc_thread(p->rank.file, t);
        int64_t category_ns[TRC_CATEGORIES] = {0};
        double outside = 0, rows = 0;
        if (trc_is_stream(p->rank.file, t))
            continue;
        if (!add_rows(job, stat->index, t, cells, category_ns, &outside, &rows) ||
            !add_open(job, stat->index, t, cells))
            return false;
        /* Calls without a row have a time, but no class. */
        if (thread->row_overflow && (double)thread->mpi_ticks > rows)
            add_ns(&category_ns[TRC_CAT_MANAGE], ((double)thread->mpi_ticks - rows) * ns_per_tick);
        s->call_overflow += thread->row_overflow;
        double nccl = (double)category_ns[TRC_CAT_NCCL];
        double mpi = fmax(((double)thread->mpi_ticks - outside) * ns_per_tick - nccl, 0);
        add_ns(&stat->mpi_sum_ns, mpi);
        add_ns(&stat->nccl_ns, nccl);
        const bool serves = ana_only_serves(t, category_ns, p->run_end_ns - p->run_begin_ns);
        stat->serves |= serves;
        if (mpi + nccl > most && !serves) {
            most = mpi + nccl;
            memcpy(stat->category_ns, category_ns, sizeof category_ns);
        }
    }
    stat->calls = p->rank.calls;
    stat->sent = p->rank.sent;
    stat->received = p->rank.received;
    stat->sent_messages = p->rank.sent_messages;
    stat->received_messages = p->rank.received_messages;
    ana_summary_rank_time(job, s, stat);
    return true;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

/* Adds the messages of rank `from` to ranks of other worlds, which only its events tell.  Returns how many there are.
 */
static uint64_t add_remote(struct ana_job *job, struct ana_summary *s, struct ana_map *map, size_t from)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    uint64_t fact = 0;
    for (size_t i = 0; ana_job_members(job)->bridges && i < analysis->pass.tally.pairs.count; i++) {
        const uint64_t *key = ana_map_key(&analysis->pass.tally.pairs, i);
        const struct ana_pair_sum *sum = ana_map_value(&analysis->pass.tally.pairs, i);
        if (key[0] != from || sum->messages == 0)
            continue;
        fact += sum->messages;
        bool wanted = ana_selected(s->selection.ranks, from) || ana_selected(s->selection.ranks, key[1]);
        struct ana_pair_sum *to = wanted ? ana_map_add(map, from, key[1], 0) : NULL;
        if (to) {
            to->messages += sum->messages;
            to->bytes += sum->bytes;
        }
    }
    return fact;
}

static bool add_pairs(struct ana_job *job, struct ana_summary *s)
{
    const struct ana_members *members = ana_job_members(job);
    struct ana_map map;
    ana_map_init(&map, sizeof(struct ana_pair_sum));
    bool ok = true;
    for (size_t i = 0; ok && i < members->count; i++) {
        const struct ana_rank *r = &members->process[i].rank;
        uint64_t fact = 0;
        for (size_t t = 0, n; ok && t < trc_threads(r->file); t++) {
            const struct trc_peer *peer = trc_peers(r->file, t, &n);
            for (size_t k = 0; ok && k < n; k++, peer++) {
                if (peer->rank_plus_1 == 0 || peer->sent_messages == 0)
                    continue;
                size_t to = ana_index_of_rank(job, r->world, (int32_t)(peer->rank_plus_1 - 1));
                if (to == SIZE_MAX)
                    continue;
                fact += peer->sent_messages;
                if (!ana_selected(s->selection.ranks, i) && !ana_selected(s->selection.ranks, to))
                    continue;
                struct ana_pair_sum *sum = ana_map_add(&map, i, to, 0);
                ok = sum != NULL;
                if (ok) {
                    sum->messages += peer->sent_messages;
                    sum->bytes += peer->sent_bytes;
                }
            }
        }
        fact += add_remote(job, s, &map, i);
        if (ana_selected(s->selection.ranks, i) && r->sent_messages > fact)
            s->pair_overflow += r->sent_messages - fact;
    }
    ok = ok && ana_summary_pairs(s, &map, &ana_job_analysis(job)->pass.tally);
    ana_map_free(&map);
    return ok;
}

bool ana_summary_counters(struct ana_job *job, struct ana_summary *s)
{
    struct ana_map cells;
    ana_map_init(&cells, sizeof(struct cell));
    bool ok = true;
    for (size_t i = 0; ok && i < s->rank_count; i++)
        ok = add_rank(job, &s->ranks[i], s, &cells);
    struct ana_call_cell **list = calloc(cells.count + 1, sizeof *list);
    for (size_t i = 0; list && i < cells.count; i++) {
        struct cell *cell = ana_map_value(&cells, i);
        flush_ticks(cell);
        list[i] = &cell->sum;
    }
    ok = ok && list && ana_summary_calls(job, s, list, cells.count) && add_pairs(job, s);
    free(list);
    ana_map_free(&cells);
    return ok;
}
