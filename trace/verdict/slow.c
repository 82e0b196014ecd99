/* Slow, not hung: the others wait for one rank, or for some that do the same, again and again (trouble.h has the
 * thresholds and why). */
#include "trace/util/rows.h"
#include "trace/verdict/verdict_impl.h"

static const enum ana_sentence sentence_of[] = {
    [ANA_REASON_NONE] = ANA_SENTENCE_NOTHING,           [ANA_REASON_QUEUED] = ANA_SENTENCE_REASON_QUEUED,
    [ANA_REASON_READS] = ANA_SENTENCE_REASON_READS,     [ANA_REASON_WRITES] = ANA_SENTENCE_REASON_WRITES,
    [ANA_REASON_BLOCKED] = ANA_SENTENCE_REASON_BLOCKED, [ANA_REASON_FAULTS] = ANA_SENTENCE_REASON_FAULTS,
    [ANA_REASON_MEMORY] = ANA_SENTENCE_REASON_MEMORY,   [ANA_REASON_CLOCK] = ANA_SENTENCE_REASON_CLOCK,
    [ANA_REASON_WORK] = ANA_SENTENCE_REASON_MORE_WORK,  [ANA_REASON_TIME] = ANA_SENTENCE_REASON_MORE_TIME,
};
TRC_ASSERT_ROWS(sentence_of, ANA_REASON_TIME);

/* A reason as a fact; an empty one for none. */
static struct ana_fact reason_fact(const struct ana_reason *reason)
{
    struct ana_fact fact = {.id = sentence_of[reason->kind], .factor = reason->factor, .share = reason->share};
    if (reason->kind == ANA_REASON_FAULTS)
        fact.count = (int64_t)reason->amount;
    else
        fact.size = reason->amount;
    return fact;
}

void ana_reason_words(const struct ana_reason *reason, char *out, size_t size)
{
    struct ana_fact fact = reason_fact(reason);
    ana_render(NULL, NULL, &fact, out, size);
}

bool ana_find_straggler(struct ana_case *c)
{
    if (!c->straggler || !c->straggler->found)
        return false;
    ANA_SUMMARY(c, ANA_SENTENCE_TEXT, .name = c->straggler->summary);
    ana_case_set(c, ANA_VERDICT_SLOW, ANA_CLASS_STRAGGLER, ANA_LIKELY);
    for (size_t i = 0; i < c->straggler->late.ranks && i < ANA_LATE_RANKS; i++)
        ana_case_blame(c, c->straggler->late.rank[i]);
    if (c->straggler->saving[0])
        ANA_FACT(c, ANA_SENTENCE_TEXT, .name = c->straggler->saving);
    if (c->straggler->late.reason.kind)
        ana_case_fact(c, reason_fact(&c->straggler->late.reason));
    if (c->straggler->late.reason.kind == ANA_REASON_BLOCKED)
        ANA_NEXT(c, ANA_SENTENCE_NEXT_BLOCKED);
    return true;
}
