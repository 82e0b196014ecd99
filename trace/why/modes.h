/* Two modes of one segment: the pause between two exchanges of a step, and once a step its whole computation.
 *
 * The median of such times is the pause, which is no measure of the work.  The long mode is the times from half of that
 * duration on in which, with all that last longer, half of the total time is spent.  It is a kind of work, and not a
 * few accidents, if most ranks have about equally many of its times.  Pure arithmetic; any thread. */
#pragma once

#include "trace/util/counts.h"

/* The times of one rank in the long mode. */
struct ana_long_times {
    uint64_t times;
    double median_ns; /* within 1/16; NAN: none */
};

/* Returns the duration in ns at which the long mode of one rank's times begins; NAN: they have one mode. */
double ana_long_limit(const struct ana_counts *counts);
/* Returns the number and the median of the durations of at least `limit_ns`; none, where they are too few for a kind
 * of work. */
struct ana_long_times ana_long_times_of(const struct ana_counts *counts, double limit_ns);
/* Whether rank `index` and most of the `n` ranks that have any long times have about equally many. */
bool ana_long_is_shared(const struct ana_long_times *rank, size_t n, size_t index);
