/* Clock of all code that reads and shows traces.  The recorder has its own (trace/writer/now.h).
 * Nanoseconds; any thread. */
#pragma once

#include <stdint.h>
#include <time.h>

/* A clock now, in ns. */
static inline int64_t ana_clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Since some moment before this program began; never goes back.  For durations and patience. */
static inline int64_t ana_now_ns(void)
{
    return ana_clock_read(CLOCK_MONOTONIC);
}

/* Since 1970, by this host's wall clock, which may be set meanwhile.  To compare with other hosts and with files. */
static inline int64_t ana_wall_ns(void)
{
    return ana_clock_read(CLOCK_REALTIME);
}

/* The time of processors that this process has taken. */
static inline int64_t ana_used_ns(void)
{
    return ana_clock_read(CLOCK_PROCESS_CPUTIME_ID);
}
