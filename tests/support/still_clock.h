/* A clock that the test sets, in place of the machine's: what a screen shows of a job that runs then depends on its
 * files alone.  The times fit the files of the trace builder.  For one test program each, so everything
 * is here. */
#ifndef TESTS_STILL_CLOCK_H
#define TESTS_STILL_CLOCK_H

#include <stdint.h>
#include <time.h>

static int64_t still_clock_ns;   /* since the files were made */
static int64_t still_clock_step; /* duration of a look at it; not 0 where a budget of time is to end */

int clock_gettime(clockid_t id, struct timespec *t)
{
    int64_t ns = (still_clock_ns += still_clock_step) + (id == CLOCK_REALTIME ? 1700000000000000000 : 1000000000);
    *t = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

#endif
