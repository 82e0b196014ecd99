/* A live-lock: a rank makes call after call that complete nothing, and others wait for it. */
#include "trace/verdict/verdict_impl.h"

#define WINDOW_TIMES 3 /* loops on a window may be work: they are slow, not hung, for so many times hang_ns */

static bool needs(const struct ana_case *c, const struct ana_waiting *p, size_t index)
{
    for (uint32_t k = 0; k < p->dependencies; k++)
        if (ana_dependency_partner(c, &c->dependency[p->first_dependency + k]) == index)
            return true;
    const struct ana_group *g =
        p->kind == ANA_WAITING_COLLECTIVE && p->group != ANA_NO_GROUP ? ana_group_at(c, p->group) : NULL;
    for (size_t i = 0; g && i < g->missing_count; i++)
        if (g->missing[i] == index)
            return true;
    return false;
}

/* Finds who waits for a rank, and for how long the last of them has; returns how many. */
static size_t find_waiters(const struct ana_case *c, size_t index, size_t *first, int64_t *lasted_ns)
{
    size_t n = 0;
    for (size_t i = 0; i < c->waiting_count; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        if (!p->blocked || p->spins || p->index == index || !needs(c, p, index))
            continue;
        if (n++ == 0)
            *first = p->index;
        *lasted_ns = p->lasted_ns < *lasted_ns ? p->lasted_ns : *lasted_ns;
    }
    return n;
}

bool ana_find_live_lock(struct ana_case *c)
{
    for (size_t i = 0; i < c->waiting_count; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        int64_t lasted_ns = p->lasted_ns;
        size_t first = SIZE_MAX,
               waiters = p->spins && ana_rank_moves(c, p->index) ? find_waiters(c, p->index, &first, &lasted_ns) : 0;
        if (!waiters || !ana_case_settle(c, ANA_CLASS_LIVE_LOCK, ANA_LIKELY, lasted_ns))
            continue;
        if (trc_opclass_is_one_sided(p->call->opclass)) {
            c->out->confidence = ANA_POSSIBLE;
            if (lasted_ns / WINDOW_TIMES < c->rules.hang_ns)
                c->out->state = ANA_VERDICT_SLOW;
        }
        ana_case_blame(c, p->index);
        c->out->summary = (struct ana_fact){ANA_SAY_LIVE_LOCK,
                                            .who = ANA_CULPRITS,
                                            .count = (int64_t)p->vain,
                                            .time = p->lasted_ns,
                                            .call = {.name = p->call->name},
                                            .others = ana_one_rank(first),
                                            .more = (int64_t)waiters - 1,
                                            .of = (int64_t)waiters};
        return true;
    }
    return false;
}
