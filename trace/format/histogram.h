/* The histogram of durations: below 32 buckets of 4 each, from there 8 buckets an octave, and from 2^29 on 4 an octave.
 * So a percentile is right within 1/16 of its value, a long one within 1/8.  Used by the recorder (ticks) and by the
 * analysis (any unit). */
#pragma once

#include <stdint.h>

#define TRC_HISTOGRAM_BUCKETS 256u

#define TRC_LONG_BITS   29u  /* longer values have 4 buckets an octave */
#define TRC_LONG_BUCKET 200u /* first bucket of longer values */

/* Bucket of a value; values of 2^43 and more share the last: 36 minutes at 4 GHz.  Callable from the traced thread. */
static inline uint32_t trc_bucket(uint64_t value)
{
    if (__builtin_expect(value >> TRC_LONG_BITS != 0, 0)) {
        uint32_t octave = (63u ^ (uint32_t)__builtin_clzll(value)) - TRC_LONG_BITS;
        uint32_t bucket = TRC_LONG_BUCKET - 4 + octave * 4 + (uint32_t)(value >> (octave + TRC_LONG_BITS - 2));
        return bucket < TRC_HISTOGRAM_BUCKETS ? bucket : TRC_HISTOGRAM_BUCKETS - 1;
    }
    uint32_t shift = (63u ^ (uint32_t)__builtin_clzll(value | 32)) - 3; /* leaves 8..15, or less than 8 */
    return shift * 8 - 16 + (uint32_t)(value >> shift);
}

/* Smallest value of a bucket. */
static inline uint64_t trc_bucket_low(uint32_t bucket)
{
    if (bucket >= TRC_LONG_BUCKET)
        return (4ull + bucket % 4) << ((bucket - TRC_LONG_BUCKET) / 4 + TRC_LONG_BITS - 2);
    if (bucket < 8)
        return bucket * 4;
    return (8ull + bucket % 8) << (bucket / 8 + 1);
}

#define TRC_SIZE_UNKNOWN 64u /* size class of TRC_BYTES_UNKNOWN, which no number of bytes reaches */

/* Size class of a number of bytes: 0 for none, k for 2^(k-1) .. 2^k - 1. */
static inline uint16_t trc_size_class(uint64_t bytes)
{
    return bytes ? (uint16_t)(64 - __builtin_clzll(bytes)) : 0;
}
