/* Segments between calls: counts, times and the longest, exactly; polls and control rounds are no ends. */
#include "tests/support/planted.h"
#include "trace/session/session.h"
#include "trace/why/why.h"
#include <math.h>

static void event(struct tb *tb, uint32_t thread, uint64_t site, int64_t begin, int64_t end)
{
    struct trc_sig sig = tb_sig(TB_COMM_RANK);
    sig.site = site;
    tb_event(tb, thread, &sig, begin, end, (struct tb_more){0});
}

static struct ana_summary summary_of(struct ana_job *job, int64_t begin_ns, int64_t end_ns, const uint8_t *ranks)
{
    struct ana_summary s;
    do
        CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = begin_ns, .end_ns = end_ns, .ranks = ranks}, &s) ==
              TRC_OK);
    while (ana_job_advance(job, 0) < 1 && (ana_summary_free(&s), true));
    ana_summary_free(&s);
    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = begin_ns, .end_ns = end_ns, .ranks = ranks}, &s) ==
          TRC_OK);
    return s;
}

/* Two ranks and two threads; times in us:  rank 0: A 10-20, 100 B, A, 300 B, A;  thread 1 of it: C, 50 C. */
static struct ana_job *two_threads(void)
{
    struct tb *tb[2];
    folder_make("threads");
    for (int r = 0; r < 2; r++) {
        tb[r] = tb_new(r, 2);
        int64_t at = 10 * US;
        for (int i = 0; i < 9; i++) {
            event(tb[r], 0, 0xa0, at, at + 10 * US);
            at += 10 * US + (r ? 100 : i == 7 ? 900 : 300) * US;
            event(tb[r], 0, 0xb0, at, at + 5 * US);
            at += 5 * US + 20 * US;
        }
    }
    for (int i = 0; i < 3; i++)
        event(tb[0], 1, 0xc0, (15 + 50 * i) * US, (16 + 50 * i) * US);
    for (int r = 0; r < 2; r++) {
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
    return folder_open();
}

static void counted(void)
{
    struct ana_job *job = two_threads();
    struct ana_summary s = folder_summary(job);
    CHECK(s.segment_count == 3, "%zu segments", s.segment_count);
    const struct ana_segment_stat *ab = planted_segment(&s, "0xa0", "0xb0");
    CHECK(ab->times == 18 && ab->ranks == 2 && ab->total_ns == (8 * 300 + 900 + 9 * 100) * US);
    CHECK(ab->by_rank_ns[0] >= 282 * US && ab->by_rank_ns[0] <= 319 * US && ab->by_rank_ns[1] == 100 * US);
    CHECK(ab->median_ns == 100 * US && ab->worst_index == 0 && ab->worst_ns == ab->by_rank_ns[0]);
    CHECK(ab->longest_ns == 900 * US && ab->longest_index == 0 && ab->longest_at_ns == (10 + 7 * 335 + 10) * US, "%lld",
          (long long)ab->longest_at_ns);
    CHECK(ab->from.call && strcmp(ab->from.call, "MPI_Comm_rank") == 0 && ab->cost_ns == 0);
    const struct ana_segment_stat *ba = planted_segment(&s, "0xb0", "0xa0");
    CHECK(ba->times == 16 && ba->total_ns == 16 * 20 * US && ba->median_ns == 20 * US && ba->p99_ns == 20 * US);
    const struct ana_segment_stat *cc = planted_segment(&s, "0xc0", "0xc0"); /* calls of a thread of its own */
    CHECK(cc->times == 2 && cc->ranks == 1 && cc->total_ns == 2 * 49 * US && isnan(cc->by_rank_ns[1]));
    ana_summary_free(&s);

    static const uint8_t second[] = {0, 1};
    s = summary_of(job, 0, INT64_MAX, second);
    ab = planted_segment(&s, "0xa0", "0xb0");
    CHECK(s.segment_count == 2 && ab->times == 9 && ab->worst_index == 1 && ab->worst_ns == 100 * US);
    ana_summary_free(&s);
    s = summary_of(job, 300 * US, 800 * US, NULL); /* costs of a part of the time are not known */
    ab = planted_segment(&s, "0xa0", "0xb0");
    /* Segments that begin in it, and end there: rank 0 once, rank 1 three times. */
    CHECK(ab->times == 4 && ab->cost_ns == -1, "%llu", (unsigned long long)ab->times);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Polls between two calls do not end the segment, and their time is not in it; where only polls are made, it waits. */
static void polls(void)
{
    struct trc_sig poll = tb_sig(TB_TEST), round = tb_sig(TB_ALLREDUCE);
    poll.flags = TRC_SIG_POLL;
    poll.site = 0xd0;
    round.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
    round.comm = TB_WORLD;
    round.site = 0xe0;
    folder_make("polls");
    struct tb *tb = tb_new(0, 1);
    event(tb, 0, 0xa0, 0, 1 * MS);
    tb_fold(tb, 0, &poll, 11 * MS, 91 * MS, 5, 2 * MS);         /* five in 80 ms: it computes */
    event(tb, 0, 0xb0, 101 * MS, 102 * MS);                     /* 100 ms later, 98 outside */
    tb_fold(tb, 0, &poll, 103 * MS, 203 * MS, 100000, 80 * MS); /* it spins */
    event(tb, 0, 0xa0, 204 * MS, 205 * MS);                     /* 1 ms before and 1 ms after */
    tb_event(tb, 0, &poll, 206 * MS, 207 * MS, (struct tb_more){0});
    event(tb, 0, 0xc0, 208 * MS, 209 * MS); /* 3 ms less one poll of 1 ms */
    tb_fold(tb, 0, &round, 300 * MS, 400 * MS, 100, 10 * MS);
    event(tb, 0, 0xa0, 500 * MS, 501 * MS); /* a background loop: nothing is known between its rounds */
    event(tb, 0, 0xc0, 502 * MS, 503 * MS);
    tb_lost(tb, 0, 7);
    event(tb, 0, 0xb0, 600 * MS, 601 * MS);
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(s.segment_count == 3, "%zu segments", s.segment_count);
    CHECK(planted_segment(&s, "0xa0", "0xb0")->total_ns == 98 * MS);
    CHECK(planted_segment(&s, "0xb0", "0xa0")->total_ns == 2 * MS);
    CHECK(planted_segment(&s, "0xa0", "0xc0")->total_ns == 3 * MS && planted_segment(&s, "0xa0", "0xc0")->times == 2);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A program with more segments than have room: none is lost, those without room are one. */
static void many(void)
{
    enum { PLACES = 3000 };
    folder_make("many");
    struct tb *tb = tb_new(0, 1);
    for (int64_t i = 0; i < PLACES; i++)
        event(tb, 0, 0x1000 + (uint64_t)i * 16, i * 10 * US, i * 10 * US + 3 * US);
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    uint64_t times = 0;
    size_t others = 0;
    for (size_t i = 0; i < s.segment_count; i++) {
        times += s.segments[i].times;
        others += !s.segments[i].from.call;
    }
    CHECK(s.segment_count == ANA_SEGMENT_ROWS && times == PLACES - 1 && others == 1, "%zu rows, %llu times, %zu others",
          s.segment_count, (unsigned long long)times, others);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    counted();
    polls();
    many();
    return check_result();
}
