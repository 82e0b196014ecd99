/* Summaries of jobs whose files grow, lack something, or cannot be read. */
#include "tests/support/check.h"
#include "tests/support/summary_checks.h"
#include "tests/support/trace_folder.h"
#include "trace/timeline/over_time.h"
#include "trace/members/bundle.h"
#include "trace/session/session.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_job_that_grows(void)
{
    folder_make("live");
    struct two two = two_ranks();
    for (int i = 0; i < 2; i++) {
        folder_this_process(two.rank[i]);
        tb_running(two.rank[i], 3500000);
    }
    folder_write(two.rank[0], 0);
    struct ana_job *job = folder_open();
    CHECK(ana_job_info(job).ranks == 1 && ana_job_info(job).world_size == 2 && ana_job_warning(job, 0));
    unsigned generation = ana_job_info(job).generation;
    folder_write(two.rank[1], 1);
    CHECK(ana_job_refresh(job));
    CHECK(ana_job_info(job).ranks == 2 && ana_job_info(job).generation != generation && !ana_job_warning(job, 0));
    CHECK(ana_job_rank(job, 0)->state == ANA_RANK_RUN && ana_job_rank(job, 1)->rank == 1);
    struct ana_summary s = folder_summary(job);
    CHECK(s.call_count == 3 && s.collective_count == 1 && s.collectives[0].lost_ns == 900000);
    ana_summary_free(&s);

    tb_allreduce(two.rank[0], 0, 4000000, 4100000, TB_WORLD, 2, 8);
    tb_allreduce(two.rank[1], 0, 4050000, 4100000, TB_WORLD, 2, 8);
    struct trc_sig inside = tb_sig(TB_RECV);
    tb_inside(two.rank[1], 0, &inside, 4200000, 0);
    for (int i = 0; i < 2; i++) {
        tb_running(two.rank[i], i ? 5000000 : 4500000);
        folder_write(two.rank[i], i);
    }
    CHECK(ana_job_refresh(job));
    s = folder_summary(job);
    CHECK(s.collectives[0].instances == 2 && s.collectives[0].lost_ns == 950000 && s.ranks[0].calls == 3);
    CHECK(ana_job_rank(job, 1)->state == ANA_RANK_IN_MPI && strcmp(ana_job_rank(job, 1)->inside, "MPI_Recv") == 0);
    CHECK(ana_job_rank(job, 1)->inside_ns >= 800000);
    CHECK(ana_job_info(job).quiet_ns >= 0);
    /* After the earliest heartbeat only calls that have not ended are known. */
    struct ana_timeline_cell cell[2];
    ana_timeline(job, 0, 4300000, 4700000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_COMPUTE] == 1 && cell[1].share[TRC_CAT_COMPUTE] == 0);
    ana_timeline(job, 1, 4300000, 4700000, 2, cell);
    CHECK(cell[0].share[TRC_CAT_P2P] == 1 && cell[1].share[TRC_CAT_P2P] == 1);
    double v[2];
    ana_series(job, (struct ana_selection){.begin_ns = 4300000, .end_ns = 4700000}, 2,
               (double *[ANA_SERIES_KINDS]){[ANA_SERIES_MPI_SHARE] = v});
    CHECK(is(v[0], 0.5) && isnan(v[1]));
    ana_summary_free(&s);

    for (int i = 0; i < 2; i++) {
        tb_head(two.rank[i])->state = TRC_STATE_FINALIZED;
        tb_head(two.rank[i])->end_ticks = tb_ticks(two.rank[i], 6000000);
        folder_write(two.rank[i], i);
        tb_free(two.rank[i]);
    }
    CHECK(ana_job_refresh(job));
    CHECK(ana_job_info(job).state == ANA_FINISHED && ana_job_info(job).elapsed_ns == 6000000);
    CHECK(ana_job_rank(job, 0)->state == ANA_RANK_DONE);
    ana_job_close(job);
    folder_remove();
}

/* Two hosts whose clocks are 5 s apart, and realtime 3 ms: messages both ways bring them together. */
static void two_hosts(void)
{
    folder_make("hosts");
    struct tb *a = tb_new(0, 2), *b = tb_new(1, 2);
    tb_clock(b, 6000000000u, 1700000000003000000u, 1);
    strcpy(tb_head(b)->host, "host1");
    strcpy(tb_head(b)->boot_id, "11111111-0000-0000-0000-000000000000");
    for (int i = 0; i < 50; i++) {
        int64_t t = 1000000 + i * 100000;
        tb_send(a, 0, t, t + 1000, 1, 0, 8);
        tb_recv(b, 0, t - 10000, t + 2000, 0, 0, 8);
        tb_send(b, 0, t + 5000, t + 6000, 0, 0, 8);
        tb_recv(a, 0, t + 1500, t + 7000, 1, 0, 8);
    }
    folder_write(a, 0);
    folder_write(b, 1);
    tb_free(a);
    tb_free(b);
    struct ana_job *job = folder_open();
    CHECK(ana_job_info(job).hosts == 2 && strcmp(ana_job_info(job).host[1], "host1") == 0);
    CHECK(ana_job_info(job).clock_error_s > 1e-3); /* before the events are seen */
    struct ana_summary s = folder_summary(job);
    CHECK(ana_job_info(job).clock_error_s < 5e-6);
    struct ana_job_clock clock = ana_job_clock(job, 1);
    CHECK(ana_job_clocks(job) == 2 && clock.fitted && clock.ranks == 1 && strcmp(clock.host, "host1") == 0);
    CHECK(fabs(clock.offset_s - 5) <= clock.error_s && fabs(clock.realtime_s - 0.003) <= clock.error_s);
    CHECK(clock.error_s > 0 && clock.error_s < 5e-6);
    clock = ana_job_clock(job, 0);
    CHECK(clock.offset_s == 0 && clock.realtime_s == 0 && clock.error_s == 0);
    CHECK(s.clock_violations == 0 && s.message_latency.count == 100 && s.unmatched_receives == 0);
    CHECK(s.pairs[0].latency_min_ns > 0 && s.pairs[0].latency_min_ns < 5000 && s.pair_count == 2);
    CHECK(ana_job_rank(job, 1)->begin_ns > -5000 && ana_job_rank(job, 1)->begin_ns < 5000);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* The limit was reached: old events are gone, the counters are not. */
static void recycled_events(void)
{
    folder_make("limit");
    struct tb *tb = tb_new_small(0, 1, TRC_CHUNK_MOST * TRC_BLOCK, 4);
    enum { N = 200000 };
    for (int i = 0; i < N; i++) {
        struct trc_sig rank = tb_sig(TB_COMM_RANK);
        rank.site = 0x10;
        tb_event(tb, 0, &rank, i * 1000, i * 1000 + 500, (struct tb_more){0});
    }
    folder_write(tb, 0);
    CHECK(tb_head(tb)->recycled_chunks > 0);
    uint64_t recycled = tb_head(tb)->recycled_records;
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(recycled > 0 && ana_job_info(job).recycled_records == recycled);
    CHECK(s.exact && s.ranks[0].calls == N && s.calls[0].times.count == N && s.calls[0].times.total_ns == N * 500ll);
    CHECK(s.sites[0].times.count == N - recycled);
    struct ana_timeline_cell cell[10];
    ana_timeline(job, 0, 0, N * 1000ll, 10, cell);
    CHECK(cell[0].share[TRC_CAT_COMPUTE] == 0 && cell[0].share[TRC_CAT_MANAGE] == 0); /* not known */
    CHECK(fabs(cell[9].share[TRC_CAT_MANAGE] - 0.5) < 0.01);
    double v[10];
    ana_series(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, 10,
               (double *[ANA_SERIES_KINDS]){[ANA_SERIES_CALLS] = v});
    CHECK(isnan(v[0]) && fabs(v[9] - 1e6) < 2e4);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

/* Killed while it polled: the polls at the very end of the file count too. */
static void killed_while_polling(void)
{
    folder_make("killed");
    struct tb *tb = tb_new(0, 1);
    struct trc_sig poll = tb_sig(TB_IPROBE);
    poll.flags = TRC_SIG_POLL;
    tb_fold(tb, 0, &poll, 1000000, 3000000, 100, 1000000);
    tb_running(tb, 4000000);
    folder_write(tb, 0);
    tb_free(tb);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(ana_job_rank(job, 0)->state == ANA_RANK_DEAD && ana_job_info(job).state == ANA_ABORTED);
    CHECK(s.site_count == 1 && s.sites[0].times.count == 100 && s.calls[0].times.count == 100);
    struct ana_timeline_cell cell[4];
    ana_timeline(job, 0, 0, 4000000, 4, cell);
    CHECK(fabs(cell[1].share[TRC_CAT_P2P] - 0.5) < 0.05 && cell[3].share[TRC_CAT_COMPUTE] > 0.95);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

static void files_that_cannot_be_read(void)
{
    const char *folder = folder_make("bad");
    struct ana_job *job = NULL;
    char error[512] = "", path[600];
    CHECK(ana_job_open(&folder, 1, &job, error, sizeof error) == TRC_BAD && strstr(error, "no trace files"));
    snprintf(path, sizeof path, "%s/x.hpctop", folder);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs("rubbish", f) >= 0 && fclose(f) == 0);
    CHECK(ana_job_open(&folder, 1, &job, error, sizeof error) == TRC_BAD && error[0]);
    /* Folders that cannot be read are not called empty. */
    const char *loop = path;
    snprintf(path, sizeof path, "%s/loop", folder);
    CHECK(symlink("loop", path) == 0);
    CHECK(ana_job_open(&loop, 1, &job, error, sizeof error) == TRC_BAD && strstr(error, strerror(ELOOP)));
    CHECK(strstr(error, path) == error && unlink(path) == 0);
    two_write(two_ranks());
    job = folder_open();
    CHECK(ana_job_info(job).ranks == 2 && ana_job_warning(job, 0) && strstr(ana_job_warning(job, 0), "x.hpctop"));
    ana_job_close(job);
    /* A file by its own path, and twice. */
    snprintf(path, sizeof path, "%s/1.hpctop", folder);
    const char *both[] = {path, path};
    CHECK(ana_job_open(both, 2, &job, error, sizeof error) == TRC_OK);
    CHECK(ana_job_info(job).ranks == 1 && ana_job_info(job).world_size == 2);
    CHECK(strcmp(ana_job_info(job).name, "bad") == 0);
    ana_job_close(job);
    char newest[512];
    snprintf(path, sizeof path, "%s", folder);
    *strrchr(path, '/') = 0;
    CHECK(ana_newest_folder(path, newest, sizeof newest) && strcmp(newest, folder) == 0);
    CHECK(!ana_newest_folder(folder, newest, sizeof newest));
    char own[600], moved[700];
    snprintf(own, sizeof own, "%s", folder);
    snprintf(moved, sizeof moved, "%s/my-run", path); /* name as record -o gives one */
    CHECK(rename(own, moved) == 0);
    CHECK(ana_newest_folder(path, newest, sizeof newest) && strcmp(newest, moved) == 0, "one of any name: %s", newest);
    CHECK(rename(moved, own) == 0);
    folder_remove();
}

/* Calls that are not defined are all unknown: one call, each cell once. */
static void unknown_calls(void)
{
    const char *folder = folder_make("unknown");
    struct tb *a = tb_new(0, 1);
    const enum tb_call calls[] = {TB_SCAN, TB_FILE_WRITE};
    static const char *const name[] = {"MPI_Scan", "MPI_File_write"};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            tb_event(a, 0, &(struct trc_sig){.call = calls[i], .sent = k ? 100000 : 8}, 1000 * (2 * i + k + 1),
                     1000 * (2 * i + k + 1) + 500, (struct tb_more){0});
    size_t size;
    const uint8_t *made = tb_image(a, &size);
    uint8_t *image = malloc(size);
    CHECK(image != NULL);
    memcpy(image, made, size);
    for (int i = 0; i < 2; i++) {
        uint8_t *at = memmem(image, size, name[i], strlen(name[i]) + 1);
        CHECK(at != NULL);
        if (at)
            ((struct trc_def *)(void *)at)[-1].type = 77;
    }
    char path[600];
    snprintf(path, sizeof path, "%s/0.hpctop", folder);
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(image, 1, size, f) == size && fclose(f) == 0);
    free(image);
    tb_free(a);
    struct ana_job *job = folder_open();
    struct ana_summary s = folder_summary(job);
    CHECK(s.call_count == 1 && strcmp(s.calls[0].name, "unknown call") == 0 && s.calls[0].times.count == 4);
    uint64_t in_cells = 0;
    for (size_t i = 0; i < s.cell_count; i++)
        in_cells += s.cells[i].times.count;
    CHECK(in_cells == 4 && s.cell_count <= 4);
    ana_summary_free(&s);
    ana_job_close(job);
    folder_remove();
}

int main(void)
{
    a_job_that_grows();
    two_hosts();
    recycled_events();
    killed_while_polling();
    files_that_cannot_be_read();
    unknown_calls();
    return check_result();
}
