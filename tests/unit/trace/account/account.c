/* The account of time: whatever the sums say, the accounts of the groups and of the rest add up to the elapsed time,
 * none is negative, and known spans of processor time fall to the right side. */
#include "tests/support/check.h"
#include "trace/account/account.h"
#include "trace/util/cpus.h"

#include <math.h>
#include <string.h>

#define MS     1e6
#define GROUPS 9

static uint32_t seed;
static uint32_t random_below(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static int64_t random_ns(void)
{
    return (int64_t)random_below(1u << 24) << random_below(24);
}

static double random_real(void)
{
    switch (random_below(8)) {
    case 0:
        return 0;
    case 1:
        return NAN;
    case 2:
        return INFINITY;
    case 3:
        return -1e9;
    default:
        return (double)random_ns();
    }
}

/* Adds the accounts; false: one is negative. */
static bool add_all(struct ana_account *sum, const struct ana_account *more)
{
    bool ok = true;
    for (int i = 0; i < ANA_ACCOUNTS; i++)
        ok = ok && more->ns[i] >= 0;
    ana_account_add(sum, more);
    return ok;
}

static void test_sums(void)
{
    for (int round = 0; round < 20000; round++) {
        struct ana_account_group group[GROUPS];
        struct ana_account of_group[GROUPS], outside, sum = {0};
        const size_t n = random_below(GROUPS + 1);
        int64_t inside = 0;
        for (size_t i = 0; i < n; i++) {
            group[i] = (struct ana_account_group){ana_account_of_call((enum trc_opclass)random_below(TRC_OPCLASSES)),
                                                  random_ns(), random_ns()};
            inside += group[i].inside_ns;
        }
        const struct ana_account_rank rank = {
            .elapsed_ns = random_below(4) ? inside + random_ns() : random_ns(),
            .open_ns = random_below(8) ? random_ns() : -random_ns(),
            .unknown_ns = random_below(8) ? random_ns() : -random_ns(),
            .usage = {.off_cpu_ns = random_real(), .queued_outside_ns = random_real(), .queued_in_ns = random_real()}};
        ana_account_cut(&rank, group, n, of_group, &outside);
        bool ok = add_all(&sum, &outside);
        for (size_t i = 0; i < n; i++) {
            ok = add_all(&sum, &of_group[i]) && ok;
            CHECK(ana_account_total(&of_group[i]) == group[i].inside_ns, "round %d: group %zu", round, i);
        }
        const int64_t want = rank.elapsed_ns > inside ? rank.elapsed_ns : inside;
        CHECK(ok && ana_account_total(&sum) == want, "round %d: %lld of %lld", round,
              (long long)ana_account_total(&sum), (long long)want);
    }
}

/* The time of one rank that waits for half of one group and is queued for a quarter of its calls. */
static void test_parts(void)
{
    const struct ana_account_group group[] = {{ANA_ACCOUNT_TRANSFER, 4000, 2000}, {ANA_ACCOUNT_IO, 4000, 0}};
    const struct ana_account_rank rank = {
        .elapsed_ns = 20000,
        .open_ns = 1000,
        .unknown_ns = 500,
        .usage = {.off_cpu_ns = 3000, .queued_outside_ns = 1500, .queued_in_ns = 2000}};
    struct ana_account cut[2], outside;
    ana_account_cut(&rank, group, 2, cut, &outside);
    CHECK(cut[0].ns[ANA_ACCOUNT_QUEUED] == 500 && cut[0].ns[ANA_ACCOUNT_WAIT] == 2000 &&
              cut[0].ns[ANA_ACCOUNT_TRANSFER] == 1500,
          "queued %lld, wait %lld", (long long)cut[0].ns[ANA_ACCOUNT_QUEUED], (long long)cut[0].ns[ANA_ACCOUNT_WAIT]);
    CHECK(cut[1].ns[ANA_ACCOUNT_QUEUED] == 1000 && cut[1].ns[ANA_ACCOUNT_IO] == 3000, "I/O");
    CHECK(outside.ns[ANA_ACCOUNT_OPEN] == 1000 && outside.ns[ANA_ACCOUNT_UNKNOWN] == 500 &&
              outside.ns[ANA_ACCOUNT_OFF_CPU] == 3000 && outside.ns[ANA_ACCOUNT_QUEUED] == 1500 &&
              outside.ns[ANA_ACCOUNT_COMPUTE] == 6000,
          "outside calls");
    CHECK(fabs(ana_account_share(&cut[1], ANA_ACCOUNT_IO) - 0.75) < 1e-9, "share");
}

static struct ana_account_usage usage_of(struct ana_account_span span)
{
    struct ana_account_usage usage = {0};
    ana_account_usage_add(&usage, &span);
    return usage;
}

static bool is(double a, double ms)
{
    return fabs(a - ms * MS) < 1;
}

static void test_usage(void)
{
    struct ana_account_usage u =
        usage_of((struct ana_account_span){.length_ns = 100 * MS, .cpu_ns = 30 * MS, .queued_ns = 60 * MS});
    CHECK(is(u.off_cpu_ns, 10) && is(u.queued_outside_ns, 60) && is(u.queued_in_ns, 0), "all outside");
    u = usage_of((struct ana_account_span){.length_ns = 100 * MS, .cpu_ns = 50 * MS, .sleeping_ns = 50 * MS});
    CHECK(is(u.off_cpu_ns, 25), "half in a call that may sleep: %g", u.off_cpu_ns);
    /* A call that polls filled a span: what sleeps later is outside. */
    u = usage_of(
        (struct ana_account_span){.length_ns = 100 * MS, .cpu_ns = 100 * MS, .polling_ns = 100 * MS, .is_whole = true});
    ana_account_usage_add(&u,
                          &(struct ana_account_span){.length_ns = 100 * MS, .cpu_ns = 50 * MS, .polling_ns = 50 * MS});
    CHECK(is(u.off_cpu_ns, 50), "asleep outside: %g", u.off_cpu_ns);
    /* Counts beyond the length, as clocks of two kinds give them. */
    u = usage_of((struct ana_account_span){
        .length_ns = 100 * MS, .cpu_ns = 101 * MS, .queued_ns = 500 * MS, .polling_ns = 120 * MS});
    CHECK(u.off_cpu_ns >= 0 && u.queued_in_ns <= 100 * MS && u.queued_outside_ns >= 0, "beyond the length");
}

/* Calls yield the processor: of the time ready in them a rank runs for a tenth, of that outside for nine tenths. */
static void test_yields(void)
{
    struct ana_account_usage u = {0}, equal = {0};
    double outside = 0;
    for (int i = 0; i < 60; i++) {
        const double in = (30 + i % 5 * 10) * MS, out = 100 * MS - in, cpu = 0.9 * out + 0.1 * in;
        const struct ana_account_span span = {
            .length_ns = 100 * MS, .cpu_ns = cpu, .queued_ns = 100 * MS - cpu, .polling_ns = in};
        ana_account_usage_add(&u, &span);
        outside += out;
        const struct ana_account_span half = {
            .length_ns = 100 * MS, .cpu_ns = 50 * MS, .queued_ns = 50 * MS, .polling_ns = 50 * MS};
        ana_account_usage_add(&equal, &half);
    }
    CHECK(fabs(u.queued_outside_ns - 0.1 * outside) < 0.05 * outside, "queued %g of %g ns", u.queued_outside_ns,
          outside);
    CHECK(fabs(u.queued_outside_ns + u.queued_in_ns + u.fit.cpu - 6000 * MS) < 1, "all of it");
    CHECK(is(equal.queued_outside_ns, 1500) && is(equal.queued_in_ns, 1500), "spans that are all alike");
}

/* A rank that hardly leaves its calls, on a crowded machine: its spans say nothing of the time outside, so that is on a
 * processor for about the same share. */
static void test_noise(void)
{
    struct ana_account_usage u = {0};
    double outside = 0, cpu = 0;
    for (int i = 0; i < 600; i++) {
        const double out = random_below(4) * MS, ran = (15 + random_below(30) - 5 * out / MS) * MS;
        ana_account_usage_add(&u, &(struct ana_account_span){100 * MS, ran, 100 * MS - ran, 100 * MS - out, 0, false});
        outside += out;
        cpu += ran;
    }
    CHECK(outside - u.queued_outside_ns > 0.3 * outside * cpu / (600 * 100 * MS), "%g of %g ns on a processor",
          outside - u.queued_outside_ns, outside);
}

/* Processor time longer than the calls lies outside, in any span. */
static void test_proven(void)
{
    for (int round = 0; round < 2000; round++) {
        struct ana_account_usage u = {0};
        double proven = 0;
        for (uint32_t n = 1 + random_below(8); n > 0; n--) {
            const double length = 1 + random_below(200), in = random_below((uint32_t)length + 1),
                         cpu = random_below((uint32_t)length + 1), queued = length - cpu;
            ana_account_usage_add(&u,
                                  &(struct ana_account_span){length * MS, cpu * MS, queued * MS, in * MS, 0, false});
            proven += cpu > in ? cpu - in : 0;
        }
        CHECK(u.outside_ns - u.off_cpu_ns - u.queued_outside_ns >= proven * MS - 1 && u.queued_outside_ns >= 0 &&
                  u.queued_in_ns >= 0,
              "round %d: %g ns queued of %g, %g proven", round, u.queued_outside_ns, u.outside_ns, proven * MS);
    }
}

/* Half of the time in which a rank was counted has no records: the rest was asleep and queued for the same shares. */
static void test_unknown(void)
{
    const struct ana_account_rank rank = {
        .elapsed_ns = 20000,
        .unknown_ns = 10000,
        .usage = {.outside_ns = 20000, .off_cpu_ns = 5000, .queued_outside_ns = 5000}};
    struct ana_account outside;
    ana_account_cut(&rank, NULL, 0, NULL, &outside);
    CHECK(outside.ns[ANA_ACCOUNT_UNKNOWN] == 10000 && outside.ns[ANA_ACCOUNT_COMPUTE] == 5000 &&
              outside.ns[ANA_ACCOUNT_OFF_CPU] == 2500,
          "%lld ns of computing", (long long)outside.ns[ANA_ACCOUNT_COMPUTE]);
}

static void test_cpus(void)
{
    struct ana_cpus a = {0}, b = {0};
    ana_cpus_add(&a, "0-3,8");
    ana_cpus_add(&b, "4-7,9-99999");
    CHECK(ana_cpus_count(&a) == 5 && ana_cpus_count(&b) == 4 + ANA_CPUS - 9, "%zu", ana_cpus_count(&b));
    CHECK(!ana_cpus_meet(&a, &b), "nothing in common");
    ana_cpus_add(&b, "3-");
    ana_cpus_add(&b, "");
    ana_cpus_add(&b, ",8");
    CHECK(!ana_cpus_meet(&a, &b), "what does not parse adds nothing");
    ana_cpus_add(&b, "8");
    CHECK(ana_cpus_meet(&a, &b), "8 in common");
}

int main(void)
{
    test_sums();
    test_parts();
    test_usage();
    test_yields();
    test_noise();
    test_proven();
    test_unknown();
    test_cpus();
    return check_result();
}
