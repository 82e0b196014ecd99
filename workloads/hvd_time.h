/* Time that a stand-in passes: asleep, or on a processor. */
#ifndef HVD_TIME_H
#define HVD_TIME_H

#include <time.h>

static inline void compute(int ms)
{
    for (clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000); clock() < end;)
        continue;
}

static inline void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

#endif
