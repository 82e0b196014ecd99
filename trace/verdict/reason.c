/* Words for what the kernel counted: why a segment takes longer. */
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

struct ana_fact ana_reason_fact(const struct ana_reason *reason)
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
    struct ana_fact fact = ana_reason_fact(reason);
    ana_render(NULL, NULL, &fact, out, size);
}
