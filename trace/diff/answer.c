/* Compares two measures of a whole run, both per iteration and mean of the ranks:
 *
 *   the iteration   its elapsed time, or its time less the time in a queue for a processor
 *   outside calls   elapsed time of undisturbed iterations; where none is undisturbed, processor time
 *
 * On a quiet machine the iteration decides.  On a loaded one ranks wait inside calls for others that have no
 * processor: there the iteration decides only beyond the difference of the loads, and time outside calls else.
 * Without counts of processor time only five times the time is a difference. */
#include "trace/diff/diff_impl.h"

#include <math.h>

#define QUIET       0.05 /* share of time queued: more is a loaded machine */
#define UNDISTURBED 1.25 /* times its processor time and sleep: a longer iteration was disturbed */
#define LOADS       2    /* times the ratio of the loads, logarithmic: a larger change is not theirs .. */
#define TWICE       2.0  /* .. if it is this factor more: calls that poll use more or less processor time by chance */
#define ASLEEP      0.05 /* share of the time asleep, below which it is an error of the kernel's counts */
#define COUNTS      0.02 /* share of the elapsed time: error of the counts otherwise */
#define COVERED     0.5  /* share of the iterations in which processor time was counted; less is not enough */
#define UNCOUNTED   4.0  /* share of the time: a smaller difference may be due to loads that are not known */
#define OF_ALL      0.01 /* share of the time without queueing: a smaller change of the time outside calls is none */
#define AT_LEAST    0.25 /* share of the change of processor time that is certainly outside calls */
#define TRIES       3    /* differences tested; one suffices */
#define HIDDEN      1.0  /* detectable: where not even twice the time would have been found, nothing is known */

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static const struct ana_portion *whole_portion(const struct ana_portions *mean, enum ana_portion_kind kind)
{
    return ana_map_find(&mean->portion, 0, 0, kind);
}

/* Returns the share of `ns` in the counted time of a run; 0: nothing was counted. */
static double share_of(const struct ana_portions *mean, double ns)
{
    return mean->rank->covered_ns > 0 ? fmin(fmax(ns / mean->rank->covered_ns, 0), 1) : 0;
}

static double queued_share(const struct ana_portions *mean)
{
    return share_of(mean, mean->rank->queued_ns);
}

static double asleep_share(const struct ana_portions *mean)
{
    const struct ana_portion_rank *rank = mean->rank;
    return share_of(mean, rank->covered_ns - rank->cpu_ns - rank->queued_ns);
}

/* Returns the mean elapsed time of an iteration, in ns. */
static double iteration_ns(struct ana_judge *j, const struct ana_portions *mean)
{
    const struct ana_portion *iteration = whole_portion(mean, ANA_PORTION_ITERATION);
    const struct ana_sample s = ana_portion_sample(mean, iteration, 1, ANA_CENTRE_MEAN, j->room);
    double ns = 0;
    for (size_t i = 0; i < s.n; i++)
        ns += (double)j->room[i] / (double)s.n;
    return ns;
}

/* Fills value[] with processor time of a kind, and the mean time asleep: together at most the elapsed time. */
static struct ana_sample less_queued(struct ana_judge *j, const struct ana_portions *mean, enum ana_portion_kind cpu,
                                     enum ana_portion_kind elapsed, float *value)
{
    const double asleep_ns = j->sleeps ? asleep_share(mean) * iteration_ns(j, mean) : 0;
    const struct ana_sample s = ana_portion_sample(mean, whole_portion(mean, elapsed), 1, ANA_CENTRE_MEAN, j->room);
    ana_portion_sample(mean, whole_portion(mean, cpu), 1, ANA_CENTRE_MEAN, value);
    for (size_t i = 0; i < s.n; i++)
        value[i] = fminf(value[i] + (float)asleep_ns, j->room[i]);
    return (struct ana_sample){value, s.n};
}

/* Returns the mean over the iterations of processor time outside calls, at most or at least, and sleep; in ns. */
static double outside_ns(struct ana_judge *j, const struct ana_portions *mean, enum ana_portion_kind cpu)
{
    const struct ana_sample s = less_queued(j, mean, cpu, ANA_PORTION_OUTSIDE, j->value[0]);
    return ana_centre(s, ANA_CENTRE_MEAN, j->room);
}

static bool is_undisturbed(struct ana_judge *j, const struct ana_portions *mean)
{
    const struct ana_portion *outside = whole_portion(mean, ANA_PORTION_OUTSIDE);
    const struct ana_sample s = ana_portion_sample(mean, outside, 1, ANA_CENTRE_LOW, j->value[0]);
    const double low = ana_centre(s, ANA_CENTRE_LOW, j->room);
    return queued_share(mean) <= QUIET || low <= UNDISTURBED * outside_ns(j, mean, ANA_PORTION_CPU_MOST);
}

/* Returns whether the kernel's counts cover half of the iterations: runs of a second or more. */
static bool is_counted(struct ana_judge *j, const struct ana_portions *mean)
{
    const double all_ns = iteration_ns(j, mean) * (double)mean->rank->iterations;
    return mean->rank->covered_ns > COVERED * all_ns;
}

void ana_answer_machine(struct ana_judge *j, const struct ana_portions mean[2])
{
    j->sleeps = asleep_share(&mean[0]) > ASLEEP || asleep_share(&mean[1]) > ASLEEP;
    j->counted = is_counted(j, &mean[0]) && is_counted(j, &mean[1]);
    j->quiet = j->counted && queued_share(&mean[0]) <= QUIET && queued_share(&mean[1]) <= QUIET;
    j->undisturbed = j->quiet || (j->counted && is_undisturbed(j, &mean[0]) && is_undisturbed(j, &mean[1]));
}

/* ---- measures ---------------------------------------------------------------------------------------------------- */

struct measure {
    struct ana_chance chance;
    double detectable; /* share of the time before */
};

/* Compares two samples; `least_ns`: a smaller difference is none. */
static struct measure compare(struct ana_judge *j, const struct ana_sample s[2], enum ana_centre centre,
                              double least_ns)
{
    const double before = ana_centre(s[0], centre, j->room), after = ana_centre(s[1], centre, j->room);
    const double share = j->counted ? ANA_DIFF_OF_TIME : UNCOUNTED;
    const double margin = fmax(fmax(ANA_DIFF_CLOCK_NS, least_ns), share * fmin(before, after));
    struct measure m = {.chance = ana_chance_of(s[0], s[1], margin, centre, j->room)};
    m.detectable = ana_detectable(s[0], s[1], margin, (1 - ANA_DIFF_SURE) / TRIES, centre, j->room) / before;
    m.chance.p = fmin(TRIES * m.chance.p, 1);
    return m;
}

static struct measure compare_elapsed(struct ana_judge *j, const struct ana_portions mean[2],
                                      enum ana_portion_kind kind, enum ana_centre centre, double least_ns)
{
    struct ana_sample s[2];
    for (int side = 0; side < 2; side++)
        s[side] = ana_portion_sample(&mean[side], whole_portion(&mean[side], kind), 1, centre, j->value[side]);
    return compare(j, s, centre, least_ns);
}

static struct measure compare_less_queued(struct ana_judge *j, const struct ana_portions mean[2],
                                          enum ana_portion_kind cpu, enum ana_portion_kind elapsed, double least_ns)
{
    struct ana_sample s[2];
    if (j->sleeps)
        least_ns = fmax(least_ns, COUNTS * fmax(iteration_ns(j, &mean[0]), iteration_ns(j, &mean[1])));
    for (int side = 0; side < 2; side++)
        s[side] = less_queued(j, &mean[side], cpu, elapsed, j->value[side]);
    return compare(j, s, ANA_CENTRE_MEAN, least_ns);
}

/* Returns the surer of two measures; of two that found nothing, the one that would have found less. */
static struct measure better(struct measure a, struct measure b)
{
    const double not_sure = 1 - ANA_DIFF_SURE;
    if (a.chance.p > not_sure && b.chance.p > not_sure)
        return a.detectable <= b.detectable ? a : b;
    return a.chance.p <= b.chance.p ? a : b;
}

/* Returns whether a change of the iteration is larger than the loads of both runs explain. */
static bool exceeds_loads(const struct ana_portions mean[2], const struct ana_chance *c)
{
    const double load = log((1 - queued_share(&mean[0])) / (1 - queued_share(&mean[1])));
    return fabs(log(c->after / c->before)) > LOADS * fabs(load) + log(TWICE);
}

static struct measure measure_iteration(struct ana_judge *j, const struct ana_portions mean[2])
{
    if (!j->counted)
        return compare_elapsed(j, mean, ANA_PORTION_ITERATION, ANA_CENTRE_LOW, 0);
    if (j->quiet)
        return better(compare_elapsed(j, mean, ANA_PORTION_ITERATION, ANA_CENTRE_MEAN, 0),
                      compare_elapsed(j, mean, ANA_PORTION_ITERATION, ANA_CENTRE_LOW, 0));
    struct measure m = compare_less_queued(j, mean, ANA_PORTION_CPU, ANA_PORTION_ITERATION, 0);
    if (!exceeds_loads(mean, &m.chance))
        m.chance.p = 1;
    return m;
}

/* Processor time inside calls that poll cannot be separated from that outside: a change counts as far as it is certain
 * to be outside.  A change that is not has no detectable difference. */
static struct measure measure_outside(struct ana_judge *j, const struct ana_portions mean[2], double all_ns)
{
    if (j->undisturbed)
        return compare_elapsed(j, mean, ANA_PORTION_OUTSIDE, ANA_CENTRE_LOW, OF_ALL * all_ns);
    struct measure m = compare_less_queued(j, mean, ANA_PORTION_CPU_MOST, ANA_PORTION_OUTSIDE, OF_ALL * all_ns);
    const double most = m.chance.after - m.chance.before;
    const double least =
        outside_ns(j, &mean[1], ANA_PORTION_CPU_LEAST) - outside_ns(j, &mean[0], ANA_PORTION_CPU_LEAST);
    if (m.chance.p <= 1 - ANA_DIFF_SURE && !(least * most > 0 && fabs(least) >= AT_LEAST * fabs(most))) {
        m.chance.p = 1;
        m.detectable = INFINITY;
    }
    return m;
}

/* Adds up the findings that nothing disturbs, where the mean of the ranks hides them. */
static struct measure measure_findings(const struct ana_diff *diff, struct measure outside)
{
    double more_ns = 0, confidence = 1;
    for (size_t i = 0; i < diff->findings; i++) {
        const struct ana_diff_finding *f = &diff->finding[i];
        if (f->kind != ANA_PORTION_SEGMENT || f->side != ANA_DIFF_IN_BOTH || isnan(f->confidence))
            continue;
        const size_t all = diff->run[1].ranks, ranks = f->ranks ? f->ranks : all;
        more_ns += (f->after_ns - f->before_ns) * (double)ranks / (double)all;
        confidence = fmin(confidence, f->confidence);
    }
    if (fabs(more_ns) > ANA_DIFF_OF_TIME * outside.chance.before) {
        outside.chance.after = outside.chance.before + more_ns;
        outside.chance.p = 1 - confidence;
    }
    return outside;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

void ana_answer_find(struct ana_judge *j, const struct ana_portions mean[2], struct ana_diff *out)
{
    out->answer = ANA_DIFF_NOT_KNOWN;
    out->change_confidence = out->detectable = NAN;
    for (int side = 0; side < 2; side++) {
        out->run[side].queued = is_counted(j, &mean[side]) ? queued_share(&mean[side]) : NAN;
        out->measured_ns[side] = j->looped ? out->run[side].iteration_ns : (double)out->run[side].elapsed_ns;
    }
    out->change = out->measured_ns[1] / out->measured_ns[0] - 1;
    if (!j->looped)
        return;
    const bool has_outside =
        whole_portion(&mean[0], ANA_PORTION_OUTSIDE) && whole_portion(&mean[1], ANA_PORTION_OUTSIDE);
    struct measure m = measure_iteration(j, mean);
    if (!j->quiet && j->counted && has_outside && m.chance.p > 1 - ANA_DIFF_SURE) {
        out->measure = ANA_DIFF_OUTSIDE;
        m = measure_outside(j, mean, fmin(m.chance.before, m.chance.after));
        if (m.chance.p > 1 - ANA_DIFF_SURE && out->scaling == ANA_SCALING_NONE)
            m = measure_findings(out, m);
    }
    out->measured_ns[0] = m.chance.before;
    out->measured_ns[1] = m.chance.after;
    out->change = m.chance.after / m.chance.before - 1;
    out->detectable = m.detectable;
    if (m.chance.p <= 1 - ANA_DIFF_SURE) {
        out->answer = out->change > 0 ? ANA_DIFF_SLOWER : ANA_DIFF_FASTER;
        out->change_confidence = fmin(1 - m.chance.p, ANA_DIFF_SUREST);
    } else if (m.detectable <= HIDDEN) {
        out->answer = ANA_DIFF_NOT_SLOWER;
    }
}
