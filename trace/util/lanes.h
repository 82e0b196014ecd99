/* Some numbers at a time, as many as a register holds. */
#ifndef ANA_LANES_H
#define ANA_LANES_H

#ifdef __SSE2__
#include <emmintrin.h>

#define ANA_LANES 2
typedef __m128d ana_lanes;

/* from[i] + more. */
static inline ana_lanes ana_lanes_add(const double *from, double more)
{
    return _mm_add_pd(_mm_loadu_pd(from), _mm_set1_pd(more));
}
/* Writes the lesser of a[i] and b[i]. */
static inline void ana_lanes_least(double *to, ana_lanes a, ana_lanes b)
{
    _mm_storeu_pd(to, _mm_min_pd(a, b));
}

#else

#define ANA_LANES 1
typedef double ana_lanes;

/* *from + more. */
static inline ana_lanes ana_lanes_add(const double *from, double more)
{
    return *from + more;
}
/* Writes the lesser of a and b. */
static inline void ana_lanes_least(double *to, ana_lanes a, ana_lanes b)
{
    *to = a < b ? a : b;
}

#endif
#endif
