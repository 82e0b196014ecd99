/* Findings as text, for page and screen. */
#include "trace/diff/diff.h"
#include "trace/util/numfmt.h"
#include "trace/util/rows.h"

#include <stdlib.h>

#define MANY_TIMES 10   /* larger changes are written as a factor */
#define LOADED     0.05 /* share of time queued that a sentence mentions */
#define LEAST_PART 10   /* a part below 1 / LEAST_PART of a change is not named */

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

/* Writes "99 %", "99.9 %" or "99.99 %": as many nines as there are. */
static void put_confidence(double confidence, char *out, size_t size)
{
    const int digits = confidence >= ANA_DIFF_SUREST ? 2 : confidence >= 0.999 ? 1 : 0;
    const double scale = pow(10, digits);
    snprintf(out, size, "%.*f %%", digits, floor(100 * confidence * scale + 1e-6) / scale);
}

/* Writes "10.2 % slower", "14 times slower", "20 % faster". */
static void put_size(const struct ana_diff *d, char *out, size_t size)
{
    if (1 + d->change >= MANY_TIMES)
        snprintf(out, size, "%.0f times slower", 1 + d->change);
    else
        snprintf(out, size, "%.1f %% %s", 100 * fabs(d->change), d->change > 0 ? "slower" : "faster");
}

static void put_unknown(const struct ana_diff *d, char *out, size_t size)
{
    const uint64_t a = d->run[0].iterations, b = d->run[1].iterations, least = a < b ? a : b;
    if (d->looped && isinf(d->detectable))
        snprintf(out, size, "not known: the ranks wait for processors; record on a less loaded machine");
    else if (d->looped && (isnan(d->run[0].queued) || isnan(d->run[1].queued)))
        snprintf(out, size, "not known: processor time was not counted; record at least a second");
    else if (d->looped && d->detectable >= MANY_TIMES)
        snprintf(out, size, "not known: only %.0f times the time would be found; record more iterations",
                 1 + d->detectable);
    else if (d->looped)
        snprintf(out, size, "not known: only a difference above %.0f %% would be found; record more iterations",
                 100 * d->detectable);
    else if (!least)
        snprintf(out, size, "not known: there are no iterations; record at least %u", ANA_CHANCE_LEAST);
    else
        snprintf(out, size, "not known: %llu iteration%s too few; record at least %u", (unsigned long long)least,
                 least == 1 ? " is" : "s are", ANA_CHANCE_LEAST);
}

void ana_diff_answer(const struct ana_diff *d, char *out, size_t size)
{
    char before[ANA_TEXT], after[ANA_TEXT], sure[ANA_TEXT], by[ANA_TEXT];
    const bool outside = d->measure == ANA_DIFF_OUTSIDE,
               loaded = d->run[0].queued > LOADED || d->run[1].queued > LOADED;
    switch (d->answer) {
    case ANA_DIFF_NOT_SLOWER:
        snprintf(out, size, "not slower: a difference above %.*f %% %swould have been found", d->detectable < 0.1,
                 100 * d->detectable, outside ? "outside calls " : "");
        return;
    case ANA_DIFF_SLOWER:
    case ANA_DIFF_FASTER:
        put_size(d, by, sizeof by);
        put_confidence(d->change_confidence, sure, sizeof sure);
        ana_spoken(before, sizeof before, d->measured_ns[0]);
        ana_spoken(after, sizeof after, d->measured_ns[1]);
        snprintf(out, size, "%s (%s confidence): %s %s, before %s", by, sure,
                 outside  ? "outside calls"
                 : loaded ? "without queueing"
                          : "an iteration takes",
                 after, before);
        return;
    default:
        put_unknown(d, out, size);
    }
}

const char *const ana_diff_answer_keys[] = {[ANA_DIFF_SLOWER] = "slower",
                                            [ANA_DIFF_NOT_SLOWER] = "not_slower",
                                            [ANA_DIFF_FASTER] = "faster",
                                            [ANA_DIFF_NOT_KNOWN] = "not_known"};
TRC_ASSERT_ROWS(ana_diff_answer_keys, ANA_DIFF_NOT_KNOWN);

/* ---- accounts --------------------------------------------------------------------------------------------------- */

/* Returns the account with the largest change: of an increase where the second run is slower, of a decrease where it is
 * faster; ANA_ACCOUNTS: nothing changed. */
static enum ana_account_id largest_change(const struct ana_diff *d)
{
    int64_t most = 0;
    size_t largest = ANA_ACCOUNTS;
    for (size_t id = 0; id < ANA_ACCOUNTS; id++) {
        int64_t more = d->accounts.run[1].ns[id] - d->accounts.run[0].ns[id];
        int64_t counts = d->answer == ANA_DIFF_SLOWER ? more : d->answer == ANA_DIFF_FASTER ? -more : llabs(more);
        if (counts > most) {
            most = counts;
            largest = id;
        }
    }
    return (enum ana_account_id)largest;
}

static void put_part(const char *where, int64_t part_ns, int64_t of_ns, char *out, size_t size)
{
    char part[ANA_TEXT];
    if ((part_ns > 0) != (of_ns > 0) || llabs(part_ns) < llabs(of_ns) / LEAST_PART)
        return; /* another direction, or hardly any of it */
    ana_spoken(part, sizeof part, (double)(llabs(part_ns) < llabs(of_ns) ? llabs(part_ns) : llabs(of_ns)));
    snprintf(out, size, ", of it %s %s", part, where);
}

static void put_segment(const struct ana_diff_segment *s, char *out, size_t size)
{
    struct ana_segment_stat segment = {.inside = s->inside, .from = s->from, .to = s->to};
    snprintf(segment.region, sizeof segment.region, "%s", s->region);
    ana_segment_words(&segment, out, size);
}

/* Writes the largest part of an account's change: a segment, or a call site. */
static void put_cause(const struct ana_diff *d, enum ana_account_id id, int64_t more_ns, char *out, size_t size)
{
    char words[300] = "", where[400], rank[64];
    const struct ana_diff_accounts *a = &d->accounts;
    const struct ana_diff_segment *s = id == ANA_ACCOUNT_WAIT ? &a->culprit : &a->longer;
    if (id == ANA_ACCOUNT_WAIT || id == ANA_ACCOUNT_COMPUTE || id == ANA_ACCOUNT_OFF_CPU) {
        if (!s->to.call)
            return;
        struct ana_diff_finding of = {.rank = (struct ana_rank_id[]){s->rank}, .ranks = 1};
        ana_diff_ranks(&of, rank, sizeof rank);
        put_segment(s, words, sizeof words);
        if (id == ANA_ACCOUNT_WAIT)
            snprintf(where, sizeof where, "because of rank %s, %s", rank, words);
        else
            snprintf(where, sizeof where, "in %s", words);
        put_part(where, s->ns[1] - s->ns[0], more_ns, out, size);
        return;
    }
    for (size_t i = 0; i < a->places; i++)
        if (a->place[i].id == id) {
            snprintf(where, sizeof where, "in %s at %s", a->place[i].at.call, a->place[i].at.place);
            put_part(where, a->place[i].ns[1] - a->place[i].ns[0], more_ns, out, size);
            return;
        }
}

void ana_diff_account(const struct ana_diff *d, char *out, size_t size)
{
    char cause[500] = "";
    const enum ana_account_id id = d->accounts.known ? largest_change(d) : ANA_ACCOUNTS;
    *out = 0;
    if (id == ANA_ACCOUNTS)
        return;
    const int64_t more_ns = d->accounts.run[1].ns[id] - d->accounts.run[0].ns[id];
    put_cause(d, id, more_ns, cause, sizeof cause);
    snprintf(out, size, "%s %c%s%s", ana_account_key(id), more_ns > 0 ? '+' : '-', ANA_SPOKEN((double)llabs(more_ns)),
             cause);
}
