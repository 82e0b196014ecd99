#include "trace/diff/chance.h"
#include "trace/util/sort.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define LEAST_STRETCH 5    /* iterations */
#define PERSISTENT    0.95 /* more is not told from a drift without end */
#define MOST_FREEDOM  200  /* with more its tail is hardly another */
#define SLICES        256  /* of an integral */
#define MIDDLE        0.4  /* of the times are below those that the usual time is the mean of, and as many above */
#define HARDLY        1.5  /* a difference of fewer standard errors is not looked into */

/* ---- centres ---------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const float *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The k-th smallest of n values, which are put in another order: those before it are not larger. */
static float nth(float *value, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    while (high - low > 8) {
        float middle = value[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;;) {
            while (value[i] < middle)
                i++;
            while (value[j] > middle)
                j--;
            if (i >= j)
                break;
            float swapped = value[i];
            value[i++] = value[j];
            value[j--] = swapped;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    ana_sort(value + low, high - low + 1, sizeof *value, by_value);
    return value[k];
}

/* The centre of n values, which may be put in another order. */
static double centre_of(float *value, size_t n, bool typical)
{
    if (n == 0)
        return 0;
    double sum = 0;
    size_t from = typical ? (size_t)(MIDDLE * (double)(n - 1)) : 0, to = n - 1 - from;
    if (typical) {
        nth(value, n, from);
        nth(value + from, n - from, to - from);
    }
    for (size_t i = from; i <= to; i++)
        sum += (double)value[i];
    return sum / (double)(to - from + 1);
}

double ana_centre(struct ana_sample sample, bool typical, float *room)
{
    for (size_t i = 0; i < sample.n; i++)
        room[i] = sample.value[i];
    return centre_of(room, sample.n, typical);
}

double ana_lowest(struct ana_sample sample, float *room)
{
    for (size_t i = 0; i < sample.n; i++)
        room[i] = sample.value[i];
    return sample.n ? (double)nth(room, sample.n, sample.n / 10) : 0;
}

/* ---- how far a centre varies ------------------------------------------------------------------------------------ */

struct spread {
    double variance, freedom;
};

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static size_t stretch_of(size_t n)
{
    size_t stretches = n / LEAST_STRETCH < ANA_CHANCE_STRETCHES ? n / LEAST_STRETCH : ANA_CHANCE_STRETCHES;
    return n / stretches;
}

/* The variance of the centre, by drawing stretches of neighbours again and again; the end is followed by the begin. */
static double bootstrap(struct ana_sample s, bool typical, float *room)
{
    size_t length = stretch_of(s.n);
    uint64_t state = s.n;
    double sum = 0, squares = 0, first = 0;
    for (unsigned time = 0; time < ANA_CHANCE_AGAIN; time++) {
        for (size_t i = 0, at = 0; i < s.n; i++, at++) {
            if (i % length == 0)
                at = (size_t)(draw(&state) % s.n);
            room[i] = s.value[at < s.n ? at : at - s.n];
        }
        double centre = centre_of(room, s.n, typical);
        first = time ? first : centre; /* what is summed up is small */
        sum += centre - first;
        squares += (centre - first) * (centre - first);
    }
    double mean = sum / ANA_CHANCE_AGAIN;
    return fmax(squares / ANA_CHANCE_AGAIN - mean * mean, 0);
}

/* The centres of the stretches of a run. */
struct stretches {
    double variance; /* of their mean, were they independent */
    double like;     /* how much one is like the one before it, 0..1 */
    double n;
};

static struct stretches stretches_of(struct ana_sample s, bool typical, float *room)
{
    double centre[2 * ANA_CHANCE_STRETCHES], mean = 0, with_next = 0, squares = 0;
    size_t length = stretch_of(s.n), n = s.n / length;
    for (size_t i = 0; i < n; i++) {
        centre[i] = ana_centre((struct ana_sample){s.value + i * length, length}, typical, room);
        mean += centre[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        squares += (centre[i] - mean) * (centre[i] - mean);
        if (i + 1 < n)
            with_next += (centre[i] - mean) * (centre[i + 1] - mean);
    }
    double like = squares > 0 ? with_next / squares : 0;
    like += (1 + 3 * like) / (double)n; /* as much is lost because the mean is of the same values */
    return (struct stretches){squares / (double)n / (double)(n - 1), fmin(fmax(like, 0), PERSISTENT), (double)n};
}

static struct spread spread_of(struct ana_sample s, bool typical, float *room)
{
    if (s.n == 0)
        return (struct spread){0, INFINITY};
    struct stretches of = stretches_of(s, typical, room);
    double worth = (1 - of.like) / (1 + of.like);
    return (struct spread){bootstrap(s, typical, room) / worth, fmax(of.n * worth - 2, 1)};
}

/* ---- the probability -------------------------------------------------------------------------------------------- */

double ana_student_tail(double t, double freedom)
{
    /* With t = sqrt(freedom) tan(angle) the density is a power of the cosine. */
    freedom = fmin(freedom, MOST_FREEDOM);
    double from = atan2(t, sqrt(freedom)), width = (M_PI_2 - from) / SLICES, sum = 0;
    for (int i = 0; i <= SLICES; i++) { /* Simpson's rule */
        int weight = i == 0 || i == SLICES ? 1 : i % 2 ? 4 : 2;
        sum += weight * pow(fmax(sin(i * width), 0), freedom - 1);
    }
    return fmin(exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(M_PI) * sum * width / 3, 0.5);
}

struct ana_chance ana_chance_of(struct ana_sample before, struct ana_sample after, double margin, bool typical,
                                float *room)
{
    struct ana_chance found = {typical, ana_centre(before, typical, room), ana_centre(after, typical, room), 1};
    double beyond = fabs(found.after - found.before) - margin;
    double about = (before.n ? stretches_of(before, typical, room).variance : 0) +
                   (after.n ? stretches_of(after, typical, room).variance : 0);
    if (beyond <= 0 || beyond < HARDLY * sqrt(about))
        return found;
    struct spread a = spread_of(before, typical, room), b = spread_of(after, typical, room);
    double both = a.variance + b.variance;
    double freedom = both > 0
                         ? both * both / (a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom)
                         : fmin(a.freedom, b.freedom);
    if (both > 0)
        found.p = 2 * ana_student_tail(beyond / sqrt(both), fmax(freedom, 1));
    else
        found.p = 0; /* no iteration differs from another */
    return found;
}
