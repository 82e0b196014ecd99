/* Two built runs side by side: planted changes are found, at their place, on their ranks, with their size; where
 * nothing was, nothing is; places that moved, new calls, regions, other numbers of ranks. */
#include "tests/support/planted.h"
#include "trace/diff/diff.h"
#include "trace/session/session.h"
#include "trace/report/report.h"
#include <math.h>
#include <stdlib.h>

enum { RANKS = 4, TIMES = 300, AGAIN = 50 };

/* A run: each iteration all compute 2 ms in `exchange`, 1 ms in `solve`, 1 ms in `finish`; each has a call at its
 * end. */
struct plan {
    int ranks, times;
    double solve[8];   /* factor of `solve` on rank r */
    double work;       /* factor of all pieces */
    bool moved, extra; /* the program was edited: other offsets; one call and 0.2 ms more, in `finish` */
    int long_solve;    /* each long_solve-th iteration `solve` takes that many times as long; 0: none */
    double queued;     /* share of the time in which all ranks wait for a processor; 0: not counted */
    bool spikes;       /* one piece in fifty takes ten times as long */
    uint64_t seed;
};
static const struct plan plain = {
    .ranks = RANKS, .times = TIMES, .solve = {1, 1, 1, 1, 1, 1, 1, 1}, .work = 1, .queued = 0.01};

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

/* Counts the processor time of a rank ten times a second. */
static void count_usage(struct planted *p, const struct plan *plan, int rank)
{
    enum { BEAT_US = 100000 };
    struct trc_usage begin = {.whose = TRC_USAGE_THREAD},
                     beat = {.whose = TRC_USAGE_THREAD, .fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_QUEUED};
    beat.value[TRC_USAGE_CPU] = (uint64_t)((1 - plan->queued) * BEAT_US);
    beat.value[TRC_USAGE_QUEUED] = (uint64_t)(plan->queued * BEAT_US);
    tb_usage(p->tb[rank], 0, 0, &begin, 1);
    for (int64_t at = 0; at + BEAT_US * US < p->at[rank]; at += BEAT_US * US)
        tb_usage(p->tb[rank], at, at + BEAT_US * US, &beat, 1);
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
            compute(&p, plan, r, 2e6);
        planted_meet(&p, 0x20, TB_WORLD, UINT64_MAX);
        for (int r = 0; r < plan->ranks; r++)
            compute(&p, plan, r, 1e6 * plan->solve[r] * slowness(plan, i));
        planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
        for (int r = 0; plan->extra && r < plan->ranks; r++) {
            compute(&p, plan, r, 2e5);
            save(&p, r);
        }
        for (int r = 0; r < plan->ranks; r++)
            compute(&p, plan, r, 1e6);
        planted_meet(&p, 0x40, TB_WORLD, UINT64_MAX);
    }
    for (int r = 0; plan->queued > 0 && r < plan->ranks; r++)
        count_usage(&p, plan, r);
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
    CHECK(fabs(f->before_ns / before_ns - 1) < 0.03 && fabs(f->after_ns / after_ns - 1) < 0.03, "%s: %f -> %f", what,
          f->before_ns, f->after_ns);
    CHECK(f->confidence >= ANA_DIFF_SURE && f->confidence <= ANA_DIFF_SUREST, "%s: %f", what, f->confidence);
}

static void check_answer(const char *what, const struct ana_diff *d, enum ana_diff_answer answer, const char *words)
{
    char said[300];
    ana_diff_answer(d, said, sizeof said);
    CHECK(d->answer == answer && strncmp(said, words, strlen(words)) == 0, "%s: %s", what, said);
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
        wrong += pair.diff.findings > 0 || pair.diff.answer != ANA_DIFF_NOT_SLOWER;
        CHECK(pair.diff.run[0].iterations == TIMES - 1 && pair.diff.compared >= 6 * RANKS,
              "%llu iterations, %zu compared", (unsigned long long)pair.diff.run[0].iterations, pair.diff.compared);
        CHECK(fabs(pair.diff.change) < (i % 2 ? 0.3 : 0.005), "change %f", pair.diff.change);
        done(&pair);
    }
    printf("%d of %d pairs of equal runs have a finding\n", wrong, AGAIN);
    CHECK(wrong == 0);
}

/* 10 % more in one piece of work, on all ranks and on one: found, but no 3 % of an iteration. */
static void ten_percent(void)
{
    struct plan b = plain;
    for (int r = 0; r < RANKS; r++)
        b.solve[r] = 1.1;
    struct pair pair = compare(plain, b);
    CHECK(pair.diff.findings == 1, "%zu findings", pair.diff.findings);
    check_finding("all", &pair.diff.finding[0], "Allreduce exchange+0x20 -> Allreduce solve+0x90", RANKS, 1e6, 1.1e6);
    check_answer("all", &pair.diff, ANA_DIFF_NOT_SLOWER, "not slower: a difference above 3.");
    CHECK(pair.diff.detectable > 0.03 && pair.diff.detectable < 0.04, "detectable: %f", pair.diff.detectable);
    done(&pair);

    b = plain;
    b.solve[2] = 1.1;
    b.spikes = true;
    struct plan a = plain;
    a.spikes = true;
    a.times = b.times = 5 * TIMES;
    pair = compare(a, b);
    check_finding("one", &pair.diff.finding[0], "Allreduce exchange+0x20 -> Allreduce solve+0x90", 1, 1e6, 1.1e6);
    CHECK(pair.diff.findings && pair.diff.finding[0].rank[0].rank == 2);
    for (size_t i = 1; i < pair.diff.findings; i++)
        CHECK(pair.diff.finding[i].follows, "finding %zu", i);
    done(&pair);

    b = plain;
    b.work = 1.1;
    pair = compare(plain, b);
    check_answer("work", &pair.diff, ANA_DIFF_SLOWER,
                 "9.9 % slower (99.99 % confidence): an iteration takes 4.5 ms, before 4.1 ms");
    done(&pair);
    pair = compare(b, plain);
    check_answer("less work", &pair.diff, ANA_DIFF_FASTER,
                 "9.1 % faster (99.99 % confidence): an iteration takes 4.1 ms, before 4.5 ms");
    done(&pair);
    b.work = 14;
    b.times = 20 + 1;
    pair = compare(plain, b);
    check_answer("14 x", &pair.diff, ANA_DIFF_SLOWER, "14 times slower (99.9 % confidence): ");
    done(&pair);
}

/* Pieces of 0.8 us that differ by 4 %: less than the clock and the recorder tell. */
static void below_the_clock(void)
{
    struct plan a = plain, b = plain;
    a.work = b.work = 0.0008;
    for (int r = 0; r < RANKS; r++)
        b.solve[r] = 1.04;
    struct pair pair = compare(a, b);
    CHECK(pair.diff.findings == 0, "%zu findings", pair.diff.findings);
    done(&pair);
}

/* Ranks wait for a processor: elapsed time is no evidence, time without queueing is. */
static void loaded(void)
{
    struct plan quiet = plain, busy = plain;
    busy.queued = 0.5;
    busy.work = 2; /* twice the elapsed time, but no more work */
    struct pair pair = compare(quiet, busy);
    check_answer("another load", &pair.diff, ANA_DIFF_NOT_SLOWER, "not slower: a difference above 3.");
    CHECK(pair.diff.measure == ANA_DIFF_OUTSIDE && pair.diff.findings > 0);
    for (size_t i = 0; i < pair.diff.findings; i++)
        CHECK(pair.diff.finding[i].machine && isnan(pair.diff.finding[i].confidence), "load: finding %zu", i);
    done(&pair);

    struct plan more = busy;
    more.work *= 1.1;
    pair = compare(busy, more);
    check_answer("the same load", &pair.diff, ANA_DIFF_SLOWER,
                 "9.9 % slower (99.99 % confidence): outside calls 4.5 ms, before 4.1 ms");
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
    char account[300];
    ana_diff_account(d, account, sizeof account);
    CHECK(strncmp(account, "wait +4", 7) == 0 &&
              strstr(account, " because of rank 1, Allreduce exchange+0x20 -> Allreduce solve+0x90"),
          "%s", account);
    CHECK(d->accounts.known && d->accounts.culprit.rank.rank == 1);
    done(&pair);
}

/* Seldom and long: only the mean differs. */
static void seldom_and_long(void)
{
    struct plan b = plain;
    b.long_solve = 6;
    struct pair pair = compare(plain, b);
    const struct ana_diff_finding *f = pair.diff.finding;
    CHECK(pair.diff.findings && !f->low && !f->machine && f->confidence >= ANA_DIFF_SURE &&
              fabs(f->after_ns - 1.83e6) < 1e5 && strcmp(f->to.place, "solve+0x90") == 0,
          "%zu findings, %f", pair.diff.findings, f->after_ns);
    done(&pair);
}

/* The program was edited: its places are found again; added code is new. */
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

/* Missing counts of processor time: another load may be the cause: only a large difference is one. */
static void not_counted(void)
{
    struct plan a = plain, b = plain;
    a.queued = b.queued = 0;
    b.work = 1.5;
    struct pair pair = compare(a, b);
    check_answer("not counted", &pair.diff, ANA_DIFF_NOT_KNOWN, "not known: processor time was not counted");
    for (size_t i = 0; i < pair.diff.findings; i++)
        CHECK(pair.diff.finding[i].machine, "not counted: finding %zu", i);
    done(&pair);
    b.work = 14;
    pair = compare(a, b);
    check_answer("not counted, 14 x", &pair.diff, ANA_DIFF_SLOWER, "14 times slower (99.9");
    done(&pair);
}

/* Too few iterations: large differences of the run are listed without confidence. */
static void few_iterations(void)
{
    struct plan a = plain, b = plain;
    a.times = b.times = 8;
    b.solve[3] = 3;
    struct pair pair = compare(a, b);
    check_answer("few", &pair.diff, ANA_DIFF_NOT_KNOWN, "not known: 7 iterations are too few; record at least 20");
    CHECK(isnan(pair.diff.change_confidence) && pair.diff.change > 0.3, "few: %f", pair.diff.change);
    CHECK(pair.diff.findings >= 1 && isnan(pair.diff.finding[0].confidence) && pair.diff.finding[0].ranks == 1 &&
              pair.diff.finding[0].rank[0].rank == 3,
          "few: %zu findings", pair.diff.findings);
    done(&pair);
}

int main(void)
{
    ten_percent();
    below_the_clock();
    loaded();
    who_waits_follows();
    seldom_and_long();
    places_moved();
    other_sizes();
    not_counted();
    few_iterations();
    nothing_changed();
    return check_result();
}
