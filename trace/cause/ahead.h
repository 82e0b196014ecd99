/* How much earlier something is in each shadow of the run (replay.h), as many shadows at a time as a register holds. */
#ifndef ANA_AHEAD_H
#define ANA_AHEAD_H

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ANA_SHADOWS 8u

/* In ns.  Whole numbers, and exact: a run has less than 2^53 of them. */
struct ana_ahead {
    double ns[ANA_SHADOWS];
};

#ifdef __SSE2__
/* ns[s] = the lesser of ns[s] + more and other[s] + slack, of all shadows. */
static inline void ana_ahead_least(double *ns, double more, const double *other, double slack)
{
    const __m128d mores = _mm_set1_pd(more), slacks = _mm_set1_pd(slack);
    for (uint32_t s = 0; s < ANA_SHADOWS; s += 2)
        _mm_storeu_pd(&ns[s],
                      _mm_min_pd(_mm_add_pd(_mm_loadu_pd(&ns[s]), mores), _mm_add_pd(_mm_loadu_pd(&other[s]), slacks)));
}
#else
static inline void ana_ahead_least(double *ns, double more, const double *other, double slack)
{
    for (uint32_t s = 0; s < ANA_SHADOWS; s++)
        ns[s] = ns[s] + more < other[s] + slack ? ns[s] + more : other[s] + slack;
}
#endif

/* Of two things the later one counts: what was there at *last_ns, and `last` ahead, becomes that. */
static inline void ana_ahead_later(struct ana_ahead *last, int64_t *last_ns, const struct ana_ahead *other, int64_t ns)
{
    int64_t more_ns = ns - *last_ns;
    ana_ahead_least(last->ns, more_ns > 0 ? (double)more_ns : 0, other->ns, more_ns < 0 ? -(double)more_ns : 0);
    *last_ns = more_ns > 0 ? ns : *last_ns;
}

#endif
