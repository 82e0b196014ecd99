/* The way of the gradients, of simulated runs in which large tensors go by NCCL and small ones by MPI: bytes by
 * library, also where NCCL's calls are in no file, and the rounds of the control. */
#include "tests/support/check.h"
#include "tests/support/hvd_run.h"
#include "tests/support/trace_folder.h"
#include "tests/support/trace_builder.h"
#include "trace/horovod/horovod.h"
#include "trace/summary/summary.h"

#include <math.h>
#include <string.h>

enum { STEPS = 6, TENSORS = 5, RANKS = 4 };
#define LARGE 1000000.0 /* elements of a large tensor; a small one has 1000 */

static void simulate(uint64_t nccl_from, bool hidden)
{
    static struct hvd_run run;
    const char *folder = folder_make("gradients");
    hvd_plan(1, &run);
    run.fault = HVD_FAULT_NONE;
    run.joins = false;
    run.ranks = RANKS;
    run.sets = 1;
    run.capacity = 100;
    run.compute = 20;
    run.cut = 0;
    run.nccl_from = nccl_from;
    run.nccl_hidden = hidden;
    run.set[0].size = RANKS;
    run.set[0].tensors = TENSORS;
    for (int r = 0; r < RANKS; r++) {
        run.set[0].member[r] = r;
        run.steps[r] = STEPS;
    }
    for (int t = 0; t < TENSORS; t++) {
        struct hvd_request *of = &run.set[0].tensor[t];
        snprintf(of->name, sizeof of->name, "grad.%d", t);
        of->op = ANA_HVD_ALLREDUCE;
        of->type = 7; /* float32 */
        of->rows = 1000;
        of->columns = t < 2 ? 1000 : 1;
    }
    hvd_simulate(&run, folder);
    CHECK(run.finished, "the run did not end");
}

static bool is(double number, double expected)
{
    return fabs(number - expected) < 1;
}

/* Holds a run against the bytes that each way should have, and against its sentence. */
static void check_run(uint64_t nccl_from, bool hidden, double mpi, double nccl, double unseen, const char *begin)
{
    char words[300], brief[40];
    simulate(nccl_from, hidden);
    struct ana_job *job = folder_open();
    const struct ana_hvd *hvd = ana_job_horovod(job);
    const struct ana_hvd_gradients of = ana_hvd_gradients(hvd->set, hvd->sets);
    CHECK(is(of.bytes, mpi + nccl + unseen) && is(of.by[ANA_HVD_MPI], mpi) && is(of.by[ANA_HVD_NCCL], nccl) &&
              is(of.unseen, unseen) && of.by[ANA_HVD_GLOO] == 0,
          "%.0f bytes: %.0f by MPI, %.0f by NCCL, %.0f unseen", of.bytes, of.by[ANA_HVD_MPI], of.by[ANA_HVD_NCCL],
          of.unseen);
    CHECK(ana_hvd_gradients_words(hvd, false, words, sizeof words) && strncmp(words, begin, strlen(begin)) == 0, "%s",
          words);
    /* Each cycle is a round, and few say more. */
    const double cycles = hvd->set[0].cycle_rate;
    CHECK(of.control == ANA_HVD_MPI && of.rounds_per_s > 0.9 * cycles && of.rounds_per_s < 1.5 * cycles,
          "%f rounds a second, %f cycles", of.rounds_per_s, cycles);
    snprintf(brief, sizeof brief, "%.0f small collectives a second", of.rounds_per_s);
    CHECK(strstr(words, "; control by MPI, ") && strstr(words, brief), "%s", words);
    CHECK(hvd->set[0].library == (nccl > mpi     ? ANA_HVD_NCCL
                                  : unseen > mpi ? ANA_HVD_NOT_MPI
                                                 : ANA_HVD_MPI),
          "%d", hvd->set[0].library);
    ana_job_close(job);
    folder_remove();
}

/* Two ranks whose first thread to call MPI is Horovod's loop, in control rounds for 0.9 of 1 s, then reduces for 20 ms;
 * other threads of the process compute half of the time. */
static void loop_alone(void)
{
    const char *folder = folder_make("loop");
    char path[300];
    for (int r = 0; r < 2; r++) {
        struct tb *tb = tb_new(r, 2);
        struct trc_sig round = tb_sig(TB_ALLREDUCE);
        round.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
        round.comm = TB_WORLD;
        struct trc_usage usage[] = {
            {.whose = TRC_USAGE_PROCESS, .fields = 1u << TRC_USAGE_CPU, .value[TRC_USAGE_CPU] = 30000},
            {.whose = TRC_USAGE_THREAD, .fields = 3u << TRC_USAGE_CPU, .value[TRC_USAGE_CPU] = 10000}};
        for (int64_t ms = 0; ms < 1000; ms += 40)
            tb_usage(tb, ms * 1000000, (ms + 40) * 1000000, usage, 2);
        for (int64_t ms = 0; ms < 1000; ms += 100)
            tb_fold(tb, 0, &round, ms * 1000000, (ms + 95) * 1000000, 50, 90000000);
        tb_allreduce(tb, 0, 1000000000, 1020000000, TB_WORLD, 1, 4000);
        snprintf(path, sizeof path, "%s/%d.hpctop", folder, r);
        tb_write(tb, path);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s;
    CHECK(ana_summarize_all(job, (struct ana_selection){.end_ns = INT64_MAX}, &s) == TRC_OK && s.has_accounts);
    const double all = (double)ana_account_total(&s.account), inside = (double)s.account.ns[ANA_ACCOUNT_TRANSFER],
                 compute = (double)s.account.ns[ANA_ACCOUNT_COMPUTE];
    CHECK(inside < 0.05 * all, "%.0f of %.0f ms move data", inside / 1e6, all / 1e6);
    CHECK(compute > 0.35 * all && compute < 0.6 * all, "%.0f of %.0f ms compute", compute / 1e6, all / 1e6);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    loop_alone();
    const double large = 2 * LARGE * 4 * STEPS * RANKS, small = 3 * 1000.0 * 4 * STEPS * RANKS;
    check_run(0, false, large + small, 0, 0, "192 MB of gradients (4 ranks) went by MPI; ");
    check_run(100000, false, small, large, 0,
              "of 192 MB of gradients (4 ranks) 192 MB went by NCCL and 288 kB by MPI; ");
    check_run(100000, true, small, 0, large,
              "of 192 MB of gradients (4 ranks) 288 kB went by MPI and 192 MB by calls that were not seen; ");
    check_run(1, false, 0, large + small, 0, "192 MB of gradients (4 ranks) went by NCCL; ");
    return check_result();
}
