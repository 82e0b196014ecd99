/* Summaries of small jobs whose every number is known. */
#include "tests/support/check.h"
#include "tests/support/summary_checks.h"
#include "tests/support/trace_folder.h"
#include "trace/timeline/over_time.h"
#include "trace/job/analysis.h"
#include "trace/timeline/state_at.h"
#include "trace/session/session.h"
#include <errno.h>
#include <math.h>
#include <string.h>

static void check_sites(const struct ana_summary *s)
{
    CHECK(s->site_count == 3 && s->sites[0].ranks == 2 && s->sites[0].times.count == 2);
    size_t send = 0;
    while (send < s->site_count && strcmp(s->sites[send].call, "MPI_Send") != 0)
        send++;
    CHECK(send < s->site_count && s->sites[send].function && strcmp(s->sites[send].function, "deliver+0x10") == 0 &&
          s->sites[send].index == 0 && s->sites[send].times.count == 1 && s->sites[send].sent == 4096 &&
          s->sites[send].times.total_ns == 10000);
}

static void the_whole_run(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    struct ana_job_info info = ana_job_info(job);
    CHECK(strcmp(info.name, "two") == 0 && info.state == ANA_FINISHED && info.ranks == 2 && info.world_size == 2);
    CHECK(info.hosts == 1 && strcmp(info.host[0], "host0") == 0 && strcmp(info.mpi, "Test MPI 1.0") == 0);
    CHECK(info.elapsed_ns == 3001000 && info.lost_records == 0 && info.quiet_ns == -1);
    CHECK(info.start_realtime_ns == 1700000000000000000);
    CHECK(ana_job_warning(job, 0) == NULL);

    CHECK(s.exact && s.analysed == 1 && s.begin_ns == 0 && s.end_ns == 3001000);
    CHECK(s.rank_count == 2 && s.call_count == 3 && s.cell_count == 3);
    const struct ana_call_stat *c = call_named(&s, "MPI_Allreduce");
    CHECK(c->times.count == 2 && c->times.total_ns == 1100000 && c->sent == 16 && c->received == 16);
    CHECK(c->times.min_ns == 100000 && c->times.max_ns == 1000000 && c->size_class == -1);
    CHECK(c->waiting_ns == 900000 && c->last_index == 1 && c->last_share == 1);
    CHECK(c == &s.calls[0]);
    c = call_named(&s, "MPI_Recv");
    CHECK(c->times.count == 1 && c->times.p50_ns == 920000 && c->sent == 0 && c->received == 4096);
    CHECK(c->waiting_ns == 900000 && c->last_index == SIZE_MAX);
    c = call_named(&s, "MPI_Send");
    CHECK(c->times.total_ns == 10000 && c->sent == 4096 && c->received == 0 && c->waiting_ns == 0);
    CHECK(s.cells[2].size_class == 13 && strcmp(s.cells[2].name, "MPI_Send") == 0);

    const struct ana_rank_stat *r = s.ranks;
    CHECK(r[0].calls == 2 && r[0].sent == 4104 && r[0].received == 8 && r[0].sent_messages == 1);
    CHECK(r[0].wall_ns == 3001000 && r[0].mpi_ns == 1010000 && r[0].mpi_sum_ns == 1010000);
    CHECK(r[0].category_ns[TRC_CAT_P2P] == 10000 && r[0].category_ns[TRC_CAT_COLLECTIVE] == 1000000);
    CHECK(r[0].category_ns[TRC_CAT_COMPUTE] == 1991000);
    CHECK(r[0].waiting_ns == 900000 && r[0].caused_ns == 900000 && r[0].collectives == 1 && r[0].came_last == 0);
    CHECK(r[1].mpi_ns == 1020000 && r[1].received_messages == 1 && r[1].came_last == 1);
    CHECK(is(s.efficiency.load_balance, 1986000.0 / 1991000) && is(s.efficiency.communication, 1991000.0 / 3001000));
    CHECK(is(s.efficiency.parallel, s.efficiency.load_balance * s.efficiency.communication));

    CHECK(s.pair_count == 1 && s.pairs[0].source == 0 && s.pairs[0].destination == 1 && s.pairs[0].messages == 1);
    CHECK(s.pairs[0].bytes == 4096 && s.pairs[0].latency_min_ns == 20000 && s.pairs[0].latency_p50_ns == 20000);
    CHECK(s.pair_overflow == 0 && s.message_latency.count == 1 && s.message_latency.max_ns == 20000);
    CHECK(s.unmatched_sends == 0 && s.unmatched_receives == 0 && s.clock_violations == 0);

    CHECK(s.collective_count == 1 && s.collectives[0].instances == 1 && s.collectives[0].incomplete == 0);
    CHECK(strcmp(s.collectives[0].comm_name, "WORLD") == 0 && s.collectives[0].skew_max_ns == 900000);
    CHECK(s.collectives[0].lost_ns == 900000 && s.collectives[0].last_index == 1 && s.collectives[0].last_share == 1);
    CHECK(s.wait_count == 2);
    for (size_t i = 0; i < s.wait_count; i++) {
        const struct ana_wait *w = &s.waits[i];
        CHECK(w->count == 1 && w->lost_ns == 900000);
        CHECK(w->kind == ANA_LATE_SENDER ? w->waiter == 1 && w->culprit == 0
                                         : w->kind == ANA_LATE_IN_COLLECTIVE && w->waiter == 0 && w->culprit == 1);
    }
    CHECK(s.waits[0].kind != s.waits[1].kind);
    check_sites(&s);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static struct ana_summary window(struct ana_job *job, int64_t begin, int64_t end, const uint8_t *ranks)
{
    struct ana_summary s;
    struct ana_selection selection = {.begin_ns = begin, .end_ns = end, .ranks = ranks};
    CHECK(ana_summarize(job, selection, &s) == TRC_OK);
    ana_summary_free(&s);
    while (ana_job_advance(job, 1000000) < 1)
        ;
    CHECK(ana_summarize(job, selection, &s) == TRC_OK);
    CHECK(s.analysed == 1);
    return s;
}

static void windows_and_ranks(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    struct ana_summary s = window(job, 0, 1500000, NULL);
    CHECK(!s.exact && s.call_count == 2 && s.rank_count == 2);
    CHECK(call_named(&s, "MPI_Send")->times.count == 1 && call_named(&s, "MPI_Send")->sent == 4096);
    CHECK(call_named(&s, "MPI_Recv")->times.p50_ns == 920000 && call_named(&s, "MPI_Recv")->waiting_ns == 900000);
    CHECK(s.ranks[0].calls == 1 && s.ranks[0].sent == 4096 && s.ranks[0].wall_ns == 1500000);
    CHECK(s.ranks[0].mpi_ns == 10000 && s.ranks[1].mpi_ns == 920000 && s.ranks[1].waiting_ns == 900000);
    CHECK(s.ranks[0].caused_ns == 900000 && s.ranks[0].waiting_ns == 0 && s.ranks[0].collectives == 0);
    CHECK(s.pair_count == 1 && s.pairs[0].bytes == 4096 && s.pairs[0].latency_min_ns == 20000);
    CHECK(s.collective_count == 0 && s.wait_count == 1);
    ana_summary_free(&s);

    /* Inside of the Allreduce: nothing ends here, but time passes (more of it: window.c). */
    s = window(job, 2500000, 2950000, NULL);
    CHECK(s.call_count == 1 && s.calls[0].ended == 0 && s.pair_count == 0 && s.ranks[0].calls == 0);
    CHECK(s.ranks[0].wall_ns == 450000 && s.ranks[0].mpi_ns == 450000 && s.ranks[1].mpi_ns == 50000);
    CHECK(s.ranks[0].category_ns[TRC_CAT_COLLECTIVE] == 450000 && s.ranks[0].waiting_ns == 400000);
    CHECK(s.ranks[1].category_ns[TRC_CAT_COMPUTE] == 400000);
    ana_summary_free(&s);

    const uint8_t second[] = {0, 1};
    s = window(job, 1500000, 3001000, second);
    CHECK(s.rank_count == 1 && s.ranks[0].index == 1 && s.ranks[0].calls == 1 && s.ranks[0].collectives == 1);
    CHECK(s.call_count == 1 && s.calls[0].times.count == 1 && s.calls[0].times.total_ns == 100000);
    ana_summary_free(&s);

    CHECK(ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX, .ranks = second}, &s) ==
          TRC_OK);
    CHECK(s.exact && s.rank_count == 1 && s.call_count == 2 && s.calls[0].times.total_ns == 920000);
    CHECK(s.pair_count == 1 && s.site_count == 2 && s.calls[0].waiting_ns == 900000 && s.calls[1].waiting_ns == 0);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A call may hand over more bytes than 32 bits hold. */
static void many_bytes(void)
{
    const uint64_t bytes = UINT64_C(5) << 30;
    folder_make("many-bytes");
    struct tb *tb = tb_new(0, 1);
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.flags = TRC_SIG_COLL;
    sig.comm = TB_WORLD;
    sig.sent = bytes;
    sig.received = 2 * bytes;
    sig.site = 0x30;
    for (int i = 0; i < 3; i++)
        tb_event(tb, 0, &sig, 1000 * i, 1000 * i + 500, (struct tb_more){.sequence = (uint64_t)i + 1});
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(s.site_count == 1 && s.sites[0].times.count == 3);
    CHECK(s.sites[0].sent == 3 * bytes && s.sites[0].received == 6 * bytes);
    struct ana_lane_sum sum = {0};
    ana_lane_add(&ana_job_analysis(job)->lane[0], (int64_t[]){0, 1000000000}, 1, INT64_MAX, false, &sum);
    CHECK(sum.calls == 3 && is(sum.sent, 3.0 * (double)bytes) && is(sum.received, 6.0 * (double)bytes));
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void over_time(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    struct ana_timeline_cell cell[4];
    ana_timeline(job, 0, 990000, 1030000, 4, cell); /* decoded: exact */
    CHECK(cell[0].share[TRC_CAT_COMPUTE] == 1 && cell[1].share[TRC_CAT_P2P] == 1);
    CHECK(cell[2].share[TRC_CAT_COMPUTE] == 1 && cell[2].share[TRC_CAT_P2P] == 0 && cell[1].waiting == 0);
    ana_timeline(job, 0, 2850000, 2950000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_COLLECTIVE] == 1 && cell[0].waiting == 1 && cell[1].waiting == 0);
    ana_timeline(job, 1, -1000, 1000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_COMPUTE] == 0 && cell[1].share[TRC_CAT_COMPUTE] == 1);
    ana_timeline(job, 1, 0, 4000000, 2, cell); /* from buckets: near */
    CHECK(fabs(cell[0].share[TRC_CAT_P2P] - 0.46) < 0.04 && fabs(cell[0].waiting - 0.45) < 0.04);
    CHECK(fabs(cell[1].share[TRC_CAT_COLLECTIVE] - 100.0 / 1001) < 0.04);
    ana_timeline(job, 7, 0, 1000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_COMPUTE] == 0);

    double v[3];
    struct ana_selection all = {.begin_ns = 0, .end_ns = INT64_MAX};
    ana_series(job, all, 1, (double *[ANA_SERIES_KINDS]){[ANA_SERIES_SENT] = v});
    CHECK(is(v[0], (4096 + 16) / 3001e-6));
    ana_series(job, all, 1, (double *[ANA_SERIES_KINDS]){[ANA_SERIES_RECEIVED] = v});
    CHECK(is(v[0], (4096 + 16) / 3001e-6));
    ana_series(job, all, 1, (double *[ANA_SERIES_KINDS]){[ANA_SERIES_CALLS] = v});
    CHECK(is(v[0], 4 / 3001e-6));
    ana_series(job, all, 1, (double *[ANA_SERIES_KINDS]){[ANA_SERIES_MPI_SHARE] = v});
    CHECK(is(v[0], 2030.0 / 6002));
    const uint8_t second[] = {0, 1};
    ana_series(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX, .ranks = second}, 1,
               (double *[ANA_SERIES_KINDS]){[ANA_SERIES_SENT] = v});
    CHECK(is(v[0], 8 / 3001e-6));
    ana_series(job, (struct ana_selection){.begin_ns = 5000000, .end_ns = 6000000}, 2,
               (double *[ANA_SERIES_KINDS]){[ANA_SERIES_SENT] = v});
    CHECK(isnan(v[0]) && isnan(v[1]));
    ana_job_close(job);
    folder_remove();
}

static void moments(void)
{
    folder_make("two");
    two_write(two_ranks());
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    struct ana_state_at m;
    CHECK(ana_state_at(job, 1, 500000, &m) && strcmp(m.call, "MPI_Recv") == 0 && m.covers);
    CHECK(m.begin_ns == 100000 && m.end_ns == 1020000 && m.sig.received == 4096);
    CHECK(m.has_other_end && m.other_index == 0 && m.other_begin_ns == 1000000 && m.from == 0 && m.to == SIZE_MAX);
    CHECK(m.waited_ns == 900000 && m.wait.kind == ANA_LATE_SENDER && m.wait.culprit == 0 && m.wait.end_ns == 1000000);
    CHECK(ana_state_at(job, 0, 1500000, &m) && strcmp(m.call, "MPI_Send") == 0 && !m.covers && m.has_other_end);
    CHECK(m.other_index == 1 && m.other_begin_ns == 100000);
    CHECK(ana_state_at(job, 0, 2500000, &m) && m.sequence == 1 && m.last_index == 1 && m.late_ns == 900000);
    CHECK(strcmp(m.comm_name, "WORLD") == 0 && m.covers);
    CHECK(m.waited_ns == 900000 && m.wait.kind == ANA_LATE_IN_COLLECTIVE && m.wait.culprit == 1);
    CHECK(ana_state_at(job, 1, 2950000, &m) && m.waited_ns == 0);
    CHECK(ana_state_at(job, 0, 999999, &m) && m.call == NULL && m.end_ns == 0 && m.until_ns == 1000000);
    CHECK(!ana_state_at(job, 0, -1, &m) && strstr(m.unknown, "begins"));
    CHECK(!ana_state_at(job, 0, 1ll << 60, &m) && strstr(m.unknown, "ends"));
    CHECK(!ana_state_at(job, 9, 0, &m) && m.unknown);
    CHECK(ana_step(job, 0, 0, 1) == 1000000 && ana_step(job, 0, 1000000, 1) == 2000000);
    CHECK(ana_step(job, 0, 2000000, 1) == 2000000 && ana_step(job, 0, 2000000, -1) == 1000000);
    CHECK(ana_step(job, 0, 1000000, -1) == 1000000 && ana_step(job, 1, 2950000, -1) == 2900000);
    ana_job_close(job);
    folder_remove();
}

/* A time after the last record of a rank that runs. */
static void moment_to_come(void)
{
    folder_make("two");
    struct two two = two_ranks();
    tb_running(two.rank[0], 3000000);
    folder_this_process(two.rank[0]);
    two_write(two);
    struct ana_job *job = folder_open();
    ana_job_advance(job, 0);
    struct ana_state_at m;
    CHECK(!ana_state_at(job, 0, 1ll << 60, &m) && strstr(m.unknown, "yet"), "%s", m.unknown);
    ana_job_close(job);
    folder_remove();
}

/* A TSC of three ticks a ns on one rank, nonblocking calls, several threads, polls, a communicator of its own. */
static void other_kinds_of_calls(void)
{
    folder_make("kinds");
    struct tb *a = tb_new(0, 2), *b = tb_new(1, 2);
    tb_clock(b, 1000000000u, 1700000000000000000u, 3);
    const int32_t members[] = {1, 0};
    tb_comm(a, 5, 0x77, 1, members, 2);
    tb_comm(b, 6, 0x77, 0, members, 2);
    uint64_t r = tb_irecv(a, 0, 1000, 1100, 1, 3, 100);
    tb_wait_recv(a, 0, 2000, 52000, r, 1, 3, 64); /* 64 of the 100 bytes come */
    uint64_t s = tb_isend(b, 0, 40000, 40500, 0, 3, 64);
    tb_wait_send(b, 0, 41000, 41200, s);
    struct trc_sig poll = tb_sig(TB_IPROBE);
    poll.flags = TRC_SIG_POLL;
    poll.comm = TB_WORLD;
    tb_fold(b, 1, &poll, 10000, 30000, 1000, 5000);
    tb_collective(a, 0, TB_BARRIER, 60000, 90000, 5, 1, TRC_PEER_NONE, 0, 0);
    tb_collective(b, 0, TB_BARRIER, 85000, 90000, 6, 1, TRC_PEER_NONE, 0, 0);
    folder_write(a, 0);
    folder_write(b, 1);
    struct ana_job *job = folder_open();
    struct ana_summary s1 = folder_summary(job);
    const struct ana_call_stat *c = call_named(&s1, "MPI_Irecv");
    CHECK(c->times.count == 1 && c->received == 64 && c->sent == 0 && c->waiting_ns == -1);
    c = call_named(&s1, "MPI_Wait");
    CHECK(c->times.count == 2 && c->times.total_ns == 50200 && c->waiting_ns == 38000 && c->received == 0);
    CHECK(is(c->times.min_ns, 200) && c->times.max_ns == 50000);
    c = call_named(&s1, "MPI_Iprobe");
    CHECK(c->times.count == 1000 && c->times.total_ns == 5000);
    CHECK(s1.collective_count == 1 && strcmp(s1.collectives[0].comm_name, "#1 of size 2") == 0);
    CHECK(s1.collectives[0].lost_ns == 25000 && s1.collectives[0].last_index == 1);
    CHECK(s1.ranks[1].mpi_ns == 500 + 200 + 5000 && s1.ranks[1].mpi_sum_ns == 500 + 200 + 5000 + 5000);
    CHECK(s1.ranks[0].received == 64 && s1.ranks[0].received_messages == 1);
    struct ana_summary w = window(job, 1, 55000, NULL);
    CHECK(call_named(&w, "MPI_Irecv")->received == 64 && call_named(&w, "MPI_Irecv")->times.count == 1);
    CHECK(call_named(&w, "MPI_Iprobe")->times.count == 1000 && w.ranks[1].calls == s1.ranks[1].calls - 1);
    CHECK(w.ranks[0].received == 64 && w.ranks[0].received_messages == 1 && w.ranks[0].waiting_ns == 38000);
    ana_summary_free(&w);
    ana_summary_free(&s1);
    tb_free(a);
    tb_free(b);
    ana_job_close(job);
    folder_remove();
}

/* Rank 0 has no file, so rank 2 is the second of the job: the last one is told by place, not by rank. */
static void last_of_those_with_files(void)
{
    folder_make("last");
    for (int32_t r = 1; r <= 2; r++) {
        struct tb *tb = tb_new(r, 3);
        tb_comm(tb, 3, 0x77, r - 1, (const int32_t[]){1, 2}, 2);
        tb_allreduce(tb, 0, r * 100000, 300000, 3, 1, 8);
        folder_write(tb, r);
        tb_free(tb);
    }
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    const struct ana_call_stat *c = call_named(&s, "MPI_Allreduce");
    CHECK(c->last_index == 1 && ana_job_rank(job, c->last_index)->rank == 2 && c->last_share == 1);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* A rank that was killed in a call, right behind its last sign of life, has a place for that call. */
static void open_at_the_end(void)
{
    folder_make("end");
    struct tb *tb = tb_new(0, 1);
    struct trc_sig sig = tb_sig(TB_BARRIER);
    sig.site = 0x4000;
    tb_allreduce(tb, 0, 1000, 2000, 3, 1, 8);
    tb_running(tb, 2500);
    tb_inside(tb, 0, &sig, 3000, 1);
    folder_write(tb, 0);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    size_t found = 0;
    for (size_t i = 0; i < s.site_count; i++)
        found += strcmp(s.sites[i].call, "MPI_Barrier") == 0 && s.sites[i].times.count == 0;
    CHECK(found == 1, "%zu of %zu places", found, s.site_count);
    ana_summary_free(&s);
    tb_free(tb);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    open_at_the_end();
    last_of_those_with_files();
    the_whole_run();
    windows_and_ranks();
    many_bytes();
    over_time();
    moments();
    moment_to_come();
    other_kinds_of_calls();
    return check_result();
}
