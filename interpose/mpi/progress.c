/* Whether this process makes progress, from its own live pages.  Other threads write them meanwhile, so a number may be
 * slightly old, which does not matter here. */
#include "interpose/mpi/calls.h"
#include "interpose/core/state.h"
#include "interpose/mpi/progress.h"
#include "interpose/mpi/thread.h"

#define TRIES 8u /* a round takes a millisecond, reading the rows some microseconds */

static bool is_moving(enum trc_opclass opclass)
{
    return !trc_opclass_is(opclass, TRC_FACT_LOCAL) && !trc_opclass_is(opclass, TRC_FACT_POLLS);
}

/* The counters at place `i` of a thread; NULL: there are none. */
static const struct trc_row *row_at(const struct ipo_thread *thread, uint32_t i)
{
    return __atomic_load_n(&thread->stream.row[i], __ATOMIC_ACQUIRE);
}

/* Returns how many calls that moved data a thread has completed. */
static uint64_t count_moved(const struct ipo_thread *thread)
{
    uint64_t sum = thread->stream.page->thread.completes;
    for (uint32_t i = 0; i < TRC_ROW_PLACES; i++) {
        const struct trc_row *row = row_at(thread, i);
        uint32_t call = row ? row->call_plus_1 : 0;
        bool nccl = call > IPO_CALLS; /* polls of NCCL are not recorded */
        if (nccl || (call && is_moving((enum trc_opclass)ipo_calls[call - 1].opclass)))
            sum += __atomic_load_n(&row->calls, __ATOMIC_RELAXED);
    }
    return sum;
}

/* Negotiation rounds do not count: Horovod makes a thousand a second even when nothing happens.  If a round ends while
 * the rows are read, they are read again. */
uint64_t ipo_progress(void)
{
    uint64_t sum = 0;
    for (const struct ipo_thread *thread = ipo_thread_first(); thread; thread = thread->next) {
        uint64_t before, rounds = __atomic_load_n(&thread->rounds, __ATOMIC_ACQUIRE), own;
        unsigned tries = TRIES;
        do {
            before = rounds;
            own = count_moved(thread) - before;
            __atomic_thread_fence(__ATOMIC_ACQUIRE);
            rounds = __atomic_load_n(&thread->rounds, __ATOMIC_RELAXED);
        } while (rounds != before && --tries);
        sum += own;
    }
    return sum;
}

const char *ipo_overdue(uint64_t floor_ticks)
{
    uint64_t now = ipo_ticks();
    for (const struct ipo_thread *thread = ipo_thread_first(); thread; thread = thread->next) {
        const struct trc_thread *live = &thread->stream.page->thread;
        const struct trc_sig *sig = trc_writer_inside(&ipo_process.writer, live->index);
        uint64_t since = live->inside_since, longest = 0, calls = 0;
        if (!sig || since > now || now - since < floor_ticks)
            continue;
        uint32_t call = sig->call;
        for (uint32_t i = 0; i < TRC_ROW_PLACES; i++) {
            const struct trc_row *row = row_at(thread, i);
            if (row && row->call_plus_1 == call + 1) {
                calls += row->calls;
                longest = row->max_ticks > longest ? row->max_ticks : longest;
            }
        }
        if (call < IPO_CALLS && is_moving((enum trc_opclass)ipo_calls[call].opclass) && calls >= 20 &&
            (now - since) / 50 > longest)
            return ipo_calls[call].name;
    }
    return NULL;
}
