/* Wholes of the shares in the first line: a run that is half analysed, of one whose older events are gone, of a
 * window, of the GPUs' time. */
#include "tests/support/check.h"
#include "trace/summary/summary.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "tests/support/trace_folder.h"
#include "trace/gpu/device.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ll
enum { RANKS = 4, STEPS = 4000 };

/* Rank 3 computes 3 ms, the others 1 ms, in each step: the loss costs all 3 x 2 of 4 x 3 ms, 50 %. */
static void write_steps(int64_t from)
{
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        for (int i = 0; i < STEPS; i++) {
            int64_t end = from + (i + 1) * 3 * MS;
            tb_allreduce(tb, 0, r == 3 ? end - 1000 : end - 2 * MS, end, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
        tb_free(tb);
    }
}

/* The percentage behind "all lose ". */
static double cost_in(const char *text)
{
    const char *at = strstr(text, "all lose ");
    return at ? strtod(at + 9, NULL) : NAN;
}

static void half_analysed(void)
{
    folder_make("half");
    write_steps(0);
    struct ana_job *job = folder_open();
    bool between = false;
    for (double share = 0; share < 1;) {
        struct ana_summary s;
        char out[512];
        share = ana_job_advance(job, 1);
        CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK,
              "a summary");
        ana_headline(job, &s, NULL, out, sizeof out);
        if (share > 0.05) {
            bool so_far = strstr(out, "% so far") != NULL, priced = strstr(out, "; costs 8.0 s of 12 s") != NULL;
            double waits = (double)s.ranks[0].waiting_ns / (double)ana_rank_seen_ns(&s.ranks[0]);
            double in_call = (double)s.calls[0].waiting_ns / (double)s.calls[0].seen_ns;
            CHECK(priced || (fabs(cost_in(out) - 50) < 4 && so_far), "at %.2f: %s", share, out);
            CHECK(priced == (share >= 1), "at %.2f: %s", share, out);
            CHECK(fabs(waits - 0.666) < 0.02 && fabs(in_call - 1) < 0.02, "at %.2f: %g of its time, %g of the call's",
                  share, waits, in_call);
        }
        between |= share > 0.05 && share < 0.9;
        ana_summary_free(&s);
    }
    CHECK(between, "nothing was seen in between");
    ana_job_close(job);
    folder_remove();
}

/* Nine tenths of the events were overwritten: the rest is compared with its own time. */
static void recycled(void)
{
    folder_make("recycled");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new_small(r, RANKS, 4096, 6);
        for (int i = 0; i < STEPS; i++) {
            int64_t end = (i + 1) * 3 * MS;
            tb_allreduce(tb, 0, r == 3 ? end - 1000 : end - 2 * MS, end, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(ana_job_info(job).recycled_records > 0, "nothing was overwritten");
    for (size_t i = 0; i < s.rank_count; i++) {
        double share = (double)s.ranks[i].waiting_ns / (double)ana_rank_seen_ns(&s.ranks[i]);
        CHECK(i == 3 ? share < 0.01 : fabs(share - 0.666) < 0.05, "rank %zu waits for %g of what is known", i, share);
    }
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void windows(void)
{
    static const struct {
        int64_t begin, end;
        const char *want;
    } cases[] = {
        /* The wait of one step: no share of anything, but all of the window. */
        {301 * MS + 500000, 301 * MS + 501000,
         "rank 0 waits for rank 3, which comes last, for 1.0 us of this window of 1.0 us"},
        {300 * MS, 3300 * MS,
         "rank 3 is late: last in 100% of MPI_Allreduce, +2.0 ms each, all lose 50.0% of this window"},
        {300 * MS + 100, 300 * MS + 1100, "nothing stands out"},
    };
    folder_make("window");
    write_steps(0);
    struct ana_job *job = folder_open();
    while (ana_job_advance(job, 0) < 1)
        ;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ana_selection window = {.begin_ns = cases[i].begin, .end_ns = cases[i].end};
        struct ana_summary s;
        char out[512];
        CHECK(ana_summarize(job, window, &s) == TRC_OK, "a window");
        ana_summary_free(&s);
        while (ana_job_advance(job, 0) < 1)
            ;
        CHECK(ana_summarize(job, window, &s) == TRC_OK && s.analysed >= 1, "a window");
        enum ana_weight weight = ana_headline(job, &s, NULL, out, sizeof out);
        CHECK(strncmp(out, cases[i].want, strlen(cases[i].want)) == 0 && (weight == ANA_NOTABLE) == (i < 2), "%s", out);
        ana_summary_free(&s);
    }
    ana_job_close(job);
    folder_remove();
}

/* GPUs' work has a word in it, and the first when nothing costs more. */
static void gpus(void)
{
    struct ana_gpu_rank ranks[2] = {{.index = 0,
                                     .devices = 1,
                                     .compute_ns = 500,
                                     .communication_ns = 420,
                                     .overlap_ns = 30,
                                     .busy_ns = 890,
                                     .wall_ns = 1000},
                                    {.index = 1,
                                     .devices = 1,
                                     .compute_ns = 500,
                                     .communication_ns = 420,
                                     .overlap_ns = 30,
                                     .busy_ns = 890,
                                     .wall_ns = 1000}};
    struct ana_gpu_summary look = {.known = true, .rank_count = 2, .ranks = ranks, .analysed = 1};
    char out[512];
    folder_make("gpus");
    for (int r = 0; r < 2; r++) {
        struct tb *tb = tb_new(r, 2);
        tb_allreduce(tb, 0, 1000 * MS, 1000 * MS + 1000, TB_WORLD, 1, 8);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(ana_headline(job, &s, &look, out, sizeof out) == ANA_NOTABLE &&
              strcmp(out, "communication is not hidden: NCCL alone takes 39.0% of the GPUs' time, computation 50.0%") ==
                  0,
          "%s", out);
    for (int r = 0; r < 2; r++)
        ranks[r].overlap_ns = 400;
    CHECK(ana_headline(job, &s, &look, out, sizeof out) == ANA_FINE && strstr(out, "nothing stands out: ") &&
              strstr(out, ", GPUs busy 89.0%"),
          "%s", out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A master comes last to the barrier because it has waited for a worker, asleep and without a call: as fast as any
 * other, it would save nothing. */
static void awaits(void)
{
    folder_make("awaits");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = tb_new(r, 3);
        for (int i = 0; i < 10; i++) {
            const int64_t at = i * 100 * MS;
            if (r == 0) {
                tb_recv(tb, 0, at + 2 * MS, at + 2 * MS + 10000, 1, 0, 8);
                tb_recv(tb, 0, at + 95 * MS, at + 95 * MS + 10000, 2, 0, 8);
            } else {
                tb_send(tb, 0, at + (r == 1 ? 1 : 94) * MS, at + (r == 1 ? 1 : 94) * MS + 10000, 0, 0, 8);
            }
            tb_barrier(tb, 0, at + (r == 1 ? 2 : r == 2 ? 95 : 96) * MS, at + 97 * MS, TB_WORLD, (uint64_t)i + 1);
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(!strstr(out, "rank 0 is late") && strstr(out, "held up"), "%s", out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    awaits();
    half_analysed();
    recycled();
    windows();
    gpus();
    return check_result();
}
