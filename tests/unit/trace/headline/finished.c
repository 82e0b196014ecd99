/* Whether heads and live pages decide that a job finished well: never where its events make it slow, and only where
 * they are complete. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/trace_folder.h"
#include "trace/summary/summary.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include <string.h>

#define US    1000ll
#define MS    1000000ll
#define STEPS 60

enum { RANKS = 3, JOBS = 300 };

/* A job whose rank 1 comes `late_ns` late to each collective. */
static void make_late(int ranks, int64_t step_ns, int64_t late_ns)
{
    folder_make("finished");
    for (int r = 0; r < ranks; r++) {
        struct tb *tb = tb_new(r, ranks);
        for (int i = 0; i < STEPS; i++) {
            int64_t end = (i + 1) * (step_ns + late_ns + US);
            tb_allreduce(tb, 0, r == 1 ? end - US : end - US - late_ns, end, TB_WORLD, (uint64_t)i + 1, 8);
        }
        folder_write(tb, r);
        tb_free(tb);
    }
}

/* Whether heads and live pages decide; the verdict of all events in *state. */
static bool is_decided(enum ana_verdict_state *state)
{
    struct ana_summary counters;
    struct ana_job *job = folder_open();
    if (ana_summarize_counters(job, &counters) != TRC_OK)
        return false;
    bool decided = ana_finished_well(job, &counters);
    ana_summary_free(&counters);
    struct ana_summary s = folder_summary(job); /* compares, too */
    *state = ana_job_verdict(job)->state;
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
    return decided;
}

/* Jobs at random around the thresholds of trouble.h. */
static void around_thresholds(void)
{
    uint64_t chance = 11;
    int decided = 0, slow = 0;
    for (int i = 0; i < JOBS; i++) {
        int ranks = 2 + (int)draw(&chance, 4);
        int64_t step_ns = (int64_t)(5 + draw(&chance, 60)) * MS;
        make_late(ranks, step_ns, step_ns * draw(&chance, 100) / 400);
        enum ana_verdict_state state;
        bool well = is_decided(&state);
        CHECK(!well || state == ANA_VERDICT_HEALTHY, "job %d: %s", i, ana_verdict_state_name(state));
        decided += well;
        slow += state == ANA_VERDICT_SLOW;
    }
    CHECK(decided > JOBS / 8 && slow > JOBS / 8, "%d decided, %d slow", decided, slow);
}

/* ---- files that leave something open ----------------------------------------------------------------------------- */

static void nothing(struct tb *tb)
{
    (void)tb;
}
static void lost(struct tb *tb)
{
    tb_head(tb)->lost_records = 1;
}
static void recycled(struct tb *tb)
{
    tb_head(tb)->recycled_chunks = 1;
}
static void aborted(struct tb *tb)
{
    tb_head(tb)->state = TRC_STATE_ABORTED;
}
static void inside(struct tb *tb)
{
    struct trc_sig sig = tb_sig(TB_RECV);
    sig.peer = 0;
    tb_inside(tb, 1, &sig, 3 * MS, 0);
}
static void stream(struct tb *tb)
{
    struct trc_sig sig = tb_sig(TB_KERNEL);
    tb_device_stream(tb, 1, (struct trc_device_stream){1, 0, 1, 7});
    tb_event(tb, 1, &sig, MS, 2 * MS, (struct tb_more){0});
}
static void nccl(struct tb *tb)
{
    struct trc_sig sig = tb_sig(TB_NCCL_INIT);
    tb_event(tb, 0, &sig, 6 * MS, 7 * MS, (struct tb_more){0});
}
static void control(struct tb *tb)
{
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
    sig.comm = TB_WORLD;
    tb_event(tb, 0, &sig, 6 * MS, 7 * MS, (struct tb_more){.sequence = 2});
}

static void files(void)
{
    static const struct {
        const char *what;
        void (*change)(struct tb *tb);
        bool decided;
    } files[] = {
        {"finished", nothing, true}, {"lost records", lost, false},      {"recycled chunks", recycled, false},
        {"aborted", aborted, false}, {"inside a call", inside, false},   {"a stream", stream, false},
        {"NCCL", nccl, false},       {"control rounds", control, false},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        folder_make("files");
        for (int r = 0; r < RANKS; r++) {
            struct tb *tb = tb_new(r, RANKS);
            tb_allreduce(tb, 0, MS, 2 * MS, TB_WORLD, 1, 8);
            if (r == 1)
                files[i].change(tb);
            folder_write(tb, r);
            tb_free(tb);
        }
        enum ana_verdict_state state;
        CHECK(is_decided(&state) == files[i].decided, "%s", files[i].what);
    }
}

/* The headline has the figures of live pages, whether events were read or not. */
static void words(void)
{
    make_late(2, 10 * MS, MS);
    struct ana_job *job = folder_open();
    for (int i = 0; i < 2; i++) {
        struct ana_summary counters;
        char out[512];
        CHECK(ana_summarize_counters(job, &counters) == TRC_OK, "counters");
        CHECK(ana_headline_finished(job, &counters, out, sizeof out) == ANA_FINE &&
                  strcmp(out, "2 ranks finished after 660 ms: load balance 95.5%, 4.6% in MPI") == 0,
              "%s", out);
        ana_summary_free(&counters);
        ana_job_advance(job, 0);
    }
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    around_thresholds();
    files();
    words();
    return check_result();
}
