/* Clock domains and their fit: synthetic clocks with known offsets and drifts. */
#include "tests/support/check.h"
#include "trace/relations/clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ll

/* `wall` counts from some day in 2026. */
static struct trc_head head_of(const char *host, const char *boot, uint64_t ticks, int64_t mono, int64_t wall)
{
    struct trc_head head = {.start = {ticks, (uint64_t)mono, (uint64_t)(1795248432000000000 + wall), 100}};
    snprintf(head.host, sizeof head.host, "%s", host);
    snprintf(head.boot_id, sizeof head.boot_id, "%s", boot);
    return head;
}

static void test_domains(void)
{
    struct ana_clock *clock = ana_clock_new();
    struct trc_head h[] = {
        head_of("a", "b1", 7000, 1000 * SECOND, 5000 * SECOND),
        head_of("a", "b1", 9000, 1000 * SECOND + 1000, 5000 * SECOND + 1500), /* the same machine */
        head_of("a", "b1", 9000, 1050 * SECOND, 5050 * SECOND),               /* later */
        head_of("c", "b1", 9000, 1000 * SECOND + 1000, 5000 * SECOND + 1500), /* a container on it with its own name */
        head_of("a", "b1", 9000, 1 * SECOND, 5000 * SECOND),                  /* another time namespace */
        head_of("b", "b2", 100, 77 * SECOND, 5000 * SECOND + 2 * SECOND),     /* another host */
        head_of("", "", 100, 77 * SECOND, 5000 * SECOND),
        head_of("", "", 100, 77 * SECOND, 5000 * SECOND),
    };
    static const size_t domain[] = {0, 0, 0, 0, 1, 2, 3, 4};
    for (size_t i = 0; i < 8; i++) {
        CHECK(ana_clock_add(clock, &h[i], i == 5 ? 0.5 : 1), "add");
        CHECK(ana_clock_domain_of(clock, i) == domain[i], "file %zu in domain %zu", i, ana_clock_domain_of(clock, i));
    }
    CHECK(ana_clock_domains(clock) == 5, "%zu domains", ana_clock_domains(clock));
    CHECK(ana_clock_job_time(clock, 0, 7000) == 0, "the reference");
    CHECK(ana_clock_job_time(clock, 0, 7123) == 123, "its ticks");
    CHECK(ana_clock_job_time(clock, 0, 6990) == -10, "before");
    CHECK(ana_clock_job_time(clock, 1, 9001) == 1001, "same domain: %lld",
          (long long)ana_clock_job_time(clock, 1, 9001));
    CHECK(ana_clock_job_time(clock, 4, 9000) == 0, "namespace: by realtime");
    CHECK(ana_clock_job_time(clock, 5, 100) == 2 * SECOND, "host: by realtime");
    CHECK(ana_clock_job_time(clock, 5, 300) == 2 * SECOND + 100, "half a ns a tick");
    for (int64_t t = 0; t < 5000; t += 7)
        CHECK(ana_clock_job_time(clock, 5, ana_clock_ticks(clock, 5, t + 2 * SECOND)) == t + 2 * SECOND, "inverse %lld",
              (long long)t);
    CHECK(ana_clock_error_ns(clock, 0, 1) == 200, "anchors: %g", ana_clock_error_ns(clock, 0, 1));
    CHECK(ana_clock_error_ns(clock, 0, 5) == 150 + ANA_CLOCK_NTP_NS, "ntp");
    CHECK(ana_clock_error_ns(clock, 2, 2) == 0, "self");
    CHECK(ana_clock_worst_error_ns(clock) >= 2 * ANA_CLOCK_NTP_NS, "worst pair");
    ana_clock_free(clock);

    clock = ana_clock_new();
    CHECK(isnan(ana_clock_worst_error_ns(clock)), "nothing known");
    struct trc_head hostile = head_of("x", "y", UINT64_MAX, -1, -1);
    hostile.start.error_ticks = UINT64_MAX;
    CHECK(ana_clock_add(clock, &hostile, NAN) && ana_clock_add(clock, &h[0], -3) && ana_clock_add(clock, &h[5], 1),
          "add");
    for (size_t i = 0; i < 3; i++) {
        ana_clock_job_time(clock, i, 0);
        ana_clock_job_time(clock, i, UINT64_MAX);
        ana_clock_ticks(clock, i, INT64_MAX);
        ana_clock_ticks(clock, i, INT64_MIN);
        for (size_t j = 0; j < 3; j++)
            ana_clock_add_order(clock, i, ana_clock_job_time(clock, i, 1ull << 63), j, ana_clock_job_time(clock, j, 5));
    }
    ana_clock_fit(clock, INT64_MIN);
    ana_clock_free(clock);
}

/* A world of clocks: clock i shows mono0 + (1 + drift) * t at true time t (ns since the start). */
struct truth {
    int64_t mono0;
    double drift;
};
static int64_t shows(const struct truth *truth, int64_t t)
{
    return truth->mono0 + t + llround((double)t * truth->drift);
}

/* Domain i is host i with clock truth[i] and a realtime clock that is wrong by wall_error[i]. */
static struct ana_clock *world(const struct truth *truth, const int64_t *wall_error, size_t n)
{
    struct ana_clock *clock = ana_clock_new();
    for (size_t i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "node%zu", i);
        int64_t mono = shows(&truth[i], 0);
        struct trc_head head = head_of(name, name, (uint64_t)mono, mono, wall_error[i]);
        head.start.error_ticks = 0;
        ana_clock_add(clock, &head, 1);
    }
    return clock;
}

static int64_t job(const struct ana_clock *clock, const struct truth *truth, size_t i, int64_t t)
{
    return ana_clock_job_time(clock, i, (uint64_t)shows(&truth[i], t));
}

/* A message of `latency` ns that leaves at true time t. */
static void send(struct ana_clock *clock, const struct truth *truth, size_t from, size_t to, int64_t t, int64_t latency)
{
    struct ana_message m = {.source = from,
                            .destination = to,
                            .send_begin_ns = job(clock, truth, from, t),
                            .send_complete_ns = INT64_MIN,
                            .recv_begin_ns = job(clock, truth, to, t),
                            .recv_complete_ns = job(clock, truth, to, t + latency)};
    ana_clock_add_message(clock, &m);
}

static void test_offset_and_drift(void)
{
    const struct truth truth[2] = {{5000 * SECOND, 0}, {5000 * SECOND + 3200000000ll, 20e-6}};
    const int64_t wall_error[2] = {0, 8000000};
    struct ana_clock *clock = world(truth, wall_error, 2);
    CHECK(llabs(job(clock, truth, 1, 0) - 8000000) < 2, "at first by realtime");
    srand(1);
    const int64_t end = 600 * SECOND;
    for (int64_t t = 0; t < end; t += 10000000) {
        send(clock, truth, 0, 1, t, 5000 + rand() % 100000);
        send(clock, truth, 1, 0, t + 3000000, 5000 + rand() % 100000);
    }
    CHECK(ana_clock_fit(clock, INT64_MIN) > 7000000, "the fit moves the second host");
    struct ana_clock_domain d = ana_clock_domain(clock, 1);
    printf("offset %.6f s, drift %.4f ppm, error %.3f us\n", (double)d.offset_ns / 1e9, d.drift_ppm, d.error_ns / 1e3);
    CHECK(d.fitted && d.files == 1 && d.first_index == 1, "domain");
    CHECK(fabs(d.drift_ppm - 20) < 0.01, "drift %g ppm", d.drift_ppm);
    CHECK(d.error_ns < 10000, "error %g ns", d.error_ns);
    for (int64_t t = 0; t <= end; t += SECOND) {
        double off = (double)(job(clock, truth, 1, t) - job(clock, truth, 0, t));
        CHECK(fabs(off) <= d.error_ns, "at %lld s clocks differ by %g ns", (long long)(t / SECOND), off);
        /* Causality holds for the shortest message there was. */
        CHECK(job(clock, truth, 1, t + 5000) >= job(clock, truth, 0, t), "0 to 1 at %lld", (long long)t);
        CHECK(job(clock, truth, 0, t + 5000) >= job(clock, truth, 1, t), "1 to 0 at %lld", (long long)t);
    }
    CHECK(fabs(ana_clock_worst_error_ns(clock) - d.error_ns) < 1, "worst pair");
    /* A second pass over the same events in the new time changes nothing. */
    for (int64_t t = 0; t < end; t += 100000000) {
        send(clock, truth, 0, 1, t, 50000);
        send(clock, truth, 1, 0, t, 50000);
    }
    CHECK(ana_clock_fit(clock, INT64_MIN) < 10, "stable");
    /* Evidence that may mix two fits is ignored. */
    ana_clock_fit(clock, end);
    ana_clock_add_order(clock, 0, end - 1 + SECOND, 1, end - 1);
    CHECK(ana_clock_fit(clock, end) < 10, "too old");
    ana_clock_free(clock);
}

/* Few messages in a short time: an offset, and no imagined drift. */
static void test_short(void)
{
    const struct truth truth[2] = {{5000 * SECOND, 0}, {4000 * SECOND, 0}};
    const int64_t wall_error[2] = {0, 3000000};
    struct ana_clock *clock = world(truth, wall_error, 2);
    send(clock, truth, 0, 1, 1000, 30000);
    CHECK(ana_clock_fit(clock, INT64_MIN) == 0 && !ana_clock_domain(clock, 1).fitted, "one direction only");
    CHECK(llabs(job(clock, truth, 1, 0)) == 3000000, "the bound leaves realtime alone: it arrives later");
    CHECK(ana_clock_domain(clock, 1).error_ns == ANA_CLOCK_NTP_NS, "and as uncertain");
    send(clock, truth, 1, 0, 500000, 2000);
    ana_clock_fit(clock, INT64_MIN);
    struct ana_clock_domain d = ana_clock_domain(clock, 1);
    CHECK(d.fitted && d.drift_ppm == 0, "drift %g", d.drift_ppm);
    CHECK(llabs(job(clock, truth, 1, 0)) <= 16000 && d.error_ns >= 16000 && d.error_ns < 16300, "error %g", d.error_ns);
    CHECK(d.offset_ns > -1000 * SECOND - 16001 && d.offset_ns < -1000 * SECOND + 16001, "offset");
    ana_clock_free(clock);
    /* One-sided, but it contradicts realtime: the bound wins. */

    clock = world(truth, wall_error, 2);
    send(clock, truth, 1, 0, 1000, 30000);
    ana_clock_fit(clock, INT64_MIN);
    CHECK(job(clock, truth, 1, 0) <= 30001, "not later than the message allows: %lld",
          (long long)job(clock, truth, 1, 0));
    ana_clock_free(clock);
}

/* Evidence both ways in the first millisecond only, then one way, by messages of any latency: a line could be turned
 * about its begin, and the stated error covers that. */
static void test_lopsided(void)
{
    const struct truth truth[2] = {{5000 * SECOND, 0}, {4000 * SECOND, 0}};
    const int64_t wall_error[2] = {0, 0};
    struct ana_clock *clock = world(truth, wall_error, 2);
    send(clock, truth, 0, 1, 0, 400000);
    send(clock, truth, 1, 0, 500000, 300000);
    srand(2);
    for (int64_t t = 2000000; t < SECOND; t += 2000000)
        send(clock, truth, 0, 1, t, 50000 + rand() % 2000000);
    ana_clock_fit(clock, INT64_MIN);
    struct ana_clock_domain d = ana_clock_domain(clock, 1);
    for (int64_t t = 0; t <= SECOND; t += SECOND / 10) {
        double off = (double)(job(clock, truth, 1, t) - job(clock, truth, 0, t));
        CHECK(d.fitted && fabs(off) <= d.error_ns, "off by %g at %lld ms, error %g, drift %g", off,
              (long long)(t / 1000000), d.error_ns, d.drift_ppm);
    }
    CHECK(d.error_ns < 2e6, "and not by much more than that: %g", d.error_ns);
    ana_clock_free(clock);
}

/* 0 - 1 - 2 by messages, 3 and 4 only with each other; synchronous sends and collectives count too. */
static void test_tree(void)
{
    const struct truth truth[6] = {{5000 * SECOND, 3e-6}, {1 * SECOND, -30e-6},  {9000 * SECOND, 12e-6},
                                   {100 * SECOND, 0},     {7000 * SECOND, 5e-6}, {800 * SECOND, -7e-6}};
    const int64_t wall_error[6] = {0, 9000000, -7000000, 4000000, -2000000, 6000000};
    struct ana_clock *clock = world(truth, wall_error, 6);
    for (int64_t t = 0; t < 100 * SECOND; t += 50000000) {
        send(clock, truth, 0, 1, t, 20000);
        send(clock, truth, 1, 0, t, 20000);
        /* Messages from 1 to 2 in one direction only, but synchronous. */
        struct ana_message m = {.source = 1,
                                .destination = 2,
                                .synchronous = true,
                                .send_begin_ns = job(clock, truth, 1, t),
                                .recv_begin_ns = job(clock, truth, 2, t + 1000),
                                .recv_complete_ns = job(clock, truth, 2, t + 15000),
                                .send_complete_ns = job(clock, truth, 1, t + 16000)};
        ana_clock_add_message(clock, &m);
        send(clock, truth, 3, 4, t, 20000);
        send(clock, truth, 4, 3, t, 20000);
        /* Barriers of 0 and 5. */
        struct ana_arrival a[2] = {{0, job(clock, truth, 0, t), job(clock, truth, 0, t + 40000), 0, 0},
                                   {5, job(clock, truth, 5, t + 20000), job(clock, truth, 5, t + 41000), 1, 0}};
        struct trc_call barrier = {"MPI_Barrier", TRC_OP_BARRIER};
        struct ana_instance inst = {.call = &barrier, .root = -1, .arrivals = 2, .arrival = a};
        ana_clock_add_instance(clock, &inst);
    }
    ana_clock_fit(clock, INT64_MIN);
    static const double bound[6] = {0, 25000, 50000, ANA_CLOCK_NTP_NS, ANA_CLOCK_NTP_NS + 25000, 50000};
    static const bool fitted[6] = {true, true, true, false, false, true};
    for (size_t i = 1; i < 6; i++) {
        struct ana_clock_domain d = ana_clock_domain(clock, i);
        CHECK(d.fitted == fitted[i], "domain %zu", i);
        CHECK(d.error_ns <= bound[i], "domain %zu: error %g", i, d.error_ns);
        for (int64_t t = 0; t < 100 * SECOND && i != 3 && i != 4; t += 10 * SECOND) {
            double off = (double)(job(clock, truth, i, t) - job(clock, truth, 0, t));
            CHECK(fabs(off) <= d.error_ns + 2, "domain %zu at %lld s: off by %g, error %g", i, (long long)(t / SECOND),
                  off, d.error_ns);
        }
    }
    CHECK(llabs(job(clock, truth, 4, 50 * SECOND) - job(clock, truth, 3, 50 * SECOND)) <= 20010, "3 and 4 agree");
    ana_clock_free(clock);
}

int main(void)
{
    test_domains();
    test_offset_and_drift();
    test_short();
    test_lopsided();
    test_tree();
    return check_result();
}
