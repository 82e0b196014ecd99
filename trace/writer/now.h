/* The current time for the recorder, beside its ticks: a system call at worst, safe in signal handlers.  Nanoseconds;
 * any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

/* A clock now, in ns; safe in signal handlers. */
static inline uint64_t trc_clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Since some moment before this process began; never goes back. */
static inline uint64_t trc_now_ns(void)
{
    return trc_clock_read(CLOCK_MONOTONIC);
}

/* Since 1970, by this host's wall clock, which may be set meanwhile. */
static inline uint64_t trc_wall_ns(void)
{
    return trc_clock_read(CLOCK_REALTIME);
}
