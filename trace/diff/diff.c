#include "trace/diff/diff.h"
#include "trace/diff/diff_impl.h"
#include "trace/job/window.h"
#include "trace/util/sort.h"

#include <math.h>

/* The comparison of two jobs. */
struct work {
    struct ana_job *const *job;
    const struct ana_selection *selection;
    struct ana_portion_place *place[2];
    size_t places[2];
    uint32_t *of_b;
    struct ana_portions portions[2], mean[2];
    struct ana_rank_id *id[2];
    struct ana_judge judge;
    struct ana_diff *out;
};

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Returns the second run's number of a place of the first; 0: none. */
static uint32_t in_b(const struct work *w, uint32_t place)
{
    for (size_t i = 0; i < w->places[1]; i++)
        if (w->of_b[i] == place)
            return (uint32_t)i + 1;
    return 0;
}

/* Finds a place that ends iterations of a level of each run.  False: they have none in common. */
static bool choose_place(const struct work *w, const struct ana_loop_level *a, const struct ana_loop_level *b,
                         uint32_t out[2])
{
    if (a->is_kind != b->is_kind)
        return false;
    for (size_t i = 0; i < ANA_LOOP_ENDS && a->place[i]; i++)
        for (size_t j = 0; j < ANA_LOOP_ENDS && b->place[j]; j++)
            if (w->of_b[b->place[j] - 1] == a->place[i]) {
                out[0] = a->place[i];
                out[1] = b->place[j];
                return true;
            }
    return false;
}

/* Finds what ends iterations: of the loop that is reported of the first run, and the one of the second that ends at the
 * same place; or else the other way round; or else of the loops that are reported. */
static void choose_ends(const struct work *w, const struct ana_iterations of[2], struct ana_portion_end end[2])
{
    size_t level[2] = {of[0].level, of[1].level};
    uint32_t place[2];
    bool found = false;
    for (int fixed = 0; fixed < 2 && !found && of[0].levels && of[1].levels; fixed++)
        for (size_t i = 0; i <= of[!fixed].levels && !found; i++) {
            level[fixed] = of[fixed].level;
            level[!fixed] = i ? i - 1 : of[!fixed].level;
            found = choose_place(w, &of[0].loop[level[0]], &of[1].loop[level[1]], place);
        }
    for (int side = 0; side < 2; side++) {
        const size_t at = found ? level[side] : of[side].level;
        const struct ana_loop_level *loop = &of[side].loop[at];
        end[side].place = found ? place[side] : of[side].levels ? loop->place[0] : 0;
        const bool marks = end[side].place && end[side].place == loop->place[0];
        end[side].mark = marks ? of[side].mark + at * of[side].ranks : NULL;
    }
}

/* Reads both runs iteration by iteration. */
static bool read_portions(struct work *w)
{
    const struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX};
    struct ana_iterations of[2] = {0};
    struct ana_portion_end end[2];
    bool ok = ana_iterations_find(w->job[0], &all, &of[0]) && ana_iterations_find(w->job[1], &all, &of[1]);
    if (ok)
        choose_ends(w, of, end);
    for (int side = 0; ok && side < 2; side++)
        ok = ana_portions_read(w->job[side], w->selection[side], end[side], &w->portions[side]);
    free(of[0].mark);
    free(of[1].mark);
    return ok;
}

static bool read_runs(struct work *w)
{
    for (int side = 0; side < 2; side++)
        if (!ana_portion_places(w->job[side], &w->place[side], &w->places[side]))
            return false;
    w->of_b = calloc(w->places[1] + 1, sizeof *w->of_b);
    if (!w->of_b || !ana_align(w->place[0], w->places[0], w->place[1], w->places[1], w->of_b))
        return false;
    if (!read_portions(w))
        return false;
    for (int side = 0; side < 2; side++) {
        w->id[side] = calloc(w->portions[side].ranks + 1, sizeof *w->id[side]);
        for (size_t i = 0; w->id[side] && i < w->portions[side].ranks; i++)
            w->id[side][i] = ana_rank_id(ana_job_rank(w->job[side], i));
    }
    return w->id[0] && w->id[1] &&
           ana_portions_join(&w->portions[0], &w->portions[1], w->of_b, w->places[0], w->places[1]) &&
           ana_portions_mean(&w->portions[0], &w->mean[0]) && ana_portions_mean(&w->portions[1], &w->mean[1]);
}

/* ---- the runs --------------------------------------------------------------------------------------------------- */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Returns the time of all segments or of all iterations of the mean rank: per iteration, without them of the run. */
static double time_in(const struct ana_portions *mean, enum ana_portion_kind kind)
{
    uint64_t blocks = mean->rank->iterations / mean->width;
    double ns = 0;
    for (size_t i = 0; i < mean->portion.count; i++) {
        const struct ana_portion *p = ana_map_value(&mean->portion, i);
        for (size_t b = 0; p->kind == kind && b < blocks && b < p->blocks; b++)
            ns += (double)p->ns[b].sum / (double)(blocks * mean->width);
        if (p->kind == kind && !blocks)
            ns += p->total_ns;
    }
    return ns;
}

static void describe_run(struct work *w, int side)
{
    const struct ana_portions *p = &w->portions[side];
    const struct ana_selection *selection = &w->selection[side];
    struct ana_diff_run *run = &w->out->run[side];
    struct ana_job_info info = ana_job_info(w->job[side]);
    int64_t begin_ns = later(selection->begin_ns, 0);
    int64_t end_ns = selection->end_ns < info.elapsed_ns ? selection->end_ns : info.elapsed_ns;
    *run = (struct ana_diff_run){.name = info.name, .ranks = p->ranks, .elapsed_ns = later(end_ns - begin_ns, 0)};
    ana_selection_words(w->job[side], selection, run->part, sizeof run->part);
    run->iterations = w->mean[side].rank->iterations;
    run->iteration_ns = run->iterations ? time_in(&w->mean[side], ANA_PORTION_ITERATION) : NAN;
    run->computation_ns = time_in(&w->mean[side], ANA_PORTION_SEGMENT) * (double)run->ranks;
    for (size_t i = 0; i < p->ranks; i++) {
        const struct ana_portion_rank *r = &p->rank[i];
        double outside_ns = (double)(r->end_ns - r->begin_ns) - (double)(r->last_ns - r->first_ns);
        run->outside_ns = fmax(run->outside_ns, outside_ns);
    }
}

/* Returns the time of an iteration, or of the run if there are too few. */
static double time_of(const struct work *w, int side)
{
    const struct ana_diff_run *run = &w->out->run[side];
    return w->judge.looped ? run->iteration_ns : (double)run->elapsed_ns;
}

static void find_scaling(struct work *w)
{
    struct ana_diff *out = w->out;
    const struct ana_diff_run *a = &out->run[0], *b = &out->run[1];
    out->computation_scaling = out->speedup = out->efficiency = NAN;
    if (a->ranks == b->ranks || !a->ranks || !b->ranks || a->computation_ns <= 0 || b->computation_ns <= 0)
        return;
    double more_ranks = (double)b->ranks / (double)a->ranks, more_work = b->computation_ns / a->computation_ns;
    bool strong = fabs(log(more_work)) < fabs(log(more_work / more_ranks));
    out->scaling = strong ? ANA_SCALING_STRONG : ANA_SCALING_WEAK;
    out->computation_scaling = (strong ? 1 : more_ranks) / more_work;
    out->speedup = time_of(w, 0) / time_of(w, 1);
    out->efficiency = strong ? out->speedup / more_ranks : out->speedup;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void name_finding(const struct work *w, struct ana_diff_finding *f, const uint32_t place[3])
{
    struct ana_segment_end *to[2] = {&f->from, &f->to};
    for (int i = 0; i < 2; i++) {
        uint32_t b = place[i] > w->places[0] ? place[i] - (uint32_t)w->places[0] : in_b(w, place[i]);
        *to[i] = b ? w->place[1][b - 1].at : w->place[0][place[i] - 1].at;
    }
    if (place[2])
        snprintf(f->region, sizeof f->region, "%s", w->portions[0].region[place[2] - 1].text);
}

ANA_COMPARE(by_weight, struct ana_diff_finding, ANA_ORDER(x->follows, y->follows),
            ANA_ORDER(y->after_ns - y->before_ns, x->after_ns - x->before_ns))

/* Compares rank by rank, where both runs have the same, and the mean of all. */
static bool judge_runs(struct work *w)
{
    const struct ana_portions *each[2] = {&w->portions[0], &w->portions[1]}, *mean[2] = {&w->mean[0], &w->mean[1]};
    double one[2] = {1, 1}, factor[2] = {1, 1};
    bool same_size = w->out->run[0].ranks == w->out->run[1].ranks;
    for (int side = 0; side < 2 && w->out->scaling == ANA_SCALING_STRONG; side++)
        factor[side] = (double)w->out->run[side].ranks;
    w->judge.iteration_ns = time_of(w, 0) * factor[0];
    return (!same_size || ana_judge_pairs(&w->judge, each, one, false)) &&
           ana_judge_pairs(&w->judge, mean, factor, true);
}

bool ana_diff_jobs(struct ana_job *const job[2], const struct ana_selection selection[2], struct ana_diff *out)
{
    struct work w = {.job = job, .selection = selection, .out = out};
    uint32_t *place = NULL;
    *out = (struct ana_diff){0};
    bool ok = ana_judge_init(&w.judge) && read_runs(&w);
    if (ok) {
        describe_run(&w, 0);
        describe_run(&w, 1);
        out->looped = out->run[0].iterations >= ANA_CHANCE_LEAST && out->run[1].iterations >= ANA_CHANCE_LEAST;
        w.judge.looped = out->looped;
        ana_answer_machine(&w.judge, w.mean);
        find_scaling(&w);
        ok = judge_runs(&w);
    }
    const size_t ranks[2] = {w.portions[0].ranks, w.portions[1].ranks};
    const struct ana_rank_id *const ids[2] = {w.id[0], w.id[1]};
    ok = ok && ana_judge_findings(&w.judge, ids, ranks, out, &place);
    for (size_t i = 0; ok && i < out->findings; i++)
        name_finding(&w, &out->finding[i], place + 3 * i);
    if (ok) {
        ana_answer_find(&w.judge, w.mean, out);
        ana_sort(out->finding, out->findings, sizeof *out->finding, by_weight);
    }
    const struct ana_diff_names names = {
        .place = {w.place[0], w.place[1]}, .places = {w.places[0], w.places[1]}, .of_b = w.of_b};
    ok = ok && ana_diff_accounts_find(job, selection, &names, &out->accounts);
    free(place);
    free(w.of_b);
    ana_judge_free(&w.judge);
    for (int side = 0; side < 2; side++) {
        ana_portions_free(&w.portions[side]);
        ana_portions_free(&w.mean[side]);
        free(w.place[side]);
        free(w.id[side]);
    }
    return ok;
}

void ana_diff_free(struct ana_diff *diff)
{
    free(diff->finding);
    free(diff->rank_block);
    free(diff->accounts.place);
    *diff = (struct ana_diff){0};
}
