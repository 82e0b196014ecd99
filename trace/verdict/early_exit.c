/* Ranks that came to MPI_Finalize while others wait for them, or ranks that make a call more than those. */
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

/* Whether the rest of a communicator has left, and only few of it, or one half, are inside a collective there. */
static bool is_extra_call(struct ana_case *c, const struct left *left, bool *half)
{
    const struct ana_group *g = left->first->group == ANA_NO_GROUP ? NULL : ana_group_at(c, left->first->group);
    size_t inside = g ? ana_ranks_in(c, g).n : 0;
    *half = g && inside == g->missing_count;
    for (size_t i = 0; g && i < g->missing_count; i++)
        if (!left->by[g->missing[i]])
            return false;
    return inside > 0 && !g->nowhere && g->missing_count >= 2 && inside <= g->missing_count;
}

static bool explain_left(struct ana_case *c, const struct left *left)
{
    size_t waiter = left->first->index;
    bool half = false, extra = is_extra_call(c, left, &half);
    if (!ana_case_settle(c, extra ? ANA_CLASS_MISMATCHED : ANA_CLASS_EARLY_EXIT, ana_case_certainty(c, &waiter, 1),
                         left->lasted_ns))
        return false;
    struct ana_ranks stay = extra ? ana_ranks_in(c, ana_group_at(c, left->first->group)) : ana_one_rank(waiter);
    if (extra)
        ana_case_blame_all(c, stay);
    size_t *index = ana_case_room(c), n = 0;
    for (size_t i = 0; index && i < c->count; i++)
        if (left->by[i])
            index[n++] = i;
    struct ana_ranks gone = ana_ranks_at(index, n);
    if (!extra || half)
        ana_case_blame_all(c, gone);
    ana_case_doubt_culprits(c);
    ANA_SUMMARY(c, extra ? ANA_SENTENCE_ONE_CALL_MORE : ANA_SENTENCE_LEFT_EARLY, .who = gone, .others = stay,
                .more = extra ? 0 : (int64_t)left->waiters - 1, .of = n && ana_case_ended(c, index[0]),
                .call = ana_waiting_call(left->first), .comm = left->first->comm);
    return true;
}

bool ana_find_early_exit(struct ana_case *c)
{
    struct left left = {.by = ana_case_room(c), .edges = ana_case_room(c), .lasted_ns = INT64_MAX};
    if (left.by && left.edges)
        look_for_waiters(c, &left);
    return left.first && explain_left(c, &left);
}
