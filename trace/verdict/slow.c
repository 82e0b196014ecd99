/* Slow, not hung: one rank that all others wait for, again and again. */
#include "trace/verdict/verdict_impl.h"

#define STRAGGLER_SHARE 0.1 /* of all ranks' time that is lost to one rank */
#define STRAGGLER_TIMES 10  /* that the others have waited for it: once is an accident */

bool ana_find_straggler(struct ana_case *c)
{
    struct ana_late late;
    if (!c->summary || c->count < 2 ||
        !ana_late_rank(c->job, c->summary, &late, c->out->summary, sizeof c->out->summary) ||
        late.share < STRAGGLER_SHARE || late.times < STRAGGLER_TIMES * (c->count - 1))
        return false;
    c->out->state = ANA_SLOW;
    c->out->id = ANA_CLASS_STRAGGLER;
    c->out->confidence = ANA_LIKELY;
    ana_case_blame(c, late.index);
    return true;
}
