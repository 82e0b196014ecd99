#include "trace/why/modes.h"
#include "trace/util/sort.h"
#include "trace/util/trouble.h"
#include <math.h>
#include <stdlib.h>

#define EQUALLY 1.5  /* factor between counts taken as equal */
#define LEAST   10u  /* long times of a rank: fewer are accidents, */
#define ONE_IN  100u /* long times of a rank: less than one in 100 of all are accidents, too */

static double middle_of(uint32_t bucket)
{
    return ((double)trc_bucket_low(bucket) + (double)trc_bucket_low(bucket + 1)) / 2;
}

double ana_long_limit(const struct ana_counts *counts)
{
    double whole = 0, above = 0;
    uint32_t i = counts->n;
    for (uint32_t b = 0; b < counts->n; b++)
        whole += counts->count[b] * middle_of(counts->first + b);
    while (i > 0 && above < whole / 2) {
        i--;
        above += counts->count[i] * middle_of(counts->first + i);
    }
    const double limit = (double)trc_bucket_low(counts->first + i) / 2;
    return limit > 0 && limit >= SPIKE_TIMES * ana_counts_percentile(counts, 0.5) ? limit : NAN;
}

struct ana_long_times ana_long_times_of(const struct ana_counts *counts, double limit_ns)
{
    struct ana_long_times result = {.median_ns = NAN};
    uint64_t seen = 0, all = 0;
    for (uint32_t i = 0; i < counts->n; i++) {
        all += counts->count[i];
        if ((double)trc_bucket_low(counts->first + i) >= limit_ns)
            result.times += counts->count[i];
    }
    if (result.times < LEAST || result.times < all / ONE_IN)
        result.times = 0;
    for (uint32_t i = counts->n; i > 0 && 2 * seen < result.times; i--) {
        seen += counts->count[i - 1];
        result.median_ns = middle_of(counts->first + i - 1);
    }
    return result;
}

ANA_COMPARE(by_number, uint64_t, ANA_ORDER(*x, *y))

bool ana_long_is_shared(const struct ana_long_times *rank, size_t n, size_t index)
{
    uint64_t *times = malloc((n + 1) * sizeof *times);
    size_t having = 0, equal = 0;
    for (size_t i = 0; times && i < n; i++)
        if (rank[i].times)
            times[having++] = rank[i].times;
    if (!times || having < 2) {
        free(times);
        return false;
    }
    ana_sort(times, having, sizeof *times, by_number);
    const double median = (double)times[(having - 1) / 2];
    for (size_t i = 0; i < having; i++)
        equal += (double)times[i] <= EQUALLY * median && (double)times[i] * EQUALLY >= median;
    const double own = (double)rank[index].times;
    free(times);
    return 2 * equal > having && own <= EQUALLY * median && own * EQUALLY >= median;
}
