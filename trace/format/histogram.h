/* The log-linear histogram of durations: 8 buckets an octave, so a percentile is right within 1/16 of its value.
 * Used by the recorder (ticks) and by the analysis (any unit). */
#ifndef TRC_HISTOGRAM_H
#define TRC_HISTOGRAM_H

#include <stdint.h>

#define TRC_HISTOGRAM_BUCKETS 256u

/* Bucket of a value; values of 2^34 and more share the last.  Callable from the traced thread. */
static inline uint32_t trc_bucket(uint64_t value)
{
    if (__builtin_expect(value >> 34 != 0, 0))
        return TRC_HISTOGRAM_BUCKETS - 1;
    uint32_t shift = (63u ^ (uint32_t)__builtin_clzll(value | 8)) - 3; /* leaves 8..15, or less than 8 as it is */
    return shift * 8 + (uint32_t)(value >> shift);
}

/* Smallest value of a bucket. */
static inline uint64_t trc_bucket_low(uint32_t bucket)
{
    if (bucket < 8)
        return bucket;
    return (8ull + bucket % 8) << (bucket / 8 - 1);
}

/* Size class of a number of bytes: 0 for none, k for 2^(k-1) .. 2^k - 1. */
static inline uint16_t trc_size_class(uint64_t bytes)
{
    return bytes ? (uint16_t)(64 - __builtin_clzll(bytes)) : 0;
}

#endif
