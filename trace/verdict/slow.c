/* Slow, not hung: all others wait for one rank, again and again (trouble.h has the thresholds and why). */
#include "trace/verdict/verdict_impl.h"

bool ana_find_straggler(struct ana_case *c)
{
    if (!c->straggler || !c->straggler->found)
        return false;
    c->out->summary = (struct ana_fact){ANA_SAY_TEXT, .name = c->straggler->summary};
    c->out->state = ANA_VERDICT_SLOW;
    c->out->id = ANA_CLASS_STRAGGLER;
    c->out->confidence = ANA_LIKELY;
    ana_case_blame(c, c->straggler->index);
    return true;
}
