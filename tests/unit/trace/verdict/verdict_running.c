/* The verdict on running jobs: two looks at what moves, and ranks that get on elsewhere. */
#include "tests/support/verdict_ranks.h"
#include "trace/job/analysis.h"
#include <time.h>

/* A circle of two in a running job, five seconds old: no verdict at the first look, one at the second; and none at all
 * when something moves between them. */
static void live(bool moves)
{
    static const struct rank rank[] = {SEND(1, 3), SEND(0, 3)};
    struct timespec now, pause = {0, 700000000};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t made = (uint64_t)(now.tv_sec - 25) * 1000000000u;
    struct tb *tb[2];
    folder_make("live");
    for (int r = 0; r < 2; r++) {
        tb[r] = tb_new(r, 2);
        tb_clock(tb[r], 1000000000u, made, 1);
        folder_this_process(tb[r]);
        tb_barrier(tb[r], 0, 1 * S, 2 * S, TB_WORLD, 0);
        struct trc_sig sig = sig_of(&rank[r]);
        tb_running(tb[r], 24 * S);
        tb_inside(tb[r], 0, &sig, 20 * S, 0);
        folder_write(tb[r], r);
    }
    struct ana_job *job = folder_open();
    judge("first look", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    CHECK(ana_job_suspect(job) && ana_job_samples(job) == 1, "first look: %u looks", ana_job_samples(job));
    for (int r = 0; r < 2 && moves; r++) { /* the old sends have returned, the ranks are in the next */
        struct trc_sig sig = sig_of(&rank[r]);
        tb_event(tb[r], 0, &sig, 20 * S, 23 * S + 900000000, (struct tb_more){0});
        tb_inside(tb[r], 0, &sig, 23 * S + 950000000, 0);
        folder_write(tb[r], r);
    }
    nanosleep(&pause, NULL);
    ana_job_refresh(job);
    if (moves)
        judge("it moves", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    else
        judge("second look", job, ANA_VERDICT_HUNG, ANA_CLASS_CYCLE, "0,1", NULL);
    if (!moves) { /* a digest says that one has sent more since its file was read: it may be what the other waits for */
        ana_job_members(job)->process[1].behind = true;
        ana_job_members(job)->revision++;
        judge("behind", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    }
    ana_job_close(job);
    folder_remove();
    tb_free(tb[0]);
    tb_free(tb[1]);
}

/* Two of three wait for one that gets on elsewhere: no trouble, until they have waited ten times as long as for a hang.
 */
static void elsewhere(void)
{
    static const struct rank rank[] = {BARRIER(20 * S), BARRIER(20 * S), WORKS(99 * S)};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    began = (uint64_t)(now.tv_sec - 101) * 1000000000u;
    folder_make("elsewhere");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = make(&rank[r], r, 3);
        folder_write(tb, r);
        tb_free(tb);
    }
    began = 0;
    struct ana_job *job = folder_open();
    judge("elsewhere for long", job, ANA_VERDICT_HEALTHY, ANA_CLASS_NONE, "", NULL);
    ana_job_set_rules(job, (struct ana_verdict_rules){S, 5 * S, false});
    judge("elsewhere for very long", job, ANA_VERDICT_WAITING, ANA_CLASS_MISSING, "2",
          "rank 2 has not come to MPI_Barrier");
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    live(false);
    live(true);
    elsewhere();
    return check_result();
}
