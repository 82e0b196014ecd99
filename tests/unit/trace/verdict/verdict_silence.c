/* A silent rank on another host, known only by its heartbeat: for how long, does anybody wait for
 * it, are others there heard? */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

#define S   INT64_C(1000000000)
#define AGE 100 /* age of the job, s */

static const struct {
    const char *what;
    int silent;     /* s */
    bool wait;      /* the others are in MPI_Barrier */
    bool neighbour; /* rank 3, on the same host, is heard */
    enum ana_verdict_state state;
    enum ana_confidence confidence;
} cases[] = {
    {"5 s", 5, true, false, ANA_VERDICT_HEALTHY, ANA_POSSIBLE},
    {"15 s, awaited", 15, true, false, ANA_VERDICT_UNKNOWN, ANA_POSSIBLE},
    {"15 s, awaited, others there are heard", 15, true, true, ANA_VERDICT_UNKNOWN, ANA_LIKELY},
    {"15 s, nobody waits", 15, false, false, ANA_VERDICT_HEALTHY, ANA_POSSIBLE},
    {"45 s, awaited", 45, true, false, ANA_VERDICT_HUNG, ANA_POSSIBLE},
    {"45 s, awaited, others there are heard", 45, true, true, ANA_VERDICT_HUNG, ANA_LIKELY},
    {"45 s, nobody waits", 45, false, false, ANA_VERDICT_HEALTHY, ANA_POSSIBLE},
    {"90 s, awaited: gone", 90, true, true, ANA_VERDICT_HUNG, ANA_LIKELY},
};

static void far_away(struct tb *tb)
{
    snprintf(tb_head(tb)->host, sizeof tb_head(tb)->host, "beta");
    snprintf(tb_head(tb)->boot_id, sizeof tb_head(tb)->boot_id, "11111111-0000-0000-0000-000000000000");
}

/* False: this machine was busy elsewhere for so long that the silence is another. */
static bool one(size_t k)
{
    struct timespec now, then, pause = {2, 100000000}; /* wall clocks are believed after two seconds */
    int ranks = cases[k].neighbour ? 4 : 3;
    clock_gettime(CLOCK_REALTIME, &now);
    folder_make("silence");
    for (int r = 0; r < ranks; r++) {
        struct tb *tb = tb_new(r, ranks);
        tb_clock(tb, 1000000000u, (uint64_t)(now.tv_sec - AGE) * 1000000000u, 1);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 0);
        if (r >= 2)
            far_away(tb);
        else
            folder_this_process(tb);
        /* A time ahead: seen as heard for as long as this test takes. */
        tb_running(tb, r == 2 ? (AGE - cases[k].silent) * S : (AGE + 2) * S);
        tb_head(tb)->heartbeats = 100;
        struct trc_sig sig = tb_sig(TB_BARRIER);
        sig.comm = TB_WORLD;
        sig.flags = TRC_SIG_COLL;
        if (cases[k].wait && r != 2)
            tb_inside(tb, 0, &sig, (AGE - cases[k].silent) * S, 1);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    nanosleep(&pause, NULL);
    ana_job_refresh(job);
    const struct ana_verdict *v = ana_job_verdict(job);
    clock_gettime(CLOCK_REALTIME, &then);
    bool in_time = then.tv_sec - now.tv_sec < 5;
    if (v && in_time) {
        bool fine = v->state == ANA_VERDICT_HEALTHY;
        bool blames = v->culprits == 1 && v->culprit[0] == 2 && v->id == ANA_CLASS_DEAD &&
                      v->confidence == cases[k].confidence && strstr(v->summary.text, "rank 2 gives no sign of life");
        CHECK(v->state == cases[k].state && (fine || blames), "%s: %s, %s, %zu culprits: %s", cases[k].what,
              ana_verdict_state_name(v->state), ana_confidence_name(v->confidence), v->culprits, v->summary.text);
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
