/* Time by which something is earlier in each scenario of the run (replay.h).  Scenarios go in pairs: a pair is one
 * register of nearly all processors.  A compiler keeps a local struct ana_ahead in registers as long as it calls
 * nothing. */
#pragma once

#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define ANA_SCENARIOS 8u

typedef double ana_pair __attribute__((vector_size(2 * sizeof(double))));

/* Time in ns: whole numbers, and exact, since a run lasts less than 2^53 ns. */
struct ana_ahead {
    ana_pair of[ANA_SCENARIOS / 2];
};

/* The lesser of each of two. */
static inline ana_pair ana_pair_least(ana_pair a, ana_pair b)
{
#ifdef __SSE2__
    return _mm_min_pd(a, b);
#else
    return (ana_pair){a[0] < b[0] ? a[0] : b[0], a[1] < b[1] ? a[1] : b[1]};
#endif
}

/* Returns the time for one shadow. */
static inline double ana_ahead_in(const struct ana_ahead *ahead, uint32_t scenario)
{
    return ahead->of[scenario / 2][scenario % 2];
}

/* Sets one scenario to the time of another; itself: to zero. */
static inline void ana_ahead_set(struct ana_ahead *ahead, uint32_t scenario, uint32_t like)
{
    ahead->of[scenario / 2][scenario % 2] = like == scenario ? 0 : ana_ahead_in(ahead, like);
}

/* Adds to one scenario, which is one of `first` .. `last`: constants, so that no other pair is touched. */
static inline __attribute__((always_inline)) void ana_ahead_add(struct ana_ahead *ahead, uint32_t scenario,
                                                                uint32_t first, uint32_t last, double ns)
{
    static const struct ana_ahead one[ANA_SCENARIOS] = {
        {{{1, 0}}},           {{{0, 1}}},           {{{0}, {1, 0}}},           {{{0}, {0, 1}}},
        {{{0}, {0}, {1, 0}}}, {{{0}, {0}, {0, 1}}}, {{{0}, {0}, {0}, {1, 0}}}, {{{0}, {0}, {0}, {0, 1}}}};
    const ana_pair *only = one[scenario].of, both = {ns, ns};
    if (first < 2)
        ahead->of[0] += only[0] * both;
    if (first < 4 && last >= 2)
        ahead->of[1] += only[1] * both;
    if (first < 6 && last >= 4)
        ahead->of[2] += only[2] * both;
    if (last >= 6)
        ahead->of[3] += only[3] * both;
}

/* Joins two events: *last_ns becomes the later time, and `last` how far ahead the later event is in each shadow. */
static inline void ana_ahead_later(struct ana_ahead *last, int64_t *last_ns, const struct ana_ahead *other, int64_t ns)
{
    int64_t more_ns = ns - *last_ns;
    double more = more_ns > 0 ? (double)more_ns : 0, less = more_ns < 0 ? -(double)more_ns : 0;
    const ana_pair mores = {more, more}, slack = {less, less};
    last->of[0] = ana_pair_least(last->of[0] + mores, other->of[0] + slack);
    last->of[1] = ana_pair_least(last->of[1] + mores, other->of[1] + slack);
    last->of[2] = ana_pair_least(last->of[2] + mores, other->of[2] + slack);
    last->of[3] = ana_pair_least(last->of[3] + mores, other->of[3] + slack);
    *last_ns = more_ns > 0 ? ns : *last_ns;
}
