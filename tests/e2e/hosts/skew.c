/* Another host's clocks: preloaded beside the program, it lets CLOCK_REALTIME be wrong by SKEW_REALTIME_NS and lets all
 * clocks of the host run SKEW_PPM too fast.  Whoever asks sees it, as on a machine with another quartz.  The drift
 * counts from the boot, so that all processes of one host agree. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long number(const char *name)
{
    const char *value = getenv(name);
    return value ? atoll(value) : 0;
}

static long long realtime_ns, ppm;
__attribute__((constructor)) static void load(void)
{
    realtime_ns = number("SKEW_REALTIME_NS");
    ppm = number("SKEW_PPM");
}

static long long read_ns(clockid_t clock)
{
    struct timespec t;
    syscall(SYS_clock_gettime, clock, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, t);
    long long mono = read_ns(CLOCK_MONOTONIC), more = mono / 1000000 * ppm;
    long long ns = clock == CLOCK_REALTIME ? read_ns(clock) + realtime_ns + more : mono + more;
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return 0;
}
