/* Finds a rank that has left an epoch of a window open, or not begun it, and went on to a place where it waits for
 * ranks that wait for it there. */
#include "trace/verdict/epochs.h"
#include <stdlib.h>

/* Whether a rank waits in a collective, or in MPI_Finalize. */
static bool went_on(struct ana_case *c, size_t index)
{
    const struct ana_waiting *p = ana_rank_waiting(c, index);
    if (!p || p->kind == ANA_WAITING_COLLECTIVE || p->kind == ANA_WAITING_FINALIZE)
        return p != NULL;
    for (const struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies); d++)
        if (d->kind != ANA_DEPENDENCY_COLLECTIVE)
            return false;
    return p->dependencies > 0 && !trc_opclass_is_one_sided(p->call->opclass);
}

/* Number of epochs the rank has begun, as origin or as target, with the one that it begins. */
static int64_t begun_by(struct ana_case *c, size_t index, uint64_t window, bool origin)
{
    const struct ana_waiting *p = ana_rank_waiting(c, index);
    bool begins = origin && p && p->identity == window && ana_epoch_call_of(p->call) == ANA_EPOCH_START;
    int64_t calls = ana_epoch_calls(c, index, window, ANA_ALL_PARTNERS, origin ? ANA_EPOCH_START : ANA_EPOCH_POST);
    return (calls > 0 ? calls : 0) + begins;
}

/* Whether the epoch is the fault of the one who lacks it: others of the group have done their part, or it has begun as
 * many epochs itself as the one who waits. */
static bool is_its_fault(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *d, size_t other)
{
    const struct trc_ranks *group =
        p->sig->tag > 0 ? trc_ranks(ana_case_file(c, p->index), (uint32_t)p->sig->tag) : NULL;
    if (group && group->n > p->dependencies)
        return true;
    return begun_by(c, other, p->identity, !d->completes) >= begun_by(c, p->index, p->identity, !d->completes);
}

/* Whether the rank has begun the epoch whose end is waited for. */
static bool has_begun(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *d, size_t other)
{
    return d->completes && ana_epoch_calls(c, other, p->identity, p->index, ANA_EPOCH_START) >
                               ana_epoch_calls(c, other, p->identity, p->index, ANA_EPOCH_COMPLETE);
}

static bool is_left_open(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *d, bool *both)
{
    size_t other = ana_dependency_partner(c, d);
    const struct ana_waiting *its = other == SIZE_MAX ? NULL : ana_rank_waiting(c, other);
    if (d->kind < ANA_DEPENDENCY_LOCK || !its || !ana_rank_knot(c, other))
        return false;
    bool epoch = d->kind == ANA_DEPENDENCY_EPOCH, begun = epoch && has_begun(c, p, d, other);
    bool there = trc_opclass_is_one_sided(its->call->opclass) && its->identity == p->identity;
    bool elsewhere = begun && !there;
    if (there && !epoch) /* MPI allows one kind of epoch at a time */
        elsewhere = ana_epoch_call_of(its->call) != ANA_EPOCH_CALLS;
    else if (there && !begun && !d->completes)
        elsewhere = begun_by(c, other, p->identity, true) > begun_by(c, p->index, p->identity, true);
    *both = epoch && !begun && !is_its_fault(c, p, d, other);
    return elsewhere || went_on(c, other);
}

void ana_explain_lock(struct ana_case *c, const struct ana_dependency *d)
{
    const size_t holder = ana_dependency_partner(c, d);
    ANA_FACT(c, ANA_SENTENCE_LOCKS, .who = ana_one_rank(holder), .comm = d->comm, .number = d->target,
             .name = d->shared ? "MPI_LOCK_SHARED" : "MPI_LOCK_EXCLUSIVE", .site = {holder, d->site});
    c->out->next.id = ANA_SENTENCE_NEXT_UNLOCK;
}

void ana_explain_epoch(struct ana_case *c, const struct ana_waiting *p, const struct ana_dependency *d, size_t waiters)
{
    size_t other = ana_dependency_partner(c, d);
    const struct ana_waiting *its = ana_rank_waiting(c, other);
    struct ana_call end = {.name = d->kind == ANA_DEPENDENCY_LOCK ? "MPI_Win_unlock"
                                   : d->completes                 ? "MPI_Win_complete"
                                                                  : "MPI_Win_post"};
    ANA_SUMMARY(c, ANA_SENTENCE_EPOCH_OPEN, .who = ana_one_rank(other), .call = end, .others = ana_one_rank(p->index),
                .more = (int64_t)waiters - 1, .of = (int64_t)waiters, .comm = p->comm, .name = p->call->name,
                .other_call = its ? ana_waiting_call(its) : (struct ana_call){0});
    if (d->kind == ANA_DEPENDENCY_LOCK)
        ana_explain_lock(c, d);
    else
        ANA_NEXT(c, ANA_SENTENCE_NEXT_EPOCH, .call = end);
}

bool ana_find_open_epoch(struct ana_case *c)
{
    struct ana_waiting *first = NULL;
    const struct ana_dependency *of = NULL;
    size_t waiters = 0, all = 0;
    size_t *member = calloc(2 * c->dependencies + 1, sizeof *member);
    c->memory |= !member;
    for (struct ana_waiting *p = c->waiting; member && p < ana_waits(c, c->count); p++) {
        bool counts = p->blocked && p->tested && ana_rank_knot(c, p->index), waits = false;
        for (const struct ana_dependency *d = ana_need(c, p, 0); counts && d < ana_need(c, p, p->dependencies); d++) {
            bool both = false;
            if ((of && ana_rank_knot(c, p->index) != ana_rank_knot(c, first->index)) || !is_left_open(c, p, d, &both))
                continue;
            first = first ? first : p;
            of = of ? of : d;
            waits = true;
            member[all++] = ana_dependency_partner(c, d);
            if (both)
                member[all++] = p->index;
        }
        waiters += waits;
    }
    bool found =
        of && ana_case_settle_likely(c, ANA_CLASS_CYCLE, &first->index, 1, ana_case_lasted(c, &first->index, 1));
    if (found) {
        ana_case_blame_all(c, ana_ranks_at(member, all));
        ana_explain_epoch(c, first, of, waiters);
    }
    free(member);
    return found;
}
