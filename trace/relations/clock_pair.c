#include "trace/relations/clock_pair.h"
#include <math.h>

#define FIRST_WIDTH_NS 1000000
#define MAX_DRIFT      500e-6 /* no quartz is worse */

static const struct ana_clock_bin no_bounds = {.upper = INT64_MAX, .lower = INT64_MIN};

static void tighten_bin(struct ana_clock_bin *bin, const struct ana_clock_bin *by)
{
    if (by->upper < bin->upper) {
        bin->upper = by->upper;
        bin->upper_at = by->upper_at;
    }
    if (by->lower > bin->lower) {
        bin->lower = by->lower;
        bin->lower_at = by->lower_at;
    }
}

/* Merges bins in twos: they cover twice the time in the same memory. */
static void widen_bins(struct ana_clock_pair *pair)
{
    for (size_t i = 0; i < ANA_CLOCK_BINS; i++) {
        struct ana_clock_bin both = no_bounds;
        if (2 * i < ANA_CLOCK_BINS) {
            both = pair->bin[2 * i];
            tighten_bin(&both, &pair->bin[2 * i + 1]);
        }
        pair->bin[i] = both;
    }
    pair->width *= 2;
}

void ana_clock_pair_add(struct ana_clock_pair *pair, int64_t at, int64_t theta, bool upper)
{
    if (!pair->begun) {
        pair->begun = true;
        pair->first = at;
        pair->width = FIRST_WIDTH_NS;
        for (size_t i = 0; i < ANA_CLOCK_BINS; i++)
            pair->bin[i] = no_bounds;
    }
    while (at - pair->first >= pair->width * ANA_CLOCK_BINS)
        widen_bins(pair);
    /* A bound of an earlier time holds in the first bin, too. */
    size_t i = at > pair->first ? (size_t)((at - pair->first) / pair->width) : 0;
    struct ana_clock_bin bound = no_bounds;
    if (upper) {
        bound.upper_at = at;
        bound.upper = theta;
    } else {
        bound.lower_at = at;
        bound.lower = theta;
    }
    tighten_bin(&pair->bin[i], &bound);
}

/* The bounds as points relative to their middle, so that doubles hold them exactly. */
struct points {
    size_t uppers, lowers;
    double upper_x[ANA_CLOCK_BINS], upper_y[ANA_CLOCK_BINS];
    double lower_x[ANA_CLOCK_BINS], lower_y[ANA_CLOCK_BINS];
    double first, last; /* times of the first and last bound */
    int64_t x0, y0;
};

static void collect_points(const struct ana_clock_pair *pair, struct points *points)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    *points = (struct points){0};
    if (!pair->begun)
        return;
    for (size_t i = 0; i < ANA_CLOCK_BINS; i++) {
        const struct ana_clock_bin *bin = &pair->bin[i];
        if (bin->upper != INT64_MAX) {
            points->y0 = bin->upper;
            first = bin->upper_at < first ? bin->upper_at : first;
            last = bin->upper_at > last ? bin->upper_at : last;
        }
        if (bin->lower != INT64_MIN) {
            points->y0 = bin->lower;
            first = bin->lower_at < first ? bin->lower_at : first;
            last = bin->lower_at > last ? bin->lower_at : last;
        }
    }
    points->x0 = first + (last - first) / 2;
    points->first = (double)(first - points->x0);
    points->last = (double)(last - points->x0);
    for (size_t i = 0; i < ANA_CLOCK_BINS; i++) {
        const struct ana_clock_bin *bin = &pair->bin[i];
        if (bin->upper != INT64_MAX) {
            points->upper_x[points->uppers] = (double)(bin->upper_at - points->x0);
            points->upper_y[points->uppers++] = (double)(bin->upper - points->y0);
        }
        if (bin->lower != INT64_MIN) {
            points->lower_x[points->lowers] = (double)(bin->lower_at - points->x0);
            points->lower_y[points->lowers++] = (double)(bin->lower - points->y0);
        }
    }
}

/* The corridor for lines of drift b: its half width, and the height of its middle at x0. */
static double room_of(const struct points *points, double b, double *middle)
{
    double upper = INFINITY, lower = -INFINITY;
    for (size_t i = 0; i < points->uppers; i++)
        upper = fmin(upper, points->upper_y[i] - b * points->upper_x[i]);
    for (size_t i = 0; i < points->lowers; i++)
        lower = fmax(lower, points->lower_y[i] - b * points->lower_x[i]);
    *middle = lower + (upper - lower) / 2;
    return (upper - lower) / 2;
}

static double best_drift(const struct points *points)
{
    double low = -MAX_DRIFT, high = MAX_DRIFT, unused;
    for (int i = 0; i < 100; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (room_of(points, left, &unused) < room_of(points, right, &unused))
            low = left;
        else
            high = right;
    }
    double best = (low + high) / 2, enough = 0.9 * room_of(points, best, &unused);
    if (enough <= 0)
        return best;
    if (room_of(points, 0, &unused) >= enough)
        return 0;
    double outside = 0, inside = best; /* bounds of the drifts that leave enough room */
    for (int i = 0; i < 60; i++) {
        double half = (outside + inside) / 2;
        if (room_of(points, half, &unused) >= enough)
            inside = half;
        else
            outside = half;
    }
    return inside;
}

/* The drift farthest from `drift` towards `limit` at which a line still passes between all bounds. */
static double last_drift(const struct points *points, double drift, double limit)
{
    double inside = drift, outside = limit, unused;
    if (room_of(points, limit, &unused) >= 0)
        return limit;
    for (int i = 0; i < 60; i++) {
        double half = (inside + outside) / 2;
        if (room_of(points, half, &unused) >= 0)
            inside = half;
        else
            outside = half;
    }
    return inside;
}

/* The highest (sign 1) or lowest (-1) that a line of such a drift can be at x. */
static double extreme_height(const struct points *points, double low, double high, double x, int sign)
{
    double best = -INFINITY;
    for (int i = 0; i < 80; i++) { /* concave: thirds */
        double drift[2] = {low + (high - low) / 3, high - (high - low) / 3}, at[2], middle;
        for (int k = 0; k < 2; k++) {
            double half = room_of(points, drift[k], &middle);
            at[k] = sign * (middle + drift[k] * x) + half;
            best = fmax(best, at[k]);
        }
        if (at[0] < at[1])
            low = drift[0];
        else
            high = drift[1];
    }
    return sign * best;
}

/* Returns the largest distance of the true line from the chosen one, if clocks run on lines.  The distance is convex
 * in time, so its maximum is at an end. */
static double farthest_error(const struct points *points, double drift, double middle, double first, double last)
{
    double low = last_drift(points, drift, -MAX_DRIFT), high = last_drift(points, drift, MAX_DRIFT), worst = 0;
    for (int end = 0; end < 2; end++) {
        double x = end ? last : first, here = middle + drift * x;
        worst = fmax(worst, extreme_height(points, low, high, x, 1) - here);
        worst = fmax(worst, here - extreme_height(points, low, high, x, -1));
    }
    return worst;
}

struct ana_clock_pair_fit ana_clock_pair_fit(const struct ana_clock_pair *pair, int64_t since)
{
    struct points points;
    collect_points(pair, &points);
    if (points.uppers == 0 || points.lowers == 0)
        return (struct ana_clock_pair_fit){.known = false};
    struct ana_clock_pair_fit fit = {.known = true, .at_ns = points.x0, .drift = best_drift(&points)};
    double middle, half = room_of(&points, fit.drift, &middle);
    fit.theta_ns = points.y0 + llround(middle);
    double first = fmin((double)(since - points.x0), points.first), last = points.last;
    fit.error_ns = half < 0 ? -half : farthest_error(&points, fit.drift, middle, first, last);
    return fit;
}

int64_t ana_clock_pair_clamp(const struct ana_clock_pair *pair, int64_t theta)
{
    int64_t upper = INT64_MAX, lower = INT64_MIN;
    for (size_t i = 0; pair->begun && i < ANA_CLOCK_BINS; i++) {
        upper = pair->bin[i].upper < upper ? pair->bin[i].upper : upper;
        lower = pair->bin[i].lower > lower ? pair->bin[i].lower : lower;
    }
    if (upper < lower)
        return lower / 2 + upper / 2;
    return theta > upper ? upper : theta < lower ? lower : theta;
}
