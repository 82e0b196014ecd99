/* A collective that failed on some ranks, whose callers went on, while others are still inside it; calls that failed
 * before a hang; and calls that callbacks make inside others, such as handlers of errors. */
#include "trace/verdict/order.h"
#include "trace/verdict/verdict_impl.h"
#include <string.h>

#define SOON 8u /* calls after an error within which a rank that hangs has not dealt with it */

/* Whether the last call of the rank that returned an error would have been this collective: MPI refused its arguments,
 * so it has no number. */
static bool was_refused(struct ana_case *c, size_t index, const struct ana_group *g)
{
    const struct ana_last_events *events = ana_case_last_events(c, index);
    const struct ana_last_collective *failed = &events->failed;
    const uint64_t *come = ana_map_find(&events->newest, g->identity, 0, 0);
    return ana_group_misses(g, index) && failed->call && strcmp(failed->call->name, g->call.name) == 0 &&
           ana_comm_identity(c->job, index, trc_comm(ana_case_file(c, index), failed->sig.comm)) == g->identity &&
           (come ? *come : 0) == g->sequence;
}

/* The rank's record of the collective, if it has come out of it with an error. */
static const struct ana_last_collective *failure_of(struct ana_case *c, size_t index, const struct ana_group *g)
{
    const struct ana_last_collective *one = ana_past_collective(c, index, g->identity, g->sequence);
    if (!one && was_refused(c, index, g))
        return &ana_case_last_events(c, index)->failed;
    return one && one->sig.flags & TRC_SIG_FAILED ? one : NULL;
}

bool ana_find_failed(struct ana_case *c)
{
    for (size_t i = 0; i < c->groups.count; i++) {
        const struct ana_group *g = ana_group_at(c, i);
        const struct ana_last_collective *first = NULL;
        struct ana_range range = ana_members(c->job, g->call.index, g->comm, false);
        for (size_t m = range.from; m < range.to && g->blocked && g->looked; m++) {
            size_t index = ana_member(c->job, g->call.index, g->comm, m);
            const struct ana_last_collective *one = index == SIZE_MAX ? NULL : failure_of(c, index, g);
            first = first ? first : one;
            if (one)
                ana_case_blame(c, index);
        }
        if (!first)
            continue;
        if (ana_case_settle_likely(c, ANA_CLASS_MISMATCHED, c->out->culprit, c->out->culprits, g->lasted_ns)) {
            ANA_SUMMARY(c, ANA_SENTENCE_FAILED_THERE, .who = ANA_CULPRITS, .comm = g->comm,
                        .call = {.name = g->call.name}, .others = ana_one_rank(g->call.index),
                        .more = (int64_t)g->inside - 1);
            ANA_FACT(c, ANA_SENTENCE_CALLED_AT, .who = ana_one_rank(c->out->culprit[0]),
                     .call = {.name = first->call->name}, .site = {c->out->culprit[0], first->sig.site});
            c->out->next.id = ANA_SENTENCE_NEXT_FAILED;
            return true;
        }
        c->out->culprits = 0;
    }
    return false;
}

/* Adds the calls of blocked callbacks to the facts, and blames their ranks if nobody else is to blame. */
static void explain_callbacks(struct ana_case *c)
{
    const struct ana_waiting *first = NULL;
    size_t *index = ana_case_room(c), n = 0;
    for (const struct ana_waiting *p = c->waiting; index && p < ana_waits(c, c->count); p++) {
        if (!p->blocked || !p->nested || (first && p->nested->call != first->nested->call))
            continue;
        first = first ? first : p;
        if (n == 0 || index[n - 1] != p->index)
            index[n++] = p->index;
    }
    if (!first)
        return;
    const char *name = trc_call(ana_case_file(c, first->index), first->nested->call)->name;
    ANA_FACT(c, ANA_SENTENCE_CALLS_BACK, .who = ana_ranks_at(index, n), .call = {.name = name},
             .other_call = {.name = first->call->name}, .site = {first->index, first->nested->site});
    ANA_FACT(c, ANA_SENTENCE_CALLED_AT, .who = ana_one_rank(first->index), .call = {.name = first->call->name},
             .site = {first->index, first->sig->site});
    if (c->out->culprits == 0)
        ana_case_blame_all(c, ana_ranks_at(index, n));
    if (ana_is_culprit(c->out, first->index))
        ANA_NEXT(c, ANA_SENTENCE_NEXT_CALLS_BACK, .call = {.name = name});
}

/* Adds the errors, and the collectives of callbacks and handlers, that came shortly before. */
void ana_explain_failed(struct ana_case *c)
{
    for (size_t i = 0; i < c->out->culprits; i++) {
        size_t index = c->out->culprit[i];
        const struct ana_last_events *events = ana_case_last_events(c, index);
        const struct ana_last_collective *nested = events->since_nested < SOON ? &events->nested : NULL;
        if (nested && nested->call) {
            ANA_FACT(c, ANA_SENTENCE_CALLED_BACK, .who = ana_one_rank(index), .call = {.name = nested->call->name},
                     .site = {index, nested->sig.site});
            ANA_NEXT(c, ANA_SENTENCE_NEXT_CALLS_BACK, .call = {.name = nested->call->name});
        }
        if (!events->failed.call)
            continue;
        if (events->since_failed < SOON && c->out->next.id == ANA_SENTENCE_NOTHING)
            c->out->next.id = ANA_SENTENCE_NEXT_FAILED;
        ANA_FACT(c, ANA_SENTENCE_FAILED_BEFORE, .who = ana_one_rank(index), .call = {.name = events->failed.call->name},
                 .site = {index, events->failed.sig.site});
    }
    explain_callbacks(c);
}
