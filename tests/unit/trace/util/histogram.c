/* Percentiles from buckets: against the sorted values themselves. */
#include "tests/support/check.h"
#include "trace/util/times.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool near(double got, double want, double tolerance)
{
    return fabs(got - want) <= tolerance * want + 0.5;
}

static void buckets_partition_the_numbers(void)
{
    for (uint32_t b = 0; b + 1 < TRC_BUCKETS; b++) {
        CHECK(trc_bucket(trc_bucket_low(b)) == b);
        CHECK(trc_bucket(trc_bucket_low(b + 1) - 1) == b);
    }
    CHECK(trc_bucket(UINT64_MAX) == TRC_BUCKETS - 1);
    CHECK(trc_size_class(0) == 0 && trc_size_class(1) == 1 && trc_size_class(8) == 4 && trc_size_class(15) == 4);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Values over nine orders of magnitude, in both kinds of histogram and as ticks of three per ns. */
static void percentiles_are_within_a_sixteenth(void)
{
    enum { N = 20000 };
    static int64_t value[N];
    static struct ana_times_sum sum, ticks;
    static struct ana_times_small small;
    static uint64_t bucket[TRC_BUCKETS];
    uint64_t seed = 1;
    int64_t total = 0;
    for (int i = 0; i < N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        value[i] = (int64_t)exp((double)(seed >> 40) / (double)(1 << 24) * 20);
        total += value[i];
        ana_times_add(&sum, value[i], 1);
        ana_small_add(&small, value[i], 1);
        bucket[trc_bucket((uint64_t)value[i] * 3)]++;
    }
    qsort(value, N, sizeof *value, ascending);
    ticks.calls = N;
    ticks.min_ns = (double)value[0];
    ticks.max_ns = (double)value[N - 1];
    ana_times_add_ticks(&ticks, bucket, 1.0 / 3);
    struct ana_times t[3] = {ana_times_of(&sum), ana_small_of(&small), ana_times_of(&ticks)};
    for (int i = 0; i < 3; i++) {
        CHECK(t[i].count == N);
        CHECK(i == 2 || t[i].total_ns == total);
        CHECK(t[i].min_ns == (double)value[0] && t[i].max_ns == (double)value[N - 1]);
        CHECK(near(t[i].p50_ns, (double)value[N / 2 - 1], 1.0 / 14));
        CHECK(near(t[i].p90_ns, (double)value[N * 9 / 10 - 1], 1.0 / 14));
        CHECK(near(t[i].p99_ns, (double)value[N * 99 / 100 - 1], 1.0 / 14));
    }
}

static void one_value_is_exact(void)
{
    static struct ana_times_sum sum;
    struct ana_times t = ana_times_of(&sum);
    CHECK(t.count == 0 && isnan(t.min_ns) && isnan(t.p50_ns) && isnan(t.max_ns));
    ana_times_add(&sum, 12345, 7);
    t = ana_times_of(&sum);
    CHECK(t.count == 7 && t.total_ns == 7 * 12345);
    CHECK(t.min_ns == 12345 && t.p50_ns == 12345 && t.p99_ns == 12345 && t.max_ns == 12345);
    ana_times_add(&sum, -5, 1);
    CHECK(ana_times_of(&sum).min_ns == 0);
}

static void merging_and_powers_of_two(void)
{
    static struct ana_times_sum a, b;
    uint32_t log2[64];
    ana_times_add(&a, 1, 2);
    ana_times_add(&a, 1023, 3);
    ana_times_add(&b, 1024, 4);
    ana_times_merge(&a, &b);
    ana_times_log2(&a, log2);
    CHECK(a.calls == 9 && a.total_ns == 2 + 3 * 1023 + 4 * 1024 && a.min_ns == 1 && a.max_ns == 1024);
    CHECK(log2[0] == 2 && log2[9] == 3 && log2[10] == 4 && log2[11] == 0);
}

static void small_counts_by_hand(void)
{
    uint32_t count[TRC_BUCKETS] = {0};
    CHECK(isnan(ana_bucket_percentile(count, 0.5)));
    count[3] = 1;
    count[5] = 1;
    CHECK(ana_bucket_percentile(count, 0.5) == 3);
    CHECK(ana_bucket_percentile(count, 0.51) == 5);
    CHECK(ana_bucket_percentile(count, 0) == 3);
    CHECK(ana_bucket_percentile(count, 1) == 5);
}

int main(void)
{
    buckets_partition_the_numbers();
    percentiles_are_within_a_sixteenth();
    one_value_is_exact();
    merging_and_powers_of_two();
    small_counts_by_hand();
    return check_result();
}
