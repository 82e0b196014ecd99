#include "trace/diff/diff_impl.h"
#include "trace/util/grow.h"
#include "trace/util/sort.h"

#include <math.h>

#define ALIKE      0.5  /* share of the change of a finding: ranks that change by less do not belong to it */
#define NOT_CHANCE 0.05 /* probability of chance: ranks above it do not belong to it either */
#define EXPLAINS   0.5  /* share of a change of calls: where changes elsewhere add up to it, the calls follow */

bool ana_judge_init(struct ana_judge *j)
{
    *j = (struct ana_judge){.iteration_ns = NAN};
    j->room = malloc(ANA_PORTION_BLOCKS * sizeof *j->room);
    for (int side = 0; side < 2; side++)
        j->value[side] = malloc(ANA_PORTION_BLOCKS * sizeof *j->value[side]);
    return j->room && j->value[0] && j->value[1];
}

void ana_judge_free(struct ana_judge *j)
{
    free(j->room);
    free(j->value[0]);
    free(j->value[1]);
    free(j->result);
}

/* ---- comparing -------------------------------------------------------------------------------------------------- */

struct ana_sample ana_portion_sample(const struct ana_portions *run, const struct ana_portion *p, double factor,
                                     enum ana_centre centre, float *value)
{
    size_t n = p ? (size_t)(run->rank[p->index].iterations / run->width) : 0;
    n = n < ANA_PORTION_BLOCKS ? n : ANA_PORTION_BLOCKS;
    for (size_t i = 0; i < n; i++) {
        const struct ana_portion_time t = i < p->blocks ? p->ns[i] : (struct ana_portion_time){0, 0};
        value[i] = (float)(factor * (double)(centre == ANA_CENTRE_LOW ? t.first : t.sum / (float)run->width));
    }
    return (struct ana_sample){value, n};
}

/* Returns the difference that equal runs may have. */
static double margin_of(const struct ana_judge *j, enum ana_portion_kind kind, double before, double after)
{
    double own = kind == ANA_PORTION_CALL ? ANA_DIFF_OF_CALL : ANA_DIFF_OF_TIME;
    return fmax(fmax(ANA_DIFF_MATTERS * j->iteration_ns, ANA_DIFF_CLOCK_NS), own * fmin(before, after));
}

/* Compares totals where there are no iterations: what differs by much is a finding without confidence. */
static struct ana_chance compare_totals(const struct ana_judge *j, const struct ana_portion_pair *pair,
                                        const double factor[2])
{
    struct ana_chance c = {.p = NAN};
    c.before = pair->of[0] ? pair->of[0]->total_ns * factor[0] : 0;
    c.after = pair->of[1] ? pair->of[1]->total_ns * factor[1] : 0;
    if (!(fabs(c.after - c.before) >= ANA_DIFF_UNSURE * j->iteration_ns))
        c.p = 1;
    return c;
}

static bool judge_pair(struct ana_judge *j, const struct ana_portions *const run[2], const double factor[2],
                       const struct ana_portion_pair *pair, bool mean)
{
    const struct ana_portion *name = ana_pair_name(pair);
    struct ana_diff_result r = {.name = name, .index = mean ? ANA_ALL_RANKS : name->index};
    r.side = !pair->of[1] ? ANA_DIFF_ONLY_BEFORE : !pair->of[0] ? ANA_DIFF_ONLY_AFTER : ANA_DIFF_IN_BOTH;
    if (name->kind > ANA_PORTION_CALL)
        return true;
    for (int c = 0; c < ANA_CENTRES && j->looped; c++) {
        struct ana_sample s[2];
        double at[2];
        for (int side = 0; side < 2; side++) {
            s[side] = ana_portion_sample(run[side], pair->of[side], factor[side], (enum ana_centre)c, j->value[side]);
            at[side] = ana_centre(s[side], (enum ana_centre)c, j->room);
            if (pair->of[side] && s[side].n < ANA_CHANCE_LEAST)
                return true;
        }
        if (c == ANA_CENTRE_MEAN && fmax(at[0], at[1]) < ANA_DIFF_MATTERS * j->iteration_ns)
            return true;
        double margin = margin_of(j, name->kind, at[0], at[1]);
        r.by[c] = ana_chance_of(s[0], s[1], margin, (enum ana_centre)c, j->room);
    }
    for (int c = 0; c < ANA_CENTRES && !j->looped; c++)
        r.by[c] = compare_totals(j, pair, factor);
    if (!ana_grow(&j->result, j->results, &j->result_room, sizeof *j->result))
        return false;
    j->result[j->results++] = r;
    return true;
}

bool ana_judge_pairs(struct ana_judge *j, const struct ana_portions *const run[2], const double factor[2], bool mean)
{
    struct ana_map pairs;
    bool ok = ana_portions_pair(run[0], run[1], &pairs);
    for (size_t i = 0; ok && i < pairs.count; i++)
        ok = judge_pair(j, run, factor, ana_map_value(&pairs, i), mean);
    ana_map_free(&pairs);
    return ok;
}

/* Chooses the centre of a result: rather one that the machine does not disturb, then the surer one. */
static void choose(const struct ana_judge *j, struct ana_diff_result *r)
{
    const bool both = r->side == ANA_DIFF_IN_BOTH && j->looped;
    const bool quiet = !both || j->quiet, segment = r->name->kind == ANA_PORTION_SEGMENT;
    const bool trusted[ANA_CENTRES] = {
        [ANA_CENTRE_MEAN] = quiet, [ANA_CENTRE_LOW] = quiet || (segment && j->undisturbed)};
    double p[ANA_CENTRES]; /* probabilities for the whole list, two tries a difference */
    for (int c = 0; c < ANA_CENTRES; c++)
        p[c] = fmin(ANA_CENTRES * r->by[c].p * (double)j->results, 1);
    int c = p[ANA_CENTRE_LOW] <= p[ANA_CENTRE_MEAN];
    if (trusted[!c] > trusted[c] && p[!c] <= 1 - ANA_DIFF_SURE)
        c = !c;
    r->chance = r->by[c];
    r->chance.p = isnan(r->chance.p) ? NAN : p[c];
    r->machine = !trusted[c];
}

/* ---- findings --------------------------------------------------------------------------------------------------- */

static double change_of(const struct ana_diff_result *r)
{
    return r->chance.after - r->chance.before;
}

/* Returns the change of a centre, in ns. */
static double change_in(const struct ana_diff_result *r, enum ana_centre centre)
{
    return r->by[centre].after - r->by[centre].before;
}

/* Order: place, direction, rank. */
static int by_name(const void *a, const void *b)
{
    const struct ana_diff_result *x = a, *y = b;
    uint64_t of_x[] = {x->name->kind, x->name->region, x->name->from, x->name->to, change_of(x) > 0, x->index};
    uint64_t of_y[] = {y->name->kind, y->name->region, y->name->from, y->name->to, change_of(y) > 0, y->index};
    for (size_t i = 0; i < sizeof of_x / sizeof *of_x; i++)
        if (of_x[i] != of_y[i])
            return of_x[i] < of_y[i] ? -1 : 1;
    return 0;
}

static bool is_alike(const struct ana_diff_result *x, const struct ana_diff_result *y)
{
    return x->name->kind == y->name->kind && x->name->region == y->name->region && x->name->from == y->name->from &&
           x->name->to == y->name->to && (change_of(x) > 0) == (change_of(y) > 0);
}

/* Whether a result is sure enough for the list; one without iterations, whether it is large enough. */
static bool is_sure(const struct ana_diff_result *r)
{
    return isnan(r->chance.p) || r->chance.p <= 1 - ANA_DIFF_SURE;
}

/* The surest of some results; NULL: none is sure. */
static const struct ana_diff_result *surest(const struct ana_diff_result *r, size_t n)
{
    const struct ana_diff_result *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (is_sure(&r[i]) && (!best || r[i].machine < best->machine ||
                               (r[i].machine == best->machine && r[i].chance.p < best->chance.p)))
            best = &r[i];
    return best;
}

/* Makes one finding of results that are alike, unless none is sure; the mean of all ranks comes last.  `rank` has room
 * for a rank each. */
static bool make_finding(const struct ana_diff_result *r, size_t n, const struct ana_rank_id *const ids[2],
                         struct ana_rank_id *rank, struct ana_diff_finding *out)
{
    bool has_mean = r[n - 1].index == ANA_ALL_RANKS;
    size_t single = n - has_mean;
    const struct ana_diff_result *best = surest(r, single), *of_all = has_mean ? &r[n - 1] : NULL;
    if (!best && !(of_all && is_sure(of_all)))
        return false;
    const struct ana_diff_result *first = best ? best : of_all;
    *out = (struct ana_diff_finding){.kind = first->name->kind, .side = first->side, .rank = rank};
    out->low = first->chance.centre == ANA_CENTRE_LOW;
    out->machine = first->machine;
    out->confidence = first->machine ? NAN : 1 - first->chance.p;
    if (out->confidence > ANA_DIFF_SUREST)
        out->confidence = ANA_DIFF_SUREST;
    for (size_t i = 0; i < single; i++) {
        bool belongs = isnan(r[i].chance.p) || r[i].by[first->chance.centre].p < NOT_CHANCE || !best;
        if (!belongs || fabs(change_in(&r[i], first->chance.centre)) < ALIKE * fabs(change_of(first)))
            continue;
        out->rank[out->ranks++] = ids[r[i].side == ANA_DIFF_ONLY_AFTER][r[i].index];
        out->before_ns += r[i].by[first->chance.centre].before;
        out->after_ns += r[i].by[first->chance.centre].after;
    }
    out->before_ns = best ? out->before_ns / (double)out->ranks : of_all->chance.before;
    out->after_ns = best ? out->after_ns / (double)out->ranks : of_all->chance.after;
    return true;
}

static bool shares_rank(const struct ana_diff_finding *x, const struct ana_diff_finding *y)
{
    for (size_t i = 0; i < x->ranks; i++)
        for (size_t k = 0; k < y->ranks; k++)
            if (x->rank[i].world == y->rank[k].world && x->rank[i].rank == y->rank[k].rank)
                return true;
    return false;
}

static double by_how_much(const struct ana_diff_finding *f)
{
    return f->after_ns - f->before_ns;
}

/* Calls wait longer where segments of other ranks take longer, and less where segments of their own rank do. */
static void find_followers(struct ana_diff *diff)
{
    for (size_t i = 0; i < diff->findings; i++) {
        struct ana_diff_finding *f = &diff->finding[i];
        double more = by_how_much(f), explained = 0;
        for (size_t k = 0; k < diff->findings && f->kind == ANA_PORTION_CALL && f->side == ANA_DIFF_IN_BOTH; k++) {
            const struct ana_diff_finding *of = &diff->finding[k];
            if (of->kind != ANA_PORTION_SEGMENT || (of->machine && !f->machine))
                continue;
            bool same_way = (by_how_much(of) > 0) == (more > 0), same_rank = shares_rank(f, of);
            if (same_way ? !same_rank || f->ranks != of->ranks : same_rank)
                explained += fabs(by_how_much(of));
        }
        f->follows = explained >= EXPLAINS * fabs(more);
    }
}

bool ana_judge_findings(struct ana_judge *j, const struct ana_rank_id *const ids[2], const size_t ranks[2],
                        struct ana_diff *out, uint32_t **place)
{
    size_t used = 0;
    out->finding = calloc(j->results + 1, sizeof *out->finding);
    out->rank_block = calloc(j->results + ranks[0] + ranks[1] + 1, sizeof *out->rank_block);
    *place = calloc(3 * j->results + 1, sizeof **place);
    if (!out->finding || !out->rank_block || !*place)
        return false;
    for (size_t i = 0; i < j->results; i++)
        choose(j, &j->result[i]);
    ana_sort(j->result, j->results, sizeof *j->result, by_name);
    for (size_t i = 0, next; i < j->results; i = next) {
        struct ana_diff_finding *f = &out->finding[out->findings];
        for (next = i + 1; next < j->results && is_alike(&j->result[i], &j->result[next]);)
            next++;
        if (!make_finding(&j->result[i], next - i, ids, out->rank_block + used, f))
            continue;
        const struct ana_portion *name = j->result[i].name;
        uint32_t *of = *place + 3 * out->findings++;
        of[0] = name->from;
        of[1] = name->to;
        of[2] = name->region;
        used += f->ranks;
    }
    out->compared = j->results;
    find_followers(out);
    return true;
}
