/* A lock for program threads, held for some dozen instructions.  Any thread; async-signal-safe. */
#pragma once

#include "trace/writer/system.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#define IPO_LOCK_SPINS  1000
#define IPO_LOCK_SLEEPS 1000 /* milliseconds */

/* Takes the lock.  Sleeps while its holder has no processor.  False after a second: the holder may be the code that
 * this thread's signal handler has interrupted. */
static inline bool ipo_lock(atomic_flag *lock)
{
    for (int i = 0; atomic_flag_test_and_set_explicit(lock, memory_order_acquire); i++)
        if (i == IPO_LOCK_SPINS + IPO_LOCK_SLEEPS)
            return false;
        else if (i >= IPO_LOCK_SPINS)
            trc_sys_sleep(1000000);
        else if (i % 100 == 99)
            sched_yield();
    return true;
}

/* Releases it; the caller holds it. */
static inline void ipo_unlock(atomic_flag *lock)
{
    atomic_flag_clear_explicit(lock, memory_order_release);
}
