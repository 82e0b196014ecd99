#include "interpose/core/filter.h"
#include "interpose/base/safe_read.h"
#include "interpose/core/facts.h"
#include "interpose/core/own.h"
#include "interpose/core/state.h"

#define READY 2048u /* blocks */

static atomic_bool noted;

bool ipo_filter_is_there(void)
{
    return atomic_load(&noted);
}

void ipo_filter_prepare(bool for_all)
{
    struct trc_writer *writer = &ipo_process.writer;
    bool child = ipo_process.pid && ipo_process.pid != (uint32_t)getpid();
    int quiet = atomic_load(&trc_quiet), shared = TRC_SHARED;
    if (child || quiet == TRC_NOBODY_MAY_ASK || (quiet && !for_all))
        return;
    atomic_store(&noted, true);
    if (!ipo_process.pid) {
        ipo_safe_read_refuse(); /* later the gate refuses system calls, and our own thread may go on */
        return;
    }
    ipo_fact("seccomp", for_all ? "a filter for all threads: no more signs of life, stacks and counts of the kernel"
                                : "a filter for a thread: threads that come later are not recorded");
    if (quiet) /* nothing may be asked here already */
        ipo_own_leave();
    else if (!for_all && !atomic_load(&writer->apart))
        trc_writer_grow(writer, READY); /* our own thread is not woken any more when room runs low */
    else if (for_all && ipo_own_end())  /* else it waits for its file system: we do not */
        trc_writer_alloc_all(writer);
    atomic_compare_exchange_strong(&writer->apart, &shared, TRC_APART);
    atomic_store(&trc_quiet, for_all ? TRC_NOBODY_MAY_ASK : TRC_OWN_MAY_ASK);
}
