/* What of a rank's time is work: all that is not waiting for others.  And what the others take for the same. */
#include "trace/export/ti_impl.h"
#include "trace/util/hash.h"
#include <math.h>
#include <stdlib.h>

/* Whether what a call does is the rank's own: nobody is waited for, and no action stands for it. */
static bool is_work(const struct ana_event *e)
{
    const struct trc_opclass_row *row = trc_opclass_row(e->use->call->opclass);
    bool has_action = e->sig->flags & (TRC_SIG_P2P_IN | TRC_SIG_P2P_OUT | TRC_SIG_COMPLETE | TRC_SIG_START) ||
                      (e->sig->flags & TRC_SIG_COLL && row->category != TRC_CAT_IO);
    bool waits = row->category == TRC_CAT_P2P || row->category == TRC_CAT_WAIT || row->facts & TRC_FACT_EDGE;
    return !has_action && !waits;
}

struct ti_span ti_work(struct ana_exporting *x, struct ti_clock *clock, const struct ana_event *e)
{
    enum ana_export_what what = ana_export_what(e);
    struct ti_span span = {.from = clock->from};
    if (what != ANA_EXPORT_CALL && what != ANA_EXPORT_POLL)
        return span;
    const struct ana_export_site *site = ana_export_site(x, e->index, e->sig->site);
    span.to = site && site->text ? ana_hash_text(site->text) : 0;
    int64_t from = clock->until_ns == INT64_MIN || clock->until_ns < e->begin_ns ? e->begin_ns : clock->until_ns;
    int64_t inside = e->end_ns > from ? e->end_ns - from : 0;
    if (clock->until_ns != INT64_MIN && e->begin_ns > clock->until_ns)
        span.before_ns = (double)(e->begin_ns - clock->until_ns);
    if (what == ANA_EXPORT_POLL) /* what the program does between two of them */
        span.inside_ns = inside > e->busy_ns ? (double)(inside - e->busy_ns) : 0;
    else if (is_work(e))
        span.inside_ns = (double)inside;
    clock->until_ns = e->end_ns > from ? e->end_ns : from;
    clock->from = span.to;
    return span;
}

/* ---- what the others take ---------------------------------------------------------------------------------------- */

/* Of a rank between two places. */
struct sum {
    double ns;
    uint64_t times;
};
struct level_walk {
    struct ana_exporting *x;
    struct ti_clock *clock;
    struct ana_map sums; /* struct sum by both places, rank index */
    bool memory;
};

static void add_event(void *user, const struct ana_event *e)
{
    struct level_walk *w = user;
    struct ti_span span = ti_work(w->x, &w->clock[e->index], e);
    if (span.before_ns <= 0)
        return;
    struct sum *sum = ana_map_add(&w->sums, span.from, span.to, e->index);
    w->memory |= !sum;
    if (!sum)
        return;
    sum->ns += span.before_ns;
    sum->times++;
}

struct mean {
    uint64_t from, to;
    double ns;
};
static int by_segment(const void *a, const void *b)
{
    const struct mean *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static double median_of(struct mean *mean, size_t n)
{
    qsort(mean, n, sizeof *mean, by_segment);
    return n ? mean[(n - 1) / 2].ns : 0;
}

/* Takes the medians of all ranks whose time is not changed.  False: out of memory. */
static bool take_medians(struct level_walk *w, struct ana_map *levels, const uint8_t *level)
{
    size_t n = 0;
    struct mean *mean = calloc(w->sums.count + 1, sizeof *mean);
    for (size_t i = 0; mean && i < w->sums.count; i++) {
        const uint64_t *key = ana_map_key(&w->sums, i);
        const struct sum *sum = ana_map_value(&w->sums, i);
        if (!level[key[2]])
            mean[n++] = (struct mean){key[0], key[1], sum->ns / (double)sum->times};
    }
    bool ok = mean;
    median_of(mean, ok ? n : 0);
    for (size_t first = 0, last; ok && first < n; first = last) {
        for (last = first + 1; last < n && mean[last].from == mean[first].from && mean[last].to == mean[first].to;)
            last++;
        struct ti_level *of = ana_map_add(levels, mean[first].from, mean[first].to, 0);
        ok = of;
        if (of)
            of->ns = mean[first + (last - first - 1) / 2].ns;
    }
    free(mean);
    return ok;
}

/* Takes the means of a rank that is changed, and how much it does that all do and that it does alone. */
static bool take_own(struct level_walk *w, struct ana_map *levels, size_t index, double *shared, double *alone)
{
    for (size_t i = 0; i < w->sums.count; i++) {
        const uint64_t *key = ana_map_key(&w->sums, i);
        const struct sum *sum = ana_map_value(&w->sums, i);
        if (key[2] != index)
            continue;
        const struct ti_level *others = ana_map_find(levels, key[0], key[1], 0);
        double mean = sum->ns / (double)sum->times, least = others && others->ns < mean ? others->ns : mean;
        if (!others) {
            *alone += sum->ns;
            continue;
        }
        *shared += least * (double)sum->times;
        struct ti_level *own = ana_map_add(levels, key[0], key[1], index + 1);
        if (!own)
            return false;
        own->ns = mean;
    }
    return true;
}

/* Where a rank alone has a segment, nobody says how long it should take: then all of the rank's work takes no longer
 * than that of the others. */
static bool take_alone(struct level_walk *w, struct ti *ti, const uint8_t *level)
{
    size_t ranks = w->x->job->count, n = 0;
    struct mean *total = calloc(ranks + 1, sizeof *total);
    bool ok = total && (ti->alone = calloc(ranks + 1, sizeof *ti->alone));
    for (size_t i = 0; ok && i < w->sums.count; i++)
        total[ana_map_key(&w->sums, i)[2]].ns += ((const struct sum *)ana_map_value(&w->sums, i))->ns;
    for (size_t i = 0; ok && i < ranks; i++)
        if (!level[i])
            total[n++] = total[i];
    double others = ok ? median_of(total, n) : 0;
    for (size_t i = 0; ok && i < ranks; i++) {
        double shared = 0, alone = 0;
        ti->alone[i] = 1;
        if (!level[i])
            continue;
        ok = take_own(w, &ti->levels, i, &shared, &alone);
        if (n && shared + alone > others && alone > 0)
            ti->alone[i] = others > shared ? (others - shared) / alone : 0;
    }
    free(total);
    return ok;
}

bool ti_find_levels(struct ana_exporting *x, struct ti *ti, const uint8_t *level)
{
    struct level_walk w = {.x = x, .clock = calloc(x->job->count + 1, sizeof *w.clock)};
    struct ana_selection all = {.begin_ns = INT64_MIN, .end_ns = INT64_MAX};
    struct ana_walk walk = {.user = &w, .event = add_event};
    ana_map_init(&w.sums, sizeof(struct sum));
    for (size_t i = 0; w.clock && i < x->job->count; i++)
        w.clock[i].until_ns = INT64_MIN;
    bool ok = w.clock && ana_job_walk(x->job, &all, &walk) && !w.memory && take_medians(&w, &ti->levels, level) &&
              take_alone(&w, ti, level);
    ana_map_free(&w.sums);
    free(w.clock);
    return ok;
}

double ti_levelled(const struct ti *ti, const uint8_t *level, size_t index, struct ti_span span)
{
    if (!level || !level[index])
        return span.before_ns + span.inside_ns;
    const struct ti_level *others = ana_map_find(&ti->levels, span.from, span.to, 0),
                          *own = ana_map_find(&ti->levels, span.from, span.to, index + 1);
    double left = !others || !own ? ti->alone[index] : own->ns > others->ns ? others->ns / own->ns : 1;
    return span.before_ns * left + span.inside_ns;
}
