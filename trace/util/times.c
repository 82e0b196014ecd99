#include "trace/util/times.h"
#include <math.h>

int64_t ana_farthest(int64_t sign)
{
    return sign < 0 ? INT64_MIN : INT64_MAX;
}

static uint32_t fine_bucket(uint64_t ns)
{
    if (ns < 32)
        return (uint32_t)ns;
    uint32_t octave = 63u - (uint32_t)__builtin_clzll(ns);
    uint32_t bucket = (octave - 4) * 32 + (uint32_t)((ns >> (octave - 5)) & 31);
    return bucket < ANA_TIMES_BUCKETS ? bucket : ANA_TIMES_BUCKETS - 1;
}

static uint64_t fine_low(uint32_t bucket)
{
    return bucket < 32 ? bucket : (32ull + bucket % 32) << (bucket / 32 - 1);
}

/* The middle of a bucket, which holds the integers from `low` to `next` - 1. */
static double middle(uint64_t low, uint64_t next)
{
    return ((double)low + (double)(next - 1)) / 2;
}

void ana_times_add(struct ana_times_sum *sum, int64_t ns, uint64_t calls)
{
    if (calls == 0)
        return;
    if (ns < 0)
        ns = 0;
    if (sum->calls == 0 || (double)ns < sum->min_ns)
        sum->min_ns = (double)ns;
    if (sum->calls == 0 || (double)ns > sum->max_ns)
        sum->max_ns = (double)ns;
    sum->calls += calls;
    sum->total_ns = ana_plus(sum->total_ns, ana_product(ns, calls));
    sum->count[fine_bucket((uint64_t)ns)] += calls;
}

void ana_times_merge(struct ana_times_sum *sum, const struct ana_times_sum *other)
{
    if (other->calls == 0)
        return;
    if (sum->calls == 0 || other->min_ns < sum->min_ns)
        sum->min_ns = other->min_ns;
    if (sum->calls == 0 || other->max_ns > sum->max_ns)
        sum->max_ns = other->max_ns;
    sum->calls += other->calls;
    sum->total_ns = ana_plus(sum->total_ns, other->total_ns);
    for (uint32_t b = 0; b < ANA_TIMES_BUCKETS; b++)
        sum->count[b] += other->count[b];
}

void ana_times_add_ticks(struct ana_times_sum *sum, const uint64_t *count, double ns_per_tick)
{
    for (uint32_t b = 0; b < TRC_BUCKETS; b++)
        if (count[b]) {
            double ns = middle(trc_bucket_low(b), trc_bucket_low(b + 1)) * ns_per_tick;
            sum->count[fine_bucket(ns < 0 ? 0 : (uint64_t)ana_rounded(ns))] += count[b];
        }
}

/* The middle of the bucket where the running count reaches `share` of `total`. */
static double percentile(const struct ana_times_sum *sum, uint64_t total, double share)
{
    double rank = share * (double)total;
    uint64_t seen = 0;
    double value = NAN;
    for (uint32_t b = 0; b < ANA_TIMES_BUCKETS && (seen == 0 || (double)seen < rank); b++)
        if (sum->count[b]) {
            seen += sum->count[b];
            value = middle(fine_low(b), fine_low(b + 1));
        }
    return fmin(fmax(value, sum->min_ns), sum->max_ns);
}

struct ana_times ana_times_of(const struct ana_times_sum *sum)
{
    struct ana_times t = {sum->calls, sum->total_ns, NAN, NAN, NAN, NAN, NAN};
    uint64_t total = 0; /* may differ from `calls` while the job runs: they are read one after the other */
    for (uint32_t b = 0; b < ANA_TIMES_BUCKETS; b++)
        total += sum->count[b];
    if (sum->calls == 0)
        return t;
    t.min_ns = sum->min_ns;
    t.max_ns = sum->max_ns;
    if (total) {
        t.p50_ns = percentile(sum, total, 0.5);
        t.p90_ns = percentile(sum, total, 0.9);
        t.p99_ns = percentile(sum, total, 0.99);
    }
    return t;
}

void ana_times_decades(const struct ana_times_sum *sum, uint64_t decade[ANA_DECADES])
{
    for (int i = 0; i < ANA_DECADES; i++)
        decade[i] = 0;
    for (uint32_t b = 0; b < ANA_TIMES_BUCKETS; b++) {
        double ns = fmin(fmax(middle(fine_low(b), fine_low(b + 1)), sum->min_ns), sum->max_ns);
        int i = 0;
        while (sum->count[b] && i + 1 < ANA_DECADES && ns >= 10) {
            ns /= 10;
            i++;
        }
        decade[i] += sum->count[b];
    }
}

double ana_bucket_percentile(const uint32_t *count, uint32_t first, uint32_t n, double share)
{
    uint64_t total = 0, seen = 0;
    for (uint32_t i = 0; i < n; i++)
        total += count[i];
    double value = NAN;
    for (uint32_t i = 0; i < n && (seen == 0 || (double)seen < share * (double)total); i++)
        if (count[i]) {
            const uint32_t b = first + i;
            seen += count[i];
            value = b ? middle(trc_bucket_low(b), trc_bucket_low(b + 1)) : 0; /* nothing is nothing */
        }
    return value;
}

void ana_small_merge_slim(struct ana_times_small *small, const struct ana_times_slim *slim)
{
    if (slim->calls == 0)
        return;
    if (small->calls == 0 || slim->min_ns < small->min_ns)
        small->min_ns = slim->min_ns;
    if (small->calls == 0 || slim->max_ns > small->max_ns)
        small->max_ns = slim->max_ns;
    small->calls += slim->calls;
    small->total_ns = ana_plus(small->total_ns, slim->total_ns);
    ana_counts_add_to(&slim->counts, small->count);
}

void ana_small_merge(struct ana_times_small *small, struct ana_times_small *other)
{
    const struct ana_times_slim slim = {
        other->calls, other->total_ns, other->min_ns, other->max_ns, {other->count, 0, TRC_BUCKETS}};
    ana_small_merge_slim(small, &slim);
}

struct ana_times ana_small_of(const struct ana_times_small *small)
{
    struct ana_times t = {small->calls, small->total_ns, NAN, NAN, NAN, NAN, NAN};
    if (small->calls == 0)
        return t;
    t.min_ns = (double)small->min_ns;
    t.max_ns = (double)small->max_ns;
    t.p50_ns = fmin(fmax(ana_bucket_percentile(small->count, 0, TRC_BUCKETS, 0.5), t.min_ns), t.max_ns);
    t.p90_ns = fmin(fmax(ana_bucket_percentile(small->count, 0, TRC_BUCKETS, 0.9), t.min_ns), t.max_ns);
    t.p99_ns = fmin(fmax(ana_bucket_percentile(small->count, 0, TRC_BUCKETS, 0.99), t.min_ns), t.max_ns);
    return t;
}
