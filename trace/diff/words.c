/* Findings as text, for page and screen. */
#include "trace/diff/diff.h"
#include "trace/util/numfmt.h"

#include <math.h>
#include <stdio.h>

#define MANY_TIMES 10 /* as long, and longer, is told so; less in percent */

void ana_diff_words(const struct ana_diff_finding *f, char *out, size_t size)
{
    struct ana_segment_stat segment = {.from = f->from, .to = f->to};
    snprintf(segment.region, sizeof segment.region, "%s", f->region);
    if (f->kind == ANA_PORTION_CALL)
        snprintf(out, size, "%s%s%s at %s", f->region, *f->region ? ": " : "", f->to.call, f->to.place);
    else
        ana_segment_words(&segment, out, size);
}

void ana_diff_ranks(const struct ana_diff_finding *f, char *out, size_t size)
{
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, 3, false);
    for (size_t i = 0; i < f->ranks; i++)
        ana_ranges_add(&ranges, f->rank[i]);
    ana_ranges_end(&ranges);
    if (f->ranks == 0)
        snprintf(out, size, "all");
}

void ana_diff_change(const struct ana_diff_finding *f, char *out, size_t size)
{
    double times = f->before_ns > 0 ? f->after_ns / f->before_ns : INFINITY;
    if (f->side != ANA_DIFF_IN_BOTH)
        snprintf(out, size, "%s", f->side == ANA_DIFF_ONLY_BEFORE ? "gone" : "new");
    else if (times >= MANY_TIMES)
        snprintf(out, size, isinf(times) ? "-" : "%.0f x", times);
    else
        snprintf(out, size, "%+.1f%%", 100 * (times - 1));
}

void ana_diff_sure(double confidence, char *out, size_t size)
{
    snprintf(out, size, isnan(confidence) ? "-" : "%s%.2f%%", confidence >= ANA_DIFF_SUREST ? ">" : "",
             100 * confidence);
}

void ana_diff_answer(const struct ana_diff *d, char *out, size_t size)
{
    char before[ANA_TEXT], after[ANA_TEXT], sure[ANA_TEXT];
    bool known = !isnan(d->change_confidence);
    const struct ana_diff_run *run = d->run;
    ana_spoken(before, sizeof before, known ? run[0].iteration_ns : (double)run[0].elapsed_ns);
    ana_spoken(after, sizeof after, known ? run[1].iteration_ns : (double)run[1].elapsed_ns);
    ana_diff_sure(d->change_confidence, sure, sizeof sure);
    if (!known)
        snprintf(out, size, "B took %s, A took %s (%+.1f%%); too few iterations to say how sure that is", after, before,
                 100 * d->change);
    else if (d->change_confidence < ANA_DIFF_SURE)
        snprintf(out, size, "an iteration takes as long in both, as far as they tell: B %s, A %s (%+.1f%%)", after,
                 before, 100 * d->change);
    else
        snprintf(out, size, "B is %.1f%% %s: an iteration takes %s, before %s (sure: %s)", 100 * fabs(d->change),
                 d->change > 0 ? "slower" : "faster", after, before, sure);
}
