/* Iterations, one slow by plan: its number, its time, whose segment it was; in short runs and in long ones, which keep
 * only some times. */
#include "tests/support/planted.h"
#include "trace/iter/iter.h"
#include "trace/session/session.h"
#include <stdlib.h>

enum { RANKS = 3, SLOW_RANK = 2 };

/* `times` iterations: compute 2 ms to 0x30 and 1 ms to 0x40, which ends it; the `slow`-th, from 1, takes 150 ms more on
 * one rank, before 0x30.  `seldom`: every 10th ends with a call of files.  Returns how long the others took. */
static int64_t run(struct planted *p, int times, int slow, bool seldom)
{
    planted_meet(p, 0x20, TB_WORLD, UINT64_MAX);
    for (int i = 1; i <= times; i++) {
        for (int r = 0; r < RANKS; r++)
            p->at[r] += i == slow && r == SLOW_RANK ? 152 * MS : 2 * MS;
        planted_meet(p, 0x30, TB_WORLD, UINT64_MAX);
        for (int r = 0; r < RANKS; r++)
            p->at[r] += MS;
        planted_meet(p, 0x40, TB_WORLD, UINT64_MAX);
        struct trc_sig save = tb_sig(TB_FILE_WRITE);
        save.site = 0x50;
        for (int r = 0; seldom && i % 10 == 0 && r < RANKS; r++) {
            tb_event(p->tb[r], 0, &save, p->at[r], p->at[r] + 3 * MS, (struct tb_more){0});
            p->at[r] += 3 * MS;
        }
    }
    return 3 * MS + 2 * US;
}

static void check_run(const char *name, int times, int slow, bool seldom)
{
    struct planted p = planted_begin(name, RANKS);
    int64_t usual_ns = run(&p, times, slow, seldom);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_iterations *of = &s.iterations;
    const struct ana_loop_level *loop = &of->loop[of->level];
    const struct ana_slow_iteration *worst = &loop->slow[0];
    char words[400], expected[200];
    CHECK(of->levels && loop->count == (uint64_t)times && strcmp(loop->end.place, "0x40") == 0, "%s: %llu at %s", name,
          (unsigned long long)loop->count, loop->end.place);
    CHECK(loop->median_ns >= (double)usual_ns && loop->median_ns <= 1.2 * (double)usual_ns, "%s: median %f", name,
          loop->median_ns);
    CHECK(loop->slow_count && worst->number == (uint64_t)slow && worst->end_ns - worst->begin_ns == usual_ns + 150 * MS,
          "%s: iteration %llu took %lld", name, (unsigned long long)worst->number,
          (long long)(worst->end_ns - worst->begin_ns));
    CHECK(worst->index == SLOW_RANK && worst->segment_ns == 152 * MS, "%s: rank %zu, %lld", name, worst->index,
          (long long)worst->segment_ns);
    CHECK(strcmp(worst->from.place, slow == 1                  ? "0x20"
                                    : seldom && slow % 10 == 1 ? "0x50"
                                                               : "0x40") == 0 &&
              strcmp(worst->to.place, "0x30") == 0,
          "%s: from %s to %s", name, worst->from.place, worst->to.place);
    ana_iteration_words(job, loop, worst, words, sizeof words);
    snprintf(expected, sizeof expected, "iteration %d took ", slow);
    CHECK(strncmp(words, expected, strlen(expected)) == 0 && strstr(words, " x: rank 2, 152 ms in Allreduce 0x40 -> "),
          "%s: \"%s\"", name, words);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Runs 20 nearly equal iterations, none with a rank to blame. */
static void check_usual(void)
{
    struct planted p = planted_begin("usual", RANKS);
    for (int i = 0; i < 20; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += 2 * MS + (i * 7 + r * 3) % 11 * 20 * US;
        planted_meet(&p, 0x40, TB_WORLD, UINT64_MAX);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_loop_level *loop = &s.iterations.loop[s.iterations.level];
    CHECK(loop->slow_count > 2, "usual: %zu iterations", loop->slow_count);
    for (size_t k = 0; k < loop->slow_count; k++)
        CHECK(loop->slow[k].index == SIZE_MAX, "usual: rank %zu is named for iteration %llu", loop->slow[k].index,
              (unsigned long long)loop->slow[k].number);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Steps of a solver: its norm is called one to four times in a row by Newton's method, and once by the test of the
 * error. All these calls are made in one function, with one size: only their callers tell them apart. */
static void check_callers(void)
{
    enum { STEPS = 60, NEWTON = 1, ERROR = 2 };
    struct planted p = planted_begin("callers", RANKS);
    const uint64_t newton[] = {0x30, 0x40}, error[] = {0x30, 0x50};
    for (int r = 0; r < RANKS; r++) {
        tb_site(p.tb[r], 0x30, "norm+0x5", "libvector.so+0x30");
        tb_site(p.tb[r], 0x40, "newton+0x9", "solver+0x40");
        tb_site(p.tb[r], 0x50, "error_test+0x7", "solver+0x50");
        tb_path(p.tb[r], NEWTON, newton, 2, TRC_PATH_WHOLE);
        tb_path(p.tb[r], ERROR, error, 2, TRC_PATH_WHOLE);
    }
    for (int i = 0; i < STEPS; i++)
        for (int left = 1 + i * i % 7 % 4; left >= 0; left--) {
            p.path = left ? NEWTON : ERROR;
            for (int r = 0; r < RANKS; r++)
                p.at[r] += MS;
            planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
        }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_iterations *of = &s.iterations;
    CHECK(of->levels && of->loop[of->level].count == STEPS, "%zu levels, %llu iterations", of->levels,
          (unsigned long long)of->loop[of->level].count);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Steps exchange three times at 0x30: soon, soon, and after the computation; each tenth step, from the fourth on,
 * meets at 0x40, too.  An exchange that a step has three times is no iteration that is slow each third time. */
static void check_thrice(void)
{
    enum { STEPS = 60 };
    struct planted p = planted_begin("thrice", RANKS);
    for (int i = 0; i < STEPS; i++) {
        for (int part = 0; part < 3; part++) {
            for (int r = 0; r < RANKS; r++)
                p.at[r] += part == 2 ? 10 * MS + i * US : 200 * US;
            planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
        }
        if (i % 10 == 3)
            planted_meet(&p, 0x40, TB_WORLD, UINT64_MAX);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_iterations *of = &s.iterations;
    const struct ana_loop_level *loop = &of->loop[of->level], *inner = &of->loop[of->levels - 1];
    CHECK(of->levels == 2 && inner->count == 3 * STEPS && inner->long_share > 0.3 && inner->long_share < 0.36,
          "%zu levels, %llu times, %g of them long", of->levels, (unsigned long long)inner->count, inner->long_share);
    CHECK(inner->median_ns < MS && inner->usual_ns > 9.9 * MS, "%g, %g", inner->median_ns, inner->usual_ns);
    CHECK(strcmp(loop->end.place, "0x40") == 0 && loop->count == STEPS / 10 && loop->long_share == 0, "%llu at %s",
          (unsigned long long)loop->count, loop->end.place);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Adds `times` calls of a rank, 1 ms apart. */
static void call_often(struct planted *p, int rank, enum tb_call call, uint64_t site, int times)
{
    struct trc_sig sig = tb_sig(call);
    sig.site = site;
    for (int i = 0; i < times; i++) {
        tb_event(p->tb[rank], 0, &sig, p->at[rank], p->at[rank] + 10 * US, (struct tb_more){0});
        p->at[rank] += MS;
    }
}

/* Messages to as many neighbours as a rank has on each level of a grid, or queries while a library sets up, are no
 * iterations of the program; as many messages on all ranks are. */
static void check_none(const char *name, enum tb_call call, int more, size_t levels)
{
    struct planted p = planted_begin("none", RANKS);
    for (int r = 0; r < RANKS; r++)
        call_often(&p, r, call, 0x60, 40 + more * r);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    CHECK(s.iterations.levels == levels && (levels || !s.iterations.loop->count), "%s: %zu levels", name,
          s.iterations.levels);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Each iteration queries its communicator once, and then sends two messages; or meets the others twice, most of the run
 * after its begin. */
static void check_queries(bool meets)
{
    enum { QUERIES = 60 };
    struct planted p = planted_begin("queries", RANKS);
    planted_meet(&p, 0x20, TB_WORLD, UINT64_MAX);
    for (int r = 0; meets && r < RANKS; r++)
        p.at[r] += 60000 * MS;
    for (int i = 0; i < QUERIES; i++) {
        for (int r = 0; r < RANKS; r++) {
            call_often(&p, r, TB_COMM_RANK, 0x60, 1);
            call_often(&p, r, TB_ISEND, 0x70, meets ? 0 : 2);
        }
        for (int k = 0; meets && k < 2; k++)
            planted_meet(&p, 0x80, TB_WORLD, UINT64_MAX);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    bool found = false;
    for (size_t i = 0; i < s.iterations.levels; i++)
        found |= s.iterations.loop[i].count == QUERIES;
    CHECK(found, "%zu levels, the first with %llu iterations", s.iterations.levels,
          (unsigned long long)s.iterations.loop->count);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Bursts of messages, microseconds apart in each, with seconds of other work between: their median tells nothing. */
static void check_bursts(int64_t between_ns, size_t levels)
{
    struct planted p = planted_begin("bursts", RANKS);
    for (int burst = 0; burst < 2; burst++)
        for (int r = 0; r < RANKS; r++) {
            struct trc_sig sig = tb_sig(TB_ISEND);
            sig.site = 0x60;
            for (int i = 0; i < 400; i++) {
                tb_event(p.tb[r], 0, &sig, p.at[r], p.at[r] + US, (struct tb_more){0});
                p.at[r] += 2 * US;
            }
            p.at[r] += between_ns;
        }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    CHECK(s.iterations.levels == levels, "%lld ns between: %zu levels", (long long)between_ns, s.iterations.levels);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Checks an iteration of 100 us that is `more_ns` longer on one rank; each rank waits `queued_us` for a processor. */
static void check_slice(const char *name, int64_t more_ns, int64_t queued_us, bool is_slow)
{
    struct planted p = planted_begin("slice", RANKS);
    for (int i = 1; i <= 4000; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += 100 * US + (i == 2000 && r == SLOW_RANK ? more_ns : 0);
        planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
    }
    struct trc_usage begin = {.whose = TRC_USAGE_THREAD},
                     beat = {.whose = TRC_USAGE_THREAD, .fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_QUEUED};
    beat.value[TRC_USAGE_QUEUED] = (uint64_t)queued_us;
    beat.value[TRC_USAGE_CPU] = (uint64_t)(100000 - queued_us);
    for (int r = 0; r < RANKS; r++) {
        tb_usage(p.tb[r], 0, 0, &begin, 1);
        for (int64_t at = 0; at + 100 * MS < p.at[r]; at += 100 * MS)
            tb_usage(p.tb[r], at, at + 100 * MS, &beat, 1);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_loop_level *loop = &s.iterations.loop[s.iterations.level];
    CHECK(loop->slow_count && loop->slow[0].number == 2000 && ana_iteration_is_slow(loop, &loop->slow[0]) == is_slow,
          "%s: iteration %llu", name, (unsigned long long)loop->slow[0].number);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* One function makes all calls, at 0x30: two after 1 ms, then one after 2 ms and a call at 0x40, twice in a row.  The
 * `slow`-th iteration takes 50 ms more on one rank. */
static void check_shared(int times, int slow)
{
    static const struct {
        int64_t ms;
        uint64_t site;
    } call[] = {{1, 0x30}, {1, 0x30}, {1, 0x40}, {2, 0x30}, {1, 0x40}, {1, 0x40}};
    struct planted p = planted_begin("shared", RANKS);
    for (int i = 1; i <= times; i++)
        for (size_t c = 0; c < sizeof call / sizeof *call; c++) {
            for (int r = 0; r < RANKS; r++)
                p.at[r] += call[c].ms * MS + (c == 3 && i == slow && r == SLOW_RANK ? 50 * MS : 0);
            planted_meet(&p, call[c].site, TB_WORLD, UINT64_MAX);
        }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_iterations *of = &s.iterations;
    const struct ana_loop_level *loop = &of->loop[of->level];
    CHECK(of->levels && loop->count + 1 >= (uint64_t)times && loop->count <= (uint64_t)times, "shared: %llu",
          (unsigned long long)loop->count);
    CHECK(loop->median_ns > (double)(7 * MS) && loop->median_ns < (double)(8 * MS), "shared: median %f",
          loop->median_ns);
    const struct ana_slow_iteration *worst = &loop->slow[0];
    int64_t took_ns = worst->end_ns - worst->begin_ns;
    CHECK(loop->slow_count && worst->number + 1 >= (uint64_t)slow && worst->number <= (uint64_t)slow + 1 &&
              took_ns > 57 * MS && took_ns < 58 * MS && worst->index == SLOW_RANK,
          "shared: iteration %llu took %lld, rank %zu", (unsigned long long)worst->number, (long long)took_ns,
          worst->index);
    struct ana_iteration_cell cell[RANKS];
    for (size_t r = 0; r < RANKS; r++) {
        ana_iteration_cells(job, of, of->level, r, worst->number, worst->number, 1, &cell[r]);
        CHECK(cell[r].own_ns > 6.9e6f && cell[r].own_ns < (r == SLOW_RANK ? 58e6f : 8e6f), "shared: rank %zu, %f", r,
              (double)cell[r].own_ns);
    }
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Iterations of 11 us, some with 80 ms more on all ranks: time slices of others if the ranks were `queued`, else
 * time that the loop does not explain. */
static void check_slices(bool queued)
{
    enum { TIMES = 100 };
    struct planted p = planted_begin("slices", RANKS);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < RANKS; r++)
            p.at[r] += i * i % 11 == 5 ? 80 * MS : 10 * US;
        planted_meet(&p, 0x30, TB_WORLD, UINT64_MAX);
    }
    const struct trc_usage begin = {.whose = TRC_USAGE_THREAD},
                           beat = {.whose = TRC_USAGE_THREAD,
                                   .fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_QUEUED,
                                   .value = {[TRC_USAGE_CPU] = 100, [TRC_USAGE_QUEUED] = queued ? 99900 : 0}};
    for (int r = 0; r < RANKS; r++) {
        tb_usage(p.tb[r], 0, 0, &begin, 1);
        for (int64_t at = 0; at + 100 * MS <= p.at[r]; at += 100 * MS)
            tb_usage(p.tb[r], at, at + 100 * MS, &beat, 1);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    CHECK(s.iterations.levels == (queued ? 1 : 0) && s.iterations.loop[0].count == (queued ? TIMES : 0),
          "queued %d: %zu levels, %llu", queued, s.iterations.levels, (unsigned long long)s.iterations.loop[0].count);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    check_thrice();
    check_usual();
    check_callers();
    check_run("short", 200, 123, false);
    check_none("neighbours on levels of a grid", TB_ISEND, 20, 0);
    check_none("equally many", TB_ISEND, 0, 1);
    check_none("queries", TB_COMM_RANK, 0, 0);
    check_queries(false);
    check_queries(true);
    check_bursts(10 * MS, 1);
    check_bursts(2000 * MS, 0);
    check_slice("a time slice", 24 * MS, 10000, false);
    check_slice("no time slice", 24 * MS, 0, true);
    check_slice("longer than a time slice", 60 * MS, 10000, true);
    check_slice("an error of the clocks", 40 * US, 0, false);
    check_run("saves", 200, 57, true);
    check_shared(40, 23);
    check_shared(3 * (int)ANA_ITER_ENTRIES, 9000);
    check_run("long", 4 * (int)ANA_ITER_ENTRIES, 30000, false);
    check_slices(true);
    check_slices(false);
    return check_result();
}
