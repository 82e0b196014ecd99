/* Has this process moved?  Judged from its own live pages, which other threads write meanwhile: a number may be a
 * moment old, which does not matter here. */
#include "interpose/oldglibc.h"
#include "interpose/calls.h"
#include "interpose/process.h"
#include "interpose/stacks.h"
#include "interpose/thread.h"

#include <unistd.h>

#define SMALL_CLASS 11u /* up to 1 KiB: what a control round carries, not what a step does */

static bool moves(enum trc_opclass opclass)
{
    switch (opclass) {
    case TRC_OP_TEST:
    case TRC_OP_PROBE:
    case TRC_OP_MPROBE:
    case TRC_OP_OTHER:
    case TRC_OP_COMM:
    case TRC_OP_WIN:
    case TRC_OP_FILE:
    case TRC_OP_PCONTROL:
        return false;
    default:
        return true;
    }
}

static bool is_collective(enum trc_opclass opclass)
{
    return opclass >= TRC_OP_BARRIER && opclass <= TRC_OP_EXSCAN;
}

uint64_t ipo_progress(void)
{
    uint64_t sum = 0;
    uint32_t first = (uint32_t)getpid();
    for (const struct ipo_thread *thread = ipo_thread_first(); thread; thread = thread->next) {
        const struct trc_thread_chunk *page = thread->stream.page;
        /* Horovod's background thread makes a thousand small collectives a second whether anything happens or not. */
        bool background = thread->tid != first;
        for (uint32_t i = 0; i < TRC_ROWS; i++) {
            const struct trc_row *row = &page->rows[i];
            uint32_t call = __atomic_load_n(&row->call_plus_1, __ATOMIC_RELAXED);
            if (!call || call > IPO_CALLS)
                continue;
            enum trc_opclass opclass = (enum trc_opclass)ipo_calls[call - 1].opclass;
            if (moves(opclass) && !(background && is_collective(opclass) && row->size_class <= SMALL_CLASS))
                sum += row->calls;
        }
        sum += page->thread.completes;
    }
    return sum;
}

const char *ipo_overdue(uint64_t floor_ticks)
{
    uint64_t now = ipo_ticks();
    for (const struct ipo_thread *thread = ipo_thread_first(); thread; thread = thread->next) {
        const struct trc_thread_chunk *page = thread->stream.page;
        uint32_t inside = __atomic_load_n(&page->thread.inside, __ATOMIC_ACQUIRE);
        uint64_t since = page->thread.inside_since, longest = 0, calls = 0;
        if (!inside || inside > TRC_SIGS || since > now || now - since < floor_ticks)
            continue;
        uint32_t call = page->sigs[inside - 1].call;
        for (uint32_t i = 0; i < TRC_ROWS; i++)
            if (page->rows[i].call_plus_1 == call + 1) {
                calls += page->rows[i].calls;
                longest = page->rows[i].max_ticks > longest ? page->rows[i].max_ticks : longest;
            }
        if (call < IPO_CALLS && moves((enum trc_opclass)ipo_calls[call].opclass) && calls >= 20 &&
            (now - since) / 50 > longest)
            return ipo_calls[call].name;
    }
    return NULL;
}
