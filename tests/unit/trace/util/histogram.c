/* Percentiles from buckets: against the sorted values themselves. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
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
    /* 2^40 ns at 8 GHz do not share the last bucket */
    CHECK(trc_bucket_low(TRC_BUCKETS) == 1ull << 43 && trc_bucket(((1ull << 40) - 1) * 8) == TRC_BUCKETS - 1 &&
          trc_bucket((1ull << 40) * 6) < TRC_BUCKETS - 1);
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

/* Lengths up to twenty minutes, also at four ticks a ns: no percentile is far from the longest. */
static void long_ones_do_not_saturate(void)
{
    for (int64_t ns = 1000; ns < (int64_t)1 << 40; ns += ns / 3) {
        static struct ana_times_small small;
        static struct ana_times_sum ticks;
        uint64_t bucket[TRC_BUCKETS] = {0};
        small = (struct ana_times_small){0};
        ticks = (struct ana_times_sum){.calls = 100, .max_ns = 1e18};
        ana_small_add(&small, 5, 1);
        ana_small_add(&small, 99 * ns, 99);
        bucket[trc_bucket((uint64_t)ns * 4)] = 100;
        ana_times_add_ticks(&ticks, bucket, 0.25);
        CHECK(near(ana_bucket_percentile(small.count, 0, TRC_BUCKETS, 0.99), (double)ns, 1.0 / 8));
        CHECK(near(ana_times_of(&ticks).p99_ns, (double)ns, 1.0 / 7));
    }
}

/* The time of polls that are added together is their sum, whatever their mean is. */
static void time_of_many_is_exact(void)
{
    struct ana_times_small small = {0};
    struct ana_times_slim slim = {0};
    ana_small_add(&small, 1999, 1000);
    CHECK(ana_slim_add(&slim, 1999, 1000));
    CHECK(small.calls == 1000 && small.total_ns == 1999 && small.max_ns == 1, "%lld", (long long)small.total_ns);
    CHECK(slim.calls == 1000 && slim.total_ns == 1999 && slim.max_ns == 1, "%lld", (long long)slim.total_ns);
    free(slim.counts.count);
}

/* Values in any order against counts of all buckets: what takes little room loses nothing. */
static void narrow_counts_are_those_of_all_buckets(void)
{
    uint64_t seed = 5;
    for (int round = 0; round < 300; round++) {
        static struct ana_times_small all, merged;
        struct ana_times_slim slim = {0};
        all = merged = (struct ana_times_small){0};
        uint32_t lowest = TRC_BUCKETS, highest = 0;
        for (int i = 0; i < round; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            int64_t ns = (int64_t)(seed >> 16 >> (seed >> 58) % (round % 48 + 1)) - 1;
            uint64_t calls = seed >> 33 & 1 ? 1 : seed >> 34 & 1 ? 0 : 1ull << (seed >> 35) % 34;
            ana_small_add(&all, ns, calls);
            CHECK(ana_slim_add(&slim, ns, calls));
            uint32_t bucket = trc_bucket(ns < 0 || !calls ? 0 : (uint64_t)ns / calls);
            lowest = calls && bucket < lowest ? bucket : lowest;
            highest = calls && bucket > highest ? bucket : highest;
        }
        CHECK(slim.counts.n <= (lowest <= highest ? highest / 8 * 8 + 8 - lowest / 8 * 8 : 0));
        ana_small_merge_slim(&merged, &slim);
        CHECK(memcmp(&merged, &all, sizeof all) == 0);
        double median = ana_counts_percentile(&slim.counts, 0.5),
               whole = ana_bucket_percentile(all.count, 0, TRC_BUCKETS, 0.5);
        CHECK(median == whole || (isnan(median) && isnan(whole)));
        ana_counts_free(&slim.counts);
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

static void merging(void)
{
    static struct ana_times_sum a, b;
    ana_times_add(&a, 1, 2);
    ana_times_add(&a, 1023, 3);
    ana_times_add(&b, 1024, 4);
    ana_times_merge(&a, &b);
    CHECK(a.calls == 9 && a.total_ns == 2 + 3 * 1023 + 4 * 1024 && a.min_ns == 1 && a.max_ns == 1024);
}

/* Each duration alone is in its own decade, also the first and the last of one; many are so but for those at an
 * edge. */
static void decades(void)
{
    uint64_t count[ANA_DECADES], state = 5;
    int64_t power = 1;
    for (int d = 0; d < ANA_DECADES; d++, power *= 10) {
        for (int64_t ns = power; ns < 10 * power; ns += ns < 10 * power - 1 && ns != power ? 9 * power - 2 : 1) {
            static struct ana_times_sum one;
            one = (struct ana_times_sum){0};
            ana_times_add(&one, d || ns > 1 ? ns : 0, 3);
            ana_times_decades(&one, count);
            CHECK(count[d] == 3, "%lld is not in decade %d", (long long)ns, d);
        }
    }
    static struct ana_times_sum many;
    uint64_t want[ANA_DECADES] = {0}, edge = 0;
    for (int i = 0; i < 20000; i++) {
        int d = (int)draw(&state, ANA_DECADES - 2);
        int64_t ns = 1 + draw(&state, 9);
        for (int k = 0; k < d; k++)
            ns = ns * 10 + draw(&state, 10);
        ana_times_add(&many, ns, 1);
        want[d]++;
        double from = pow(10, d);
        edge += (double)ns < 1.07 * from || (double)ns > 9.3 * from;
    }
    ana_times_decades(&many, count);
    for (int d = 0; d < ANA_DECADES; d++)
        CHECK(fabs((double)count[d] - (double)want[d]) <= (double)edge / 4, "decade %d: %llu of %llu", d,
              (unsigned long long)count[d], (unsigned long long)want[d]);
}

static void small_counts_by_hand(void)
{
    uint32_t count[TRC_BUCKETS] = {0};
    CHECK(isnan(ana_bucket_percentile(count, 0, TRC_BUCKETS, 0.5)));
    count[3] = 1;
    count[5] = 1;
    CHECK(ana_bucket_percentile(count, 0, TRC_BUCKETS, 0.5) == 13.5);
    CHECK(ana_bucket_percentile(count, 0, TRC_BUCKETS, 0.51) == 21.5);
    CHECK(ana_bucket_percentile(count, 0, TRC_BUCKETS, 0) == 13.5);
    CHECK(ana_bucket_percentile(count, 0, TRC_BUCKETS, 1) == 21.5);
}

int main(void)
{
    buckets_partition_the_numbers();
    percentiles_are_within_a_sixteenth();
    long_ones_do_not_saturate();
    time_of_many_is_exact();
    narrow_counts_are_those_of_all_buckets();
    one_value_is_exact();
    merging();
    decades();
    small_counts_by_hand();
    return check_result();
}
