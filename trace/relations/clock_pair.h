/* Bounds on the offset between two clocks, theta(t) = clock_B - clock_A, t on clock A; and the line through them
 * (clock.h).  Pure arithmetic. */
#pragma once

#include "trace/relations/clock.h"

/* The tightest bounds of one stretch of time, with the time of each: INT64_MAX / INT64_MIN where there is none. */
struct ana_clock_bin {
    int64_t upper_at, upper;
    int64_t lower_at, lower;
};

/* All zeros is a pair without bounds. */
struct ana_clock_pair {
    bool begun;
    int64_t first, width; /* ns: begin of bin 0, and how long each lasts */
    struct ana_clock_bin bin[ANA_CLOCK_BINS];
};

/* Adds a bound: theta at `at` is at most `theta` (upper), or at least; all in ns. */
void ana_clock_pair_add(struct ana_clock_pair *pair, int64_t at, int64_t theta, bool upper);

/* The line through the bounds. */
struct ana_clock_pair_fit {
    bool known;    /* bounds from both sides */
    int64_t at_ns; /* theta(t) = theta_ns + drift * (t - at_ns) */
    int64_t theta_ns;
    double drift;
    double error_ns; /* farthest that the truth can be from it, from `since` (on clock A) to the last bound */
};
/* Fits a line to the bounds; `since`, in ns on clock A, is where the run begins. */
struct ana_clock_pair_fit ana_clock_pair_fit(const struct ana_clock_pair *pair, int64_t since);

/* The offset nearest to `theta` that no bound forbids (the middle, if bounds contradict each other). */
int64_t ana_clock_pair_clamp(const struct ana_clock_pair *pair, int64_t theta);
