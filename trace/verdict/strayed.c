/* A message that went elsewhere than always: somebody waits for it, and its sender has sent from that place of the
 * program to nobody else before. */
#include "trace/job/job.h"
#include "trace/verdict/order.h"

enum { LOOKED = 64, HABIT = 2 }; /* last steps that are looked at; earlier messages that make a habit */

/* Whether step `at` has gone to another rank than all others from its place, which went to `waiter`. */
static bool is_stray(const struct ana_steps *s, size_t at, size_t waiter, uint64_t channel)
{
    const struct ana_step *stray = &s->step[at];
    size_t usual = 0;
    if (stray->to == UINT32_MAX || stray->to == (uint32_t)waiter || stray->channel != channel)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        if (i == at || s->step[i].place != stray->place)
            continue;
        if (s->step[i].to != (uint32_t)waiter)
            return false;
        usual++;
    }
    return usual >= HABIT;
}

/* The rank that it went to; SIZE_MAX: there is no such message. */
static size_t find_stray(const struct ana_steps *s, size_t waiter, uint64_t channel)
{
    for (size_t i = s->count, looked = 0; i-- > 0 && looked < LOOKED; looked++)
        if (is_stray(s, i, waiter, channel))
            return s->step[i].to;
    return SIZE_MAX;
}

bool ana_find_strayed(struct ana_case *c, struct ana_waiting *p, struct ana_dependency *d)
{
    size_t sender =
        !p->any && d->kind == ANA_DEPENDENCY_MESSAGE && d->met <= 0 ? ana_dependency_partner(c, d) : SIZE_MAX;
    if (sender == SIZE_MAX || ana_graph_moves(&c->graph, d->node))
        return false;
    size_t to = find_stray(ana_case_steps(c, sender, p->thread), p->index, d->identity);
    if (to == SIZE_MAX || !ana_case_settle_likely(c, ANA_CLASS_UNMATCHED, &sender, 1, p->lasted_ns))
        return false;
    ana_case_blame(c, sender);
    ANA_SUMMARY(c, ANA_SAY_STRAYED, .who = ana_one_rank(sender), .others = ana_one_rank(p->index), .message = d,
                .value = ana_case_text(c, ana_rank_label(c->job, to).text));
    return true;
}
