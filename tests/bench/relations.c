/* How fast events become relations: decoding, merging, matching, each with what comes before it.
 *     relations [FILE ..]      trace files of one job; without any: a made-up ping-pong of two ranks
 * Build: make build/plain/libana.a, then
 *     cc -std=c11 -D_GNU_SOURCE -O2 -I. tests/bench/relations.c tests/support/trace_[bc]*.c build/plain/libana.a -lm
 * Prints million items a second of one core, best of three. */
#include "tests/support/trace_builder.h"
#include "trace/match.h"
#include "trace/merge.h"
#include "trace/waits.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 1000000

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void make_ping_pong(const char *const *path)
{
    struct tb *tb[2] = {tb_new(0, 2), tb_new(1, 2)};
    for (int64_t i = 0; i < ROUNDS; i++) {
        int32_t a = i & 1;
        int64_t t = i * 1000;
        tb_send(tb[a], 0, t, t + 200 + i % 7, 1 - a, 5, 8);
        tb_recv(tb[1 - a], 0, t - (i ? 300 : 0), t + 400 + i % 5, a, 5, 8);
    }
    for (int i = 0; i < 2; i++) {
        tb_write(tb[i], path[i]);
        tb_free(tb[i]);
    }
}

static int64_t lost_ns;
static void on_message(void *user, const struct ana_message *message)
{
    struct ana_wait_span span[2];
    size_t n = ana_waits_of_message(message, span);
    for (size_t i = 0; i < n; i++)
        if (ana_wait_clip(user, &span[i]))
            lost_ns += span[i].end_ns - span[i].begin_ns;
}

enum stage { DECODE, MERGE, MATCH, STAGES };

static uint64_t go(enum stage stage, struct trc_file **file, size_t n, const struct ana_clock *clock)
{
    uint64_t items = 0;
    if (stage == DECODE) {
        struct trc_record record;
        for (size_t i = 0; i < n; i++)
            for (size_t t = 0; t < trc_threads(file[i]); t++) {
                struct trc_cursor *cursor = trc_cursor_open(file[i], t);
                while (trc_next(cursor, &record) == TRC_OK)
                    items++;
                trc_cursor_close(cursor);
            }
        return items;
    }
    struct ana_merge *merge = ana_merge_open(file, n, clock);
    for (size_t i = 0; i < n; i++)
        ana_merge_set_live(merge, i, false);
    ana_merge_refresh(merge);
    struct ana_wait_clip *clip = ana_wait_clip_new();
    struct ana_match *match = ana_match_new((struct ana_match_sink){clip, on_message, NULL});
    for (size_t i = 0; i < n; i++) {
        const struct trc_head *head = trc_head(file[i]);
        struct ana_match_rank rank = {0, head->rank, head->recycled_chunks > 0, head->state == TRC_STATE_FINALIZED,
                                      head->lost_records > 0};
        ana_match_set_rank(match, i, &rank);
    }
    struct ana_event event;
    for (; ana_merge_next(merge, &event) == TRC_OK; items++)
        if (stage == MATCH)
            ana_match_event(match, &event);
    ana_match_flush(match);
    struct ana_match_counts c = ana_match_counts(match);
    if (stage == MATCH)
        printf("%llu messages, %llu instances (%llu mismatched, %llu incomplete), %llu + %llu unmatched, %llu unknown, "
               "%llu uncertain, %llu cancelled, %llu violations\n",
               (unsigned long long)c.messages, (unsigned long long)c.instances, (unsigned long long)c.mismatched,
               (unsigned long long)c.incomplete, (unsigned long long)c.unmatched_sends,
               (unsigned long long)c.unmatched_receives, (unsigned long long)c.unknown_peers,
               (unsigned long long)c.uncertain, (unsigned long long)c.cancelled,
               (unsigned long long)c.clock_violations);
    ana_match_free(match);
    ana_wait_clip_free(clip);
    ana_merge_close(merge);
    return items;
}

int main(int argc, char **argv)
{
    const char *own[2] = {"/tmp/hpctop-bench-0.hpctop", "/tmp/hpctop-bench-1.hpctop"};
    const char *const *path = argc > 1 ? (const char *const *)argv + 1 : own;
    size_t n = argc > 1 ? (size_t)argc - 1 : 2;
    if (argc == 1)
        make_ping_pong(own);
    struct trc_file **file = calloc(n, sizeof *file);
    struct ana_clock *clock = ana_clock_new();
    for (size_t i = 0; i < n; i++) {
        char error[256];
        if (trc_open(path[i], &file[i], error, sizeof error) != TRC_OK) {
            fprintf(stderr, "%s\n", error);
            return 2;
        }
        ana_clock_add_file(clock, file[i]);
    }
    static const char *const name[STAGES] = {"decode", "merge", "match and waits"};
    for (int stage = 0; stage < STAGES; stage++) {
        double best = 0;
        for (int i = 0; i < 3; i++) {
            double begin = now();
            uint64_t items = go((enum stage)stage, file, n, clock);
            double rate = (double)items / (now() - begin) / 1e6;
            best = rate > best ? rate : best;
        }
        printf("%-16s %6.1f M items/s\n", name[stage], best);
    }
    for (size_t i = 0; i < n; i++)
        trc_close(file[i]);
    ana_clock_free(clock);
    free(file);
    for (int i = 0; argc == 1 && i < 2; i++)
        remove(own[i]);
    return 0;
}
