/* The threads of a rank.  Each waits by itself, and the rank moves when one of them does; but some wait *aside*: a
 * service thread, whose receive from any source needs nobody in particular, and threads that cannot run Python after
 * their call because another one keeps the interpreter's lock (GIL) inside a call. */
#include "trace/util/times.h"
#include "trace/verdict/verdict_impl.h"
#include <stdlib.h>
#include <string.h>

/* Whether a thread waits for orders. */
static bool serves(const struct ana_waiting *p)
{
    bool receives = p->sig->flags & TRC_SIG_P2P_IN || trc_opclass_is_probe(p->call->opclass);
    return receives && p->sig->source == TRC_PEER_ANY;
}

/* The stack of a thread, if it runs Python; NULL: it does not, or no stack was taken. */
static const struct ana_stack *python_stack(struct ana_case *c, size_t index, uint32_t thread)
{
    const struct ana_stacks *stacks = ana_case_stacks(c);
    uint32_t tid = trc_thread(ana_case_file(c, index), thread)->tid;
    for (size_t i = 0; i < stacks->count; i++)
        if (stacks->stack[i].index == index && stacks->stack[i].tid == tid && stacks->stack[i].python_count)
            return &stacks->stack[i];
    return NULL;
}

/* Whether a thread kept Python's lock when its stack was taken inside this call. */
static bool has_lock(struct ana_case *c, const struct ana_waiting *p)
{
    const struct ana_stack *stack = p->kind == ANA_WAITING_DEVICE ? NULL : python_stack(c, p->index, p->thread);
    return stack && stack->flags & TRC_STACK_GIL &&
           ana_clock_job_time(c->members->clock, p->index, stack->ticks) >= p->since_ns;
}

enum { MULTIPLE = 3 }; /* level of MPI_THREAD_MULTIPLE in the head */

bool ana_is_silent_thread(const struct ana_case *c, const struct ana_stack *stack)
{
    const struct trc_file *file = c->members->process[stack->index].rank.file;
    bool known = trc_head(file)->thread_level != MULTIPLE || !ana_stack_is_own(stack) ||
                 ana_clock_job_time(c->members->clock, stack->index, stack->ticks) <
                     c->members->process[stack->index].last_end_ns;
    for (uint32_t t = 0; !known && t < trc_threads(file); t++)
        known = trc_thread(file, t)->tid == stack->tid;
    return !known;
}

void ana_doubt_threads(struct ana_case *c)
{
    bool multiple = false;
    for (size_t i = 0; i < c->count && !multiple; i++)
        multiple = trc_head(c->members->process[i].rank.file)->thread_level == MULTIPLE;
    const struct ana_stacks *stacks = multiple ? ana_case_stacks(c) : NULL; /* read only where they can matter */
    for (size_t i = 0; stacks && i < stacks->count; i++)
        c->rank[stacks->stack[i].index].sure &= !ana_is_silent_thread(c, &stacks->stack[i]);
}

static struct ana_waiting *waiting_of(struct ana_case *c, size_t index, uint32_t thread)
{
    for (struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if (p->thread == thread)
            return p;
    return NULL;
}

/* Other threads that run Python and call MPI wait for the lock: none of them can move before its keeper does. */
static void wait_for_lock(struct ana_case *c, struct ana_waiting *keeper)
{
    const struct ana_rank *r = &c->members->process[keeper->index].rank;
    bool all = true;
    for (uint32_t t = 0; t < trc_threads(r->file); t++) {
        struct ana_waiting *p = waiting_of(c, keeper->index, t);
        if (t == keeper->thread || !trc_thread(r->file, t)->tid)
            continue;
        bool python = python_stack(c, keeper->index, t) != NULL;
        keeper->keeps_lock |= python;
        all &= python || p;
        if (p && python)
            p->aside = true;
    }
    c->rank[keeper->index].sure |= keeper->keeps_lock && all && r->counted && !r->off;
}

void ana_rank_threads(struct ana_case *c, size_t index)
{
    size_t first = c->first_waiting[index], end = c->first_waiting[index + 1], acting = 0;
    for (size_t i = first; i < end; i++)
        acting += c->waiting[i].blocked && !serves(&c->waiting[i]);
    for (size_t i = first; i < end; i++)
        c->waiting[i].aside = acting && serves(&c->waiting[i]);
    for (size_t i = first; i < end && trc_threads(ana_case_file(c, index)) > 1; i++)
        if (c->waiting[i].blocked && has_lock(c, &c->waiting[i])) {
            wait_for_lock(c, &c->waiting[i]);
            return;
        }
}

struct ana_waiting *ana_rank_waiting(struct ana_case *c, size_t index)
{
    struct ana_waiting *best = NULL;
    for (struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++) {
        bool rather = best && (best->aside != p->aside ? best->aside : p->lasted_ns > best->lasted_ns);
        best = p->blocked && (!best || rather) ? p : best;
    }
    return best;
}

uint32_t ana_thread_outside(struct ana_case *c, size_t index)
{
    const struct trc_file *file = ana_case_file(c, index);
    for (uint32_t t = 0; t < trc_threads(file); t++)
        if (trc_thread(file, t)->tid && !waiting_of(c, index, t))
            return t;
    return UINT32_MAX;
}

bool ana_only_listens(struct ana_case *c, size_t index)
{
    for (const struct ana_waiting *p = ana_waits(c, index); p < ana_waits(c, index + 1); p++)
        if (!p->blocked || !serves(p))
            return false;
    return ana_rank_blocked(c, index) && ana_thread_outside(c, index) != UINT32_MAX;
}

void ana_tell_outside(struct ana_case *c, size_t index)
{
    if (!ana_only_listens(c, index))
        return;
    c->rank[index].lives = true;
    if (ana_case_stacks(c)->count)
        ana_stacks_choose(c->stacks, index, trc_thread(ana_case_file(c, index), ana_thread_outside(c, index))->tid);
}

struct ana_call ana_rank_call(struct ana_case *c, size_t index)
{
    return ana_waiting_call(ana_rank_waiting(c, index));
}

/* A rank that waits for this one, rather one that does not wait aside; SIZE_MAX: none does. */
static size_t who_waits_for(struct ana_case *c, size_t index)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++)
        if (p->blocked && !p->aside && p->index != index && ana_waits_for(c, p, index))
            return p->index;
    return SIZE_MAX;
}

bool ana_find_held_lock(struct ana_case *c)
{
    for (struct ana_waiting *p = c->waiting; p < ana_waits(c, c->count); p++) {
        size_t other = p->keeps_lock && ana_rank_knot(c, p->index) ? who_waits_for(c, p->index) : SIZE_MAX;
        if (other == SIZE_MAX || !ana_case_settle_likely(c, ANA_CLASS_CYCLE, &p->index, 1, p->lasted_ns))
            continue;
        ana_case_blame(c, p->index);
        ANA_SUMMARY(c, ANA_SENTENCE_KEEPS_LOCK, .who = ANA_CULPRITS, .call = ana_waiting_call(p),
                    .others = ana_one_rank(other), .other_call = ana_rank_call(c, other));
        c->out->next.id = ANA_SENTENCE_NEXT_LOCK;
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
