/* Jobs that end, or are killed, while they are looked at and afterwards: the verdict is right, and stays so. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/analysis.h"
#include "trace/verdict/verdict.h"
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

enum { MOST = 4 };
static struct tb *tb[MOST];
static pid_t child[MOST];

static void (*meanwhile)(void);

/* A look asks for the host's name after it has read the files, and before it asks for pids: what happens in between. */
int gethostname(char *name, size_t size)
{
    struct utsname host;
    void (*happens)(void) = meanwhile;
    meanwhile = NULL;
    if (happens)
        happens();
    uname(&host);
    snprintf(name, size, "%s", host.nodename);
    return 0;
}

static uint64_t ago(int64_t ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)(now.tv_sec * S + now.tv_nsec - ns);
}

static void end_child(int r)
{
    if (child[r] <= 0)
        return;
    kill(child[r], SIGKILL);
    waitpid(child[r], NULL, 0);
    child[r] = 0;
}

/* A rank of a job that began `age_ns` ago, alive until end_child. */
static void begin(int r, int n, int64_t age_ns)
{
    child[r] = fork();
    if (child[r] == 0)
        for (;;)
            pause();
    tb[r] = tb_new(r, n);
    tb_clock(tb[r], 1000000000u, ago(age_ns), 1);
    folder_process(tb[r], child[r]);
    tb_barrier(tb[r], 0, 1 * S, 2 * S, TB_WORLD, 0);
}

/* An ended job; its last heartbeat came at `end`. */
static void over(int r, int n, int64_t end)
{
    tb[r] = tb_new(r, n);
    tb_barrier(tb[r], 0, 1 * S, 2 * S, TB_WORLD, 0);
    tb_running(tb[r], end);
}

static void in_barrier(int r, int64_t since)
{
    struct trc_sig sig = tb_sig(TB_BARRIER);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_COLL;
    tb_inside(tb[r], 0, &sig, since, 1);
}

static void in_recv(int r, int32_t source, int64_t since)
{
    struct trc_sig sig = tb_sig(TB_RECV);
    sig.comm = TB_WORLD;
    sig.flags = TRC_SIG_P2P_IN;
    sig.source = source;
    sig.rtag = 7;
    tb_inside(tb[r], 0, &sig, since, 0);
}

static void write_all(int n)
{
    for (int r = 0; r < n; r++)
        folder_write(tb[r], r);
}

static void finish(struct ana_job *job, int n)
{
    ana_job_close(job);
    folder_remove();
    for (int r = 0; r < n; r++) {
        end_child(r);
        tb_free(tb[r]);
    }
}

/* Fields of the verdict: "hung unmatched-receive proven 0,1". */
static const char *verdict_of(struct ana_job *job, char *out, size_t size)
{
    const struct ana_verdict *v = ana_job_verdict(job);
    if (!v)
        return "out of memory";
    snprintf(out, size, "%s %s %s ", ana_verdict_state_name(v->state), v->id ? ana_verdict_class_name(v->id) : "-",
             ana_confidence_name(v->confidence));
    for (size_t i = 0; i < v->culprits; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%d", i ? "," : "", ana_job_rank(job, v->culprit[i])->rank);
    return out;
}

static void expect(const char *what, struct ana_job *job, const char *want)
{
    char got[128];
    verdict_of(job, got, sizeof got);
    CHECK(strcmp(got, want) == 0, "%s: %s, not %s", what, got, want);
}

/* ---- it ends between the two readings of one look ------------------------------------------------------------------
 */

static void finalizes(void)
{
    struct trc_head *head = tb_head(tb[0]);
    head->state = TRC_STATE_FINALIZED;
    head->end_ticks = tb_ticks(tb[0], 5 * S);
    folder_write(tb[0], 0);
    end_child(0);
}

static void test_ends_meanwhile(void)
{
    folder_make("meanwhile");
    begin(0, 1, 5 * S);
    tb_running(tb[0], 5 * S - 10 * MS);
    struct trc_sig sig = tb_sig(TB_FINALIZE);
    tb_inside(tb[0], 0, &sig, 5 * S - 20 * MS, 0);
    folder_write(tb[0], 0);
    struct ana_job *job = folder_open();
    CHECK(ana_job_rank(job, 0)->state != ANA_RANK_DEAD, "it is alive");
    meanwhile = finalizes;
    ana_job_refresh(job);
    CHECK(!meanwhile, "the hook was called");
    CHECK(ana_job_rank(job, 0)->state == ANA_RANK_DONE, "a rank that ended between two readings is %s",
          ana_rank_state_name(ana_job_rank(job, 0)->state));
    CHECK(ana_job_info(job).state == ANA_FINISHED, "the job is %s", ana_state_name(ana_job_info(job).state));
    expect("it ended while it was looked at", job, "healthy - possible ");
    finish(job, 1);
}

/* ---- an open look keeps up ------------------------------------------------------------------------------------------
 */

/* Rank 0 is killed, a look comes, then the others are: an open look ends with what a fresh one says. */
static void test_open_look(void)
{
    char open[128], fresh[128];
    folder_make("open");
    for (int r = 0; r < 3; r++) {
        begin(r, 3, 8 * S);
        tb_running(tb[r], 8 * S);
        in_barrier(r, 7900 * MS);
    }
    write_all(3);
    struct ana_job *job = folder_open();
    end_child(0);
    ana_job_refresh(job);
    expect("one is gone", job, "aborted dead-rank proven 0");
    end_child(1);
    end_child(2);
    CHECK(ana_job_refresh(job), "ranks that are gone are something new, though no file changed");
    verdict_of(job, open, sizeof open);
    struct ana_job *again = folder_open();
    verdict_of(again, fresh, sizeof fresh);
    CHECK(strcmp(open, fresh) == 0, "an open look says %s, a fresh one %s", open, fresh);
    ana_job_refresh(job);
    CHECK(!ana_job_refresh(job), "then nothing moves any more");
    ana_job_close(again);
    finish(job, 3);
}

/* ---- a deadlock, and then they are killed --------------------------------------------------------------------------
 */

/* Rank 0 waits for rank 1, which is in MPI_Barrier with the others; one after the other is killed. */
static void test_killed_in_a_deadlock(void)
{
    folder_make("apart");
    for (int r = 0; r < 4; r++) {
        over(r, 4, 10 * S + 400 * MS * (3 - r));
        if (r)
            in_barrier(r, 2 * S);
        else
            in_recv(r, 1, 2 * S);
    }
    write_all(4);
    struct ana_job *job = folder_open();
    expect("a deadlock outlives deaths 0.4 s apart", job, "hung unmatched-receive proven 0,1");
    finish(job, 4);

    folder_make("alive");
    for (int r = 0; r < 3; r++) {
        begin(r, 3, 40 * S);
        tb_running(tb[r], 40 * S);
        in_recv(r, (r + 1) % 3, 5 * S);
    }
    write_all(3);
    job = folder_open();
    expect("a circle, seen once", job, "hung wait-cycle likely 0,1,2");
    end_child(1);
    ana_job_refresh(job);
    expect("a circle of which one was killed", job, "hung wait-cycle likely 0,1,2");
    finish(job, 3);
}

/* A rank killed while it worked is the cause of the later events. */
static void test_killed_before(void)
{
    folder_make("before");
    over(0, 3, 10 * S);
    over(1, 3, 20 * S);
    over(2, 3, 20 * S);
    in_recv(1, 2, 11 * S);
    in_recv(2, 1, 12 * S);
    write_all(3);
    struct ana_job *job = folder_open();
    expect("deadlocked after a death", job, "aborted dead-rank likely 0");
    finish(job, 3);
}

/* ---- all at once ----------------------------------------------------------------------------------------------------
 */

/* Three wait for one that is outside MPI; after 6 of 30 s all are killed. */
static void test_killed_at_once(void)
{
    folder_make("at-once");
    for (int r = 0; r < 4; r++) {
        over(r, 4, 8 * S + r * MS);
        if (r != 2)
            in_barrier(r, 2 * S);
    }
    write_all(4);
    struct ana_job *job = folder_open();
    expect("killed under the limit", job, "aborted killed likely ");
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(v, "out of memory");
    if (v) {
        CHECK(v->facts >= 2 && v->groups == 2, "where each had been: %zu lines, %zu groups", v->facts, v->groups);
    }
    finish(job, 4);

    /* They had just come to it: the one that is waited for may have died, or it worked when all were killed. */
    folder_make("one-died");
    for (int r = 0; r < 4; r++) {
        over(r, 4, 8 * S + r * MS);
        if (r != 2)
            in_barrier(r, 7900 * MS);
    }
    write_all(4);
    job = folder_open();
    expect("one may have died", job, "aborted killed possible ");
    finish(job, 4);

    /* One that crashed is the cause, whoever's heart stopped first. */
    folder_make("crashed");
    for (int r = 0; r < 4; r++) {
        over(r, 4, 8 * S + r * MS);
        if (r != 2)
            in_barrier(r, 2 * S);
    }
    tb_crash(tb[2], SIGSEGV);
    write_all(4);
    job = folder_open();
    expect("one crashed", job, "aborted dead-rank proven 2");
    finish(job, 4);
}

/* ---- ends noted by the ranks ------------------------------------------------------------------------------------- */

/* Last heartbeat 50 ms before it noted this. */
static void noted(int r, int64_t at, enum trc_end_by by, int what, uint32_t sender)
{
    struct trc_end *end = &tb_head(tb[r])->end;
    tb_running(tb[r], at - 50 * MS);
    end->ticks = tb_ticks(tb[r], at);
    end->by = by;
    end->signal = by == TRC_END_SIGNAL ? what : 0;
    end->code = by == TRC_END_SIGNAL ? 0 : what;
    end->sender = sender;
    snprintf(end->sender_name, sizeof end->sender_name, "%s", sender ? "mpirun" : "");
}

/* Ranks 0, 1 and 3 wait in a barrier, not for long; rank 2 is outside MPI.  All would note SIGTERM. */
static void four(const char *folder, int64_t end)
{
    folder_make(folder);
    for (int r = 0; r < 4; r++) {
        over(r, 4, end);
        tb_head(tb[r])->end.watched = UINT64_C(1) << (SIGTERM - 1);
        if (r != 2)
            in_barrier(r, end - 400 * MS);
    }
}

static void all_told(int64_t at)
{
    for (int r = 0; r < 4; r++)
        noted(r, at, TRC_END_SIGNAL, SIGTERM, 4711);
}

static void expect_four(const char *what, const char *want)
{
    write_all(4);
    struct ana_job *job = folder_open();
    expect(what, job, want);
    finish(job, 4);
}

/* Two of four were told; the others are on a node that is gone, and nobody says that they were told, too. */
static void test_no_word(void)
{
    four("node", 8 * S);
    tb_head(tb[2])->end.watched = tb_head(tb[3])->end.watched = 0;
    for (int r = 0; r < 2; r++)
        noted(r, 8 * S + 20 * MS, TRC_END_SIGNAL, SIGTERM, 4711);
    write_all(4);
    struct ana_job *job = folder_open();
    const struct ana_verdict *v = ana_job_verdict(job);
    bool silent = false;
    for (size_t i = 0; v && i < v->facts; i++)
        silent |= strncmp(v->fact[i].text, "ranks 2 and 3 left no word", 26) == 0;
    CHECK(v && strncmp(v->summary.text, "2 ranks were told", 17) == 0, "%s", v ? v->summary.text : "");
    CHECK(silent, "%s", v && v->facts ? v->fact[0].text : "no fact");
    finish(job, 4);
}

static void test_noted_ends(void)
{
    four("told", 8 * S);
    for (int r = 0; r < 4; r++)
        noted(r, 8 * S + 3 * MS * r, TRC_END_SIGNAL, SIGTERM, 4711);
    expect_four("all were told to end", "aborted killed proven ");

    four("told-in-turn", 8 * S);
    for (int r = 0; r < 4; r++)
        noted(r, 8 * S + 900 * MS * r, TRC_END_SIGNAL, SIGTERM, 4711);
    expect_four("one after the other was told to end", "aborted killed proven ");

    four("one-first", 8 * S);
    for (int r = 0; r < 4; r++)
        if (r != 2)
            noted(r, 8 * S + 700 * MS, TRC_END_SIGNAL, SIGTERM, 4711);
    expect_four("one was killed, then the others were told to end", "aborted dead-rank likely 2");

    /* It would not have noted it: it has a handler of its own. */
    four("own-handler", 8 * S);
    tb_head(tb[2])->end.watched = 0;
    for (int r = 0; r < 4; r++)
        if (r != 2)
            noted(r, 8 * S + 20 * MS, TRC_END_SIGNAL, SIGTERM, 4711);
    expect_four("it may have been told, too", "aborted killed possible ");

    /* It lived on after the others had been told. */
    four("stubborn", 8 * S);
    tb_running(tb[2], 9 * S);
    for (int r = 0; r < 4; r++)
        if (r != 2)
            noted(r, 8 * S, TRC_END_SIGNAL, SIGTERM, 4711);
    expect_four("one did not listen, and was killed later", "aborted killed possible ");

    four("crash", 8 * S);
    all_told(8 * S + 20 * MS);
    noted(1, 8 * S, TRC_END_SIGNAL, SIGABRT, 0);
    expect_four("one crashed, then the others were told to end", "aborted dead-rank proven 1");

    four("exit", 8 * S);
    all_told(8 * S + 20 * MS);
    noted(3, 8 * S, TRC_END_EXIT_NOW, 3, 0);
    expect_four("one left", "aborted early-exit proven 3");

    four("exit-after", 8 * S);
    all_told(8 * S);
    noted(3, 8 * S + 200 * MS, TRC_END_EXIT, 1, 0);
    expect_four("one left when it was told to", "aborted killed possible ");

    four("exit-in-handler", 8 * S);
    all_told(8 * S + 20 * MS);
    noted(3, 8 * S, TRC_END_EXIT, 9, 0);
    tb_head(tb[3])->end.signal = SIGTERM;
    expect_four("one left in its handler of the signal", "aborted killed proven ");
}

static void test_launchers(void)
{
    /* PRRTE tells the others 0.25 s after the first death, and kills them as soon as one of them has ended. */
    four("prrte", 8 * S);
    for (int r = 0; r < 2; r++)
        noted(r, 8 * S + 250 * MS, TRC_END_SIGNAL, SIGTERM, 4711);
    tb_running(tb[3], 8 * S + 230 * MS);
    expect_four("one was killed, and another left no word, either", "aborted dead-rank likely 2");

    /* Without their launcher the MPI library writes to nobody. */
    four("lost", 8 * S);
    for (int r = 0; r < 4; r++)
        noted(r, 8 * S + 2 * MS * r, TRC_END_SIGNAL, SIGPIPE, 0);
    expect_four("all were ended by SIGPIPE", "aborted killed proven ");
    four("own-pipe", 8 * S);
    noted(2, 8 * S + 30 * MS, TRC_END_SIGNAL, SIGPIPE, 0);
    tb_crash(tb[2], SIGPIPE);
    expect_four("one wrote to a pipe of its own", "aborted dead-rank proven 2");
}

/* ---- one after the other ---- */

static void test_killed_in_turn(void)
{
    four("in-turn", 8 * S);
    for (int r = 0; r < 4; r++)
        tb_running(tb[r], 8 * S + 700 * MS * r);
    expect_four("killed in turn", "aborted killed possible ");

    four("backwards", 8 * S);
    for (int r = 0; r < 4; r++)
        tb_running(tb[r], 10 * S - 500 * MS * r);
    expect_four("killed in turn, backwards", "aborted killed possible ");

    /* Before that three had waited for the fourth for long: that is no proof, and nobody did anything since. */
    folder_make("stood");
    for (int r = 0; r < 4; r++) {
        over(r, 4, 50 * S + 700 * MS * r);
        if (r != 2)
            in_barrier(r, 5 * S);
    }
    expect_four("killed in turn after a long wait", "hung missing-in-collective likely 2");

    /* Three ended together, three seconds later. */
    four("alone", 8 * S);
    tb_running(tb[2], 5 * S);
    expect_four("one ended alone, and the others together", "aborted dead-rank likely 2");

    /* One after the other, the first with the largest gap behind it. */
    four("uneven", 8 * S);
    for (int r = 0; r < 4; r++)
        tb_running(tb[r], 10 * S - (r == 2 ? 4 * S : 500 * MS * r));
    expect_four("killed in turn, after a pause", "aborted killed possible ");
}

/* Two ranks: the first one killed is no cause, unless the other one was left for long. */
static void test_killed_two(void)
{
    for (int64_t apart = 5; apart <= 15; apart += 10) {
        folder_make("two");
        over(0, 2, 20 * S);
        over(1, 2, (20 + apart) * S);
        write_all(2);
        struct ana_job *job = folder_open();
        expect("two, killed in turn", job, apart == 5 ? "aborted killed possible " : "aborted dead-rank likely 0");
        finish(job, 2);
    }
}

/* End in MPI_Finalize: nobody waits for it. */
static void test_killed_in_finalize(void)
{
    folder_make("finalizes");
    for (int r = 0; r < 3; r++) {
        struct trc_sig sig = tb_sig(TB_FINALIZE);
        over(r, 3, (r == 1 ? 10 : 14) * S);
        tb_inside(tb[r], 0, &sig, 9 * S, 0);
    }
    write_all(3);
    struct ana_job *job = folder_open();
    expect("killed in MPI_Finalize", job, "aborted killed possible ");
    finish(job, 3);
}

int main(void)
{
    test_no_word();
    test_noted_ends();
    test_launchers();
    test_killed_in_turn();
    test_killed_two();
    test_killed_in_finalize();
    test_ends_meanwhile();
    test_open_look();
    test_killed_in_a_deadlock();
    test_killed_before();
    test_killed_at_once();
    return check_result();
}
