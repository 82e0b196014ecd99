/* Late ranks, and the cause: the sentence and the verdict on planted delays. */
#include "tests/support/planted.h"
#include "trace/session/session.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ALL UINT64_MAX

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000 * MS + now.tv_nsec;
}

/* Time of a rank in iteration i, in ns. */
typedef int64_t work_of(int rank, int i);

static int64_t one(int rank, int i)
{
    (void)i;
    return rank == 2 ? 9 * MS : 4 * MS;
}
static int64_t every_fourth(int rank, int i)
{
    (void)i;
    return rank % 4 == 1 ? 9 * MS : 4 * MS;
}
static int64_t spikes(int rank, int i)
{
    return rank == 3 && i % 50 == 25 ? 300 * MS : 4 * MS;
}
static int64_t moves(int rank, int i)
{
    return rank == i % 4 ? 9 * MS : 4 * MS;
}

static int64_t moves_uneven(int rank, int i)
{
    return rank == i % 4 ? 30 * MS : rank % 2 ? 11400 * US : 10 * MS;
}

static void expect(const char *what, struct planted *p, bool slow, const char *culprits, const char *says)
{
    struct ana_job *job = planted_open(p);
    struct ana_summary s = folder_summary(job);
    char out[512], got[256] = "";
    ana_headline(job, &s, NULL, out, sizeof out);
    const struct ana_verdict *v = ana_job_verdict(job);
    for (size_t i = 0; i < v->culprits; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%zu", i ? "," : "", v->culprit[i]);
    CHECK(strncmp(out, says, strlen(says)) == 0, "%s\n  got  %s\n  want %s", what, out, says);
    CHECK((v->state == ANA_VERDICT_SLOW) == slow && strcmp(got, culprits) == 0, "%s: %s, culprits %s", what,
          ana_verdict_state_name(v->state), got);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void meetings(const char *what, int ranks, work_of *work, bool slow, const char *culprits, const char *says)
{
    struct planted p = planted_begin("late", ranks);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < 500; i++) {
        for (int r = 0; r < ranks; r++)
            p.at[r] += work(r, i);
        planted_meet(&p, 0x30, TB_WORLD, ALL);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    expect(what, &p, slow, culprits, says);
}

/* No collectives: rank 0 sends late; where there is a third rank, rank 1 therefore too. */
static void senders(int ranks, const char *says)
{
    struct planted p = planted_begin("sender", ranks);
    for (int i = 0; i < 500; i++) {
        for (int r = 0; r < ranks; r++)
            p.at[r] += r == 0 ? 9 * MS : MS;
        for (int r = 0; r + 1 < ranks; r++)
            planted_message(&p, r, r + 1);
    }
    expect("sender", &p, true, "0", says);
}

/* Rank 0 receives from all before each meeting: it comes last, but only since others are late, each in turn, or
 * rank 2 in a third of the rounds. */
static void root(bool in_turn, const char *says)
{
    struct planted p = planted_begin("root", 4);
    for (int i = 0; i < 500; i++) {
        for (int r = 0; r < 4; r++)
            p.at[r] += r == (in_turn ? 1 + i % 3 : i % 150 < 50 ? 2 : 4) ? 4 * MS : 2 * MS;
        for (int r = 1; r < 4; r++)
            planted_message(&p, r, 0);
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    expect("root", &p, false, "", says);
}

/* Tests a window of the run, with waits but without causes: rank 2 holds rank 0 up. */
static void root_in_window(const char *says)
{
    struct planted p = planted_begin("window", 4);
    for (int i = 0; i < 500; i++) {
        for (int r = 0; r < 4; r++)
            p.at[r] += r == 2 ? 4 * MS : 2 * MS;
        for (int r = 1; r < 4; r++)
            planted_message(&p, r, 0);
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s;
    char out[512];
    ana_job_advance(job, 0);
    CHECK(ana_summarize_all(job, (struct ana_selection){.begin_ns = 500 * MS, .end_ns = 1500 * MS}, &s) == TRC_OK);
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strstr(out, says), "window: %s", out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Each rank waits for the one before it, computes as long as the others and passes on: the last to come is not late. */
static void chain(const char *says)
{
    struct planted p = planted_begin("chain", 4);
    for (int i = 0; i < 500; i++) {
        for (int r = 0; r < 4; r++) {
            if (r > 0)
                planted_message(&p, r - 1, r);
            p.at[r] += 3 * MS;
        }
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    expect("chain", &p, false, "", says);
}

/* Rank 0 writes for 9 ms before each meeting. */
static void writer(const char *says)
{
    struct planted p = planted_begin("writer", 3);
    struct trc_sig io = tb_sig(TB_FILE_WRITE);
    io.site = 0x40;
    for (int i = 0; i < 500; i++) {
        for (int r = 0; r < 3; r++)
            p.at[r] += MS;
        tb_event(p.tb[0], 0, &io, p.at[0], p.at[0] + 9 * MS, (struct tb_more){0});
        p.at[0] += 9 * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    expect("writer", &p, true, "0", says);
}

/* Rank 0 computes longer than rank 1, then writes and looks up: no segment has half of the time lost to it, so nothing
 * that is said of the rank is the price of one. */
static void parts(void)
{
    struct planted p = planted_begin("parts", 2);
    struct trc_sig io = tb_sig(TB_FILE_WRITE), local = tb_sig(TB_COMM_RANK);
    io.site = 0x40;
    local.site = 0x50;
    planted_meet(&p, 0x30, TB_WORLD, ALL);
    for (int i = 0; i < 500; i++) {
        p.at[0] += 6 * MS;
        p.at[1] += 4 * MS;
        tb_event(p.tb[0], 0, &io, p.at[0], p.at[0] + 4 * MS, (struct tb_more){0});
        tb_event(p.tb[0], 0, &local, p.at[0] + 4 * MS, p.at[0] + 8 * MS, (struct tb_more){0});
        p.at[0] += 8 * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(strcmp(out, "rank 0 is late: last in 99.8% of MPI_Allreduce, +10 ms each, all lose 35.7%") == 0, "%s", out);
    CHECK(v->culprits == 1 && v->facts == 0 && s.price_count > 0, "%zu facts: %s", v->facts,
          v->facts ? v->fact[0].text : "");
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A thread of each rank receives requests that the main thread of the other sends now and then: that it waits for them
 * is no time of its rank, and nobody is late. */
static void service(void)
{
    struct planted p = planted_begin("service", 2);
    int64_t served[2] = {US, US};
    for (int i = 0; i < 200; i++) {
        for (int r = 0; r < 2; r++) {
            p.at[r] += 10 * MS;
            if (i % 20 != 19)
                continue;
            tb_send(p.tb[r], 0, p.at[r], p.at[r] + US, 1 - r, 9, 8);
            tb_recv(p.tb[1 - r], 1, served[1 - r], p.at[r] + US, r, 9, 8);
            served[1 - r] = p.at[r] + US;
            p.at[r] += US;
        }
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strncmp(out, "nothing stands out", 18) == 0, "service: %s", out);
    CHECK(s.wait_count == 0 && s.ranks[0].waiting_ns == 0, "service: %zu waits, rank 0 waits %lld ns", s.wait_count,
          (long long)s.ranks[0].waiting_ns);
    CHECK(s.ranks[0].mpi_ns < 2 * MS && s.efficiency.communication > 0.99, "service: %lld ns in MPI",
          (long long)s.ranks[0].mpi_ns);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Ranks exchange messages round a ring, each late in turn: none is to blame. */
static void ring(void)
{
    struct planted p = planted_begin("ring", 4);
    for (int i = 0; i < 400; i++) {
        for (int r = 0; r < 4; r++)
            p.at[r] += (r == i * 7 / 3 % 4 ? 4 : 2) * MS;
        for (int r = 0; r < 4; r++)
            planted_message(&p, r, (r + 1) % 4);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    char out[512];
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strstr(out, "waiting for each other's messages: no single rank to blame"), "ring: %s", out);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A job of ten minutes that runs; in the last 50 s rank 2 takes longer, which is 5 % of all time. */
static void turns_slow(bool runs, const char *culprits, const char *says)
{
    const int64_t all_ns = 600000 * MS, slow_ns = 50000 * MS;
    struct planted p = planted_begin("turns", 3);
    for (int r = 0; r < 3 && runs; r++) {
        tb_clock(p.tb[r], 1000000000u, (uint64_t)wall_ns() - (uint64_t)all_ns, 1);
        folder_process(p.tb[r], getpid());
    }
    while (p.at[0] < all_ns) {
        for (int r = 0; r < 3; r++)
            p.at[r] += (r == 2 && p.at[0] > all_ns - slow_ns ? 90 : 40) * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
    }
    for (int r = 0; r < 3 && runs; r++)
        tb_running(p.tb[r], p.at[0]);
    expect("turns slow", &p, runs, culprits, says);
}

int main(void)
{
    turns_slow(true, "2", "rank 2 is late: last in 100% of MPI_Allreduce, +50 ms each, all lose 30.9% lately");
    turns_slow(false, "", "rank 2 is late: ");
    meetings("one", 4, one, true, "2",
             "rank 2 is late: computes 9.0 ms between 0x20 and 0x30, others 4.0 ms; costs 2.5 s of 4.5 s");
    meetings("every fourth", 16, every_fourth, true, "1,5,9,13",
             "4 ranks are late (1, 5, ... every 4th): compute 9.0 ms between 0x20 and 0x30, others 4.0 ms; costs 2.5 s "
             "of 4.5 s");
    meetings("spikes", 4, spikes, true, "3", "rank 3 is late: 10 x 300 ms between 0x20 and 0x30, else 4.");
    meetings("moves", 4, moves, false, "", "all lose 41.7% waiting in MPI_Allreduce: ");
    meetings("moves, and two are a little slower", 4, moves_uneven, false, "",
             "all lose 48.2% waiting in MPI_Allreduce: ");
    senders(2, "rank 0 is late: computes 9.0 ms between calls at 0x100, where no other does; costs at most 4.0 s "
               "of 4.5 s");
    root(false,
         "all lose 14.3% waiting in MPI_Allreduce: rank 0 comes last, held up by others before; rank 2, Allreduce "
         "0x30 -> Send 0x100: as fast as the others saves ");
    root(true, "all lose 25.0% waiting in MPI_Allreduce: rank 0 comes last, held up by others before");
    root_in_window("waiting in MPI_Allreduce: rank 0 comes last, held up by rank 2 before");
    chain("all lose 37.5% waiting in MPI_Allreduce: rank 3 comes last, held up by others before");
    writer("rank 0 is late: spends 9.0 ms in MPI_File_write at 0x40, where no other does; costs at most 4.5 s of "
           "5.0 s");
    parts();
    service();
    ring();
    senders(3, "rank 0 is late: computes 9.0 ms between calls at 0x100, ");
    return check_result();
}
