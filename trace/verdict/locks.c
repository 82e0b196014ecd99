/* Locks outside MPI: a rank keeps Python's lock, a mutex or the lock of a file inside a call, and what the call waits
 * for needs it. */
#include "trace/util/times.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

/* A rank that waits for this one, rather one that does not wait aside; SIZE_MAX: none does. */
static size_t who_waits_for(struct ana_case *c, size_t index)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->blocked && !p->aside && p->index != index && ana_waits_for(c, p, index))
            return p->index;
    return SIZE_MAX;
}

/* Blames the ranks of the same knot with a thread that holds a mutex inside a call. */
static void blame_holders(struct ana_case *c, const struct ana_waiting *first)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->locked_out && ana_rank_knot(c, p->index) == ana_rank_knot(c, first->index))
            ana_case_blame(c, p->index);
}

bool ana_find_held_lock(struct ana_case *c)
{
    char place[200] = "";
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        bool holds = p->keeps_lock || p->locked_out;
        size_t other = holds && ana_rank_knot(c, p->index) ? who_waits_for(c, p->index) : SIZE_MAX;
        if (other == SIZE_MAX || !ana_case_settle_likely(c, ANA_CLASS_CYCLE, &p->index, 1, p->lasted_ns))
            continue;
        ana_case_blame(c, p->index);
        if (p->locked_out) {
            blame_holders(c, p);
            ana_stack_place_words(c->job, p->locked_out, place, sizeof place);
        }
        ANA_SUMMARY(c, p->locked_out ? ANA_SENTENCE_KEEPS_MUTEX : ANA_SENTENCE_KEEPS_LOCK,
                    .who = ana_one_rank(p->index), .call = ana_waiting_call(p), .others = ana_one_rank(other),
                    .other_call = ana_rank_call(c, other), .name = ana_case_text(c, place));
        c->out->next.id = p->locked_out ? ANA_SENTENCE_NEXT_MUTEX : ANA_SENTENCE_NEXT_LOCK;
        return true;
    }
    return false;
}

/* ---- locks of files ---------------------------------------------------------------------------------------------- */

/* Returns the rank with the file lock that rank `index` waits for, by a stack of `index` taken since its last call.
 * SIZE_MAX: none. */
static size_t holder_of(struct ana_case *c, size_t index)
{
    static const char held[] = ", held by process ";
    const struct ana_process *process = c->members->process, *p = &process[index];
    const struct ana_stack *stack = ana_stack_of(ana_case_stacks(c), index);
    const char *at = stack ? strstr(stack->on, held) : NULL;
    if (!at || ana_clock_job_time(c->members->clock, index, stack->ticks) < p->last_end_ns)
        return SIZE_MAX;
    const unsigned long pid = strtoul(at + strlen(held), NULL, 10);
    for (size_t i = 0; i < c->count; i++)
        if (i != index && process[i].rank.pid == pid && strcmp(process[i].host, p->host) == 0 &&
            ana_case_head(c, i)->namespaces[TRC_NAMESPACE_pid] ==
                ana_case_head(c, index)->namespaces[TRC_NAMESPACE_pid])
            return i;
    return SIZE_MAX;
}

/* Whether a call needs a rank that may still come there. */
static bool needs(struct ana_case *c, const struct ana_waiting *p, size_t index)
{
    const struct ana_group *g = p->group == ANA_NO_GROUP ? NULL : ana_group_at(c, p->group);
    bool found = p->kind == ANA_WAITING_FINALIZE || (g && ana_group_misses(g, index));
    for (const struct ana_dependency *d = ana_need(c, p, 0); d < ana_need(c, p, p->dependencies) && !p->any; d++)
        found |= d->met <= 0 && ana_dependency_partner(c, d) == index;
    return found;
}

bool ana_find_file_lock(struct ana_case *c)
{
    size_t *index = ana_case_room(c), n = 0, holder = SIZE_MAX;
    int64_t lasted = INT64_MAX;
    for (size_t i = 0; index && i < c->count; i++) {
        const int64_t stood = ana_case_end(c, i) - c->members->process[i].last_end_ns;
        bool outside = ana_waits(c, i) == ana_waits(c, i + 1) && !ana_case_ended(c, i) && !c->rank[i].moved;
        size_t by = outside && stood >= c->rules.proof_ns ? holder_of(c, i) : SIZE_MAX;
        const struct ana_waiting *p = by == SIZE_MAX ? NULL : ana_rank_waiting(c, by);
        if (!p || !needs(c, p, i) || (holder != SIZE_MAX && holder != by))
            continue;
        holder = by;
        index[n++] = i;
        lasted = ana_earlier(lasted, ana_earlier(stood, p->lasted_ns));
    }
    if (!n || !ana_case_settle(c, ANA_CLASS_CYCLE, c->rank[holder].sure ? ANA_PROVEN : ANA_LIKELY, lasted))
        return false;
    ana_case_blame(c, holder);
    ANA_SUMMARY(c, ANA_SENTENCE_FILE_LOCK, .who = ana_ranks_at(index, n), .others = ANA_CULPRITS,
                .call = ana_rank_call(c, holder));
    c->out->next.id = ANA_SENTENCE_NEXT_FILE_LOCK;
    return true;
}
