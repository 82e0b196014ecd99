/* Parts of a job as they are typed and told, and the analysis of one time range alone. */
#include "tests/support/check.h"
#include "tests/support/summary_checks.h"
#include "tests/support/trace_folder.h"
#include "trace/job/analysis.h"
#include "trace/timeline/over_time.h"
#include "trace/summary/outlier.h"
#include "trace/job/window.h"
#include <string.h>

static void moments(void)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {
        {"0", 0}, {"3.25", 3250000000}, {"1:02:03.5", 3723500000000}, {"2:00", 120000000000}, {"90", 90000000000}};
    static const char *const bad[] = {
        "", "-1", "+1", "x", "3s", "1:", "1:60", "1.5:00", "1:2:3:4", "inf", "nan", "1e300"};
    int64_t ns;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(ana_moment_of_text(good[i].text, &ns) && ns == good[i].ns);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(!ana_moment_of_text(bad[i], &ns));
}

static bool ranks_are(const struct ana_job *job, const char *text, uint8_t first, uint8_t second)
{
    uint8_t ranks[2] = {0};
    char error[200] = "";
    return ana_ranks_of_text(job, text, ranks, error, sizeof error) && ranks[0] == first && ranks[1] == second;
}

static bool refused(const struct ana_job *job, const char *text, const char *why)
{
    uint8_t ranks[2] = {0};
    char error[200] = "";
    return !ana_ranks_of_text(job, text, ranks, error, sizeof error) && strstr(error, why);
}

static void lists_of_ranks(void)
{
    static const char *const bad[] = {"",   ",",   "0,", "a",   "0-",   "1-0",
                                      "-1", "0 1", "w0", "w0:", "0-1x", "99999999999999999999"};
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    CHECK(ranks_are(job, "0", 1, 0) && ranks_are(job, "1", 0, 1) && ranks_are(job, "0-1", 1, 1));
    CHECK(ranks_are(job, "1,0", 1, 1) && ranks_are(job, "w0:1", 0, 1) && ranks_are(job, "0,0", 1, 0));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(refused(job, bad[i], "no list of ranks"));
    CHECK(refused(job, "2", "no rank 2") && refused(job, "0-2000000000", "no rank 2") &&
          refused(job, "w1:0", "no rank w1:0"));
    uint8_t second[2] = {0, 1};
    char words[200];
    ana_selection_words(job, &(struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, words, sizeof words);
    CHECK(words[0] == 0);
    ana_selection_words(job, &(struct ana_selection){.begin_ns = 3000000000, .end_ns = 3500000000, .ranks = second},
                        words, sizeof words);
    CHECK(strcmp(words, "3 s to 3.5 s, rank 1") == 0);
    ana_selection_words(job, &(struct ana_selection){.begin_ns = 1, .end_ns = INT64_MAX}, words, sizeof words);
    CHECK(strcmp(words, "from 1e-09 s on") == 0);
    ana_job_close(job);
    folder_remove();
}

static struct ana_summary window(struct ana_job *job, int64_t begin_ns, int64_t end_ns)
{
    struct ana_summary s;
    struct ana_selection selection = {.begin_ns = begin_ns, .end_ns = end_ns};
    CHECK(ana_job_set_window(job, begin_ns, end_ns));
    ana_job_advance(job, 0);
    CHECK(ana_summarize(job, selection, &s) == TRC_OK);
    ana_summary_free(&s);
    ana_job_advance(job, 0);
    CHECK(ana_summarize(job, selection, &s) == TRC_OK && s.analysed == 1);
    return s;
}

/* Sum of all charges, in ns. */
static int64_t charged(const struct ana_summary *s)
{
    int64_t all = s->cost_inside_ns + s->cost_unknown_ns;
    for (size_t i = 0; i < s->segment_count; i++)
        all += s->segments[i].cost_ns;
    return all;
}

static int64_t waited(const struct ana_summary *s)
{
    int64_t all = 0;
    for (size_t i = 0; i < s->wait_count; i++)
        all += s->waits[i].lost_ns;
    return all;
}

/* The same job, analysed part by part: the charges are the waiting there, and the path is as long as the part. */
static void parts(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    struct ana_summary s = window(job, 0, 1500000);
    CHECK(waited(&s) == 900000 && charged(&s) == 900000 && s.path_ns == 1500000 && s.cut_calls == 0);
    CHECK(s.call_count == 2 && s.collective_count == 0);
    CHECK(s.outlier_count == 1 && s.outliers[0].is_message && s.outliers[0].index == 0 && s.outliers[0].times == 1);
    CHECK(s.outliers[0].late_ns == 900000 && s.outliers[0].lost_ns == 900000 && s.outliers[0].at_ns == 100000);
    CHECK(s.slow_count == 1 && s.slow[0].ns == 920000 && s.slow[0].late_ns == 900000 && s.slow[0].at_ns == 100000);
    CHECK(s.size_count == 1 && s.sizes[0].size_class == 13 && s.sizes[0].latency.count == 1 &&
          s.sizes[0].wait.count == 1 && s.sizes[0].wait.max_ns == 900000 && is(s.sizes[0].bandwidth, 4096 / 20e-6));
    char what[200], cost[200], words[200];
    ana_outlier_words(job, &s.outliers[0], what, sizeof what, cost, sizeof cost);
    CHECK(strcmp(what, "late sender 900 us, 4.10 kB to rank 1") == 0, "%s", what);
    CHECK(strncmp(cost, "waited 900 us x1", 16) == 0, "%s", cost);
    ana_slow_message_words(job, &s.slow[0], words, sizeof words);
    CHECK(strcmp(words, "0->1 4.10 kB 920 us") == 0, "%s", words);
    ana_summary_free(&s);

    s = window(job, 1500000, 3001000);
    CHECK(waited(&s) == 900000 && charged(&s) == 900000 && s.path_ns == 1501000);
    CHECK(s.outlier_count == 1 && !s.outliers[0].is_message && s.outliers[0].index == 1 && s.outliers[0].waiters == 1 &&
          s.outliers[0].lost_ns == 900000 && s.slow_count == 0 && s.size_count == 0);
    ana_summary_free(&s);

    s = window(job, 2500000, 2950000); /* both are cut */
    CHECK(waited(&s) == 400000 && charged(&s) == 400000 && s.cut_calls == 2);
    ana_summary_free(&s);

    s = window(job, 0, INT64_MAX); /* all of it, after parts */
    CHECK(waited(&s) == 1800000 && charged(&s) == 1800000 && s.path_ns == 3001000);
    ana_summary_free(&s);
    CHECK(ana_job_set_window(job, INT64_MIN, INT64_MAX));
    s = folder_summary(job);
    CHECK(s.exact && waited(&s) == 1800000 && s.path_ns == 3001000);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Calls after a part make no steps in it, but for the first one: not even requests of a call that is new there.  Nobody
 * receives one message of the part, so all events are read. */
static void after_a_part(void)
{
    folder_make("two");
    struct two two = {{tb_new(0, 2), tb_new(1, 2)}};
    tb_send(two.rank[0], 0, 600000, 610000, 1, 9, 8);
    for (int i = 0; i < 2; i++) {
        struct tb *tb = two.rank[i];
        struct trc_sig wait = tb_sig(TB_WAITALL);
        for (uint64_t k = 1; k <= 3; k++)
            tb_barrier(tb, 0, (int64_t)k * 700000, (int64_t)k * 700000 + 50000, TB_WORLD, k);
        uint64_t request = i ? tb_irecv(tb, 0, 3000100, 3000200, 0, 8, 8) : tb_isend(tb, 0, 3000100, 3000200, 1, 8, 8);
        tb_event(tb, 0, &wait, 3000300, 3000400, (struct tb_more){0});
        if (i)
            tb_completed_recv(tb, 0, request, 0, 8, 8);
        else
            tb_completed_send(tb, 0, request);
    }
    two_write(two);
    struct ana_job *job = folder_open();
    struct ana_summary s = window(job, 0, 1000000);
    const struct ana_why *why = &ana_job_analysis(job)->pass.why;
    CHECK(s.path_ns == 1000000 && s.unmatched_sends == 1);
    CHECK(why->rank[0].steps == 3 && why->rank[1].steps == 2, "%u, %u", why->rank[0].steps, why->rank[1].steps);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Waits in a part for a receive with a completion thousands of calls after it. */
static void completed_after_a_part(void)
{
    enum { CALLS = 6000 };
    folder_make("two");
    struct two two = {{tb_new(0, 2), tb_new(1, 2)}};
    tb_barrier(two.rank[0], 0, 100000, 200000, TB_WORLD, 0);
    tb_barrier(two.rank[1], 0, 100000, 200000, TB_WORLD, 0);
    tb_ssend(two.rank[0], 0, 600000, 1500000, 1, 9, 8);
    uint64_t request = tb_irecv(two.rank[1], 0, 1400000, 1410000, 0, 9, 8);
    int64_t at = 2000000;
    for (uint64_t k = 1; k < CALLS; k++, at += 1000)
        for (int i = 0; i < 2; i++)
            tb_barrier(two.rank[i], 0, at, at + 500, TB_WORLD, k);
    tb_wait_recv(two.rank[1], 0, at, at + 500, request, 0, 9, 8);
    two_write(two);
    struct ana_job *job = folder_open();
    struct ana_summary s = window(job, 0, 1000000);
    CHECK(waited(&s) == 400000, "the receive was not read: %lld", (long long)waited(&s));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static struct ana_summary filtered(struct ana_job *job, struct ana_selection filter)
{
    struct ana_summary s;
    filter.end_ns = INT64_MAX;
    CHECK(ana_summarize(job, filter, &s) == TRC_OK);
    ana_summary_free(&s);
    ana_job_advance(job, 0);
    CHECK(ana_summarize(job, filter, &s) == TRC_OK && s.analysed == 1 && !s.exact);
    return s;
}

/* One call alone: its waits, messages, segments and collectives, and no other. */
static void filters(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    CHECK(ana_comm_of_text(job, "ring") == 0 && ana_comm_of_text(job, "#7") == 0 &&
          ana_call_of_text(job, "MPI_Never") == 0);
    CHECK(ana_call_of_text(job, "send") && ana_call_of_text(job, "send") == ana_call_of_text(job, "MPI_Send"));
    uint64_t world = ana_comm_of_text(job, "world"), send = ana_call_of_text(job, "Send");
    CHECK(world && world == ana_comm_of_text(job, "MPI_COMM_WORLD"));

    struct ana_summary s = filtered(job, (struct ana_selection){.comm = world});
    CHECK(s.call_count == 3 && waited(&s) == 1800000 && s.message_latency.count == 1 && s.collective_count == 1);
    CHECK(isnan(s.efficiency.parallel) && s.path_ns == -1);
    ana_summary_free(&s);
    s = filtered(job, (struct ana_selection){.comm = world + 1});
    CHECK(s.call_count == 0 && waited(&s) == 0 && s.message_latency.count == 0 && s.collective_count == 0);
    CHECK(s.ranks[0].calls == 0 && s.ranks[0].mpi_ns == 0 && s.segment_count == 0 && s.site_count == 0);
    ana_summary_free(&s);
    s = filtered(job, (struct ana_selection){.call = ana_call_of_text(job, "MPI_Recv")});
    CHECK(s.call_count == 1 && waited(&s) == 900000 && s.message_latency.count == 1 && s.collective_count == 0);
    CHECK(s.ranks[1].mpi_ns == 920000 && s.ranks[0].mpi_ns == 0 && s.site_count == 1);
    struct ana_timeline_cell cell[2]; /* rank's own calls and waits alone, from events and from the pyramid */
    ana_timeline(job, 1, 700000, 1100000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_P2P] == 1 && cell[0].waiting == 1 && fabsf(cell[1].waiting - 0.5f) < 0.01f);
    ana_timeline(job, 1, 0, 4000000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_P2P] > 0.4 && cell[1].share[TRC_CAT_COLLECTIVE] == 0 && cell[1].waiting == 0);
    ana_timeline(job, 0, 0, 4000000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_P2P] == 0 && cell[0].waiting == 0);
    ana_summary_free(&s);
    s = filtered(job, (struct ana_selection){.call = send});
    CHECK(s.call_count == 1 && waited(&s) == 0 && s.message_latency.count == 1 && s.pair_count == 1);
    uint64_t site = s.site_count == 1 ? s.sites[0].identity : 0;
    ana_summary_free(&s);
    s = filtered(job, (struct ana_selection){.site = site});
    CHECK(site && s.call_count == 1 && s.site_count == 1 && s.sites[0].identity == site && s.calls[0].sent == 4096);
    char words[200];
    ana_selection_words(job, &(struct ana_selection){.end_ns = INT64_MAX, .comm = world, .call = send, .site = site},
                        words, sizeof words);
    CHECK(strcmp(words, "on WORLD, MPI_Send, from one place") == 0, "%s", words);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    moments();
    lists_of_ranks();
    parts();
    after_a_part();
    completed_after_a_part();
    filters();
    return check_result();
}
