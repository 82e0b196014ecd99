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

enum { SERIALIZED = 2, MULTIPLE = 3 }; /* levels of MPI_THREAD_* in the head */

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

/* Returns the call of the thread that holds the mutex which another thread of its rank waited for during that call, by
 * the other's stack.  NULL: there is none, or only one thread may call MPI. */
static struct ana_waiting *mutex_holder(struct ana_case *c, const struct ana_stack *stack)
{
    static const char held[] = ", a lock held by thread ";
    const struct trc_file *file = ana_case_file(c, stack->index);
    const char *at = trc_head(file)->thread_level >= SERIALIZED ? strstr(stack->on, held) : NULL;
    const unsigned long tid = at ? strtoul(at + strlen(held), NULL, 10) : 0;
    for (struct ana_waiting *p = ana_waits(c, stack->index); tid && p < ana_waits(c, stack->index + 1); p++)
        if (p->blocked && trc_thread(file, p->thread)->tid == tid &&
            ana_clock_job_time(c->members->clock, p->index, stack->ticks) >= p->since_ns)
            return p;
    return NULL;
}

void ana_doubt_threads(struct ana_case *c)
{
    bool several = false;
    for (size_t i = 0; i < c->count && !several; i++)
        several = trc_head(c->members->process[i].rank.file)->thread_level >= SERIALIZED;
    const struct ana_stacks *stacks = several ? ana_case_stacks(c) : NULL; /* read only where they can matter */
    for (size_t i = 0; stacks && i < stacks->count; i++) {
        const struct ana_stack *stack = &stacks->stack[i];
        struct ana_waiting *holder = mutex_holder(c, stack);
        if (holder)
            holder->locked_out = stack;
        else
            c->rank[stack->index].sure &= !ana_is_silent_thread(c, stack);
    }
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
