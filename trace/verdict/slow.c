/* Slow, not hung: the others wait for one rank, or for some that do the same, again and again (trouble.h has the
 * thresholds and why). */
#include "trace/verdict/verdict_impl.h"

bool ana_find_straggler(struct ana_case *c)
{
    if (!c->straggler || !c->straggler->found)
        return false;
    ANA_SUMMARY(c, ANA_SENTENCE_TEXT, .name = c->straggler->summary);
    c->out->state = ANA_VERDICT_SLOW;
    c->out->id = ANA_CLASS_STRAGGLER;
    c->out->confidence = ANA_LIKELY;
    for (size_t i = 0; i < c->straggler->late.ranks && i < ANA_LATE_RANKS; i++)
        ana_case_blame(c, c->straggler->late.rank[i]);
    if (c->straggler->saving[0])
        ANA_FACT(c, ANA_SENTENCE_TEXT, .name = c->straggler->saving);
    if (c->straggler->late.reason.kind)
        ana_case_fact(c, ana_reason_fact(&c->straggler->late.reason));
    return true;
}
