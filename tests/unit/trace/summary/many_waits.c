/* Waits of more pairs of ranks than have own sums: the times of waiters, of culprits, and of both are exact, as in a
 * part of the ranks; the number of rows is bounded. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/headline/headline.h"
#include "trace/summary/alike.h"
#include "trace/sums/tally.h"
#include <stdlib.h>
#include <string.h>

#define US 1000ll
#define MS 1000000ll

enum { RANKS = 320, ROUNDS = 2 * RANKS, LATEST = 300 };

/* Time by which the last rank of a round is late: rank LATEST by most. */
static int64_t late_ns(int rank)
{
    return rank == LATEST ? 20 * MS : MS + rank * US;
}

/* The last rank of a round: each one comes last twice. */
static int last_of(int round)
{
    return round * 7 % RANKS;
}

static struct ana_job *run(void)
{
    struct tb *tb[RANKS];
    int64_t at = US;
    struct trc_sig init = tb_sig(TB_INIT), sum = tb_sig(TB_ALLREDUCE);
    sum.flags = TRC_SIG_COLL;
    sum.comm = TB_WORLD;
    sum.sent = sum.received = 8;
    sum.site = 0x30;
    folder_make("many_waits");
    for (int r = 0; r < RANKS; r++) {
        tb[r] = tb_new(r, RANKS);
        tb_event(tb[r], 0, &init, 0, at, (struct tb_more){0});
    }
    for (int round = 0; round < ROUNDS; round++) {
        const int last = last_of(round);
        const int64_t begin = at + MS, came = begin + late_ns(last);
        for (int r = 0; r < RANKS; r++)
            tb_event(tb[r], 0, &sum, r == last ? came : begin, came + US,
                     (struct tb_more){.sequence = (uint64_t)round + 1});
        at = came + US;
    }
    for (int r = 0; r < RANKS; r++) {
        folder_write(tb[r], r);
        tb_free(tb[r]);
    }
    return folder_open();
}

/* Checks the times of the ranks, and that the rows add up to `waiting_ns`. */
static void check_times(const char *what, const struct ana_summary *s, int64_t of_all_ns, bool whole)
{
    int64_t rows_ns = 0, waiting_ns = 0;
    for (size_t i = 0; i < s->rank_count; i++) {
        const int rank = (int)s->ranks[i].index;
        CHECK(s->ranks[i].waiting_ns == of_all_ns - 2 * late_ns(rank), "%s: rank %d waits for %lld ns", what, rank,
              (long long)s->ranks[i].waiting_ns);
        CHECK(s->ranks[i].caused_ns == 2 * (RANKS - 1) * late_ns(rank), "%s: rank %d costs %lld ns", what, rank,
              (long long)s->ranks[i].caused_ns);
        waiting_ns += s->ranks[i].waiting_ns;
    }
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        CHECK(whole ? w->culprit != ANA_ANY_RANK : w->waiter != ANA_ANY_RANK, "%s: row %zu", what, i);
        if (whole || s->selection.ranks[w->waiter])
            rows_ns += w->lost_ns;
    }
    CHECK(rows_ns == waiting_ns, "%s: rows with %lld ns of %lld", what, (long long)rows_ns, (long long)waiting_ns);
}

static void check_whole(struct ana_job *job, int64_t of_all_ns)
{
    struct ana_summary s = folder_summary(job);
    size_t n, others = 0;
    char out[512];
    check_times("whole", &s, of_all_ns, true);
    for (size_t i = 0; i < s.wait_count; i++)
        others += s.waits[i].waiter == ANA_ANY_RANK;
    CHECK(s.wait_count <= ANA_TALLY_WAITS + RANKS && others > 0, "%zu rows, %zu of others", s.wait_count, others);
    struct ana_wait_group *group = ana_wait_groups(&s, &n);
    CHECK(n == RANKS && group[0].all.culprit == LATEST, "%zu groups", n);
    for (size_t i = 0; i < n; i++) {
        const int rank = (int)group[i].all.culprit;
        CHECK(group[i].all.count == 2 * (RANKS - 1) && group[i].all.lost_ns == 2 * (RANKS - 1) * late_ns(rank),
              "rank %d: %llu waits, %lld ns", rank, (unsigned long long)group[i].all.count,
              (long long)group[i].all.lost_ns);
        CHECK(group[i].waiters == RANKS - 1 || group[i].others, "rank %d: %zu waiters", rank, group[i].waiters);
    }
    ana_headline(job, &s, NULL, out, sizeof out);
    CHECK(strstr(out, "no single one to blame"), "%s", out);
    free(group);
    ana_summary_free(&s);
}

static void check_part(struct ana_job *job, int64_t of_all_ns)
{
    uint8_t ranks[RANKS] = {[3] = 1, [LATEST] = 1};
    struct ana_summary s;
    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX, .ranks = ranks}, &s) == TRC_OK);
    CHECK(s.rank_count == 2);
    check_times("part", &s, of_all_ns, false);
    ana_summary_free(&s);
}

int main(void)
{
    struct ana_job *job = run();
    int64_t of_all_ns = 0;
    for (int round = 0; round < ROUNDS; round++)
        of_all_ns += late_ns(last_of(round));
    check_whole(job, of_all_ns);
    check_part(job, of_all_ns);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
