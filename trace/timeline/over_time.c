/* Rates and categories over time, from the pyramids of the ranks. */
#include "trace/timeline/over_time.h"
#include "trace/summary/alike.h"
#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/filter.h"
#include "trace/job/off.h"
#include "trace/summary/matched.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DECODE_CHUNKS 4   /* chunks of one rank: more are not decoded for a redraw, the finest buckets have to do */
#define FEW           16u /* ranks: of more no events are decoded */
#define AT_ONCE       64u /* ranks that are read side by side */

/* Returns the known time of a rank by itself: the call that it is inside lasts until now. */
static struct ana_span known_alone(const struct ana_job *job, size_t index)
{
    const struct ana_process *p = &ana_job_members(job)->process[index];
    struct ana_span known = ana_known_time(job, index);
    if (p->open_category >= 0 && p->open_begin_ns <= known.end_ns)
        known.end_ns = p->rank.end_ns;
    return known;
}

/* Returns the filtered pass over the range; NULL: there is no filter. */
static const struct ana_time_range *filtered(const struct ana_job *job)
{
    const struct ana_time_range *range = ana_job_range(job);
    return range->open && range->lane ? range : NULL;
}

static int64_t overlap_ns(int64_t a0, int64_t a1, int64_t b0, int64_t b1)
{
    int64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;
    return to > from ? to - from : 0;
}

/* Adds the call that the rank is still inside, which is no event yet. */
static void add_open_call(const struct ana_job *job, size_t index, struct ana_span known, int64_t begin_ns,
                          int64_t end_ns, struct ana_lane_sum *sum)
{
    const struct ana_process *p = &ana_job_members(job)->process[index];
    if (p->open_category < 0 || (filtered(job) && !ana_filter_matches_open(job, &ana_job_range(job)->asked, index)))
        return;
    int64_t from = p->open_begin_ns > begin_ns ? p->open_begin_ns : begin_ns;
    sum->ns[p->open_category] += (double)overlap_ns(from, end_ns, known.begin_ns, known.end_ns);
}

static void cell_of(const struct ana_lane_sum *sum, double known_ns, struct ana_timeline_cell *cell)
{
    memset(cell, 0, sizeof *cell);
    if (known_ns <= 0)
        return;
    double mpi = 0;
    for (int c = TRC_CAT_COMPUTE + 1; c < TRC_CATEGORIES; c++)
        mpi += sum->ns[c];
    double whole = mpi > known_ns ? mpi : known_ns; /* several threads in MPI at once */
    for (int c = TRC_CAT_COMPUTE + 1; c < TRC_CATEGORIES; c++)
        cell->share[c] = (float)(sum->ns[c] / whole);
    cell->share[TRC_CAT_COMPUTE] = (float)((whole - mpi) / whole);
    cell->waiting = (float)fmin(sum->waiting_ns / whole, 1);
}

/* ---- below the finest bucket ------------------------------------------------------------------------------------ */

struct range {
    int64_t begin_ns, end_ns;
    size_t n;
    const int64_t *edge; /* edges of the n cells */
    struct ana_lane_sum *cell;
    struct ana_matched taken; /* calls that the filter takes */
    bool waits;               /* `taken` is known, so waits can be added */
};

/* The edges of n cells, to be freed; NULL: out of memory. */
static int64_t *make_edges(int64_t begin_ns, int64_t end_ns, size_t n)
{
    int64_t *edge = calloc(n + 1, sizeof *edge);
    for (size_t i = 0; edge && n && i <= n; i++)
        edge[i] = begin_ns + (int64_t)((double)(end_ns - begin_ns) * (double)i / (double)n);
    return edge;
}

static size_t cell_at(const struct range *w, int64_t ns)
{
    if (ns <= w->begin_ns)
        return 0;
    size_t i = (size_t)((double)(ns - w->begin_ns) * (double)w->n / (double)(w->end_ns - w->begin_ns));
    if (i >= w->n)
        i = w->n - 1;
    while (i > 0 && w->edge[i] > ns)
        i--;
    while (i + 1 < w->n && w->edge[i + 1] <= ns)
        i++;
    return i;
}

/* Spreads `share` of [begin, end) over the cells; `field` is the place in the sum. */
static void spread_share(const struct range *w, int64_t begin_ns, int64_t end_ns, double share, size_t field)
{
    if (end_ns <= w->begin_ns || begin_ns >= w->end_ns)
        return;
    for (size_t i = cell_at(w, begin_ns); i < w->n && w->edge[i] < end_ns; i++) {
        double *ns = (double *)((char *)&w->cell[i] + field);
        *ns += share * (double)overlap_ns(begin_ns, end_ns, w->edge[i], w->edge[i + 1]);
    }
}

static size_t chunks_in(const struct trc_file *file, uint64_t from, uint64_t to)
{
    size_t n = 0;
    for (size_t c = 0; c < trc_event_chunks(file); c++) {
        struct trc_chunk_info info = trc_event_chunk(file, c);
        n += info.last_ticks >= from && info.first_ticks <= to;
    }
    return n;
}

bool ana_timelines_decode(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < members->count; i++)
        if (trc_event_chunks(members->process[i].rank.file) <= DECODE_CHUNKS)
            return true;
    return false;
}

/* Whether the filter takes a call of rank `index`. */
static bool matches(const struct ana_job *job, size_t index, const struct trc_sig *sig)
{
    uint64_t comm = ana_comm_identity(job, index, trc_comm(ana_job_members(job)->process[index].rank.file, sig->comm));
    return ana_filter_matches(job, &ana_job_range(job)->asked, index,
                              ana_call_number_of(ana_job_members(job), index, sig->call), comm, sig->site);
}

/* Fills the cells from the events themselves.  False: there are too many chunks. */
static bool decode_range(struct ana_job *job, size_t index, const struct range *w)
{
    const struct ana_members *members = ana_job_members(job);
    struct trc_file *file = members->process[index].rank.file;
    uint64_t from = ana_clock_ticks(members->clock, index, w->begin_ns),
             to = ana_clock_ticks(members->clock, index, w->end_ns);
    if (chunks_in(file, from, to) > DECODE_CHUNKS)
        return false;
    for (size_t t = 0; t < trc_threads(file); t++) {
        if (trc_is_stream(file, t))
            continue;
        struct trc_cursor *cursor = trc_cursor_open(file, t);
        if (!cursor)
            return false;
        trc_cursor_seek(cursor, from);
        const struct ana_time_range *filter = filtered(job);
        struct trc_record r;
        while (trc_next(cursor, &r) == TRC_OK) {
            if (r.kind == TRC_RECORD_LOST || (r.sig->flags & (TRC_SIG_SUB | TRC_SIG_NESTED)) ||
                (filter && !matches(job, index, r.sig)))
                continue;
            int64_t begin = ana_clock_job_time(members->clock, index, r.begin);
            int64_t end = ana_clock_job_time(members->clock, index, r.end);
            double share = r.end > r.begin ? (double)r.busy / (double)(r.end - r.begin) : 1;
            enum trc_category category = trc_opclass_category(trc_call(file, r.sig->call)->opclass);
            spread_share(w, begin, end, share, offsetof(struct ana_lane_sum, ns) + (size_t)category * sizeof(double));
            if (begin >= w->end_ns)
                break;
        }
        trc_cursor_close(cursor);
    }
    return true;
}

/* Adds the kept waits of a rank, with a filter only the ones it takes. */
static void add_waits(const struct ana_job *job, size_t index, const struct range *w)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_stored_wait *wait = ana_store_wait_of(&analysis->store, analysis->store.last_wait[index]);
    for (; wait && w->waits; wait = ana_store_wait_of(&analysis->store, wait->before))
        if (ana_matched_has(&w->taken, wait->comm, wait->place, 0))
            spread_share(w, wait->begin_ns, wait->end_ns, 1, offsetof(struct ana_lane_sum, waiting_ns));
}

/* ---- the public way in ------------------------------------------------------------------------------------------ */

/* Adds what the pyramid has to the cells.  Where one reaches to the end, the last bucket counts in full. */
static void add_lane(const struct ana_job *job, size_t index, const struct range *w, struct ana_span known,
                     bool times_alone)
{
    struct ana_lane *lane = filtered(job) ? &ana_job_range(job)->lane[index] : &ana_job_analysis(job)->lane[index];
    ana_lane_add(lane, w->edge, w->n, known.end_ns, times_alone, w->cell);
}

/* Fills the cells of a rank; `sum` is room for n, `decode`: where they are finer than the buckets, from the events. */
static void read_cells(struct ana_job *job, size_t index, const struct range *w, bool decode,
                       struct ana_timeline_cell *out)
{
    memset(w->cell, 0, w->n * sizeof *w->cell);
    struct ana_lane *lane = &ana_job_analysis(job)->lane[index];
    bool fine = decode && (w->end_ns - w->begin_ns) / (int64_t)w->n < 4 * lane->width_ns && decode_range(job, index, w);
    if (fine || filtered(job)) /* else they are in the pyramid */
        add_waits(job, index, w);
    struct ana_span known = known_alone(job, index);
    if (!fine)
        add_lane(job, index, w, known, true);
    for (size_t i = 0; i < w->n; i++) {
        int64_t from = w->edge[i], to = w->edge[i + 1];
        add_open_call(job, index, known, from, to, &w->cell[i]);
        int64_t known_ns = overlap_ns(from, to, known.begin_ns, known.end_ns);
        if (known_ns > 0)
            known_ns -= ana_off_within(job, index, from > known.begin_ns ? from : known.begin_ns,
                                       to < known.end_ns ? to : known.end_ns);
        cell_of(&w->cell[i], (double)known_ns, &out[i]);
    }
}

static bool is_known(const struct ana_timeline_cell *cell)
{
    float sum = 0;
    for (int c = 0; c < TRC_CATEGORIES; c++)
        sum += cell->share[c];
    return sum > 0;
}

static void add_most(struct ana_timeline_cell *most, const struct ana_timeline_cell *one)
{
    bool first = !is_known(most);
    float outside = one->share[TRC_CAT_COMPUTE];
    outside = first || outside < most->share[TRC_CAT_COMPUTE] ? outside : most->share[TRC_CAT_COMPUTE];
    most->share[TRC_CAT_COMPUTE] = outside;
    most->share[TRC_CAT_MANAGE] = 1 - outside;
    most->waiting = fmaxf(most->waiting, one->waiting);
}

/* Some ranks, read by several threads.  One thread adds up their results, in the order of the ranks: the sum of
 * fractions depends on it. */
struct some {
    struct ana_job *job;
    const size_t *rank; /* rank indices in the job */
    size_t ranks;
    const struct range *range;
    struct ana_lane_sum *work;       /* room for the cells of each */
    struct ana_timeline_cell *found; /* cells of each */
};

static void read_one(void *user, size_t i)
{
    const struct some *some = user;
    struct range w = *some->range;
    w.cell = some->work + i * w.n;
    if (some->rank[i] < ana_job_ranks(some->job))
        read_cells(some->job, some->rank[i], &w, some->ranks <= FEW, some->found + i * w.n);
}

/* Returns the threads that help with ranks; NULL: none, since few are decoded, and a filter looks up calls as it
 * goes. */
static struct ana_thread_pool *helpers(const struct ana_job *job, size_t ranks)
{
    return ranks > FEW && !filtered(job) ? ana_job_analysis(job)->thread_pool : NULL;
}

static void add_cells(const struct ana_timeline_cell *one, size_t n, uint32_t *known, struct ana_timeline_cell *mean,
                      struct ana_timeline_cell *most)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_known(&one[i]))
            continue;
        known[i]++;
        for (int c = 0; mean && c < TRC_CATEGORIES; c++)
            mean[i].share[c] += one[i].share[c];
        if (mean)
            mean[i].waiting += one[i].waiting;
        if (most)
            add_most(&most[i], &one[i]);
    }
}

void ana_timeline_of(struct ana_job *job, const size_t *ranks, size_t count, int64_t begin_ns, int64_t end_ns, size_t n,
                     struct ana_timeline_cell *mean, struct ana_timeline_cell *most)
{
    const struct ana_time_range *range = ana_job_range(job);
    size_t at_once = count < AT_ONCE ? count : AT_ONCE;
    int64_t *edge = make_edges(begin_ns, end_ns, n);
    struct range w = {.begin_ns = begin_ns, .end_ns = end_ns, .n = n, .edge = edge};
    struct some some = {.job = job,
                        .ranks = count,
                        .range = &w,
                        .work = calloc(at_once * n + 1, sizeof *some.work),
                        .found = calloc(at_once * n + 1, sizeof *some.found)};
    uint32_t *known = calloc(n + 1, sizeof *known);
    w.waits = !filtered(job) || ana_matched_find(job, &range->asked, &w.taken);
    bool ok = edge && some.work && some.found && known && ana_job_analysis(job)->lane && n && end_ns > begin_ns;
    if (mean)
        memset(mean, 0, n * sizeof *mean);
    if (most)
        memset(most, 0, n * sizeof *most);
    for (size_t first = 0; ok && first < count; first += at_once) {
        size_t now = count - first < at_once ? count - first : at_once;
        some.rank = ranks + first;
        ana_thread_pool_run(helpers(job, count), now, read_one, &some);
        for (size_t r = 0; r < now; r++)
            if (some.rank[r] < ana_job_members(job)->count)
                add_cells(some.found + r * n, n, known, mean, most);
    }
    for (size_t i = 0; mean && ok && i < n; i++) {
        for (int c = 0; known[i] && c < TRC_CATEGORIES; c++)
            mean[i].share[c] /= (float)known[i];
        mean[i].waiting /= known[i] ? (float)known[i] : 1;
    }
    free(edge);
    free(some.work);
    free(some.found);
    free(known);
    free(w.taken.of_place);
}

void ana_timeline(struct ana_job *job, size_t index, int64_t begin_ns, int64_t end_ns, size_t n,
                  struct ana_timeline_cell *out)
{
    ana_timeline_of(job, &index, 1, begin_ns, end_ns, n, out, NULL);
}

/* One step of a rank, or the sums of one step over the ranks. */
struct step {
    double total[ANA_SERIES_KINDS], known_ns, longest_ns;
};

/* Steps of some ranks, which several threads read. */
struct some_steps {
    const struct ana_job *job;
    const struct range *range;
    size_t rank[AT_ONCE];
    struct ana_lane_sum *work; /* room for the cells of each */
    struct step *found;
};

static void read_steps(void *user, size_t number)
{
    const struct some_steps *some = user;
    const struct ana_job *job = some->job;
    struct range w = *some->range;
    size_t index = some->rank[number];
    struct ana_span known = ana_known_time(job, index);
    w.cell = some->work + number * w.n;
    memset(w.cell, 0, w.n * sizeof *w.cell);
    add_lane(job, index, &w, known, false);
    for (size_t i = 0; i < w.n; i++) {
        struct step *step = &some->found[number * w.n + i];
        struct ana_lane_sum *sum = &w.cell[i];
        int64_t from = w.edge[i], to = w.edge[i + 1];
        double here = (double)overlap_ns(from, to, known.begin_ns, known.end_ns), mpi = 0;
        *step = (struct step){0};
        if (here <= 0)
            continue;
        add_open_call(job, index, known, from, to, sum);
        for (int c = TRC_CAT_COMPUTE + 1; c < TRC_CATEGORIES; c++)
            mpi += sum->ns[c];
        step->known_ns = step->longest_ns = here;
        step->total[ANA_SERIES_SENT] = sum->sent;
        step->total[ANA_SERIES_RECEIVED] = sum->received;
        step->total[ANA_SERIES_CALLS] = sum->calls;
        step->total[ANA_SERIES_MPI_SHARE] = fmin(mpi, here);
    }
}

static void add_steps(struct step *step, const struct step *one, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        step[i].known_ns += one[i].known_ns;
        step[i].longest_ns = fmax(step[i].longest_ns, one[i].longest_ns);
        for (int kind = 0; kind < ANA_SERIES_KINDS; kind++)
            step[i].total[kind] += one[i].total[kind];
    }
}

/* Adds up the steps of the ranks that are selected. */
static void sum_steps(const struct ana_job *job, const struct ana_selection *selection, const struct range *w,
                      struct step *step)
{
    const struct ana_members *members = ana_job_members(job);
    struct some_steps some = {.job = job,
                              .range = w,
                              .work = calloc(AT_ONCE * w->n + 1, sizeof *some.work),
                              .found = calloc(AT_ONCE * w->n + 1, sizeof *some.found)};
    for (size_t r = 0, n = 0; some.work && some.found && r < members->count; r++) {
        if (ana_selected(selection->ranks, r))
            some.rank[n++] = r;
        if (n < AT_ONCE && r + 1 < members->count)
            continue;
        ana_thread_pool_run(helpers(job, members->count), n, read_steps, &some);
        for (size_t i = 0; i < n; i++)
            add_steps(step, some.found + i * w->n, w->n);
        n = 0;
    }
    free(some.work);
    free(some.found);
}

void ana_series(const struct ana_job *job, struct ana_selection selection, size_t n,
                double *const out[ANA_SERIES_KINDS])
{
    const struct ana_members *members = ana_job_members(job);
    int64_t begin = selection.begin_ns > members->begin_ns ? selection.begin_ns : members->begin_ns;
    int64_t end = selection.end_ns < members->end_ns ? selection.end_ns : members->end_ns;
    struct step *step = calloc(n + 1, sizeof *step);
    int64_t *edge = make_edges(begin, end, n);
    struct range w = {.begin_ns = begin, .end_ns = end, .n = n, .edge = edge};
    if (step && edge && ana_job_analysis(job)->lane && end > begin)
        sum_steps(job, &selection, &w, step);
    for (int kind = 0; kind < ANA_SERIES_KINDS; kind++)
        for (size_t i = 0; out[kind] && i < n; i++) {
            double known = !step ? 0 : kind == ANA_SERIES_MPI_SHARE ? step[i].known_ns : step[i].longest_ns / 1e9;
            out[kind][i] = known > 0 ? step[i].total[kind] / known : NAN;
        }
    free(edge);
    free(step);
}
