/* Planted delays, whose cost is known by arithmetic: each wait is charged to what caused it, and to nothing else. */
#include "tests/support/planted.h"
#include "trace/cause/causes.h"
#include "trace/session/session.h"

#include <stdlib.h>

#define ALL UINT64_MAX

/* Costs of a segment, by rank. */
static int64_t cost(const struct ana_segment_stat *segment, size_t rank)
{
    return segment->cost_by_rank_ns ? segment->cost_by_rank_ns[rank] : -1;
}

static void check_sum(const char *what, const struct ana_summary *s)
{
    CHECK(planted_costs(s) == planted_waits(s), "%s: costs %lld, waits %lld", what, (long long)planted_costs(s),
          (long long)planted_waits(s));
}

/* Each iteration all compute 2 ms and rank 2 4.5 ms. */
static void one_late_segment(void)
{
    enum { TIMES = 100 };
    struct planted p = planted_begin("one", 4);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 4; r++)
            p.at[r] += r == 2 ? 4500 * US : 2 * MS;
        planted_meet(&p, 0x30, TB_WORLD, ALL);
        for (int r = 0; r < 4; r++)
            p.at[r] += 100 * US;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_segment_stat *late = planted_segment(&s, "0x20", "0x30");
    check_sum("one", &s);
    CHECK(late == &s.segments[0] && late->worst_index == 2 && late->worst_ns == 4.5e6 && late->median_ns == 2e6);
    CHECK(late->times == 4 * TIMES && late->ranks == 4 && late->longest_ns == 4500 * US && late->longest_index == 2);
    CHECK(cost(late, 2) == 3 * TIMES * 2500 * US && late->direct_ns == late->cost_ns && cost(late, 0) == 0, "%lld",
          (long long)cost(late, 2));
    CHECK(s.cost_inside_ns == 0 && s.cost_unknown_ns == 0 && late->cost_ns == planted_waits(&s));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Rank 0 is late, rank 1 therefore, and therefore rank 2: the first of the chain is to blame, not the middle. */
static void chain(void)
{
    enum { TIMES = 50 };
    struct planted p = planted_begin("chain", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 3; r++)
            p.at[r] += r == 0 ? 12 * MS : 2 * MS;
        planted_message(&p, 0, 1);
        planted_message(&p, 1, 2);
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    check_sum("chain", &s);
    /* Rank 0 computes before it sends, the others before they receive: rank 1 alone has no partner of its kind. */
    const struct ana_segment_stat *first = planted_segment(&s, "0x20", "0x100");
    int64_t all = planted_waits(&s);
    CHECK(first == &s.segments[0] && first->worst_index == 0 && cost(first, 0) >= all * 999 / 1000, "%lld of %lld",
          (long long)cost(first, 0), (long long)all);
    CHECK(first->cost_ns - first->direct_ns >= TIMES * 10 * MS, "passed on: %lld",
          (long long)(first->cost_ns - first->direct_ns));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Rank 1 is 10 ms late, rank 2 8 ms: the second delay is hidden by the first, and costs nothing. */
static void one_hides_the_other(void)
{
    struct planted p = planted_begin("hidden", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    p.at[0] += 1 * MS;
    p.at[1] += 11 * MS;
    p.at[2] += 9 * MS;
    planted_meet(&p, 0x30, TB_WORLD, ALL);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_segment_stat *late = planted_segment(&s, "0x20", "0x30");
    check_sum("hidden", &s);
    CHECK(cost(late, 1) == 12 * MS && cost(late, 2) == 0 && cost(late, 0) == 0);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Each iteration another rank is 3 ms late: each has its share of the costs. */
static void it_moves(int ranks)
{
    enum { ROUNDS = 25 };
    struct planted p = planted_begin("moves", ranks);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < ROUNDS * ranks; i++) {
        for (int r = 0; r < ranks; r++)
            p.at[r] += r == i % ranks ? 4 * MS : MS;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_segment_stat *late = planted_segment(&s, "0x20", "0x20");
    check_sum("moves", &s);
    for (size_t r = 0; r < (size_t)ranks; r++)
        CHECK(cost(late, r) == (ranks - 1) * ROUNDS * 3 * MS, "rank %zu of %d: %lld", r, ranks,
              (long long)cost(late, r));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Rank 2 comes late to a collective with rank 0, which therefore sends late to rank 1: rank 2 is to blame for both. */
static void sender_late_by_a_collective(void)
{
    struct planted p = planted_sender();
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_segment_stat *late = planted_segment(&s, "0x20", "0x30");
    check_sum("sender", &s);
    /* Rank 1 waits 10.001 ms: the microsecond inside the collective is no segment of rank 2's. */
    CHECK(cost(late, 2) >= 19990 * US && late->direct_ns == 10 * MS && cost(late, 0) == 0, "%lld, %lld",
          (long long)cost(late, 2), (long long)late->direct_ns);
    CHECK(s.cost_unknown_ns == 0);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Rank 0 computes 10 ms longer after it has sent: nobody waits for it, so it costs nothing. */
static void overlapped(void)
{
    struct planted p = planted_begin("overlap", 2);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < 10; i++) {
        planted_message(&p, 0, 1);
        p.at[0] += 12 * MS;
        p.at[1] += 12 * MS;
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    check_sum("overlap", &s);
    CHECK(planted_segment(&s, "0x100", "0x100")->cost_ns == 0);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A call without partners, `ns` after the one before; it takes 1 us. */
static void alone(struct planted *p, int r, uint64_t site, int64_t ns)
{
    struct trc_sig call = tb_sig(TB_TEST);
    call.site = site;
    p->at[r] += ns;
    tb_event(p->tb[r], 0, &call, p->at[r], p->at[r] + US, (struct tb_more){0});
    p->at[r] += US;
}

/* Before they meet all go twice through many segments, rank 2 slower.  In one of the laps the others call once more in
 * each: their way has other segments there, so of rank 2's it has only one lap to set against two.  If that is the last
 * lap, many segments of theirs are met before few of rank 2's. */
static void long_way(int segments, int other_lap)
{
    enum { TIMES = 3 };
    struct planted p = planted_begin("long", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    for (int i = 0; i < TIMES; i++) {
        for (int r = 0; r < 3; r++)
            for (int n = 0; n < 2 * segments; n++) {
                int k = n % segments;
                bool more = r < 2 && n / segments == other_lap;
                if (more)
                    alone(&p, r, 0x4000 * (r + 1ull) + (uint64_t)k, 50 * US);
                alone(&p, r, 0x1000 + (uint64_t)k, more ? 49 * US : 100 * US + (r == 2 ? (k + 1) * US : 0));
            }
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    check_sum("long", &s);
    double wait = segments * (segments + 1) * 1e3, all = 102e3; /* costs of the segments before the first call of a
                                                                   lap */
    for (int k = 1; k < segments; k++)
        all += 102e3 + 2e3 * k;
    for (int k = 1; k < segments; k++) {
        char from[16], to[16];
        snprintf(from, sizeof from, "0x%x", 0x1000 + k - 1);
        snprintf(to, sizeof to, "0x%x", 0x1000 + k);
        double off = (double)cost(planted_segment(&s, from, to), 2) - 2 * TIMES * wait * (102e3 + 2e3 * k) / all;
        CHECK(off >= -2 * TIMES && off <= 2 * TIMES * segments, "%d of %d, lap %d: %f", k, segments, other_lap, off);
    }
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Rank 1 polls until rank 0's message is there, and is therefore late for rank 2. */
static void polled(void)
{
    struct planted p = planted_begin("polled", 3);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    int64_t at = p.at[1];
    uint64_t request = tb_irecv(p.tb[1], 0, at, at + US, 0, 1, 8);
    struct trc_sig poll = tb_sig(TB_TEST), test = tb_sig(TB_TEST), send = tb_sig(TB_SEND), recv = tb_sig(TB_RECV);
    poll.flags = TRC_SIG_POLL;
    poll.site = test.site = 0x300;
    tb_fold(p.tb[1], 0, &poll, at + 2 * US, at + 9990 * US, 40000, 9000 * US);
    send.flags = TRC_SIG_P2P_OUT;
    recv.flags = TRC_SIG_P2P_IN;
    test.flags = TRC_SIG_COMPLETE | TRC_SIG_P2P_IN;
    send.comm = recv.comm = test.comm = TB_WORLD;
    send.peer = 1;
    send.tag = recv.rtag = test.rtag = 1;
    send.sent = recv.received = test.received = 8;
    send.site = 0x100;
    recv.site = 0x200;
    tb_event(p.tb[0], 0, &send, at + 9980 * US, at + 9981 * US, (struct tb_more){0});
    tb_event(p.tb[1], 0, &test, at + 9991 * US, at + 9992 * US, (struct tb_more){.request = request});
    send.peer = 2;
    recv.source = 1;
    tb_event(p.tb[1], 0, &send, at + 9993 * US, at + 9994 * US, (struct tb_more){0});
    tb_event(p.tb[2], 0, &recv, at, at + 9995 * US, (struct tb_more){0});
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    const struct ana_segment_stat *late = planted_segment(&s, "0x20", "0x100");
    check_sum("polled", &s);
    /* Rank 2 waits for 9993 us; rank 1 polls for 9978 us until the send begins, 9000 in 9989 of it inside its polls. */
    const int64_t polls_ns = 9978 * US * 9000 / 9989, lost_ns = 9993 * US + polls_ns;
    CHECK(llabs(planted_waits(&s) - lost_ns) < US, "%lld, not %lld", (long long)planted_waits(&s), (long long)lost_ns);
    CHECK(cost(late, 0) >= lost_ns - 50 * US, "%lld of %lld", (long long)cost(late, 0), (long long)planted_waits(&s));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Rank 1 polls in vain, gives up, and receives a message that was sent meanwhile: it had not waited for that. */
static void gave_up(void)
{
    struct planted p = planted_begin("gave up", 2);
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    int64_t at = p.at[1];
    struct trc_sig poll = tb_sig(TB_TEST), send = tb_sig(TB_SEND), recv = tb_sig(TB_RECV);
    poll.flags = TRC_SIG_POLL;
    send.flags = TRC_SIG_P2P_OUT;
    recv.flags = TRC_SIG_P2P_IN;
    send.comm = recv.comm = TB_WORLD;
    send.peer = 1;
    recv.source = 0;
    send.tag = recv.rtag = 1;
    send.sent = recv.received = 8;
    tb_fold(p.tb[1], 0, &poll, at + 2 * US, at + 9990 * US, 40000, 9000 * US);
    tb_event(p.tb[0], 0, &send, at + 5000 * US, at + 5001 * US, (struct tb_more){0});
    tb_event(p.tb[1], 0, &recv, at + 9991 * US, at + 9992 * US, (struct tb_more){0});
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    CHECK(planted_waits(&s) == 0, "waits %lld", (long long)planted_waits(&s));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A thread of rank 0 listens all the time for a message that rank 1 sends at the end: its wait is no time of the rank,
 * and is charged to nothing, while what rank 1 does before each meeting is. */
static void listener(void)
{
    enum { TIMES = 100 };
    struct planted p = planted_begin("listener", 2);
    struct trc_sig send = tb_sig(TB_SEND), recv = tb_sig(TB_RECV);
    send.flags = TRC_SIG_P2P_OUT;
    recv.flags = TRC_SIG_P2P_IN;
    send.comm = recv.comm = TB_WORLD;
    send.sent = recv.received = 4;
    send.site = 0x40;
    recv.site = 0x50;
    recv.source = 1;
    send.peer = 0;
    send.tag = recv.rtag = 9;
    planted_meet(&p, 0x20, TB_WORLD, ALL);
    const int64_t begin = p.at[0];
    for (int i = 0; i < TIMES; i++) {
        p.at[0] += 8 * MS;
        p.at[1] += 10 * MS;
        planted_meet(&p, 0x20, TB_WORLD, ALL);
    }
    p.at[1] += MS;
    tb_event(p.tb[1], 0, &send, p.at[1], p.at[1] + US, (struct tb_more){0});
    tb_event(p.tb[0], 1, &recv, begin, p.at[1] + 2 * US, (struct tb_more){0});
    p.at[1] += US;
    planted_meet(&p, 0x30, TB_WORLD, ALL);
    struct ana_job *job = planted_open(&p);
    struct ana_summary s = folder_summary(job);
    check_sum("listener", &s);
    const struct ana_segment_stat *late = planted_segment(&s, "0x20", "0x20"),
                                  *before = planted_segment(&s, "0x20", "0x40");
    CHECK(s.ranks[0].serves && !s.ranks[1].serves, "who serves");
    CHECK(cost(late, 1) >= TIMES * 19 * MS / 10, "%lld before the meetings", (long long)cost(late, 1));
    CHECK(cost(before, 1) < 2 * MS, "%lld before the message", (long long)cost(before, 1));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A thread that slept while another made more calls than are counted: no other's call is taken for its one before.
 * Polled receives are told from others. */
static void far_back(void)
{
    enum { LAST = ANA_STEP_BACK_MOST + 3 };
    struct ana_causes *causes = ana_causes_new(1, NULL);
    struct ana_run_fact fact = {.kind = ANA_RUN_STEP}, polled_for = {.kind = ANA_RUN_POLLS, .spins.begin_ns = 7};
    for (uint32_t i = 1; i <= LAST; i++) {
        fact.call.begin_ns = fact.call.end_ns = 100 * (int64_t)i;
        fact.call.back = i < LAST ? i - 1 : 1;
        fact.call.polled_ns = i == LAST ? 30 : 0;
        if (i == LAST - 1)
            *ana_causes_room(causes) = polled_for;
        *ana_causes_room(causes) = fact;
    }
    ana_queue_drain(&causes->queue);
    const struct ana_cause_step *last = ana_step_at(causes, 0, LAST), *spins = ana_step_at(causes, 0, LAST - 1);
    CHECK(last->back && !ana_step_at(causes, 0, ana_step_back(last, LAST)), "%u steps back", last->back);
    CHECK(ana_step_back(spins, LAST - 1) == LAST - 2, "step %u", ana_step_back(spins, LAST - 1));
    CHECK(!last->spins && ana_step_until(causes, last) == 100 * LAST - 30);
    CHECK(spins->spins && ana_step_until(causes, spins) == 7);
    CHECK(ana_step_until(causes, ana_step_at(causes, 0, LAST - 2)) == 100 * (LAST - 2));
    ana_causes_free(causes);
}

int main(void)
{
    one_late_segment();
    chain();
    one_hides_the_other();
    it_moves(2);
    it_moves(4);
    sender_late_by_a_collective();
    overlapped();
    polled();
    gave_up();
    listener();
    long_way(5, 0);
    long_way(40, 0);
    long_way(40, 1);
    far_back();
    return check_result();
}
