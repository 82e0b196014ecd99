/* How sure a difference is: pairs of samples of the same kind of noise, of which as few differ by more than chance as
 * is said, and samples with a planted difference, which is found. */
#include "tests/support/check.h"
#include "trace/diff/chance.h"
#include <math.h>
#include <stdint.h>

enum { MOST = 1024, PAIRS = 300, MOST_WRONG = 9, FEWER = 60 };

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 33) + 0.5) / 2147483648.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* ---- noise: the i-th of n times, 100 on average or usually; `last` is the one before it -------------------------- */

static double white(size_t i, size_t n, double last)
{
    (void)i, (void)n, (void)last;
    return 100 + 5 * normal();
}

/* One time in twenty the processor is taken away for much longer. */
static double spikes(size_t i, size_t n, double last)
{
    return white(i, n, last) + (uniform() < 0.05 ? 1000 * uniform() : 0);
}

/* One time in a thousand something takes a hundred times as long. */
static double rare(size_t i, size_t n, double last)
{
    return white(i, n, last) + (uniform() < 0.001 ? 10000 : 0);
}

static double two_levels(size_t i, size_t n, double last)
{
    (void)i, (void)n, (void)last;
    return (uniform() < 0.5 ? 80 : 120) + normal();
}

/* What disturbs one iteration disturbs the next ones. */
static double persistent(size_t i, size_t n, double last)
{
    (void)i, (void)n;
    return 100 + 0.9 * (last - 100) + 2 * normal();
}

static double random_walk(size_t i, size_t n, double last)
{
    (void)n;
    return i ? last + 0.3 * normal() : 100;
}

/* From some time on the machine is slower. */
static double step(size_t i, size_t n, double last)
{
    static double at;
    if (i == 0)
        at = 0.15 + 0.7 * uniform();
    return white(i, n, last) + ((double)i > at * (double)n ? 10 : 0);
}

static double slow_wave(size_t i, size_t n, double last)
{
    static double phase;
    if (i == 0)
        phase = uniform();
    return white(i, n, last) + 5 * sin(2 * M_PI * (1.5 * (double)i / (double)n + phase));
}

typedef double noise(size_t i, size_t n, double last);

static struct ana_sample make(noise *of, size_t n, double factor, float *value)
{
    double last = 100;
    for (size_t i = 0; i < n; i++) {
        last = of(i, n, last);
        value[i] = (float)(factor * last);
    }
    return (struct ana_sample){value, n};
}

/* Both ways to compare, of which the surer counts. */
static struct ana_chance surer(struct ana_sample before, struct ana_sample after, double margin)
{
    static float room[MOST];
    struct ana_chance mean = ana_chance_of(before, after, margin, false, room);
    struct ana_chance usual = ana_chance_of(before, after, margin, true, room);
    struct ana_chance best = usual.p <= mean.p ? usual : mean;
    best.p = fmin(2 * best.p, 1);
    return best;
}

/* Of pairs of samples that differ by `factor`, how many have a p of at most 1 %, and of 0.01 %. */
struct counts {
    int wrong, far;
};

static struct counts found(noise *of, size_t n, double factor, double margin, int pairs)
{
    static float a[MOST], b[MOST];
    struct counts counts = {0};
    for (int i = 0; i < pairs; i++) {
        struct ana_chance c = surer(make(of, n, 1, a), make(of, n, factor, b), margin);
        counts.wrong += c.p <= 0.01;
        counts.far += c.p <= 0.0001;
    }
    return counts;
}

static void nothing_changed(void)
{
    static const struct {
        const char *name;
        noise *of;
    } kinds[] = {{"white", white},           {"spikes", spikes},           {"rare", rare}, {"two levels", two_levels},
                 {"persistent", persistent}, {"random walk", random_walk}, {"step", step}, {"slow wave", slow_wave}};
    static const size_t lengths[] = {20, 60, 300, 1000};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct counts of = found(kinds[k].of, lengths[l], 1, 0, PAIRS);
            printf("%s, %zu iterations: %d of %d pairs at 1 %%, %d at 0.01 %%\n", kinds[k].name, lengths[l], of.wrong,
                   PAIRS, of.far);
            CHECK(of.wrong <= MOST_WRONG && of.far <= 1);
        }
}

/* Two percent, looked for among a hundred others; one percent is what runs may differ by. */
static void two_percent(void)
{
    int in_white = found(white, 1000, 1.02, 0, FEWER).far, in_spikes = found(spikes, 1000, 1.02, 0, FEWER).far;
    int far = found(white, 1000, 1.04, 1, FEWER).far, near = found(white, 1000, 1.008, 1, FEWER).wrong;
    printf("found: %d in white noise, %d in spikes, %d beyond the margin, %d within, of %d\n", in_white, in_spikes, far,
           near, FEWER);
    CHECK(in_white > FEWER * 9 / 10 && in_spikes > FEWER * 8 / 10);
    CHECK(far > FEWER * 9 / 10 && near == 0);
}

/* Seldom and long: the usual time does not show it, the mean does. */
static void only_the_mean(void)
{
    static float a[MOST], b[MOST];
    struct ana_sample before = make(white, 1000, 1, a), after = make(white, 1000, 1, b);
    for (size_t i = 9; i < after.n; i += 10)
        b[i] += 200;
    struct ana_chance c = surer(before, after, 1);
    CHECK(!c.typical && c.p < 1e-6 && fabs(c.after - c.before - 20) < 2, "p %g, %f -> %f", c.p, c.before, c.after);
    c = surer(before, (struct ana_sample){NULL, 0}, 1);
    CHECK(c.p < 1e-6 && c.after == 0 && fabs(c.before - 100) < 1, "gone: p %g, %f -> %f", c.p, c.before, c.after);
}

/* Values of the distribution that are in every table. */
static void student(void)
{
    static const struct {
        double t, freedom, tail;
    } known[] = {{0, 3, 0.5},         {1, 1, 0.25},         {12.7062, 1, 0.025}, {2.2281, 10, 0.025},
                 {3.1693, 10, 0.005}, {4.5869, 10, 0.0005}, {2.7500, 30, 0.005}, {1.9719, 200, 0.025}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double tail = ana_student_tail(known[i].t, known[i].freedom);
        CHECK(fabs(tail / known[i].tail - 1) < 0.002, "t %g with %g: %g, not %g", known[i].t, known[i].freedom, tail,
              known[i].tail);
    }
}

int main(void)
{
    student();
    nothing_changed();
    two_percent();
    only_the_mean();
    return check_result();
}
