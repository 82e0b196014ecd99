/* Two built runs side by side: what was planted is found, at its place, on its ranks, by how much; where nothing was,
 * nothing is; places that moved, new calls, regions, other numbers of ranks. */
#include "tests/support/planted.h"
#include "trace/diff/diff.h"
#include "trace/session/session.h"
#include "trace/report/diff_page.h"
#include <math.h>
#include <stdlib.h>

enum { RANKS = 4, TIMES = 300, AGAIN = 50 };

/* A run: each iteration all compute 2 ms in `exchange`, 1 ms in `solve`, 1 ms in `finish`; each has a call at its
 * end. */
struct plan {
    int ranks, times;
    double solve[8];   /* of rank r takes so much of what it should */
    double work;       /* of all pieces */
    bool moved, extra; /* the program was edited: other offsets; one call and 0.2 ms more, in `finish` */
    int long_solve;    /* each so many-th iteration `solve` takes that many times as long; 0: none */
    bool long_all;     /* so do the other pieces, each in iterations of its own */
    bool spikes;       /* one piece in fifty takes ten times as long */
    uint64_t seed;
};
static const struct plan plain = {.ranks = RANKS, .times = TIMES, .solve = {1, 1, 1, 1, 1, 1, 1, 1}, .work = 1};

static uint64_t state;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 33) + 0.5) / 2147483648.0;
}

/* A piece of work of a rank, with 3 % of noise. */
static void compute(struct planted *p, const struct plan *plan, int rank, double ns)
{
    double noise = 0.03 * sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
    double times = plan->spikes && uniform() < 0.02 ? 10 : 1;
    p->at[rank] += (int64_t)(ns * plan->work * (1 + noise) * times);
}

static void name_sites(struct tb *tb, bool moved)
{
    tb_site(tb, 0x10, "main+0x10", "app+0x1010");
    tb_site(tb, 0x20, moved ? "exchange+0x38" : "exchange+0x20", moved ? "app+0x2238" : "app+0x1120");
    tb_site(tb, 0x30, moved ? "solve+0x98" : "solve+0x90", moved ? "app+0x2298" : "app+0x1190");
    tb_site(tb, 0x40, moved ? "finish+0x78" : "finish+0x20", moved ? "app+0x2378" : "app+0x1220");
    for (uint64_t r = 0; r < 8; r++)
        tb_site(tb, 0x50 + 0x10 * r, "finish+0x20", "app+0x2320");
}

/* A call of 50 us that waits for nobody. */
static void save(struct planted *p, int rank)
{
    struct trc_sig sig = tb_sig(TB_FILE_WRITE);
    sig.site = 0x50 + 0x10 * (uint64_t)rank;
    tb_event(p->tb[rank], 0, &sig, p->at[rank], p->at[rank] + 50 * US, (struct tb_more){0});
    p->at[rank] += 50 * US;
}

static double slowness(const struct plan *plan, int iteration)
{
    return plan->long_solve && iteration % plan->long_solve == 0 ? plan->long_solve : 1;
}

static struct ana_job *run(const struct plan *plan)
{
    struct planted p = planted_begin("run", plan->ranks);
    state = plan->seed;
    for (int r = 0; r < plan->ranks; r++)
        name_sites(p.tb[r], plan->moved);
    for (int i = 0; i < plan->times; i++) {
        for (int r = 0; r < plan->ranks; r++)
            compute(&p, plan, r, 2e6 * (plan->long_all ? slowness(plan, i + 1) : 1));
        planted_meet(&p, 0x20, TB_WORLD, UINT64_MAX);
        for (int r = 0; r < plan->ranks; r++)
            compute(&p, plan, r, 1e6 * plan->solve[r] * slowness(plan, i));
        planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
        for (int r = 0; plan->extra && r < plan->ranks; r++) {
            compute(&p, plan, r, 2e5);
            save(&p, r);
        }
        for (int r = 0; r < plan->ranks; r++)
            compute(&p, plan, r, 1e6 * (plan->long_all ? slowness(plan, i + 2) : 1));
        planted_meet(&p, 0x40, TB_WORLD, UINT64_MAX);
    }
    struct ana_job *job = planted_open(&p);
    ana_job_advance(job, 0);
    folder_remove(); /* the files stay mapped */
    return job;
}

/* Compares two runs; free both with done. */
struct pair {
    struct ana_job *job[2];
    struct ana_diff diff;
};

static struct pair compare(struct plan a, struct plan b)
{
    struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX}, selection[2] = {all, all};
    a.seed = a.seed ? a.seed : 1;
    b.seed = b.seed ? b.seed : 2;
    struct pair pair = {.job = {run(&a), run(&b)}};
    CHECK(ana_diff_jobs(pair.job, selection, &pair.diff));
    if (getenv("SHOW"))
        ana_diff_text(&pair.diff, pair.job[1], true, stdout);
    return pair;
}

static void done(struct pair *pair)
{
    ana_diff_free(&pair->diff);
    ana_job_close(pair->job[0]);
    ana_job_close(pair->job[1]);
}

static void check_finding(const char *what, const struct ana_diff_finding *f, const char *words, size_t ranks,
                          double before_ns, double after_ns)
{
    char told[300];
    ana_diff_words(f, told, sizeof told);
    CHECK(strcmp(told, words) == 0 && f->ranks == ranks, "%s: \"%s\" of %zu ranks", what, told, f->ranks);
    CHECK(fabs(f->before_ns / before_ns - 1) < 0.01 && fabs(f->after_ns / after_ns - 1) < 0.01, "%s: %f -> %f", what,
          f->before_ns, f->after_ns);
    CHECK(f->confidence >= ANA_DIFF_SURE && f->confidence <= ANA_DIFF_SUREST, "%s: %f", what, f->confidence);
}

static void nothing_changed(void)
{
    int wrong = 0;
    for (int i = 0; i < AGAIN; i++) {
        struct plan a = plain, b = plain;
        a.seed = 100 + 2 * (uint64_t)i;
        b.seed = a.seed + 1;
        a.spikes = b.spikes = i % 2;
        struct pair pair = compare(a, b);
        wrong += pair.diff.findings > 0;
        CHECK(pair.diff.run[0].iterations == TIMES - 1 && pair.diff.compared >= 6 * RANKS,
              "%llu iterations, %zu compared", (unsigned long long)pair.diff.run[0].iterations, pair.diff.compared);
        CHECK(fabs(pair.diff.change) < (i % 2 ? 0.3 : 0.005), "change %f", pair.diff.change);
        done(&pair);
    }
    printf("%d of %d pairs of equal runs have a finding\n", wrong, AGAIN);
    CHECK(wrong == 0);
}

/* Two percent more in one piece of work, on all ranks and on one. */
static void two_percent(void)
{
    struct plan b = plain;
    for (int r = 0; r < RANKS; r++)
        b.solve[r] = 1.02;
    struct pair pair = compare(plain, b);
    CHECK(pair.diff.findings == 1, "%zu findings", pair.diff.findings);
    check_finding("all", &pair.diff.finding[0], "Allreduce exchange+0x20 -> Allreduce solve+0x90", RANKS, 1e6, 1.02e6);
    CHECK(pair.diff.change > 0.002 && pair.diff.change < 0.008, "change %f", pair.diff.change);
    done(&pair);

    b = plain;
    b.solve[2] = 1.02;
    b.spikes = true;
    struct plan a = plain;
    a.spikes = true;
    a.times = b.times = 5 * TIMES;
    pair = compare(a, b);
    CHECK(pair.diff.findings == 1, "%zu findings", pair.diff.findings);
    check_finding("one", &pair.diff.finding[0], "Allreduce exchange+0x20 -> Allreduce solve+0x90", 1, 1e6, 1.02e6);
    CHECK(pair.diff.findings && pair.diff.finding[0].rank[0].rank == 2);
    done(&pair);
}

/* One rank takes half as long again: the others wait, and that only follows. */
static void who_waits_follows(void)
{
    struct plan b = plain;
    b.solve[1] = 1.5;
    struct pair pair = compare(plain, b);
    const struct ana_diff *d = &pair.diff;
    check_finding("late", &d->finding[0], "Allreduce exchange+0x20 -> Allreduce solve+0x90", 1, 1e6, 1.5e6);
    CHECK(d->findings == 2 || d->findings == 3, "%zu findings", d->findings);
    for (size_t i = 1; i < d->findings; i++)
        CHECK(d->finding[i].kind == ANA_PORTION_CALL && d->finding[i].follows, "finding %zu", i);
    CHECK(d->change > 0.1 && d->change < 0.13 && d->change_confidence >= ANA_DIFF_SURE, "change %f", d->change);
    done(&pair);
}

/* Seldom and long, in one segment: that is its own.  In all of a rank, or in the only one: perhaps the machine's. */
static void seldom_and_long(void)
{
    struct plan b = plain;
    b.long_solve = 20;
    struct pair pair = compare(plain, b);
    const struct ana_diff_finding *f = pair.diff.finding;
    CHECK(pair.diff.findings && !f->typical && !f->machine && f->confidence >= ANA_DIFF_SURE &&
              fabs(f->after_ns - 2e6) < 2e5 && strcmp(f->to.place, "solve+0x90") == 0,
          "one segment: %zu findings", pair.diff.findings);
    done(&pair);

    b.long_all = true;
    pair = compare(plain, b);
    for (size_t i = 0; i < pair.diff.findings; i++)
        CHECK(pair.diff.finding[i].machine && isnan(pair.diff.finding[i].confidence), "all segments: finding %zu", i);
    CHECK(pair.diff.findings > 0);
    done(&pair);
}

/* The program was edited: its places are found again; what it does more is new. */
static void places_moved(void)
{
    struct plan b = plain;
    b.moved = true;
    struct pair pair = compare(plain, b);
    CHECK(pair.diff.findings == 0, "moved: %zu findings", pair.diff.findings);
    done(&pair);

    for (int r = 0; r < RANKS; r++)
        b.solve[r] = 1.1;
    pair = compare(plain, b);
    CHECK(pair.diff.findings == 1, "moved: %zu findings", pair.diff.findings);
    check_finding("moved", &pair.diff.finding[0], "Allreduce exchange+0x38 -> Allreduce solve+0x98", RANKS, 1e6, 1.1e6);
    done(&pair);

    b.extra = true;
    pair = compare(plain, b);
    const struct ana_diff_finding *f = pair.diff.finding;
    CHECK(pair.diff.findings == 3, "one call more: %zu findings", pair.diff.findings);
    check_finding("cut", &f[0], "Allreduce solve+0x98 -> Allreduce finish+0x78", RANKS, 1e6, 1.2e6);
    check_finding("moved", &f[1], "Allreduce exchange+0x38 -> Allreduce solve+0x98", RANKS, 1e6, 1.1e6);
    CHECK(pair.diff.findings == 3 && f[2].side == ANA_DIFF_ONLY_AFTER && fabs(f[2].after_ns / 5e4 - 1) < 0.01);
    done(&pair);
}

static void other_sizes(void)
{
    struct plan b = plain;
    b.ranks = 8;
    b.work = 0.55; /* half as much each, and a tenth more than that */
    struct pair pair = compare(plain, b);
    const struct ana_diff *d = &pair.diff;
    CHECK(d->scaling == ANA_SCALING_STRONG && fabs(d->computation_scaling - 1 / 1.1) < 0.01, "strong: %d, %f",
          d->scaling, d->computation_scaling);
    CHECK(fabs(d->speedup - 1 / 0.55) < 0.02 && fabs(d->efficiency - 1 / 1.1) < 0.01, "strong: %f, %f", d->speedup,
          d->efficiency);
    CHECK(d->findings >= 3 && d->finding[0].ranks == 0 && d->finding[0].kind == ANA_PORTION_SEGMENT, "strong: %zu",
          d->findings);
    CHECK(fabs(d->finding[0].before_ns / 8e6 - 1) < 0.01 && fabs(d->finding[0].after_ns / 8.8e6 - 1) < 0.01,
          "strong: %f -> %f", d->finding[0].before_ns, d->finding[0].after_ns);
    done(&pair);

    b.work = 1;
    pair = compare(plain, b);
    CHECK(d->scaling == ANA_SCALING_WEAK && fabs(d->computation_scaling - 1) < 0.01, "weak: %d, %f", d->scaling,
          d->computation_scaling);
    CHECK(fabs(d->efficiency - 1) < 0.02, "weak: %f", d->efficiency);
    done(&pair);
}

/* Too few iterations: what differs much is told, without confidence. */
static void few_iterations(void)
{
    struct plan a = plain, b = plain;
    a.times = b.times = 8;
    b.solve[3] = 3;
    struct pair pair = compare(a, b);
    CHECK(isnan(pair.diff.change_confidence) && pair.diff.change > 0.3, "few: %f", pair.diff.change);
    CHECK(pair.diff.findings >= 1 && isnan(pair.diff.finding[0].confidence) && pair.diff.finding[0].ranks == 1 &&
              pair.diff.finding[0].rank[0].rank == 3,
          "few: %zu findings", pair.diff.findings);
    done(&pair);
}

int main(void)
{
    two_percent();
    who_waits_follows();
    seldom_and_long();
    places_moved();
    other_sizes();
    few_iterations();
    nothing_changed();
    return check_result();
}
