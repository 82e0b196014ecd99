/* Histogram by trc_bucket() that takes room only from its lowest octave to its highest: there are thousands, as of one
 * rank's times at one place, and most lie within a few octaves.  Zeros are an empty one.  One thread at a time. */
#pragma once

#include "trace/format/histogram.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ana_archive;

struct ana_counts {
    uint32_t *count; /* counters of the buckets first .. first + n - 1; a full one stays full */
    uint16_t first, n;
};

/* Frees its room; leaves an empty one. */
void ana_counts_free(struct ana_counts *counts);
/* The slow path of ana_counts_add: room for a bucket.  NULL: out of memory, and nothing has changed. */
uint32_t *ana_counts_room(struct ana_counts *counts, uint32_t bucket);

/* Counts a value, `times` times.  False: out of memory, and it does not count. */
static inline bool ana_counts_add(struct ana_counts *counts, uint64_t value, uint64_t times)
{
    uint32_t bucket = trc_bucket(value), at = bucket - counts->first, *count = counts->count + at;
    if (__builtin_expect(at >= counts->n, 0) && !(count = ana_counts_room(counts, bucket)))
        return false;
    if (__builtin_expect(__builtin_add_overflow(*count, times, count), 0))
        *count = UINT32_MAX;
    return true;
}
/* Sets a histogram to TRC_HISTOGRAM_BUCKETS counts.  False: out of memory, it is empty. */
bool ana_counts_set(struct ana_counts *counts, const uint32_t *all);
/* Adds all of it to TRC_HISTOGRAM_BUCKETS counts. */
void ana_counts_add_to(const struct ana_counts *counts, uint32_t *to);
/* The value below which `share` of the counts lie; NAN when empty. */
double ana_counts_percentile(const struct ana_counts *counts, double share);

/* Saves `n` histograms, or loads them into empty ones. */
void ana_counts_archive(struct ana_archive *archive, struct ana_counts *const *each, size_t n);
