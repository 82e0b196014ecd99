/* The pyramid against a plain array that holds every nanosecond. */
#include "tests/support/check.h"
#include "trace/sums/sums.h"
#include "trace/sums/timeline.h"
#include "trace/util/archive.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ana_lane_sum sum_of(struct ana_lane *lane, int64_t begin, int64_t end)
{
    struct ana_lane_sum sum = {0};
    ana_lane_add(lane, (int64_t[]){begin, end}, 1, INT64_MAX, false, &sum);
    return sum;
}

static bool is(double got, double want)
{
    return fabs(got - want) < 1e-6;
}

static void spans_fall_into_their_buckets(void)
{
    struct ana_lane lane;
    ana_lane_init(&lane, 1000, 100, 64);
    CHECK(sum_of(&lane, 0, 10000).calls == 0);
    ana_lane_spend(&lane, 1050, 1250, 200, TRC_CAT_P2P);
    ana_lane_wait(&lane, 1050, 1120);
    ana_lane_count(&lane, 1250, 1, 80, 8);
    CHECK(is(sum_of(&lane, 1000, 1100).ns[TRC_CAT_P2P], 50));
    CHECK(is(sum_of(&lane, 1100, 1200).ns[TRC_CAT_P2P], 100));
    CHECK(is(sum_of(&lane, 1200, 1300).ns[TRC_CAT_P2P], 50));
    CHECK(is(sum_of(&lane, 1100, 1150).ns[TRC_CAT_P2P], 50));
    CHECK(is(sum_of(&lane, 1075, 1100).ns[TRC_CAT_P2P], 12.5)); /* a quarter of the bucket */
    CHECK(is(sum_of(&lane, 1000, 1100).waiting_ns, 50));
    CHECK(is(sum_of(&lane, 1100, 1200).waiting_ns, 20));
    CHECK(is(sum_of(&lane, 1200, 1300).sent, 80) && is(sum_of(&lane, 1200, 1300).received, 8));
    CHECK(is(sum_of(&lane, -5000, 90000).ns[TRC_CAT_P2P], 200));
    CHECK(is(sum_of(&lane, 1300, 90000).ns[TRC_CAT_P2P], 0));
    /* Polling: half of the time inside. */
    ana_lane_spend(&lane, 2000, 2400, 201, TRC_CAT_WAIT);
    CHECK(is(sum_of(&lane, 2000, 2400).ns[TRC_CAT_WAIT], 201));
    CHECK(is(sum_of(&lane, 2000, 2200).ns[TRC_CAT_WAIT], 100));
    /* Before the beginning counts as at it. */
    ana_lane_count(&lane, -77, 3, 0, 0);
    CHECK(is(sum_of(&lane, 1000, 1100).calls, 3));
    ana_lane_free(&lane);
}

static void empty_spans_and_no_events(void)
{
    struct ana_lane lane;
    ana_lane_init(&lane, 0, 10, 2);
    ana_lane_spend(&lane, 5, 5, 0, TRC_CAT_IO);
    CHECK(is(sum_of(&lane, 0, 10).ns[TRC_CAT_IO], 0));
    CHECK(is(sum_of(&lane, 7, 7).calls, 0));
    ana_lane_free(&lane);
}

/* Spans without order, wider and narrower than the buckets, in a lane that has to halve itself many times: whole
 * buckets of whatever width must hold exactly what an array of every ns holds. */
static void random_spans_against_an_array(size_t max)
{
    enum { T = 200000 };
    static unsigned char busy[T];
    struct ana_lane lane;
    ana_lane_init(&lane, 0, 16, max);
    memset(busy, 0, sizeof busy);
    srand(7);
    double total = 0;
    for (int64_t at = 0; at < T - 2000;) {
        int64_t n = rand() % (rand() % 8 ? 40 : 1500) + 1;
        int64_t gap = rand() % 50;
        memset(busy + at + gap, 1, (size_t)n);
        CHECK(ana_lane_spend(&lane, at + gap, at + gap + n, n, TRC_CAT_COLLECTIVE));
        CHECK(ana_lane_count(&lane, at + gap + n, 1, 2, 3));
        total += 1;
        at += gap + n;
        if (rand() % 16 == 0) { /* asked in between: the upper levels must follow */
            double sum = 0;
            for (int64_t i = 0; i < at; i++)
                sum += busy[i];
            CHECK(is(sum_of(&lane, 0, 2 * T).ns[TRC_CAT_COLLECTIVE], sum));
        }
    }
    CHECK(lane.width_ns > 16 && lane.used <= max);
    CHECK(is(sum_of(&lane, 0, 2 * T).calls, total) && is(sum_of(&lane, 0, 2 * T).received, 3 * total));
    for (int round = 0; round < 500; round++) {
        int64_t a = rand() % (int)lane.used, b = rand() % (int)lane.used;
        if (a > b) {
            int64_t c = a;
            a = b;
            b = c;
        }
        double want = 0;
        for (int64_t i = a * lane.width_ns; i < b * lane.width_ns && i < T; i++)
            want += busy[i];
        CHECK(is(sum_of(&lane, a * lane.width_ns, b * lane.width_ns).ns[TRC_CAT_COLLECTIVE], want));
    }
    ana_lane_free(&lane);
}

/* A saved lane is equal once loaded, and goes on; widths of columns that cannot be are refused. */
static void kept_lanes_are_the_same(size_t max)
{
    struct ana_lane lane, other;
    struct ana_archive archive;
    FILE *file = tmpfile();
    ana_lane_init(&lane, 5, 16, max);
    ana_lane_init(&other, 5, 16, max);
    for (int64_t i = 0; i < 700; i++) {
        ana_lane_spend(&lane, i * 90, i * 90 + 40, i % 41, (enum trc_category)(i % 3 + 1));
        ana_lane_count(&lane, i * 90, 1, (uint64_t)1 << i % 45, 0);
    }
    ana_archive_save(&archive, file, UINT64_MAX);
    ana_lane_archive(&archive, &lane);
    ana_archive_part(&archive);
    CHECK(file && ana_archive_end(&archive));
    fflush(file);
    ana_archive_load(&archive, file, 0, &(struct ana_budget){.most = 1 << 20});
    ana_lane_archive(&archive, &other);
    CHECK(ana_archive_end(&archive) && other.used == lane.used && other.width_ns == lane.width_ns);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i <= lane.used; i++) {
            int64_t from = 5 + (int64_t)i * lane.width_ns - 3, to = from + 4 * lane.width_ns;
            struct ana_lane_sum a = sum_of(&lane, from, to), b = sum_of(&other, from, to);
            CHECK(memcmp(&a, &b, sizeof a) == 0, "bucket %zu", i);
        }
        ana_lane_wait(&lane, 100, 20000);
        ana_lane_wait(&other, 100, 20000);
    }
    struct ana_lane_sum all = sum_of(&lane, 0, 70000), times = {0};
    ana_lane_add(&lane, (int64_t[]){0, 70000}, 1, INT64_MAX, true, &times);
    CHECK(memcmp(all.ns, times.ns, sizeof all.ns) == 0 && all.waiting_ns == times.waiting_ns && all.waiting_ns > 0);
    ana_lane_free(&lane);
    ana_lane_free(&other);
    fclose(file);
}

static void impossible_columns_are_refused(void)
{
    struct ana_columns table;
    struct ana_archive archive;
    FILE *file = tmpfile();
    uint8_t widths[ANA_COLUMNS] = {3};
    ana_archive_save(&archive, file, UINT64_MAX);
    ana_archive_bytes(&archive, widths, sizeof widths);
    ana_archive_part(&archive);
    CHECK(file && ana_archive_end(&archive));
    fflush(file);
    ana_columns_init(&table, 8);
    ana_archive_load(&archive, file, 0, &(struct ana_budget){.most = 1 << 20});
    ana_columns_archive(&archive, &table, 8);
    CHECK(!ana_archive_end(&archive));
    ana_columns_free(&table);
    fclose(file);
}

/* Adds a fact by its parts. */
static void add_parts(struct ana_lane *lane, const struct ana_run_fact *fact, int64_t begin_ns, int64_t end_ns)
{
    bool is_call = fact->kind == ANA_RUN_CALL;
    if (fact->kind == ANA_RUN_WAIT)
        ana_lane_wait(lane, begin_ns, end_ns);
    if (is_call)
        ana_lane_spend(lane, begin_ns, end_ns, end_ns - begin_ns, fact->category);
    if (fact->kind == ANA_RUN_FOLD)
        ana_lane_spend(lane, begin_ns, end_ns, fact->sum.busy_ns, fact->category);
    if (fact->kind == ANA_RUN_FOLD)
        ana_lane_count(lane, end_ns, fact->sum.calls, 0, 0);
    if (is_call)
        ana_lane_count(lane, end_ns, 1, fact->call.sent, fact->call.received);
    if (fact->kind == ANA_RUN_BYTES)
        ana_lane_count(lane, end_ns, 0, fact->sum.sent, fact->sum.received);
}

/* However a sum lies to the bucket used last, it comes to what its parts come to. */
static void sums_are_the_sums_of_their_parts(size_t max)
{
    struct ana_lane lane, other;
    ana_lane_init(&lane, 1000, 16, max);
    ana_lane_init(&other, 1000, 16, max);
    srand(11);
    for (int64_t i = 0, at = 0; i < 5000; i++, at += rand() % 30) {
        int64_t late = rand() % 9 ? 0 : rand() % 700, ns = rand() % (rand() % 9 ? 20 : 400);
        static const enum ana_run_fact_kind kind[] = {ANA_RUN_CALL, ANA_RUN_BYTES, ANA_RUN_FOLD, ANA_RUN_WAIT};
        struct ana_run_fact fact = {.kind = (uint8_t)kind[rand() % 4], .category = (uint8_t)(i % 3 + 1)};
        int64_t begin_ns = at - late, end_ns = begin_ns + ns;
        if (fact.kind == ANA_RUN_BYTES)
            begin_ns = end_ns;
        if (fact.kind == ANA_RUN_WAIT)
            end_ns++; /* it lasts */
        if (fact.kind == ANA_RUN_CALL) {
            fact.call.sent = (uint32_t)ns / 2;
            fact.call.received = (uint32_t)i % 5;
        } else {
            fact.sum.sent = (uint64_t)ns / 2; /* part of a fold, in the same union */
            fact.sum.received = (uint64_t)i % 5;
        }
        ana_sum_to_lane(&lane, fact.kind, &fact, begin_ns, end_ns);
        add_parts(&other, &fact, begin_ns, end_ns);
        if (i % 64 == 0)
            sum_of(&lane, 0, at);
    }
    CHECK(lane.used == other.used && lane.width_ns == other.width_ns && lane.width_ns > 16);
    for (size_t i = 0; i < lane.used; i++) {
        int64_t from = 1000 + (int64_t)i * lane.width_ns;
        struct ana_lane_sum a = sum_of(&lane, from, from + lane.width_ns),
                            b = sum_of(&other, from, from + lane.width_ns);
        CHECK(memcmp(&a, &b, sizeof a) == 0, "bucket %zu", i);
    }
    ana_lane_free(&lane);
    ana_lane_free(&other);
}

static void later_spans_before_earlier_ones(void)
{
    struct ana_lane lane;
    ana_lane_init(&lane, 0, 1, 1024);
    ana_lane_spend(&lane, 900, 1000, 100, TRC_CAT_RMA);
    CHECK(is(sum_of(&lane, 0, 1024).ns[TRC_CAT_RMA], 100));
    ana_lane_spend(&lane, 10, 20, 10, TRC_CAT_RMA);
    CHECK(is(sum_of(&lane, 0, 1024).ns[TRC_CAT_RMA], 110));
    CHECK(is(sum_of(&lane, 15, 950).ns[TRC_CAT_RMA], 55));
    ana_lane_spend(&lane, 0, (int64_t)1 << 40, 0, TRC_CAT_RMA); /* far away: the width follows */
    CHECK(lane.width_ns >= ((int64_t)1 << 30));
    CHECK(is(sum_of(&lane, 0, (int64_t)1 << 41).ns[TRC_CAT_RMA], 110));
    ana_lane_free(&lane);
}

int main(void)
{
    spans_fall_into_their_buckets();
    empty_spans_and_no_events();
    random_spans_against_an_array(64);  /* one bucket beside the other */
    random_spans_against_an_array(512); /* spans with levels above */
    kept_lanes_are_the_same(64);
    kept_lanes_are_the_same(512);
    impossible_columns_are_refused();
    sums_are_the_sums_of_their_parts(64);
    sums_are_the_sums_of_their_parts(512);
    later_spans_before_earlier_ones();
    return check_result();
}
