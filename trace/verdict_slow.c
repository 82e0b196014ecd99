/* Slow, not hung: one rank that all others wait for, again and again. */
#include "trace/verdict_impl.h"

#define STRAGGLER_SHARE 0.1 /* of all ranks' time that is lost to one rank */

bool ana_find_straggler(struct ana_case *c)
{
    size_t index;
    double share;
    if (!c->summary || !ana_late_rank(c->job, c->summary, &index, &share, c->out->summary, sizeof c->out->summary) ||
        share < STRAGGLER_SHARE)
        return false;
    c->out->state = ANA_SLOW;
    c->out->id = ANA_CLASS_STRAGGLER;
    c->out->confidence = ANA_LIKELY;
    ana_case_blame(c, index);
    return true;
}
