/* Iterations in a summary: their number, their times, and the slowest ones' differences. */
#include "trace/summary/summary_impl.h"
#include "trace/iter/loop.h"
#include "trace/util/sort.h"
#include "trace/util/trouble.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_RANKS 64u  /* ranks whose periods give the median */
#define SAMPLE_TIMES 512u /* periods of one rank */
#define PART_OF_IT   0.2  /* least share of an iteration's excess time that a segment must explain */
#define LONG_LEAST   3    /* iterations of a kind: fewer are accidents */
#define LONG_APART   64u  /* iterations: they are not periodic if they are farther apart */
#define PERIODIC     0.8  /* share of their distances that must be equal */
#define LEFT_MOST    10   /* times the usual iterations of a loop: more between them, and it is phases of a program */
#define USUAL_PART   0.01 /* share of a loop's time that its usual iterations have; under load time slices have most */
#define FEW_TIMES    20   /* iterations: fewer have USUAL_PART of the run, if they are the program's loop */
#define SETUP_PART   0.5  /* share of the run that iterations between queries have, if they are the program's loop */
#define UNEVEN       0.8  /* share of the most iterations of a rank that each must have */
#define LONG_OFTEN   0.2  /* share of a loop's iterations: more are a part of a step that a step has several times */

_Static_assert(ANA_LOOP_ROWS >= ANA_LOOP_LEVELS, "all levels have a row");

/* Context of a look at all loops. */
struct look {
    const struct ana_job *job;
    const struct ana_why *why;
    const struct ana_iter *iter;
    uint32_t *place; /* place -> first of the same name, + 1 */
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

/* The longer of two kinds of iterations, if there are two: at least `limit_ns` long. */
struct long_kind {
    double limit_ns, median_ns, share; /* share of all; 0: there is one kind */
};

/* Finds it in sorted periods of a loop of `count` iterations. */
static struct long_kind find_long_kind(const double *period, size_t n, uint64_t count)
{
    double whole = 0, above = 0;
    size_t i = n, first = n;
    for (size_t k = 0; k < n; k++)
        whole += period[k];
    if (!(whole > 0))
        return (struct long_kind){0};
    while (i > 0 && above < whole / 2)
        above += period[--i];
    while (first > 0 && period[first - 1] >= period[i] / 2)
        first--;
    const double share = (double)(n - first) / (double)n, limit_ns = period[i] / 2;
    if (limit_ns < SPIKE_TIMES * period[n / 2] || share * (double)count < LONG_LEAST)
        return (struct long_kind){0};
    return (struct long_kind){limit_ns, period[first + (n - first) / 2], share};
}

/* Whether most iterations of the longer kind come equally many iterations after each other on a rank: chance, or a
 * crowded machine, does not do that. */
static bool is_periodic(const struct ana_iter_mark *mark, double limit_ns)
{
    uint32_t gaps[LONG_APART] = {0}, all = 0, most = 0, last = 0;
    for (uint32_t i = 1; i < mark->entries; i++) {
        const int64_t ns = ana_iter_entry_at(mark, i).end_ns - ana_iter_entry_at(mark, i - 1).end_ns;
        if ((double)ns < limit_ns)
            continue;
        if (last && i - last < LONG_APART && ++gaps[i - last] > most)
            most++;
        all += last != 0;
        last = i;
    }
    return all > 1 && (double)most >= PERIODIC * (double)all;
}

/* Notes the longer kind of a loop's iterations, if each kept one is known by itself and the kind is periodic. */
static void set_long_kind(const struct look *l, struct ana_loop_level *loop, const struct ana_iteration_mark *at,
                          const struct long_kind *kind)
{
    for (size_t r = 0; kind->share > 0 && r < ana_job_ranks(l->job); r++) {
        const struct ana_iter_mark *mark = at[r].mark ? ana_iter_any_at(l->iter, at[r].mark) : NULL;
        if (!mark || mark->stride > 1)
            continue;
        if (is_periodic(mark, kind->limit_ns)) {
            loop->usual_ns = kind->median_ns;
            loop->long_share = kind->share;
        }
        return;
    }
}

/* The medians of the times of a loop's iterations, whole and outside calls, in ns; NAN: unknown. */
static void add_medians(const struct look *l, struct ana_loop_level *loop, const struct ana_iteration_mark *at)
{
    size_t n = 0, step = ana_job_ranks(l->job) / SAMPLE_RANKS + 1;
    double *period = malloc(2 * SAMPLE_RANKS * SAMPLE_TIMES * sizeof *period);
    double *own = period ? period + SAMPLE_RANKS * SAMPLE_TIMES : NULL;
    for (size_t r = 0; period && r < ana_job_ranks(l->job); r += step) {
        const struct ana_iter_mark *mark = at[r].mark ? ana_iter_any_at(l->iter, at[r].mark) : NULL;
        uint32_t entries = mark ? mark->entries : 0, skip = entries / SAMPLE_TIMES + 1;
        for (uint32_t i = 1; i < entries; i += skip) {
            struct ana_iter_entry e = ana_iter_entry_at(mark, i), before = ana_iter_entry_at(mark, i - 1);
            period[n] = (double)(e.end_ns - before.end_ns) / mark->stride;
            own[n] = fmax(period[n] - (double)(e.mpi_ns - before.mpi_ns) / mark->stride, 0);
            n++;
        }
    }
    loop->median_ns = loop->own_ns = loop->usual_ns = NAN;
    if (n) {
        ana_sort(period, n, sizeof *period, ana_compare_numbers);
        ana_sort(own, n, sizeof *own, ana_compare_numbers);
        loop->median_ns = loop->usual_ns = period[n / 2];
        loop->own_ns = own[n / 2];
        const struct long_kind kind = find_long_kind(period, n, loop->count);
        set_long_kind(l, loop, at, &kind);
    }
    free(period);
}

/* Returns the time a rank came into a loop: the begin of its first call there. */
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

/* Adds an iteration to a map by number: the rank counts on which it took longest. */
static bool add_slow(struct ana_map *slow, uint64_t number, int64_t begin_ns, int64_t end_ns)
{
    struct ana_slow_iteration *of = ana_map_add(slow, number, 0, 0);
    if (of && end_ns - begin_ns > of->end_ns - of->begin_ns)
        *of = (struct ana_slow_iteration){.number = number, .begin_ns = begin_ns, .end_ns = end_ns, .index = SIZE_MAX};
    return of;
}

/* Whether a rank has left a loop between two of its iterations: all calls of a place, of another phase of the program,
 * are there. */
static bool has_left(const struct look *l, size_t index, struct ana_span time)
{
    const struct ana_iter_mark *mark;
    for (uint32_t at = l->iter->rank[index].marks; at; at = mark->before) {
        mark = ana_iter_mark_at(l->iter, at);
        if (mark->count >= ANA_LOOP_TIMES && mark->first_ns >= time.begin_ns && mark->last_ns <= time.end_ns)
            return true;
    }
    return false;
}

/* The slowest iterations of a loop. */
struct slow_list {
    const struct ana_selection *view;
    struct ana_map slow; /* struct ana_slow_iteration by number */
    int64_t left_ns;     /* time in which a rank has left the loop, of the rank with most */
    double within_ns;    /* time from first to last iteration without that, of the rank with most */
    double run_ns;       /* time between MPI_Init and MPI_Finalize, of the rank with most */
};

/* Adds a period of a rank: an iteration in view, or time outside the loop, to *left_ns.  False: out of memory. */
static bool add_period(const struct look *l, struct slow_list *list, size_t index, uint64_t number,
                       struct ana_span time, int64_t *left_ns)
{
    if (has_left(l, index, time))
        *left_ns = ana_plus(*left_ns, time.end_ns - time.begin_ns);
    else if (time.begin_ns < list->view->end_ns && time.end_ns > list->view->begin_ns)
        return add_slow(&list->slow, number, time.begin_ns, time.end_ns);
    return true;
}

/* Returns the time of a rank from the end of the place that ends first, MPI_Init, to the begin of the last one,
 * MPI_Finalize. */
static double run_of(const struct look *l, size_t index)
{
    int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
    const struct ana_iter_mark *mark;
    for (uint32_t at = l->iter->rank[index].marks; at; at = mark->before) {
        mark = ana_iter_mark_at(l->iter, at);
        if (!mark->count)
            continue;
        begin_ns = mark->last_ns < begin_ns ? mark->last_ns : begin_ns;
        end_ns = mark->first_ns > end_ns ? mark->first_ns : end_ns;
    }
    return (double)end_ns - (double)begin_ns;
}

static bool list_slow(const struct look *l, const struct ana_iteration_mark *at, struct slow_list *list)
{
    bool ok = true;
    for (size_t r = 0; ok && r < ana_job_ranks(l->job); r++) {
        const struct ana_iter_mark *mark = at[r].mark ? ana_iter_any_at(l->iter, at[r].mark) : NULL;
        struct ana_iter_period room[ANA_ITER_LONGEST];
        const struct ana_iter_period *longest = mark ? ana_iter_longest(mark, room) : NULL;
        int64_t left_ns = 0;
        for (size_t i = 0; ok && longest && i < ANA_ITER_LONGEST; i++) {
            const struct ana_iter_period *p = &longest[i];
            const struct ana_span time = {p->end_ns - p->ns, p->end_ns};
            ok = p->ns <= 0 || add_period(l, list, r, p->number + 1, time, &left_ns);
        }
        if (ok && mark && mark->entries)
            ok = add_period(l, list, r, 1, (struct ana_span){at[r].begin_ns, ana_iter_entry_at(mark, 0).end_ns},
                            &left_ns);
        list->left_ns = left_ns > list->left_ns ? left_ns : list->left_ns;
        if (mark)
            list->within_ns = fmax(list->within_ns, (double)mark->last_ns - (double)at[r].begin_ns - (double)left_ns);
        list->run_ns = fmax(list->run_ns, run_of(l, r));
    }
    return ok;
}

ANA_COMPARE(by_length, struct ana_slow_iteration, ANA_ORDER(y->end_ns - y->begin_ns, x->end_ns - x->begin_ns),
            ANA_ORDER(x->number, y->number))

/* Sets the time of each slow iteration to the longest of all ranks; the list has the longest of each rank alone. */
static void measure_slow(const struct look *l, const struct ana_iteration_mark *at, struct ana_loop_level *loop)
{
    for (size_t r = 0; r < ana_job_ranks(l->job); r++) {
        const struct ana_iter_mark *mark = at[r].mark ? ana_iter_any_at(l->iter, at[r].mark) : NULL;
        for (size_t k = 0; mark && mark->stride == 1 && k < loop->slow_count; k++) {
            struct ana_slow_iteration *slow = &loop->slow[k];
            const size_t i = slow->number - 1;
            if (i >= mark->entries)
                continue;
            const struct ana_span time = {i ? ana_iter_entry_at(mark, i - 1).end_ns : at[r].begin_ns,
                                          ana_iter_entry_at(mark, i).end_ns};
            if (time.end_ns - time.begin_ns <= slow->end_ns - slow->begin_ns || has_left(l, r, time))
                continue;
            slow->begin_ns = time.begin_ns;
            slow->end_ns = time.end_ns;
        }
    }
    ana_sort(loop->slow, loop->slow_count, sizeof *loop->slow, by_length);
}

/* Finds the segment that exceeded its usual time most in each slow iteration of a loop. */
static void explain(const struct look *l, struct ana_loop_level *loop)
{
    uint32_t segment[ANA_SLOWEST] = {0};
    int64_t end_ns[ANA_SLOWEST];
    for (size_t r = 0; r < ana_job_ranks(l->job); r++)
        for (size_t i = 0; i < l->iter->rank[r].spikes; i++) {
            const struct ana_iter_spike *spike = &l->iter->rank[r].spike[i];
            int64_t middle_ns = spike->begin_ns + spike->ns / 2;
            for (size_t k = 0; k < loop->slow_count; k++) {
                struct ana_slow_iteration *slow = &loop->slow[k];
                if (spike->excess_ns <= slow->excess_ns || middle_ns < slow->begin_ns || middle_ns > slow->end_ns)
                    continue;
                slow->index = r;
                slow->excess_ns = spike->excess_ns;
                slow->segment_ns = spike->ns;
                segment[k] = spike->segment;
                end_ns[k] = spike->begin_ns + spike->ns;
            }
        }
    for (size_t k = 0; k < loop->slow_count; k++) {
        struct ana_slow_iteration *slow = &loop->slow[k];
        const double ns = (double)(slow->end_ns - slow->begin_ns), base_ns = ana_iteration_base(loop, ns);
        const double least_ns = fmax((SLOW_ITERATION - 1) * base_ns, SLOW_EACH_NS);
        if (!segment[k] || ns - base_ns < least_ns || (double)slow->excess_ns < PART_OF_IT * (ns - base_ns)) {
            slow->index = SIZE_MAX;
            slow->segment_ns = slow->excess_ns = 0;
            continue;
        }
        const struct ana_segment *of = ana_segment_at(l->why, segment[k]);
        slow->reason = ana_reason_once(l->why, slow->index, end_ns[k], segment[k]);
        snprintf(slow->region, sizeof slow->region, "%s",
                 ana_regions_name(&ana_job_analysis(l->job)->pass.regions, of->region));
        ana_segment_end_of(l->job, l->why, of->from, &slow->from);
        ana_segment_end_of(l->job, l->why, of->to, &slow->to);
    }
}

/* Returns the longest time that a rank waited for a processor in the whole run, in ns; 0: not counted. */
static double longest_queued_ns(const struct look *l)
{
    double longest_ns = 0;
    for (size_t r = 0; r < ana_job_ranks(l->job); r++) {
        const struct ana_account_usage *usage = &l->why->rank[r].account;
        longest_ns = fmax(longest_ns, usage->queued_outside_ns + usage->queued_in_ns);
    }
    return longest_ns;
}

/* Marks iterations that one time slice explains, or an error of the clocks: ranks have waited for a processor for as
 * long. */
static void mark_chance(const struct look *l, struct ana_loop_level *loop)
{
    const double queued_ns = longest_queued_ns(l);
    for (size_t k = 0; k < loop->slow_count; k++) {
        struct ana_slow_iteration *slow = &loop->slow[k];
        const double too_long_ns = (double)(slow->end_ns - slow->begin_ns) - loop->usual_ns;
        slow->is_chance = too_long_ns < SLOW_EACH_NS || (too_long_ns < SLOW_SLICE_NS && too_long_ns <= queued_ns);
    }
}

/* Fills the slowest iterations; *is_main: other phases between take at most LEFT_MOST times all usual ones, and these
 * have at least USUAL_PART of the loop, and if they are few, of the run, without waits for a processor: else the time
 * lies between a few calls of many, or elsewhere. */
static bool add_slowest(const struct look *l, const struct ana_selection *view, const struct ana_iteration_mark *at,
                        struct ana_loop_level *loop, bool *is_main)
{
    struct slow_list list = {.view = view};
    ana_map_init(&list.slow, sizeof(struct ana_slow_iteration));
    struct ana_map *slow = &list.slow;
    bool ok = list_slow(l, at, &list);
    if (ok && slow->count)
        ana_sort(slow->values, slow->count, slow->value_size, by_length); /* found by their keys no longer */
    for (size_t i = 0; ok && i < slow->count && i < ANA_SLOWEST; i++)
        loop->slow[loop->slow_count++] = *(struct ana_slow_iteration *)ana_map_value(slow, i);
    measure_slow(l, at, loop);
    explain(l, loop);
    mark_chance(l, loop);
    ana_map_free(slow);
    const double usual_ns = (double)loop->count * loop->usual_ns, queued_ns = longest_queued_ns(l);
    *is_main = !((double)list.left_ns > LEFT_MOST * usual_ns) &&
               !(usual_ns < USUAL_PART * (list.within_ns - queued_ns)) &&
               !(loop->count < FEW_TIMES && usual_ns < USUAL_PART * (list.run_ns - queued_ns));
    return ok;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

/* Lists the places that end iterations of a loop. */
static void list_ends(const struct ana_loops *loops, const struct ana_loop *loop, struct ana_loop_level *level)
{
    size_t n = 0;
    level->is_kind = loop->turn;
    level->place[n++] = loops->node[loop->end].place;
    for (size_t i = 0; !loop->turn && i < loops->nodes && n < ANA_LOOP_ENDS; i++)
        if (i != loop->end && ana_loop_has(&loop->head, i))
            level->place[n++] = loops->node[i].place;
}

/* Notes where the iterations of a loop are kept. */
static void find_marks(const struct look *l, struct ana_iter *iter, const struct ana_loop *loop,
                       struct ana_iteration_mark *out)
{
    for (size_t r = 0; r < ana_job_ranks(l->job); r++) {
        out[r].mark = ana_loop_mark(iter, l->place, &l->loops, loop, r);
        if (!out[r].mark)
            continue;
        out[r].begin_ns = entry_of(l, r, loop);
        if (ana_job_members(l->job)->process[r].alive)
            ana_iter_watch(iter, ana_iter_any_at(iter, out[r].mark));
    }
}

static bool is_query(const struct look *l, uint32_t place)
{
    const struct ana_why_place *of = ana_map_value(&l->why->places, place - 1);
    return ana_job_members(l->job)->call[of->call].opclass == TRC_OP_COMM;
}

/* Returns whether all calls that end iterations of a level query a communicator, as MPI_Comm_rank, and its iterations
 * have no other calls, or less than SETUP_PART of the run without a collective in each: libraries do so during their
 * set-up. */
static bool is_setup(const struct look *l, const struct ana_loop *loop, const struct ana_loop_level *level)
{
    bool alone = true, meets = false;
    for (size_t i = 0; i < ANA_LOOP_ENDS && level->place[i]; i++)
        if (!is_query(l, level->place[i]))
            return false;
    for (size_t i = 0; i < l->loops.nodes; i++) {
        const struct ana_loop_node *node = &l->loops.node[i];
        const bool is_in = ana_loop_has(&loop->in, i);
        alone &= !is_in || is_query(l, node->place);
        meets |= is_in && node->members > 1 && node->count >= loop->count;
    }
    const double run_ns = (double)ana_job_info(l->job).elapsed_ns;
    return alone || (!meets && (double)level->count * level->usual_ns < SETUP_PART * run_ns);
}

/* Whether all ranks come to the end of a level's iterations, but some far more often than others: the n-th iteration of
 * one is not the n-th of another, as where each level of a grid has another number of neighbours. */
static bool is_uneven(const struct look *l, const struct ana_iteration_mark *at)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t r = 0; r < ana_job_ranks(l->job); r++) {
        const uint64_t count = at[r].mark ? ana_iter_any_at(l->iter, at[r].mark)->count : 0;
        least = count < least ? count : least;
        most = count > most ? count : most;
    }
    return least && (double)least < UNEVEN * (double)most;
}

/* Whether the records of all ranks are complete: they have equally long histories. */
static bool are_whole(const struct ana_job *job)
{
    const struct ana_members *members = ana_job_members(job);
    const struct ana_job_info info = ana_job_info(job);
    bool whole = !info.lost_records && !info.recycled_records;
    for (size_t i = 0; whole && i < members->count; i++)
        whole = !trc_truncated(members->process[i].rank.file);
    return whole;
}

/* Returns the level that the iterations are of: the one found.  Where that has two kinds of iterations, as an exchange
 * has that a step makes several times, it is the outermost level around it that has one kind. */
static size_t choose_level(const struct ana_iterations *of, size_t found)
{
    if (found >= of->levels || of->loop[found].long_share < LONG_OFTEN)
        return found;
    for (size_t i = 0; i < found; i++)
        if (of->loop[i].count >= LONG_LEAST && of->loop[i].long_share == 0)
            return i;
    return found;
}

/* Chooses another level where the one found, which stood before number `inner`, is no loop of the program: the next one
 * inward, else outward, that is no detour.  False: there is none. */
static bool choose_other(struct ana_iterations *of, size_t inner)
{
    for (size_t i = inner; i < of->levels; i++)
        if (!of->loop[i].is_detour) {
            of->level = i;
            return true;
        }
    for (size_t i = inner; i-- > 0;)
        if (!of->loop[i].is_detour) {
            of->level = i;
            return true;
        }
    return false;
}

bool ana_iterations_find(struct ana_job *job, const struct ana_selection *view, struct ana_iterations *out)
{
    struct ana_analysis *analysis = ana_job_analysis(job);
    const struct ana_members *members = ana_job_members(job);
    struct look l = {.job = job, .why = &analysis->pass.why, .iter = &analysis->iter};
    if (!analysis->iter.rank)
        return true;
    l.place = calloc(l.why->places.count + 1, sizeof *l.place);
    bool ok =
        l.place && ana_places_join(job, l.why, false, l.place) && ana_loops_find(l.iter, l.why, l.place, &l.loops);
    const bool whole = are_whole(job);
    bool found_is_loop = false;
    size_t found = 0;
    out->ranks = members->count;
    out->mark = ok ? calloc(l.loops.levels * members->count + 1, sizeof *out->mark) : NULL;
    ok = ok && out->mark;
    for (size_t i = 0; ok && i < l.loops.levels; i++) {
        struct ana_iteration_mark *at = &out->mark[out->levels * members->count];
        struct ana_loop_level *level = &out->loop[out->levels];
        bool is_main;
        found = i == l.loops.iteration ? out->levels : found;
        level->count = l.loops.level[i].count;
        level->is_detour = l.loops.level[i].is_detour;
        list_ends(&l.loops, &l.loops.level[i], level);
        find_marks(&l, &analysis->iter, &l.loops.level[i], at);
        add_medians(&l, level, at);
        ana_segment_end_of(job, l.why, level->place[0], &level->end);
        ok = add_slowest(&l, view, at, level, &is_main);
        is_main = is_main && ana_loop_is_repeated(l.iter, &l.loops, &l.loops.level[i]) &&
                  !is_setup(&l, &l.loops.level[i], level) && !(whole && is_uneven(&l, at));
        found_is_loop |= is_main && i == l.loops.iteration;
        out->levels += is_main;
        if (!is_main) {
            *level = (struct ana_loop_level){0};
            memset(at, 0, members->count * sizeof *at);
        }
    }
    if (found_is_loop) {
        out->level = choose_level(out, found);
    } else if (!choose_other(out, found)) {
        out->levels = 0;
        memset(out->loop, 0, sizeof out->loop);
    }
    ana_loops_free(&l.loops);
    free(l.place);
    return ok;
}
