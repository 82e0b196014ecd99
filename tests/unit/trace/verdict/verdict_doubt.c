/* Unproven cases: a rank that may count its collectives otherwise than the others, and a process that exists
 * while its heartbeat stands still. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/verdict/verdict.h"
#include "trace/session/session.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define S INT64_C(1000000000)

static void inside(struct tb *tb, enum tb_call call, int64_t since)
{
    struct trc_sig sig = tb_sig(call);
    sig.comm = TB_WORLD;
    sig.flags = call == TB_RECV ? TRC_SIG_P2P_IN : TRC_SIG_COLL;
    sig.source = call == TB_RECV ? 1 : TRC_PEER_NONE;
    sig.rtag = call == TB_RECV ? 7 : TRC_TAG_NONE;
    tb_inside(tb, 0, &sig, since, call == TB_RECV ? 0 : 4);
}

static const struct ana_verdict *verdict_of(struct ana_job *job)
{
    const struct ana_verdict *v = ana_verdict_hold(ana_job_verdict(job));
    if (!v)
        abort();
    printf("  %s %s %s: %s\n", ana_verdict_state_name(v->state), v->id ? ana_verdict_class_name(v->id) : "-",
           ana_confidence_name(v->confidence), v->summary.text);
    return v;
}

/* Three ranks at the end of a job, the last one in `last`; its order is in doubt from that collective on. */
static const struct ana_verdict *three(enum tb_call first, enum tb_call last, bool doubt)
{
    folder_make("doubt");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = tb_new(r, 3);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 3);
        tb_running(tb, 60 * S);
        inside(tb, r == 0 ? first : r == 2 ? last : TB_BARRIER, 10 * S);
        if (doubt && r == 2)
            tb_comm_doubt(tb, TB_WORLD, 4);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = verdict_of(job);
    ana_job_close(job);
    folder_remove();
    return v;
}

static void test_order(void)
{
    const struct ana_verdict *v = three(TB_BARRIER, TB_ALLREDUCE, false);
    CHECK(v->id == ANA_CLASS_MISMATCHED && v->confidence == ANA_PROVEN, "two calls as one collective");
    ana_verdict_release(v);
    v = three(TB_BARRIER, TB_ALLREDUCE, true);
    CHECK(v->id != ANA_CLASS_MISMATCHED && v->confidence != ANA_PROVEN, "the last may count otherwise");
    ana_verdict_release(v);
    v = three(TB_RECV, TB_BARRIER, false);
    CHECK(v->id == ANA_CLASS_UNMATCHED && v->confidence == ANA_PROVEN, "a receive from a rank that waits for its end");
    ana_verdict_release(v);
    v = three(TB_RECV, TB_BARRIER, true);
    CHECK(v->confidence != ANA_PROVEN, "that rank may be elsewhere in the order");
    ana_verdict_release(v);
}

/* Rank 2 exists, does nothing and has not been heard for 40 of 100 s: a loader that hangs holds up its recorder. */
static void test_exists(void)
{
    struct timespec now, pause_ = {0, 700000000};
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    clock_gettime(CLOCK_REALTIME, &now);
    folder_make("exists");
    for (int r = 0; r < 3; r++) {
        struct tb *tb = tb_new(r, 3);
        tb_clock(tb, 1000000000u, (uint64_t)(now.tv_sec - 100) * 1000000000u, 1);
        folder_process(tb, child);
        tb_barrier(tb, 0, 1 * S, 2 * S, TB_WORLD, 3);
        tb_running(tb, r == 2 ? 60 * S : 102 * S);
        tb_head(tb)->heartbeats = 100;
        if (r != 2)
            inside(tb, TB_BARRIER, 60 * S);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    nanosleep(&pause_, NULL);
    ana_job_refresh(job);
    const struct ana_verdict *v = verdict_of(job);
    CHECK(v->state == ANA_VERDICT_HUNG && v->id == ANA_CLASS_MISSING && v->confidence == ANA_LIKELY,
          "it exists: not dead");
    CHECK(v->culprits == 1 && ana_job_rank(job, v->culprit[0])->rank == 2, "rank 2 is waited for");
    CHECK(ana_job_rank(job, 2)->state != ANA_RANK_DEAD, "rank 2 lives");
    ana_verdict_release(v);
    ana_job_close(job);
    folder_remove();
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(void)
{
    test_order();
    test_exists();
    return check_result();
}
