/* Percentiles from histograms.
 *
 * The recorder's buckets are in ticks of its own clock, 8 an octave; an ana_times_sum is in nanoseconds, 32 an octave,
 * so that putting the former into the latter (by the middle of the bucket) adds nothing worth naming to the error: a
 * percentile is right within 1/16 of its value, and within [min, max], which are exact. */
#pragma once

#include "trace/format/format.h"
#include "trace/format/histogram.h"
#include "trace/util/counts.h"

/* Distribution of durations in ns; percentiles are NAN when nothing was counted. */
struct ana_times {
    uint64_t count;
    int64_t total_ns;
    double min_ns, p50_ns, p90_ns, p99_ns, max_ns;
};

#define ANA_TIMES_BUCKETS 1408u /* up to 2^48 ns, 78 hours */

/* The end of the number line that `sign` points to: INT64_MIN or INT64_MAX. */
__attribute__((cold, noinline)) int64_t ana_farthest(int64_t sign);
/* a + b; damaged files cannot make it overflow: it stays at the end of the range. */
static inline int64_t ana_plus(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_expect(__builtin_add_overflow(a, b, &sum), 0))
        return ana_farthest(b);
    return sum;
}
/* The earlier of two times. */
static inline int64_t ana_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
/* a * b, at the end of the range where that overflows. */
static inline int64_t ana_product(int64_t a, uint64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? (a < 0 ? INT64_MIN : INT64_MAX) : product;
}
/* Rounded to the nearest integer, within what an int64_t holds. */
static inline int64_t ana_rounded(double value)
{
    return value >= 9e18 ? INT64_MAX : value <= -9e18 ? INT64_MIN : (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

struct ana_times_sum {
    uint64_t calls;
    int64_t total_ns;
    double min_ns, max_ns; /* valid when calls > 0 */
    uint64_t count[ANA_TIMES_BUCKETS];
};

/* Adds a duration, `calls` times.  Negative durations count as 0. */
void ana_times_add(struct ana_times_sum *sum, int64_t ns, uint64_t calls);
/* Adds all that is in `other`. */
void ana_times_merge(struct ana_times_sum *sum, const struct ana_times_sum *other);
/* Adds a histogram of trc_bucket() in ticks: `count` points to TRC_BUCKETS numbers.  Changes the buckets only, not
 * calls, total_ns, min_ns and max_ns. */
void ana_times_add_ticks(struct ana_times_sum *sum, const uint64_t *count, double ns_per_tick);
/* The distribution of a sum; percentiles are NAN where nothing was counted. */
struct ana_times ana_times_of(const struct ana_times_sum *sum);
#define ANA_DECADES 13
/* Counts durations by decades: decade[0] those below 10 ns, decade[1] from there below 100 ns, the last all from 1000 s
 * on.  Which of two neighbours one belongs to is known as well as a percentile. */
void ana_times_decades(const struct ana_times_sum *sum, uint64_t decade[ANA_DECADES]);

/* Returns the value below which `share` of the counts lie, in the buckets `first` .. first + n - 1 of trc_bucket() of
 * any unit; NAN when empty. */
double ana_bucket_percentile(const uint32_t *count, uint32_t first, uint32_t n, double share);

/* Small distribution, for thousands of them: 8 buckets an octave of ns.  Zeros are an empty one. */
struct ana_times_small {
    uint64_t calls;
    int64_t total_ns, min_ns, max_ns;
    uint32_t count[TRC_BUCKETS];
};
/* Adds `calls` > 0 equal durations, `all_ns` together, to the sums of a distribution; returns one duration.  A
 * negative time counts as 0. */
static inline int64_t ana_times_count(uint64_t *so_far, int64_t *total_ns, int64_t *min_ns, int64_t *max_ns,
                                      int64_t all_ns, uint64_t calls)
{
    all_ns = all_ns < 0 ? 0 : all_ns;
    const int64_t ns = calls == 1 ? all_ns : (int64_t)((uint64_t)all_ns / calls);
    if (__builtin_expect(*so_far == 0, 0) || ns < *min_ns)
        *min_ns = ns;
    *max_ns = ns > *max_ns ? ns : *max_ns;
    *so_far += calls;
    *total_ns = ana_plus(*total_ns, all_ns);
    return ns;
}
/* Adds `calls` equal durations, `all_ns` together; a negative time counts as 0.  A full bucket stays full. */
static inline void ana_small_add(struct ana_times_small *small, int64_t all_ns, uint64_t calls)
{
    if (__builtin_expect(calls == 0, 0))
        return;
    const int64_t ns = ana_times_count(&small->calls, &small->total_ns, &small->min_ns, &small->max_ns, all_ns, calls);
    uint32_t *count = &small->count[trc_bucket((uint64_t)ns)];
    if (__builtin_expect(__builtin_add_overflow(*count, calls, count), 0))
        *count = UINT32_MAX;
}
/* Adds all that is in `other`. */
void ana_small_merge(struct ana_times_small *small, struct ana_times_small *other);
/* Returns its distribution; percentiles are NAN if nothing was counted. */
struct ana_times ana_small_of(const struct ana_times_small *small);

/* Slim distribution like it, for millions of them.  Zeros are an empty one; its counts are to be freed. */
struct ana_times_slim {
    uint64_t calls;
    int64_t total_ns, min_ns, max_ns;
    struct ana_counts counts;
};
/* Adds calls, as ana_small_add does.  False: out of memory, percentiles do not know them. */
static inline bool ana_slim_add(struct ana_times_slim *slim, int64_t all_ns, uint64_t calls)
{
    if (__builtin_expect(calls == 0, 0))
        return true;
    const int64_t ns = ana_times_count(&slim->calls, &slim->total_ns, &slim->min_ns, &slim->max_ns, all_ns, calls);
    return ana_counts_add(&slim->counts, (uint64_t)ns, calls);
}
/* Adds all that is in `slim`. */
void ana_small_merge_slim(struct ana_times_small *small, const struct ana_times_slim *slim);
