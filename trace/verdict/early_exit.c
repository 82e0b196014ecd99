/* Ranks that came to MPI_Finalize while others wait for them. */
#include "trace/verdict/case_impl.h"

static bool finalizes(const struct ana_case *c, size_t index)
{
    return ana_rank_is_in(c, index, ANA_WAITING_FINALIZE) || ana_case_ended(c, index);
}

/* Ranks that wait for ranks that have left. */
struct left {
    size_t *by; /* number of ranks that wait for a rank that left, by rank index */
    size_t *edges, waiters;
    struct ana_waiting *first; /* the first of the waiters */
    int64_t lasted_ns;         /* duration of the youngest wait */
};

static void look_for_waiters(struct ana_case *c, struct left *left)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        if (!p->blocked || !ana_rank_knot(c, p->index) || p->kind == ANA_WAITING_FINALIZE)
            continue;
        size_t n = ana_waiting_for(c, p, left->edges, c->count), gone = 0;
        for (size_t k = 0; k < n; k++)
            gone += finalizes(c, left->edges[k]);
        if (gone == 0 || (gone < n && (p->any || ana_waits_for_anybody(c, p)))) /* one of the others would do */
            continue;
        for (size_t k = 0; k < n; k++)
            left->by[left->edges[k]] += finalizes(c, left->edges[k]);
        if (left->waiters++ == 0)
            left->first = p;
        if (p->lasted_ns < left->lasted_ns)
            left->lasted_ns = p->lasted_ns;
    }
}

static bool say_left(struct ana_case *c, const struct left *left)
{
    size_t waiter = left->first->index;
    if (!ana_case_settle(c, ANA_CLASS_EARLY_EXIT, ana_case_certainty(c, &waiter, 1), left->lasted_ns))
        return false;
    for (size_t i = 0; i < c->count; i++)
        if (left->by[i])
            ana_case_blame(c, i);
    ana_case_doubt_culprits(c);
    bool ended = c->out->culprits && ana_case_ended(c, c->out->culprit[0]);
    ANA_SUMMARY(c, ended ? ANA_SAY_FINISHED_EARLY : ANA_SAY_FINALIZES_EARLY, .who = ANA_CULPRITS,
                .others = ana_one_rank(waiter), .more = (int64_t)left->waiters - 1,
                .call = ana_waiting_call(left->first));
    return true;
}

bool ana_find_early_exit(struct ana_case *c)
{
    struct left left = {.by = ana_case_room(c), .edges = ana_case_room(c), .lasted_ns = INT64_MAX};
    if (left.by && left.edges)
        look_for_waiters(c, &left);
    return left.first && say_left(c, &left);
}
