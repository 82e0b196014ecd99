/* Starts behind the shared handle.  Each thread has a queue of its own.  Where calls of several threads overlap,
 * another thread may take a start out of it.  No search is longer than the constants below, so its cost does not depend
 * on the number of starts under way. */
#include "interpose/base/arena.h"
#include "interpose/core/state.h"
#include "interpose/mpi/requests.h"
#include "interpose/mpi/thread.h"

#include <string.h>

static uintptr_t load_variable(const struct ipo_request *start)
{
    return __atomic_load_n(&start->variable, __ATOMIC_ACQUIRE);
}

/* Whether a start with this `variable` may be taken for the variable `wanted` (0: for any). */
static bool is_wanted(uintptr_t variable, uintptr_t wanted)
{
    return variable && !(variable & IPO_SHARED_BUSY) && (variable == wanted || !wanted);
}

/* ---- the table from variables to starts.  An entry is removed by nobody: it is checked against its start. */

/* The first or second bucket of a variable.  Arrays fill one bucket after the other. */
static uint32_t find_bucket(uintptr_t variable, uint32_t second)
{
    return (uint32_t)(second ? (uint64_t)variable * 0x9e3779b97f4a7c15u >> 32 : variable >> 5) % IPO_SHARED_BUCKETS;
}

/* Whether the entry's start may still be searched for in this bucket. */
static bool is_current(const struct ipo_request *start, uint32_t bucket)
{
    const uintptr_t variable = start ? load_variable(start) & ~(uintptr_t)IPO_SHARED_BUSY : 0;
    return variable && (find_bucket(variable, 0) == bucket || find_bucket(variable, 1) == bucket);
}

/* Enters a start.  The program has overwritten an older start of the same variable.  Where both buckets are full, only
 * its order finds the start. */
static void enter(struct ipo_request *start, uintptr_t variable)
{
    for (uint32_t at = 0; at < 2 * IPO_REQUEST_WAYS; at++) {
        const uint32_t bucket = find_bucket(variable, at / IPO_REQUEST_WAYS);
        _Atomic(struct ipo_request *) *entry = &ipo_requests.shared[bucket][at % IPO_REQUEST_WAYS];
        struct ipo_request *there = atomic_load_explicit(entry, memory_order_relaxed);
        const bool replaced = !is_current(there, bucket) || load_variable(there) == variable;
        if (replaced && atomic_compare_exchange_strong(entry, &there, start))
            return;
    }
}

static struct ipo_request *find_entry(uintptr_t variable)
{
    for (uint32_t at = 0; at < 2 * IPO_REQUEST_WAYS; at++) {
        const uint32_t bucket = find_bucket(variable, at / IPO_REQUEST_WAYS);
        struct ipo_request *start =
            atomic_load_explicit(&ipo_requests.shared[bucket][at % IPO_REQUEST_WAYS], memory_order_acquire);
        if (start && load_variable(start) == variable)
            return start;
    }
    return NULL;
}

/* ---- the queues.  A position counts up for ever; the remainder is its place. */

static bool is_completed(const struct ipo_thread *thread, uint64_t at)
{
    const struct ipo_request *start = ipo_shared_at(thread, at);
    return start && !load_variable(start);
}

/* Drops starts at the front that are completed.  Another thread leaves the last one: only the owner may empty the
 * queue, which then restarts at its first place, in memory that is warm. */
static void drop_completed(struct ipo_thread *thread, bool own)
{
    uint64_t first = __atomic_load_n(&thread->shared_first, __ATOMIC_ACQUIRE);
    const uint64_t end = __atomic_load_n(&thread->shared_end, __ATOMIC_ACQUIRE);
    while (first + !own < end && is_completed(thread, first))
        if (__atomic_compare_exchange_n(&thread->shared_first, &first, first + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            first++;
    if (own && first == end && first % IPO_SHARED)
        ipo_shared_restart(thread, end);
}

struct ipo_request *ipo_shared_add(struct ipo_thread *thread, uintptr_t variable)
{
    variable &= ~(uintptr_t)IPO_SHARED_BUSY;
    if (__atomic_load_n(&thread->shared_first, __ATOMIC_RELAXED) != thread->shared_end)
        drop_completed(thread, true);
    uint64_t first = __atomic_load_n(&thread->shared_first, __ATOMIC_RELAXED);
    const uint64_t end = thread->shared_end;
    if (end - first == IPO_SHARED) /* the completion of the oldest was never seen */
        __atomic_compare_exchange_n(&thread->shared_first, &first, first + 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
    struct ipo_request *request = ipo_shared_at(thread, end);
    if (__builtin_expect(!request, 0)) {
        struct ipo_request *part = ipo_arena_get(IPO_SHARED_PART * sizeof *part);
        if (!part)
            return NULL;
        __atomic_store_n(&thread->shared[end % IPO_SHARED / IPO_SHARED_PART], part, __ATOMIC_RELEASE);
        request = ipo_shared_at(thread, end);
    }
    __atomic_store_n(&request->variable, variable | IPO_SHARED_BUSY, __ATOMIC_RELAXED);
    if (__builtin_expect(end - first >= IPO_SHARED_NEAR, 0) || ipo_process.serialized)
        enter(request, variable);
    return request;
}

/* The oldest wanted start at the front of a thread's queue. */
static struct ipo_request *find_near(struct ipo_thread *thread, uintptr_t wanted)
{
    const uint64_t first = __atomic_load_n(&thread->shared_first, __ATOMIC_ACQUIRE);
    const uint64_t end = __atomic_load_n(&thread->shared_end, __ATOMIC_ACQUIRE);
    for (uint64_t at = first; at < end && at < first + IPO_SHARED_NEAR; at++) {
        struct ipo_request *start = ipo_shared_at(thread, at);
        if (start && is_wanted(load_variable(start), wanted))
            return start;
    }
    return NULL;
}

/* Copies all but the variable, which other threads may read meanwhile. */
static void copy_around_variable(struct ipo_request *to, const struct ipo_request *from)
{
    memcpy(to, from, offsetof(struct ipo_request, variable));
    memcpy(&to->comm, &from->comm, sizeof *to - offsetof(struct ipo_request, comm));
}

/* Removes a start out of its queue, unless another thread was faster.  Another thread's start is copied: its owner may
 * use the place again at once. */
static const struct ipo_request *remove_start(struct ipo_thread *thread, struct ipo_request *start, uintptr_t wanted)
{
    uintptr_t variable = start ? load_variable(start) : 0;
    if (!is_wanted(variable, wanted) ||
        !__atomic_compare_exchange_n(&start->variable, &variable, variable | IPO_SHARED_BUSY, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return NULL;
    const bool own = start->thread == thread->stream.page->thread.index;
    if (!own)
        copy_around_variable(&thread->of_other, start);
    __atomic_store_n(&start->variable, 0, __ATOMIC_RELEASE);
    if (own)
        drop_completed(thread, true);
    return own ? start : &thread->of_other;
}

/* The oldest start of one of the other threads, beginning with the one that had a start last. */
static const struct ipo_request *remove_of_others(struct ipo_thread *thread)
{
    struct ipo_thread *const begin = thread->had_start ? thread->had_start : ipo_threads(), *other = begin;
    const struct ipo_request *start = NULL;
    do { /* loops TRC_MAX_THREADS times at most */
        if (other != thread) {
            drop_completed(other, false);
            start = remove_start(thread, find_near(other, 0), 0);
            thread->had_start = other;
        }
        other = other->next ? other->next : ipo_threads();
    } while (!start && other != begin);
    return start;
}

const struct ipo_request *ipo_shared_remove(struct ipo_thread *thread, uintptr_t variable)
{
    variable &= ~(uintptr_t)IPO_SHARED_BUSY;
    const struct ipo_request *start = remove_start(thread, find_near(thread, variable), variable);
    if (!start)
        start = remove_start(thread, find_entry(variable), variable);
    /* A program that has copied its request gets the oldest start: all candidates had finished. */
    if (!start)
        start = remove_start(thread, find_near(thread, 0), 0);
    return start || !ipo_process.serialized ? start : remove_of_others(thread);
}
