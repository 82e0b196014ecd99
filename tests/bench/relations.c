/* Speed at which events become numbers: decoding, merging, matching, and the whole pass of a report, each with the
 * stages before it.  tests/bench/analysis.py builds the traces, counts instructions and prints the table.
 *     relations make ping-pong|halo|wide ROUNDS FOLDER    a made-up trace of one job
 *     relations STAGE FOLDER                         decode, merge, match or job: items, and million of them a second
 *                                                    of one core
 */
#include "tests/support/message_waits.h"
#include "tests/support/trace_builder.h"
#include "trace/index/index.h"
#include "trace/job/job.h"
#include "trace/relations/match.h"
#include "trace/relations/merge.h"
#include "trace/relations/waits.h"
#include "trace/session/session.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- traces ----------------------------------------------------------------------------------------------------- */

#define PING_PONG_RANKS 2
#define HALO_RANKS      4
#define WIDE_RANKS      200

/* Blocking messages of 8 bytes to and fro. */
static void ping_pong(struct tb **tb, int64_t i)
{
    int32_t a = i & 1;
    int64_t t = i * 1000;
    tb_send(tb[a], 0, t, t + 200 + i % 7, 1 - a, 5, 8);
    tb_recv(tb[1 - a], 0, t - (i ? 300 : 0), t + 400 + i % 5, a, 5, 8);
}

/* A ring: two receives and two sends are begun, MPI_Waitall, MPI_Allreduce. */
static void halo(struct tb **tb, int32_t ranks, int64_t i)
{
    int64_t t = i * 20000;
    for (int32_t r = 0; r < ranks; r++) {
        int32_t left = (r + ranks - 1) % ranks, right = (r + 1) % ranks;
        int64_t late = (i + r) % 3 * 100;
        uint64_t from_left = tb_irecv(tb[r], 0, t, t + 100, left, 1, 4096);
        uint64_t from_right = tb_irecv(tb[r], 0, t + 150, t + 250, right, 2, 4096);
        uint64_t to_left = tb_isend(tb[r], 0, t + 300 + late, t + 500 + late, left, 2, 4096);
        uint64_t to_right = tb_isend(tb[r], 0, t + 600 + late, t + 800 + late, right, 1, 4096);
        struct trc_sig wait = tb_sig(TB_WAITALL);
        wait.site = 0x2000;
        tb_event(tb[r], 0, &wait, t + 1200, t + 4000 + i % 11, (struct tb_more){0});
        tb_completed_recv(tb[r], 0, from_left, left, 1, 4096);
        tb_completed_recv(tb[r], 0, from_right, right, 2, 4096);
        tb_completed_send(tb[r], 0, to_left);
        tb_completed_send(tb[r], 0, to_right);
        tb_allreduce(tb[r], 0, t + 9000 + late, t + 12000 + i % 13, TB_WORLD, (uint64_t)i + 1, 8);
    }
}

static int make(const char *what, int64_t rounds, const char *folder)
{
    bool is_wide = strcmp(what, "wide") == 0, is_halo = is_wide || strcmp(what, "halo") == 0;
    int32_t ranks = is_wide ? WIDE_RANKS : is_halo ? HALO_RANKS : PING_PONG_RANKS;
    struct tb *tb[WIDE_RANKS];
    for (int32_t r = 0; r < ranks; r++)
        tb[r] = tb_new(r, ranks);
    for (int64_t i = 0; i < rounds; i++)
        if (is_halo)
            halo(tb, ranks, i);
        else
            ping_pong(tb, i);
    for (int32_t r = 0; r < ranks; r++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.hpctop", folder, r);
        tb_write(tb[r], path);
        tb_free(tb[r]);
    }
    return 0;
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

static int64_t lost_ns;
static void on_message(void *user, const struct ana_message *message)
{
    struct ana_wait_span span[2];
    size_t n = waits_of_message(message, span);
    for (size_t i = 0; i < n; i++)
        if (ana_wait_clip(user, &span[i]))
            lost_ns += span[i].end_ns - span[i].begin_ns;
}

static uint64_t decode(struct trc_file **file, size_t n)
{
    uint64_t items = 0;
    struct trc_record other;
    struct trc_brief item[32];
    uint64_t left_out = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t t = 0; t < trc_threads(file[i]); t++) {
            struct trc_cursor *cursor = trc_cursor_open(file[i], t);
            for (size_t few; (few = trc_next_brief(cursor, item, 32, &other, &left_out)) > 0;)
                items += few;
            trc_cursor_close(cursor);
        }
    return items;
}

static uint64_t merge_and_match(struct trc_file **file, size_t n, const struct ana_clock *clock, bool matching)
{
    uint64_t items = 0;
    struct ana_merge *merge = ana_merge_open(file, n, clock);
    for (size_t i = 0; i < n; i++)
        ana_merge_set_live(merge, i, false);
    ana_merge_refresh(merge);
    struct ana_wait_clip *clip = ana_wait_clip_new();
    struct ana_match *match = ana_match_new((struct ana_match_sink){.user = clip, .on_message = on_message});
    for (size_t i = 0; i < n; i++) {
        const struct trc_head *head = trc_head(file[i]);
        struct ana_match_rank rank = {
            .rank = head->rank,
            .recycled = head->recycled_chunks > 0,
            .finalized = head->state == TRC_STATE_FINALIZED,
            .lossy = head->lost_records > 0,
            .file = file[i],
        };
        ana_match_set_rank(match, i, &rank);
    }
    struct ana_event *e[512];
    for (size_t few; (few = ana_merge_next_few(merge, e, 512)) > 0; items += few)
        for (size_t i = 0; matching && i < few; i++)
            ana_match_event(match, e[i]);
    ana_match_flush(match);
    ana_match_free(match);
    ana_wait_clip_free(clip);
    ana_merge_close(merge);
    return items;
}

static void say(uint64_t items, double seconds)
{
    printf("%llu items %.2f M/s\n", (unsigned long long)items, (double)items / seconds / 1e6);
}

static int job_pass(const char *folder)
{
    char error[512];
    struct ana_job *job;
    if (ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    ana_job_set_index(job, false); /* each run reads the events */
    if (!ana_job_set_workers(job, 1))
        return 2;
    double begin = now();
    ana_job_advance(job, 0);
    double seconds = now() - begin;
    uint64_t items = 0;
    for (size_t i = 0; ana_job_rank(job, i); i++) {
        struct trc_file *file = ana_job_rank(job, i)->file;
        for (size_t c = 0; c < trc_event_chunks(file); c++)
            items += trc_event_chunk(file, c).records;
    }
    say(items, seconds);
    ana_job_close(job);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "make") == 0)
        return make(argv[2], atoll(argv[3]), argv[4]);
    if (argc != 3)
        return 64;
    if (strcmp(argv[1], "job") == 0)
        return job_pass(argv[2]);
    char pattern[4096];
    snprintf(pattern, sizeof pattern, "%s/*.hpctop", argv[2]);
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return 2;
    size_t n = found.gl_pathc;
    struct trc_file **file = calloc(n, sizeof *file);
    struct ana_clock *clock = ana_clock_new();
    for (size_t i = 0; i < n; i++) {
        char error[256];
        if (trc_open(found.gl_pathv[i], &file[i], error, sizeof error) != TRC_OK) {
            fprintf(stderr, "%s\n", error);
            return 2;
        }
        ana_clock_add_file(clock, file[i]);
    }
    double begin = now();
    bool decoding = strcmp(argv[1], "decode") == 0;
    uint64_t items = decoding ? decode(file, n) : merge_and_match(file, n, clock, strcmp(argv[1], "match") == 0);
    say(items, now() - begin);
    for (size_t i = 0; i < n; i++)
        trc_close(file[i]);
    ana_clock_free(clock);
    globfree(&found);
    free(file);
    return 0;
}
