/* Iterations in a summary: how many there were, how long they took, and what was different in the slowest. */
#include "trace/job/job_impl.h"
#include "trace/iter/loop.h"
#include "trace/util/numfmt.h"
#include "trace/util/trouble.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_RANKS 64u  /* whose periods the median is of */
#define SAMPLE_TIMES 512u /* periods of one of them */
#define PART_OF_IT   0.2  /* of what an iteration took too long, a segment explains */

_Static_assert(ANA_LOOP_ROWS >= ANA_LOOP_LEVELS, "all levels have a row");

/* What is looked at together. */
struct look {
    const struct ana_job *job;
    const struct ana_why *why;
    const struct ana_iter *iter;
    uint32_t *place; /* of each place the one of the same name, + 1 */
    struct ana_loops loops;
};

/* A rank's mark of a place; NULL: it does not call there. */
static const struct ana_iter_mark *mark_of(const struct look *l, size_t index, uint32_t place)
{
    const struct ana_iter_mark *found = NULL;
    for (uint32_t at = l->iter->rank[index].marks; at; at = ana_iter_mark_at(l->iter, at)->before)
        if (l->place[ana_iter_mark_at(l->iter, at)->place - 1] == place)
            found = ana_iter_mark_at(l->iter, at);
    return found;
}

static int by_number(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The median time from one call at a place to the next, in ns; NAN: unknown. */
static double median_period(const struct look *l, uint32_t place)
{
    size_t n = 0, step = l->job->count / SAMPLE_RANKS + 1;
    double *period = malloc(SAMPLE_RANKS * SAMPLE_TIMES * sizeof *period), median = NAN;
    for (size_t r = 0; period && r < l->job->count; r += step) {
        const struct ana_iter_mark *mark = mark_of(l, r, place);
        uint32_t entries = mark ? mark->entries : 0, skip = entries / SAMPLE_TIMES + 1;
        for (uint32_t i = 1; i < entries; i += skip)
            period[n++] = (double)(mark->entry[i].end_ns - mark->entry[i - 1].end_ns) / mark->stride;
    }
    if (n) {
        qsort(period, n, sizeof *period, by_number);
        median = period[n / 2];
    }
    free(period);
    return median;
}

/* When a rank came into a loop: the begin of its first call there. */
static int64_t entry_of(const struct look *l, size_t index, const struct ana_loop *loop)
{
    int64_t first_ns = INT64_MAX;
    for (size_t i = 0; i < l->loops.nodes; i++) {
        const struct ana_iter_mark *mark =
            ana_loop_has(&loop->in, i) ? mark_of(l, index, l->loops.node[i].place) : NULL;
        if (mark && mark->count && mark->first_ns < first_ns)
            first_ns = mark->first_ns;
    }
    return first_ns;
}

/* ---- the slowest ------------------------------------------------------------------------------------------------ */

/* Adds an iteration to those of a map by number: of its ranks the one counts on which it took longest. */
static bool add_slow(struct ana_map *slow, uint64_t number, int64_t begin_ns, int64_t end_ns)
{
    struct ana_slow_iteration *of = ana_map_add(slow, number, 0, 0);
    if (of && end_ns - begin_ns > of->end_ns - of->begin_ns)
        *of = (struct ana_slow_iteration){.number = number, .begin_ns = begin_ns, .end_ns = end_ns, .index = SIZE_MAX};
    return of;
}

static bool list_slow(const struct look *l, const struct ana_loop *loop, struct ana_map *slow)
{
    bool ok = true;
    uint32_t place = l->loops.node[loop->end].place;
    for (size_t r = 0; ok && r < l->job->count; r++) {
        const struct ana_iter_mark *mark = mark_of(l, r, place);
        for (size_t i = 0; ok && mark && i < ANA_ITER_LONGEST; i++) {
            const struct ana_iter_period *p = &mark->longest[i];
            if (p->ns > 0)
                ok = add_slow(slow, p->number + 1, p->end_ns - p->ns, p->end_ns);
        }
        if (ok && mark && mark->entries)
            ok = add_slow(slow, 1, entry_of(l, r, loop), mark->entry[0].end_ns);
    }
    return ok;
}

static int by_length(const void *a, const void *b)
{
    const struct ana_slow_iteration *x = a, *y = b;
    int64_t of_x = x->end_ns - x->begin_ns, of_y = y->end_ns - y->begin_ns;
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Finds what took longer than usual in an iteration, most of all. */
static void explain(const struct look *l, struct ana_slow_iteration *slow, double median_ns)
{
    double too_long_ns = (double)(slow->end_ns - slow->begin_ns) - median_ns;
    const struct ana_segment *segment = NULL;
    for (size_t r = 0; r < l->job->count; r++)
        for (size_t i = 0; i < ANA_ITER_SPIKES; i++) {
            const struct ana_iter_spike *spike = &l->iter->rank[r].spike[i];
            int64_t middle_ns = spike->begin_ns + spike->ns / 2;
            if (!spike->segment || spike->excess_ns <= slow->excess_ns || middle_ns < slow->begin_ns ||
                middle_ns > slow->end_ns)
                continue;
            slow->index = r;
            slow->excess_ns = spike->excess_ns;
            slow->segment_ns = spike->ns;
            segment = ana_segment_at(l->why, spike->segment);
        }
    if (!segment || (double)slow->excess_ns < PART_OF_IT * too_long_ns) {
        slow->index = SIZE_MAX;
        slow->segment_ns = slow->excess_ns = 0;
        return;
    }
    ana_segment_end_of(l->job, l->why, segment->from, &slow->from);
    ana_segment_end_of(l->job, l->why, segment->to, &slow->to);
}

static bool add_slowest(const struct look *l, struct ana_iterations *out)
{
    struct ana_map slow;
    ana_map_init(&slow, sizeof(struct ana_slow_iteration));
    bool ok = list_slow(l, &l->loops.level[out->level], &slow);
    if (ok && slow.count)
        qsort(slow.values, slow.count, slow.value_size, by_length); /* found by their keys no longer */
    for (size_t i = 0; ok && i < slow.count && i < ANA_SLOWEST; i++) {
        out->slow[i] = *(struct ana_slow_iteration *)ana_map_value(&slow, i);
        explain(l, &out->slow[i], out->loop[out->level].median_ns);
        out->slow_count++;
    }
    ana_map_free(&slow);
    return ok;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

bool ana_summary_iterations(const struct ana_job *job, struct ana_summary *s)
{
    struct ana_iterations *out = &s->iterations;
    struct look l = {.job = job, .why = &job->pass.why, .iter = &job->iter};
    if (!ana_is_followed(job, &s->selection) || !job->iter.rank)
        return true;
    l.place = calloc(l.why->places.count + 1, sizeof *l.place);
    bool ok = l.place && ana_places_join(job, l.why, l.place) && ana_loops_find(l.iter, l.why, l.place, &l.loops);
    for (size_t i = 0; ok && i < l.loops.levels; i++) {
        const struct ana_loop_node *end = &l.loops.node[l.loops.level[i].end];
        out->loop[i] = (struct ana_loop_level){
            .count = end->count, .median_ns = median_period(&l, end->place), .is_detour = l.loops.level[i].is_detour};
        ana_segment_end_of(job, l.why, end->place, &out->loop[i].end);
        out->levels++;
    }
    out->level = l.loops.iteration;
    ok = ok && (!out->levels || add_slowest(&l, out));
    ana_loops_free(&l.loops);
    free(l.place);
    return ok;
}

void ana_iteration_words(const struct ana_job *job, const struct ana_iterations *of,
                         const struct ana_slow_iteration *slow, char *out, size_t size)
{
    char where[240], took[ANA_TEXT];
    struct ana_segment_stat segment = {.from = slow->from, .to = slow->to};
    double times = (double)(slow->end_ns - slow->begin_ns) / of->loop[of->level].median_ns;
    int n = snprintf(out, size, "iteration %" PRIu64 " took %.1f x", slow->number, times);
    if (slow->index == SIZE_MAX || n < 0 || (size_t)n >= size)
        return;
    ana_segment_words(&segment, where, sizeof where);
    snprintf(out + n, size - (size_t)n, ": rank %d, %s in %s", ana_job_rank(job, slow->index)->rank,
             ana_spoken(took, sizeof took, (double)slow->segment_ns), where);
}
