/* A live-lock: a rank makes call after call that complete nothing, and others wait for it. */
#include "trace/verdict/verdict_impl.h"

/* Ranks that wait for the spinning ones, among ranks that cannot move. */
struct waiters {
    size_t n, first;
    int64_t lasted_ns; /* duration of the youngest wait */
};

static bool spins(const struct ana_case *c, size_t index)
{
    for (size_t i = c->first_waiting[index]; i < c->first_waiting[index + 1]; i++)
        if (c->waiting[i].spins)
            return true;
    return false;
}

/* Returns true for the first wait of a rank that can never move and is in no other knot. */
static bool is_stuck(const struct ana_case *c, size_t i)
{
    const struct ana_waiting *p = &c->waiting[i];
    bool counted = i > 0 && c->waiting[i - 1].index == p->index;
    return p->blocked && !ana_rank_moves(c, p->index) && !ana_rank_knot(c, p->index) && !counted;
}

static struct waiters find_waiters(const struct ana_case *c)
{
    struct waiters w = {.first = SIZE_MAX, .lasted_ns = INT64_MAX};
    for (size_t i = 0; i < c->waiting_count; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        if (!is_stuck(c, i))
            continue;
        if (w.n++ == 0)
            w.first = p->index;
        w.lasted_ns = p->lasted_ns < w.lasted_ns ? p->lasted_ns : w.lasted_ns;
    }
    return w;
}

/* Blames the stuck ranks: only they can store the value that the spinning ranks look for. */
static void blame_stuck(struct ana_case *c, const struct ana_waiting *longest, size_t spinners)
{
    for (size_t i = 0; i < c->waiting_count; i++)
        if (is_stuck(c, i))
            ana_case_blame(c, c->waiting[i].index);
    c->out->summary = (struct ana_fact){ANA_SAY_NO_VALUE,
                                        .who = ANA_CULPRITS,
                                        .count = (int64_t)longest->vain,
                                        .time = longest->lasted_ns,
                                        .call = {.name = longest->call->name},
                                        .others = ana_one_rank(longest->index),
                                        .more = (int64_t)spinners - 1,
                                        .of = (int64_t)spinners};
}

bool ana_find_live_lock(struct ana_case *c)
{
    struct waiters waiters = find_waiters(c);
    const struct ana_waiting *longest = NULL;
    size_t spinners = 0;
    for (size_t i = 0; i < c->waiting_count; i++) {
        const struct ana_waiting *p = &c->waiting[i];
        if (p->spins && ana_rank_knot(c, p->index) && (!longest || p->lasted_ns > longest->lasted_ns))
            longest = p;
    }
    int64_t lasted_ns = longest && longest->lasted_ns < waiters.lasted_ns ? longest->lasted_ns : waiters.lasted_ns;
    if (!longest || !waiters.n || !ana_case_settle(c, ANA_CLASS_LIVE_LOCK, ANA_LIKELY, lasted_ns))
        return false;
    const bool one_sided = trc_opclass_is_one_sided(longest->call->opclass);
    if (one_sided)
        c->out->confidence = ANA_POSSIBLE; /* it may work on small values */
    for (size_t i = 0; i < c->count; i++)
        spinners += ana_rank_knot(c, i) && spins(c, i);
    if (one_sided && waiters.n < spinners) {
        blame_stuck(c, longest, spinners);
        return true;
    }
    for (size_t i = 0; i < c->count; i++)
        if (ana_rank_knot(c, i) && spins(c, i))
            ana_case_blame(c, i);
    c->out->summary = (struct ana_fact){ANA_SAY_LIVE_LOCK,
                                        .who = ANA_CULPRITS,
                                        .count = (int64_t)longest->vain,
                                        .time = longest->lasted_ns,
                                        .call = {.name = longest->call->name},
                                        .others = ana_one_rank(waiters.first),
                                        .more = (int64_t)waiters.n - 1,
                                        .of = (int64_t)waiters.n};
    return true;
}
