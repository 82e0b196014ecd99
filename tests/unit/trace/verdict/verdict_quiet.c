/* All of a host fall silent while others are heard: said after four seconds, by heartbeats that were seen to come,
 * unless the silence may be a file server's, the network's or the reader's own. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/analysis.h"
#include "trace/util/now.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define S INT64_C(1000000000)

enum { RANKS = 6, AGE = 100 /* age of the job, s */ };

static const struct {
    const char *what;
    double beta;      /* ranks 2 and 3 have been silent for so long, s */
    double third;     /* silence of rank 3; 0: equal to rank 2 */
    double alpha;     /* ranks 0 and 1 */
    double came_back; /* after so long a silence rank 4, on gamma, was heard again */
    double reader;    /* the reader was held up for so long after it had read the files */
    double ahead;     /* advance of beta's wall clock, s */
    bool idle;        /* nobody waits */
    bool told;
    bool due; /* less than a second later it would be told */
} cases[] = {
    {.what = "5 s", .beta = 5, .told = true},
    {.what = "3 s", .beta = 3, .due = true},
    {.what = "1 s", .beta = 1},
    {.what = "one of them is heard", .beta = 5, .third = 1},
    {.what = "nobody waits", .beta = 5, .idle = true},
    {.what = "another of three hosts is silent as long", .beta = 5, .alpha = 5},
    {.what = "somebody was silent for 3 s and came back", .beta = 5, .came_back = 3, .due = true},
    {.what = "... and they for more than twice as long", .beta = 7, .came_back = 3, .told = true},
    {.what = "the reader was held up", .beta = 5, .reader = 4.5},
    {.what = "their clock is ahead", .beta = 5, .ahead = 60, .told = true},
};

static int64_t ns(double s)
{
    return (int64_t)(s * (double)S);
}

static void make(size_t k, int64_t wall_ns)
{
    static const char *const host[] = {"alpha", "beta", "gamma"};
    folder_make("quiet");
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        double silent = r / 2 == 1 ? cases[k].beta : 0;
        tb_clock(tb, 1000000000u, (uint64_t)(wall_ns - AGE * S + (r / 2 == 1 ? ns(cases[k].ahead) : 0)), 1);
        snprintf(tb_head(tb)->host, sizeof tb_head(tb)->host, "%s", host[r / 2]);
        snprintf(tb_head(tb)->boot_id, sizeof tb_head(tb)->boot_id, "%d1111111-0000-0000-0000-000000000000", r / 2);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        tb_running(tb, AGE * S - ns(silent));
        tb_head(tb)->heartbeats = 100;
        struct trc_sig sig = tb_sig(TB_BARRIER);
        sig.comm = TB_WORLD;
        sig.flags = TRC_SIG_COLL;
        if (r / 2 != 1 && !cases[k].idle)
            tb_inside(tb, 0, &sig, AGE * S - ns(10), 1);
        folder_write(tb, r);
        tb_free(tb);
    }
}

/* Makes the job as if we had watched the heartbeats come, and looks once more. */
static void look(struct ana_job *job, size_t k)
{
    int64_t now = ana_now_ns();
    const double silent[] = {
        cases[k].alpha, cases[k].alpha, cases[k].beta, cases[k].third > 0 ? cases[k].third : cases[k].beta, 0, 0};
    for (size_t i = 0; i < ana_job_members(job)->count; i++)
        ana_job_members(job)->process[i].heartbeat_seen = now - ns(silent[i] + 0.1);
    ana_job_members(job)->process[4].longest_still_ns = ns(cases[k].came_back);
    if (cases[k].reader > 0) {
        ana_job_members(job)->read_ns = now - ns(cases[k].reader);
        ana_job_refresh_state(job);
    } else {
        ana_job_refresh(job);
    }
}

/* False: this machine was busy elsewhere for so long that the silence is another. */
static bool one(size_t k)
{
    struct timespec pause = {0, 600000000}; /* for two samples */
    make(k, ana_wall_ns());
    struct ana_job *job = folder_open();
    nanosleep(&pause, NULL);
    int64_t begun = ana_now_ns();
    look(job, k);
    const struct ana_verdict *v = ana_job_verdict(job);
    bool in_time = ana_now_ns() - begun < S / 2;
    if (v && in_time) {
        bool told = v->state == ANA_VERDICT_UNKNOWN && v->id == ANA_CLASS_DEAD && v->culprits == 2 &&
                    v->culprit[0] == 2 && v->culprit[1] == 3 && v->confidence == ANA_LIKELY &&
                    strstr(v->summary.text, "all 2 processes on beta (ranks 2 and 3) have given no sign of life for ");
        CHECK(cases[k].told ? told : v->state == ANA_VERDICT_HEALTHY, "%s: %s, %zu culprits: %s", cases[k].what,
              ana_verdict_state_name(v->state), v->culprits, v->summary.text);
        int64_t due_ns = ana_job_due(job), left_ns = due_ns - ana_job_members(job)->read_ns;
        CHECK(cases[k].due ? left_ns > S * 4 / 10 && left_ns <= S * 9 / 10 : due_ns == INT64_MAX, "%s: due in %.1f s",
              cases[k].what, (double)left_ns / (double)S);
    }
    CHECK(v, "%s: out of memory", cases[k].what);
    ana_job_close(job);
    folder_remove();
    return in_time;
}

int main(void)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        while (!one(k))
            ;
    return check_result();
}
