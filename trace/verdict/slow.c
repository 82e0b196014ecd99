/* Slow, not hung: one rank that all others wait for, again and again (trouble.h has the thresholds and why). */
#include "trace/verdict/verdict_impl.h"
#include "trace/util/trouble.h"

static double seen_ns(const struct ana_summary *s)
{
    double longest = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        longest = (double)s->ranks[i].seen_ns > longest ? (double)s->ranks[i].seen_ns : longest;
    return longest;
}

static bool is_trouble(const struct ana_late *late, const struct ana_summary *s, size_t ranks)
{
    bool costs =
        late->share >= SLOW_SHARE && seen_ns(s) >= SLOW_RUN_NS && late->lost_ns >= SLOW_LOST_NS * (double)ranks;
    bool repeats = late->times >= SLOW_TIMES * (double)(ranks - 1) && late->lost_ns >= SLOW_EACH_NS * late->waits;
    bool noise = late->times < SLOW_ALIKE * late->waits && late->lost_ns < SLOW_SLICE_NS * late->times;
    return costs && repeats && !noise && late->lost_ns >= SLOW_AHEAD * late->next_ns;
}

bool ana_find_straggler(struct ana_case *c)
{
    struct ana_late late;
    if (!c->summary || c->count < 2 ||
        !ana_late_rank(c->job, c->summary, &late, c->out->summary, sizeof c->out->summary) ||
        !is_trouble(&late, c->summary, c->count))
        return false;
    c->out->state = ANA_VERDICT_SLOW;
    c->out->id = ANA_CLASS_STRAGGLER;
    c->out->confidence = ANA_LIKELY;
    ana_case_blame(c, late.index);
    return true;
}
