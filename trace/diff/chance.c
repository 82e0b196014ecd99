#include "trace/diff/chance.h"
#include "trace/util/sort.h"

#include <math.h>
#include <string.h>

#define PERSISTENT   0.95 /* upper bound of the correlation of neighbouring stretches */
#define MOST_FREEDOM 200  /* the normal distribution, nearly */
#define SLICES       256  /* steps of an integral */
#define LOW_FROM     0.1  /* quantiles between which an undisturbed iteration lies */
#define LOW_TO       0.4
#define RUNS_APART   3    /* standard deviations of stretches: by as much do equal runs differ that drift */
#define APART        2    /* times: runs whose middle halves are so far apart have not much in common */
#define SURE         1e-4 /* probability of chance for these */
#define POWER        1.3  /* standard errors: nine in ten differences that are as much larger are found */
#define STEPS        60   /* bisections */

/* A run is cut into stretches, and a share at either end is left out: the machine only adds time, so iterations
 * that nothing disturbs are looked for in the lower ones. */
#define MOST_STRETCHES 24
static const struct method {
    size_t stretches, least; /* maximum; minimum of iterations in each */
    double trim_low, trim_high;
} methods[ANA_CENTRES] = {[ANA_CENTRE_MEAN] = {MOST_STRETCHES, 3, 0.25, 0.25}, [ANA_CENTRE_LOW] = {12, 5, 0, 0.34}};

/* ---- centres ---------------------------------------------------------------------------------------------------- */

ANA_COMPARE(by_value, float, ANA_ORDER(*x, *y))

/* Returns the k-th smallest of n values and changes their order: none before it is larger. */
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

/* Returns the centre of n values and changes their order. */
static double centre_of(float *value, size_t n, enum ana_centre centre)
{
    if (n == 0)
        return 0;
    double sum = 0;
    size_t from = 0, to = n - 1;
    if (centre == ANA_CENTRE_LOW) {
        from = (size_t)(LOW_FROM * (double)(n - 1));
        to = (size_t)(LOW_TO * (double)(n - 1));
        nth(value, n, from);
        nth(value + from, n - from, to - from);
    }
    for (size_t i = from; i <= to; i++)
        sum += (double)value[i];
    return sum / (double)(to - from + 1);
}

/* ---- stretches of a run ----------------------------------------------------------------------------------------- */

/* Fills of[] with the centres of `n` stretches of equal length. */
static void cut(struct ana_sample s, size_t n, enum ana_centre centre, float *room, double *of)
{
    const size_t length = s.n / n;
    for (size_t i = 0; i < n; i++) {
        memcpy(room, s.value + i * length, length * sizeof *room);
        of[i] = centre_of(room, length, centre);
    }
}

/* Returns the correlation of neighbours, 0 to PERSISTENT. */
static double likeness(const double *of, size_t n)
{
    double mean = 0, with_next = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += of[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (of[i] - mean) * (of[i] - mean);
        if (i + 1 < n)
            with_next += (of[i] - mean) * (of[i + 1] - mean);
    }
    double like = squares > 0 ? with_next / squares : 0;
    like += (1 + 3 * like) / (double)n; /* bias: the mean is of the same values */
    return fmin(fmax(like, 0), PERSISTENT);
}

/* One sample: the mean of its stretches without the extremes. */
struct spread {
    double centre;
    double variance, freedom; /* variance of the centre, as far as stretches are independent */
    double drift, left;       /* standard deviation of stretches as a share of the centre; how many were not left out */
    double quartile[2];       /* lower, upper; all values */
};

static double quartile_of(struct ana_sample s, size_t quarter, float *room)
{
    memcpy(room, s.value, s.n * sizeof *room);
    return (double)nth(room, s.n, quarter * (s.n - 1) / 4);
}

static struct spread spread_of(struct ana_sample s, enum ana_centre centre, float *room)
{
    const struct method *m = &methods[centre];
    const size_t n = s.n / m->least < m->stretches ? s.n / m->least : m->stretches;
    const size_t from = (size_t)(m->trim_low * (double)n), to = n - (size_t)(m->trim_high * (double)n);
    const double left = (double)(to - from);
    double of[MOST_STRETCHES], mean = 0, winsorized = 0, squares = 0;
    if (n < 2)
        return (struct spread){.freedom = INFINITY};
    cut(s, n, centre, room, of);
    const double like = likeness(of, n), worth = (1 - like) / (1 + like);
    ana_sort(of, n, sizeof *of, ana_compare_numbers);
    for (size_t i = from; i < to; i++)
        mean += of[i] / left;
    for (size_t i = 0; i < n; i++)
        winsorized += of[i < from ? from : i < to ? i : to - 1] / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = of[i < from ? from : i < to ? i : to - 1] - winsorized;
        squares += off * off;
    }
    return (struct spread){.centre = mean,
                           .variance = squares / left / fmax(left - 1, 1) / worth,
                           .freedom = fmax(left * worth - 1, 1),
                           .drift = mean > 0 ? sqrt(squares / (double)(n - 1)) / mean : INFINITY,
                           .left = left,
                           .quartile = {quartile_of(s, 1, room), quartile_of(s, 3, room)}};
}

double ana_centre(struct ana_sample sample, enum ana_centre centre, float *room)
{
    return spread_of(sample, centre, room).centre;
}

/* ---- the probability -------------------------------------------------------------------------------------------- */

double ana_student_tail(double t, double freedom)
{
    /* Substitution: for t = sqrt(freedom) tan(angle) the density is a power of the cosine. */
    freedom = fmin(freedom, MOST_FREEDOM);
    double from = atan2(t, sqrt(freedom)), width = (M_PI_2 - from) / SLICES, sum = 0;
    for (int i = 0; i <= SLICES; i++) { /* Simpson's rule */
        int weight = i == 0 || i == SLICES ? 1 : i % 2 ? 4 : 2;
        sum += weight * pow(fmax(sin(i * width), 0), freedom - 1);
    }
    return fmin(exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(M_PI) * sum * width / 3, 0.5);
}

/* Returns the probability that chance makes stationary runs differ by `beyond`. */
static double chance_of_noise(const struct spread *a, const struct spread *b, double beyond)
{
    const double both = a->variance + b->variance;
    if (!(both > 0))
        return 0; /* no iteration differs from another */
    const double freedom =
        both * both / (a->variance * a->variance / a->freedom + b->variance * b->variance / b->freedom);
    return 2 * ana_student_tail(beyond / sqrt(both), fmax(freedom, 1));
}

/* Returns the probability that chance makes runs that drift differ by this ratio, logarithmic: each run is one value of
 * a distribution that is RUNS_APART times as wide as its stretches vary. */
static double chance_of_drift(const struct spread *a, const struct spread *b, double ratio)
{
    const double width = RUNS_APART * sqrt(a->drift * a->drift + b->drift * b->drift);
    if (!(ratio > 0) || isinf(width) || !(a->left > 0) || !(b->left > 0))
        return 1;
    return width > 0 ? 2 * ana_student_tail(ratio / width, a->left + b->left - 2) : 0;
}

static double chance_of(const struct spread *a, const struct spread *b, double margin)
{
    const double lower = fmin(a->centre, b->centre), upper = fmax(a->centre, b->centre);
    if (upper - lower <= margin)
        return 1;
    const struct spread *fast = a->centre < b->centre ? a : b, *slow = fast == a ? b : a;
    const double ratio = lower > 0 ? log(upper / (lower + margin)) : 0;
    if (slow->quartile[0] > APART * fast->quartile[1] && fast->left > 0)
        return SURE;
    return fmin(chance_of_noise(a, b, upper - lower - margin), chance_of_drift(a, b, ratio));
}

struct ana_chance ana_chance_of(struct ana_sample before, struct ana_sample after, double margin,
                                enum ana_centre centre, float *room)
{
    const struct spread a = spread_of(before, centre, room), b = spread_of(after, centre, room);
    return (struct ana_chance){centre, a.centre, b.centre, chance_of(&a, &b, margin)};
}

double ana_detectable(struct ana_sample before, struct ana_sample after, double margin, double p,
                      enum ana_centre centre, float *room)
{
    const struct spread a = spread_of(before, centre, room);
    struct spread b = spread_of(after, centre, room);
    const double error = sqrt(a.variance + b.variance);
    b.quartile[0] = 0;
    double least = margin, most = margin + fmax(a.centre, margin);
    for (b.centre = a.centre + most; chance_of(&a, &b, margin) > p && most < 1e6 * a.centre; most *= 2)
        b.centre = a.centre + 2 * most;
    for (int step = 0; step < STEPS; step++) {
        const double middle = (least + most) / 2;
        b.centre = a.centre + middle;
        *(chance_of(&a, &b, margin) > p ? &least : &most) = middle;
    }
    return most + POWER * error;
}
