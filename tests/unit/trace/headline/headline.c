/* The first line, for every kind of trouble, and that the worse one wins. */
#include "tests/support/check.h"
#include "trace/summary/summary.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "tests/support/trace_folder.h"
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void expect(const char *what, enum ana_weight weight, enum ana_state state, const char *sentence)
{
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char out[512];
    enum ana_weight got = ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(got == weight && strcmp(out, sentence) == 0 && ana_job_info(job).state == state,
          "%s: weight %d, state %s\n  got  %s\n  want %s", what, got, ana_state_name(ana_job_info(job).state), out,
          sentence);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Now, on the real-time clock, less `s` seconds. */
static uint64_t seconds_ago(int s)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)(t.tv_sec - s) * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One call in several places. */
static void places(void)
{
    folder_make("places"); /* each place has its own latecomer: no share is of both, and four times may be chance */
    struct two two = two_ranks();
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 2; r++) {
            struct trc_sig sig = tb_sig(TB_ALLREDUCE);
            sig.flags = TRC_SIG_COLL;
            sig.comm = TB_WORLD;
            sig.site = i ? 0x3000 : 0x4000;
            int64_t begin = 4000000 + i * 1000000, late = r == (i == 0) ? 500000 : 0;
            tb_event(two.rank[r], 0, &sig, begin + late, begin + 600000, (struct tb_more){.sequence = 2 + (uint64_t)i});
        }
    two_write(two);
    expect("two places", ANA_NOTABLE, ANA_FINISHED,
           "all lose 18.2% waiting in MPI_Allreduce: rank 0 is last in 100% at 0x3000, others in other places");

    folder_make("others"); /* another rank is late in each place, all as much */
    for (int r = 0; r < 3; r++) {
        struct tb *tb = tb_new(r, 3);
        for (int i = 0; i < 30; i++) {
            struct trc_sig sig = tb_sig(TB_ALLREDUCE);
            sig.flags = TRC_SIG_COLL;
            sig.comm = TB_WORLD;
            sig.site = 0x3000u + 0x1000u * (unsigned)(i % 3);
            int64_t begin = 1000000 * (i + 1), late = r == i % 3 ? 900000 : 0;
            tb_event(tb, 0, &sig, begin + late, begin + 950000, (struct tb_more){.sequence = 1 + (uint64_t)i});
        }
        folder_write(tb, r);
        tb_free(tb);
    }
    expect("others in other places", ANA_NOTABLE, ANA_FINISHED,
           "all lose 58.2% waiting in MPI_Allreduce: rank 0 is last in 100% at 0x3000, others in other places");
}

static void losses(void)
{
    folder_make("late");
    two_write(two_ranks());
    expect("late rank", ANA_NOTABLE, ANA_FINISHED,
           "rank 1 is late: last in 100% of MPI_Allreduce, +900 us each, costs at most 900 us of 3.0 ms");

    folder_make("sender");
    struct tb *a = tb_new(0, 2), *b = tb_new(1, 2);
    for (int i = 0; i < 10; i++) {
        tb_send(a, 0, 1000000 * i + 900000, 1000000 * i + 910000, 1, 0, 8);
        tb_recv(b, 0, 1000000 * i + 400000, 1000000 * i + 920000, 0, 0, 8);
    }
    folder_write(a, 0);
    folder_write(b, 1);
    tb_free(a);
    tb_free(b);
    expect(
        "late sender", ANA_NOTABLE, ANA_FINISHED,
        "rank 0 is late: computes 990 us between calls at 0x1003, where no other does; costs at most 4.5 ms of 9.9 ms");

    folder_make("in turn"); /* a tenth more is lost to rank 0, beyond chance: as fast as rank 1 it would save 2 % */
    a = tb_new(0, 2);
    b = tb_new(1, 2);
    for (int i = 0; i < 3000; i++) {
        const int64_t at = 2000000 * (int64_t)i;
        tb_send(a, 0, at + 440000, at + 441000, 1, 0, 8);
        tb_recv(a, 0, at + 1000000, at + 1410000, 1, 0, 8);
        tb_recv(b, 0, at, at + 442000, 0, 0, 8);
        tb_send(b, 0, at + 1400000, at + 1401000, 0, 0, 8);
    }
    folder_write(a, 0);
    folder_write(b, 1);
    tb_free(a);
    tb_free(b);
    expect("late in turn", ANA_NOTABLE, ANA_FINISHED,
           "all lose 21.0% waiting for each other's messages: no single rank to blame");

    folder_make("uneven");
    a = tb_new(0, 2);
    b = tb_new(1, 2);
    tb_event(a, 0, &(struct trc_sig){.call = TB_FILE_WRITE, .flags = TRC_SIG_IO}, 1000000, 9000000,
             (struct tb_more){0});
    tb_event(b, 0, &(struct trc_sig){.call = TB_COMM_RANK}, 8999000, 9000000, (struct tb_more){0});
    folder_write(a, 0);
    folder_write(b, 1);
    tb_free(a);
    tb_free(b);
    expect("imbalance", ANA_NOTABLE, ANA_FINISHED, "work is uneven: load balance 55.6%, rank 1 computes longest");

    folder_make("fine");
    a = tb_new(0, 2);
    b = tb_new(1, 2);
    tb_allreduce(a, 0, 9000000, 9099000, TB_WORLD, 1, 8);
    tb_allreduce(b, 0, 9001000, 9099000, TB_WORLD, 1, 8);
    folder_write(a, 0);
    folder_write(b, 1);
    tb_free(a);
    tb_free(b);
    expect("fine", ANA_FINE, ANA_FINISHED, "nothing stands out: 98.9% parallel efficiency, 1.1% in MPI");
}

/* A selection of ranks loses a share of its own time. */
static void selected(void)
{
    folder_make("part");
    struct tb *t[4];
    for (int r = 0; r < 4; r++) {
        t[r] = tb_new(r, 4);
        tb_allreduce(t[r], 0, r == 3 ? 9000000 : 1000000, 9100000, TB_WORLD, 1, 8);
        folder_write(t[r], r);
        tb_free(t[r]);
    }
    static const struct {
        uint8_t ranks[4];
        const char *want;
    } cases[] = {
        {{1, 1, 1, 1}, "rank 3 is late: last in 100% of MPI_Allreduce, +8.0 ms each, all lose 65.9%"},
        {{0, 1, 0, 0}, "rank 3 is late: last in 100% of MPI_Allreduce, +8.0 ms each, those selected lose 87.9%"},
        {{0, 0, 0, 1}, "nothing stands out: 98.9% parallel efficiency, 1.1% in MPI"},
    };
    struct ana_job *job = folder_open();
    while (ana_job_advance(job, 0) < 1)
        ;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ana_selection selection = {.begin_ns = 0, .end_ns = INT64_MAX, .ranks = cases[i].ranks};
        struct ana_summary s;
        char out[512] = "out of memory";
        if (ana_summarize(job, selection, &s) == TRC_OK) {
            ana_headline(job, &s, NULL, out, sizeof out);
            ana_summary_free(&s);
        }
        CHECK(strcmp(out, cases[i].want) == 0, "selection %zu\n  got  %s\n  want %s", i, out, cases[i].want);
    }
    ana_job_close(job);
    folder_remove();
}

static void records(void)
{
    folder_make("missing");
    struct two two = two_ranks();
    tb_head(two.rank[0])->world_size = tb_head(two.rank[1])->world_size = 5;
    two_write(two);
    expect("missing files", ANA_NOTABLE, ANA_FINISHED,
           "no trace file here of ranks 2-4 of 5: what they did is not known");

    folder_make("lost");
    two = two_ranks();
    tb_head(two.rank[1])->lost_records = 1234;
    two_write(two);
    expect("lost records", ANA_NOTABLE, ANA_FINISHED,
           "1.23k records were lost: counts and bytes are right, waits and the timeline have holes");

    folder_make("full");
    two = two_ranks();
    tb_head(two.rank[1])->state = TRC_STATE_STOPPED;
    strcpy(tb_head(two.rank[1])->error, "no space left on device");
    two_write(two);
    expect("disk full", ANA_NOTABLE, ANA_FINISHED, "rank 1 stopped recording: no space left on device");
}

/* Head of a rank that ended; zeros would be a lie. */
static void cut_off(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/0.hpctop", folder_make("cut"));
    two_write(two_ranks());
    CHECK(truncate(path, 3000) == 0);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(ana_job_rank(job, 0)->state == ANA_RANK_UNKNOWN, "cut off: state %d", ana_job_rank(job, 0)->state);
    CHECK(!s.ranks[0].counted && s.ranks[0].waiting_ns == -1 && s.ranks[1].counted);
    CHECK(s.efficiency.load_balance == 1, "cut off: load balance %g", s.efficiency.load_balance);
    ana_summary_free(&s);
    ana_job_close(job);
    expect("cut off", ANA_NOTABLE, ANA_FINISHED, "the trace file of rank 0 is cut off: what it did is not known");
}

/* Damage done to the files while they are looked at is said before anything that rests on them. */
static void spoilt(void)
{
    char path[600], out[512];
    snprintf(path, sizeof path, "%s/0.hpctop", folder_make("spoilt"));
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strncmp(out, "rank 1 is late", 14) == 0 && truncate(path, 0) == 0, "before: %s", out);
    ana_job_refresh(job);
    enum ana_weight weight = ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(weight == ANA_NOTABLE && strncmp(out, "1 of 2 trace files were truncated or overwritten", 48) == 0,
          "after: weight %d, %s", weight, out);
    folder_remove();
    ana_job_refresh(job);
    bool told = false;
    for (size_t i = 0; ana_job_warning(job, i); i++)
        told |= strstr(ana_job_warning(job, i), "spoilt: is gone") != NULL;
    CHECK(told && ana_job_info(job).ranks == 2, "the folder is gone, and nothing says so");
    ana_summary_free(&s);
    ana_job_close(job);
}

static void ends(void)
{
    folder_make("abort");
    struct two two = two_ranks();
    tb_head(two.rank[1])->state = TRC_STATE_ABORTED;
    tb_head(two.rank[1])->abort_code = 7;
    tb_running(two.rank[0], 3500000);
    two_write(two);
    expect("abort beats dead", ANA_TROUBLE, ANA_ABORTED, "rank 1 called MPI_Abort(7)");

    folder_make("dead");
    two = two_ranks();
    struct trc_sig recv = tb_sig(TB_RECV);
    recv.comm = TB_WORLD;
    tb_inside(two.rank[1], 0, &recv, 3100000, 0);
    tb_running(two.rank[1], 3500000);
    two_write(two);
    expect("dead inside", ANA_TROUBLE, ANA_ABORTED, "rank 1 is gone without MPI_Finalize (inside MPI_Recv)");

    folder_make("dead2");
    two = two_ranks();
    tb_running(two.rank[0], 14904500000);
    tb_running(two.rank[1], 3500000);
    two_write(two);
    expect("dead outside, the first of two", ANA_TROUBLE, ANA_ABORTED,
           "rank 1 is gone without MPI_Finalize (last call MPI_Allreduce)");

    folder_make("dead3");
    two = two_ranks();
    tb_free(two.rank[1]);
    two.rank[1] = tb_new(1, 2);
    tb_running(two.rank[0], 14904500000);
    tb_running(two.rank[1], 3500000);
    two_write(two);
    expect("dead before its first call", ANA_TROUBLE, ANA_ABORTED, "rank 1 is gone without MPI_Finalize (outside MPI)");
}

/* It hung, and its time was up. */
static void killed(void)
{
    folder_make("killed");
    struct two two = two_ranks();
    struct trc_sig recv = tb_sig(TB_RECV);
    recv.comm = TB_WORLD;
    tb_inside(two.rank[1], 0, &recv, 3100000, 0);
    for (int i = 0; i < 2; i++)
        tb_running(two.rank[i], 192013000000 + i);
    two_write(two);
    expect("killed in a hang", ANA_TROUBLE, ANA_HUNG,
           "hung for 3 min 12 s: nothing moves: rank 0 is outside MPI, 1 inside");
}

static void hangs(void)
{
    folder_make("hung");
    struct two two = two_ranks();
    for (int i = 0; i < 2; i++) {
        tb_clock(two.rank[i], 1000000000u, seconds_ago(100), 1);
        folder_this_process(two.rank[i]);
        tb_running(two.rank[i], 99500000000);
    }
    struct trc_sig barrier = tb_sig(TB_BARRIER);
    barrier.flags = TRC_SIG_COLL;
    barrier.comm = TB_WORLD;
    tb_inside(two.rank[0], 0, &barrier, 3100000, 2);
    two_write(two);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    char out[512];
    enum ana_weight weight = ana_headline(job, &s, NULL, out, sizeof out);
    const char *want = ": rank 1 has not come to MPI_Barrier on MPI_COMM_WORLD, where 1 of 2 wait";
    CHECK(weight == ANA_TROUBLE && ana_job_info(job).state == ANA_HUNG && strstr(out, "hung for 1 min ") &&
              strstr(out, want),
          "hang: weight %d, state %s: %s", weight, ana_state_name(ana_job_info(job).state), out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();

    /* Outside MPI nobody hangs: they compute. */
    folder_make("busy");
    two = two_ranks();
    for (int i = 0; i < 2; i++) {
        tb_clock(two.rank[i], 1000000000u, seconds_ago(100), 1);
        folder_this_process(two.rank[i]);
        tb_running(two.rank[i], 99500000000);
    }
    two_write(two);
    job = folder_open();
    CHECK(ana_job_info(job).state == ANA_RUNNING && ana_job_info(job).quiet_ns >= 90000000000, "busy: state %s",
          ana_state_name(ana_job_info(job).state));
    ana_job_close(job);
    folder_remove();
}

/* A rank that has been in one call for seconds says more than how uneven the work is; it does not hang yet. */
static void stuck(void)
{
    static const struct {
        int32_t source;
        int64_t since;
        const char *begins, *ends; /* NULL: not about a rank that is stuck */
    } cases[] = {
        {0, 3100000, "rank 1 has been in MPI_Recv from rank 0, tag 7, for ", "; rank 0 is outside MPI"},
        {TRC_PEER_ANY, 3100000, "rank 1 has been in MPI_Recv from any rank, tag 7, for ", "; rank 0 is outside MPI"},
        {0, 7500000000, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        folder_make("stuck");
        struct two two = two_ranks();
        for (int k = 0; k < 2; k++) {
            tb_clock(two.rank[k], 1000000000u, seconds_ago(8), 1);
            folder_this_process(two.rank[k]);
        }
        struct trc_sig recv = tb_sig(TB_RECV);
        recv.comm = TB_WORLD;
        recv.flags = TRC_SIG_P2P_IN;
        recv.comm = TB_WORLD;
        recv.source = cases[i].source;
        recv.rtag = 7;
        if (!cases[i].begins) /* calls take long */
            tb_recv(two.rank[1], 0, 4000000, 7400000000, 0, 7, 8);
        for (int k = 0; k < 2; k++)
            tb_running(two.rank[k], 7900000000);
        tb_inside(two.rank[1], 0, &recv, cases[i].since, 0);
        two_write(two);
        struct ana_job *job = folder_open();
        struct ana_summary s = folder_summary(job);
        char out[512];
        ana_headline(job, &s, NULL, out, sizeof out);
        const char *ends = cases[i].ends ? strstr(out, cases[i].ends) : NULL;
        bool right = cases[i].begins ? strstr(out, cases[i].begins) == out && ends && strcmp(ends, cases[i].ends) == 0
                                     : !strstr(out, "has been in");
        CHECK(right && ana_job_info(job).state == ANA_RUNNING, "stuck %zu, state %s: %s", i,
              ana_state_name(ana_job_info(job).state), out);
        ana_summary_free(&s);
        ana_job_close(job);
        folder_remove();
    }
}

/* A window that lies after all that has been read. */
static void ahead(void)
{
    folder_make("ahead");
    struct two two = two_ranks();
    for (int k = 0; k < 2; k++) {
        tb_clock(two.rank[k], 1000000000u, seconds_ago(8), 1);
        folder_this_process(two.rank[k]);
        tb_running(two.rank[k], 7000000000);
    }
    two_write(two);
    struct ana_job *job = folder_open();
    while (ana_job_advance(job, 0) < 1)
        ;
    struct ana_summary s;
    char out[512] = "out of memory";
    if (ana_summarize(job, (struct ana_selection){.begin_ns = 7100000000, .end_ns = 7200000000}, &s) == TRC_OK) {
        ana_headline(job, &s, NULL, out, sizeof out);
        ana_summary_free(&s);
    }
    CHECK(strstr(out, "not analysed yet") == out, "ahead: %s", out);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    losses();
    places();
    selected();
    records();
    cut_off();
    spoilt();
    ends();
    killed();
    hangs();
    stuck();
    ahead();
    return check_result();
}
