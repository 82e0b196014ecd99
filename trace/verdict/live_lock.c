/* A live-lock: a rank makes call after call that complete nothing, and others wait for it. */
#include "trace/verdict/case_impl.h"

/* Ranks that make calls in vain in a knot, or ranks that wait for those. */
struct side {
    struct ana_ranks ranks;
    const struct ana_waiting *first, *longest, *youngest;
};

static struct side find_side(struct ana_case *c, bool spins)
{
    struct side side = {0};
    size_t *index = ana_case_room(c), n = 0;
    for (const struct ana_waiting *p = c->waiting; index && p < ana_waits(c, c->count); p++) {
        bool stuck = p->blocked && !ana_rank_moves(c, p->index) && !ana_rank_knot(c, p->index);
        if (spins ? !p->spins || !ana_rank_knot(c, p->index) : !stuck)
            continue;
        side.first = side.first ? side.first : p;
        side.longest = !side.longest || p->lasted_ns > side.longest->lasted_ns ? p : side.longest;
        side.youngest = !side.youngest || p->lasted_ns < side.youngest->lasted_ns ? p : side.youngest;
        if (n == 0 || index[n - 1] != p->index)
            index[n++] = p->index;
    }
    side.ranks = ana_ranks_at(index, n);
    return side;
}

bool ana_find_live_lock(struct ana_case *c)
{
    struct side spinning = find_side(c, true), waiting = find_side(c, false);
    const struct ana_waiting *vain = spinning.longest;
    if (!vain || !waiting.first ||
        !ana_case_settle(c, ANA_CLASS_LIVE_LOCK, ANA_LIKELY,
                         vain->lasted_ns < waiting.youngest->lasted_ns ? vain->lasted_ns : waiting.youngest->lasted_ns))
        return false;
    const bool one_sided = trc_opclass_is_one_sided(vain->call->opclass);
    if (one_sided)
        c->out->confidence = ANA_POSSIBLE; /* it may work on small values */
    /* Fewer waiting than spinning ranks: only the waiting ones can store the value that the others poll. */
    const bool stuck = one_sided && waiting.ranks.n < spinning.ranks.n;
    const struct side *others = stuck ? &spinning : &waiting;
    ana_case_blame_all(c, stuck ? waiting.ranks : spinning.ranks);
    ANA_SUMMARY(c, stuck ? ANA_SENTENCE_NO_VALUE : ANA_SENTENCE_LIVE_LOCK, .who = ANA_CULPRITS,
                .count = (int64_t)vain->vain, .time = vain->lasted_ns, .call = {.name = vain->call->name},
                .others = ana_one_rank(stuck ? vain->index : waiting.first->index),
                .more = (int64_t)others->ranks.n - 1, .of = (int64_t)others->ranks.n);
    return true;
}
