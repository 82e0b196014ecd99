/* Iterations of a loop, one by one or as parts of many: how long they took on a rank, and when they were. */
#include "trace/summary/summary_impl.h"
#include "trace/iter/iter.h"
#include "trace/util/numfmt.h"
#include "trace/util/trouble.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool ana_iteration_is_slow(const struct ana_loop_level *loop, const struct ana_slow_iteration *slow)
{
    return !slow->is_chance && (double)(slow->end_ns - slow->begin_ns) >= SLOW_ITERATION * loop->usual_ns;
}

double ana_iteration_base(const struct ana_loop_level *loop, double ns)
{
    return ns < SLOW_ITERATION * loop->usual_ns ? loop->median_ns : loop->usual_ns;
}

void ana_iteration_words(const struct ana_job *job, const struct ana_loop_level *loop,
                         const struct ana_slow_iteration *slow, char *out, size_t size)
{
    char where[240], took[ANA_TEXT];
    struct ana_segment_stat segment = {.from = slow->from, .to = slow->to};
    memcpy(segment.region, slow->region, sizeof segment.region);
    const double ns = (double)(slow->end_ns - slow->begin_ns), times = ns / ana_iteration_base(loop, ns);
    int n = snprintf(out, size, "iteration %" PRIu64 " took %.1f x", slow->number, times);
    if (slow->index == SIZE_MAX || n < 0 || (size_t)n >= size)
        return;
    ana_segment_words(&segment, where, sizeof where);
    snprintf(out + n, size - (size_t)n, ": rank %d, %s in %s", ana_job_rank(job, slow->index)->rank,
             ana_spoken(took, sizeof took, (double)slow->segment_ns), where);
}

/* ---- the times of a rank ---------------------------------------------------------------------------------------- */

/* The calls that end iterations of a rank: number i ends iteration i + 1.  They are kept in two parts: every n-th from
 * the first on, and the last ones. */
struct calls {
    const struct ana_iter_mark *mark;
    int64_t begin_ns;      /* begin of the first iteration */
    uint64_t recent, ring; /* number of the first that is in the ring; its room */
};

/* False: the rank has none, or a summary is older than the analysis. */
static bool find_calls(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                       struct calls *out)
{
    const struct ana_analysis *analysis = ana_job_analysis(job);
    if (level >= of->levels || index >= of->ranks || !analysis->iter.rank)
        return false;
    const struct ana_iteration_mark *at = &of->mark[level * of->ranks + index];
    const struct ana_map *kept = at->mark & ANA_ITER_KIND ? &analysis->iter.kinds : &analysis->iter.marks;
    if (!at->mark || (at->mark & ~ANA_ITER_KIND) > kept->count)
        return false;
    const struct ana_iter_mark *mark = ana_iter_any_at(&analysis->iter, at->mark);
    *out = (struct calls){
        .mark = mark, .begin_ns = at->begin_ns, .ring = analysis->iter.recent_room, .recent = UINT64_MAX};
    if (mark->recent)
        out->recent = mark->count - mark->recent_from > out->ring ? mark->count - out->ring : mark->recent_from;
    return mark->index == index && mark->entries;
}

/* Returns the call with the largest number up to this one among calls with a kept time; *at gets its number. */
static struct ana_iter_entry last_until(const struct calls *c, uint64_t number, uint64_t *at)
{
    if (number >= c->mark->count)
        number = c->mark->count - 1;
    if (number >= c->recent) {
        *at = number;
        return c->mark->recent[number & (c->ring - 1)];
    }
    uint64_t i = number / c->mark->stride;
    i = i < c->mark->entries ? i : c->mark->entries - 1;
    *at = i * c->mark->stride;
    return ana_iter_entry_at(c->mark, i);
}

/* Finds the next call with a kept time.  False: there is none. */
static bool first_after(const struct calls *c, uint64_t number, uint64_t *at, struct ana_iter_entry *out)
{
    uint64_t i = number / c->mark->stride + 1;
    bool coarse = i < c->mark->entries && i * c->mark->stride < c->recent;
    *at = coarse ? i * c->mark->stride : number + 1 > c->recent ? number + 1 : c->recent;
    if (*at >= c->mark->count)
        return false;
    *out = coarse ? ana_iter_entry_at(c->mark, i) : c->mark->recent[*at & (c->ring - 1)];
    return true;
}

/* ---- cells ------------------------------------------------------------------------------------------------------ */

static void put_cell(struct ana_iteration_cell *cell, double time_ns, double own_ns, uint64_t mean_of)
{
    if (!(cell->time_ns >= time_ns))
        cell->time_ns = (float)time_ns;
    if (!(cell->own_ns >= own_ns) && !isnan(own_ns))
        cell->own_ns = (float)own_ns;
    if (mean_of > cell->mean_of)
        cell->mean_of = mean_of < UINT32_MAX ? (uint32_t)mean_of : UINT32_MAX;
}

/* Iterations asked for, and their cells. */
struct part {
    uint64_t first, last;
    size_t n;
    struct ana_iteration_cell *cell;
};

static size_t cell_of(const struct part *p, uint64_t iteration)
{
    return (size_t)((iteration - p->first) * p->n / (p->last - p->first + 1));
}

/* Puts the same into all cells that have some of the iterations from..to. */
static void put_cells(const struct part *p, uint64_t from, uint64_t to, double time_ns, double own_ns)
{
    uint64_t mean_of = to - from + 1;
    from = from > p->first ? from : p->first;
    to = to < p->last ? to : p->last;
    for (size_t i = from <= to ? cell_of(p, from) : p->n; i < p->n && i <= cell_of(p, to); i++)
        put_cell(&p->cell[i], time_ns, own_ns, mean_of);
}

void ana_iteration_cells(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                         uint64_t first, uint64_t last, size_t n, struct ana_iteration_cell *out)
{
    struct part part = {first ? first : 1, last, n, out};
    struct calls c;
    for (size_t i = 0; i < n; i++)
        out[i] = (struct ana_iteration_cell){NAN, NAN, 0};
    if (last < part.first || !find_calls(job, of, level, index, &c))
        return;
    uint64_t at, next;
    if (part.first == 1)
        put_cells(&part, 1, 1, (double)(ana_iter_entry_at(c.mark, 0).end_ns - c.begin_ns), NAN);
    struct ana_iter_entry before = last_until(&c, part.first > 1 ? part.first - 2 : 0, &at), e;
    for (; at + 1 < last && first_after(&c, at, &next, &e); at = next, before = e) {
        double calls = (double)(next - at), time_ns = (double)(e.end_ns - before.end_ns) / calls;
        double own_ns = fmax(time_ns - (double)(e.mpi_ns - before.mpi_ns) / calls, 0);
        put_cells(&part, at + 2, next + 1, time_ns, own_ns);
    }
    struct ana_iter_period room[ANA_ITER_LONGEST];
    const struct ana_iter_period *longest = ana_iter_longest(c.mark, room);
    for (size_t i = 0; i < ANA_ITER_LONGEST; i++) { /* longest ones are always known */
        const struct ana_iter_period *p = &longest[i];
        if (p->ns > 0 && p->number + 1 >= part.first && p->number + 1 <= last)
            put_cells(&part, p->number + 1, p->number + 1, (double)p->ns, NAN);
    }
}

/* ---- times ------------------------------------------------------------------------------------------------------ */

/* Returns the end of call `number`, about. */
static int64_t end_of(const struct calls *c, uint64_t number)
{
    uint64_t at, next;
    struct ana_iter_entry e = last_until(c, number, &at), after;
    if (at >= number)
        return e.end_ns;
    if (!first_after(c, at, &next, &after))
        return c->mark->last_ns;
    double part = (double)(number - at) / (double)(next - at);
    return e.end_ns + (int64_t)(part * (double)(after.end_ns - e.end_ns));
}

bool ana_iteration_span(const struct ana_job *job, const struct ana_iterations *of, size_t level, uint64_t first,
                        uint64_t last, int64_t *begin_ns, int64_t *end_ns)
{
    struct calls c;
    *begin_ns = INT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t r = 0; first && first <= last && r < of->ranks; r++) {
        if (!find_calls(job, of, level, r, &c) || c.mark->count < first)
            continue;
        int64_t begin = first > 1 ? end_of(&c, first - 2) : c.begin_ns, end = end_of(&c, last - 1);
        *begin_ns = begin < *begin_ns ? begin : *begin_ns;
        *end_ns = end > *end_ns ? end : *end_ns;
    }
    return *begin_ns < *end_ns;
}

uint64_t ana_iteration_at(const struct ana_job *job, const struct ana_iterations *of, size_t level, size_t index,
                          int64_t at_ns)
{
    struct calls c;
    if (!find_calls(job, of, level, index, &c))
        return 0;
    uint64_t low = 0, high = c.mark->count - 1; /* the first call that ends after that time */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (end_of(&c, middle) > at_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low + 1;
}
