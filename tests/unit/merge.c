/* The merge, over a reader made of arrays: this program defines the few reader functions that the merge calls. */
#include "trace/merge.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(cond, ...)                                                                                               \
    do {                                                                                                               \
        if (!(cond)) {                                                                                                 \
            failures++;                                                                                                \
            printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                                                          \
            printf(__VA_ARGS__);                                                                                       \
            printf("\n");                                                                                              \
        }                                                                                                              \
    } while (0)

#define MAX_THREADS 4
#define MAX_RECORDS 5000

struct trc_file {
    struct trc_head head;
    size_t threads;
    size_t count[MAX_THREADS];   /* records written */
    size_t visible[MAX_THREADS]; /* as of the last refresh */
    struct trc_record record[MAX_THREADS][MAX_RECORDS];
    struct trc_comm comm;
};
struct trc_cursor {
    struct trc_file *file;
    size_t thread, next;
};
static const struct trc_call the_call = {"MPI_Barrier", TRC_OP_BARRIER};
static int cursors_open;

const struct trc_head *trc_head(const struct trc_file *file)
{
    return &file->head;
}
double trc_ns_per_tick(const struct trc_file *file)
{
    (void)file;
    return 1;
}
size_t trc_threads(const struct trc_file *file)
{
    return file->threads;
}
const struct trc_call *trc_call(const struct trc_file *file, uint32_t id)
{
    (void)file;
    (void)id;
    return &the_call;
}
const struct trc_comm *trc_comm(const struct trc_file *file, uint32_t id)
{
    return id == file->comm.id ? &file->comm : NULL;
}
bool trc_refresh(struct trc_file *file)
{
    memcpy(file->visible, file->count, sizeof file->count);
    return true;
}
struct trc_cursor *trc_cursor_open(struct trc_file *file, size_t thread)
{
    struct trc_cursor *cursor = calloc(1, sizeof *cursor);
    cursor->file = file;
    cursor->thread = thread;
    cursors_open++;
    return cursor;
}
void trc_cursor_close(struct trc_cursor *cursor)
{
    cursors_open--;
    free(cursor);
}
/* "Chunks" of 8 records. */
void trc_cursor_seek(struct trc_cursor *cursor, uint64_t ticks)
{
    const struct trc_record *record = cursor->file->record[cursor->thread];
    size_t n = cursor->file->visible[cursor->thread];
    cursor->next = 0;
    while (cursor->next + 8 < n && record[cursor->next + 7].end < ticks)
        cursor->next += 8;
}
enum trc_status trc_next(struct trc_cursor *cursor, struct trc_record *out)
{
    if (cursor->next >= cursor->file->visible[cursor->thread])
        return TRC_END;
    *out = cursor->file->record[cursor->thread][cursor->next++];
    return TRC_OK;
}

/* ---- input ----------------------------------------------------------------------------------------------------- */

static const struct trc_sig plain = {.comm = 7}, sub = {.flags = TRC_SIG_SUB}, nested = {.flags = TRC_SIG_NESTED};

static struct trc_file *new_file(const char *host, uint64_t base)
{
    struct trc_file *file = calloc(1, sizeof *file);
    file->head.start = (struct trc_anchor){base, base, 1000000 + base, 0};
    file->head.latest = file->head.start;
    file->head.state = TRC_STATE_RUNNING;
    snprintf(file->head.boot_id, sizeof file->head.boot_id, "%s", host);
    file->comm.id = 7;
    file->threads = 1;
    return file;
}

static void put(struct trc_file *file, size_t thread, const struct trc_sig *sig, uint64_t begin, uint64_t end)
{
    struct trc_record record = {.kind = TRC_RECORD_EVENT,
                                .sig = sig,
                                .begin = file->head.start.ticks + begin,
                                .end = file->head.start.ticks + end,
                                .count = 1,
                                .busy = end - begin,
                                .sequence = file->count[thread]};
    file->record[thread][file->count[thread]++] = record;
}

static size_t drain(struct ana_merge *merge, struct ana_event *out, size_t max)
{
    size_t n = 0;
    struct ana_event event;
    while (ana_merge_next(merge, &event) == TRC_OK)
        if (n < max)
            out[n++] = event;
    return n;
}

static struct ana_event got[4 * MAX_RECORDS * 4];

/* ---- tests ----------------------------------------------------------------------------------------------------- */

static void test_order(void)
{
    enum { FILES = 5 };
    struct trc_file *file[FILES];
    struct ana_clock *clock = ana_clock_new();
    srand(3);
    size_t total = 0;
    for (size_t f = 0; f < FILES; f++) {
        file[f] = new_file("same", 5000); /* one domain: ticks of one clock */
        file[f]->threads = 1 + f % 3;
        file[f]->head.state = TRC_STATE_FINALIZED;
        for (size_t t = 0; t < file[f]->threads; t++)
            for (uint64_t i = 0, now = 0; i < 400; i++, total++) {
                if (i > 0 && rand() % 4 == 0) {
                    const struct trc_record *last = &file[f]->record[t][file[f]->count[t] - 1];
                    put(file[f], t, &sub, last->begin - 5000, last->end - 5000);
                } else {
                    uint64_t begin = now + (uint64_t)rand() % 5;
                    now = begin + (uint64_t)rand() % 20;
                    put(file[f], t, &plain, begin, now);
                }
            }
        trc_refresh(file[f]);
        ana_clock_add_file(clock, file[f]);
    }
    struct ana_merge *merge = ana_merge_open(file, FILES, clock);
    size_t n = drain(merge, got, sizeof got / sizeof got[0]);
    CHECK(n == total && ana_merge_count(merge) == total, "%zu of %zu items", n, total);
    uint64_t next[FILES][MAX_THREADS] = {{0}};
    for (size_t i = 0; i < n; i++) {
        CHECK(i == 0 || got[i].end_ns >= got[i - 1].end_ns, "item %zu ends before the one before it", i);
        CHECK(got[i].sequence == next[got[i].index][got[i].thread]++, "thread's order at %zu", i);
        if (got[i].sig->flags & TRC_SIG_SUB)
            CHECK(i > 0 && got[i].index == got[i - 1].index && got[i].thread == got[i - 1].thread &&
                      got[i].end_ns == got[i - 1].end_ns && got[i].begin_ns == got[i - 1].begin_ns,
                  "item %zu has left its event", i);
        else
            CHECK(got[i].comm == &file[got[i].index]->comm && got[i].call == &the_call, "definitions");
    }
    CHECK(ana_merge_position(merge) == got[n - 1].end_ns, "position");

    /* Windows: exactly what overlaps, of the selected ranks. */
    for (int64_t begin = 0; begin < 3000; begin += 331) {
        int64_t end = begin + 100;
        const uint8_t ranks[FILES] = {1, 0, 1, 1, 0};
        CHECK(ana_merge_seek(merge, begin, end, ranks), "seek");
        size_t expect = 0;
        for (size_t i = 0; i < n; i++)
            expect += ranks[got[i].index] && got[i].end_ns >= begin && got[i].begin_ns < end;
        struct ana_event *window = got + n;
        size_t m = drain(merge, window, 10000);
        CHECK(m == expect, "window %lld: %zu of %zu", (long long)begin, m, expect);
        for (size_t i = 0; i < m; i++)
            CHECK(ranks[window[i].index] && window[i].end_ns >= begin && window[i].begin_ns < end, "window item %zu",
                  i);
    }
    CHECK(ana_merge_seek(merge, INT64_MIN, INT64_MAX, NULL) && drain(merge, got + n, 4 * MAX_RECORDS) == n, "again");
    ana_merge_close(merge);
    ana_clock_free(clock);
    for (size_t f = 0; f < FILES; f++)
        free(file[f]);
}

static void test_nested_and_window(void)
{
    struct trc_file *file = new_file("same", 1000);
    file->head.state = TRC_STATE_FINALIZED;
    put(file, 0, &plain, 0, 10);
    put(file, 0, &nested, 30, 40); /* inside the next */
    put(file, 0, &plain, 15, 50);
    put(file, 0, &plain, 60, 70);
    trc_refresh(file);
    struct ana_clock *clock = ana_clock_new();
    ana_clock_add_file(clock, file);
    struct ana_merge *merge = ana_merge_open(&file, 1, clock);
    ana_merge_seek(merge, 12, 20, NULL);
    size_t n = drain(merge, got, 10);
    CHECK(n == 1 && got[0].begin_ns == 15 && got[0].end_ns == 50, "the outer call is found behind its nested one");
    ana_merge_close(merge);
    ana_clock_free(clock);
    free(file);
}

static void test_live(void)
{
    struct trc_file *file[3] = {new_file("a", 100), new_file("a", 100), new_file("a", 100)};
    struct ana_clock *clock = ana_clock_new();
    ana_clock_add_file(clock, file[0]);
    ana_clock_add_file(clock, file[1]);
    put(file[0], 0, &plain, 10, 20);
    put(file[0], 0, &plain, 30, 900);
    put(file[1], 0, &plain, 10, 15);
    for (int i = 0; i < 2; i++) {
        file[i]->head.latest.ticks = 100 + 500;
        trc_refresh(file[i]);
    }
    struct ana_merge *merge = ana_merge_open(file, 2, clock);
    CHECK(drain(merge, got, 10) == 2 && got[0].index == 1 && got[1].index == 0, "up to the heartbeat");
    /* Nothing new: nothing given out, nothing forgotten. */
    ana_merge_refresh(merge);
    CHECK(drain(merge, got, 10) == 0, "the horizon has not moved");
    put(file[1], 0, &plain, 16, 600);
    file[1]->threads = 2;
    put(file[1], 1, &plain, 550, 560);
    put(file[1], 1, &sub, 550, 560);
    for (int i = 0; i < 2; i++) {
        file[i]->head.latest.ticks = 100 + 1000;
        trc_refresh(file[i]);
    }
    ana_merge_refresh(merge);
    size_t n = drain(merge, got, 10);
    CHECK(n == 4 && got[0].thread == 1 && got[1].sig == &sub && got[2].end_ns == 600 && got[3].end_ns == 900, "%zu", n);
    /* A third file comes, of a process that writes back over a network: two seconds behind. */
    file[2]->head.flags = TRC_HEAD_WRITE_BACK;
    file[2]->head.latest.ticks = 100 + 2000001500;
    put(file[2], 0, &plain, 1100, 1200);
    put(file[2], 0, &plain, 1300, 1600);
    ana_clock_add_file(clock, file[2]);
    ana_merge_add(merge, file[2]);
    put(file[0], 0, &plain, 910, 1700);
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            file[i]->head.latest.ticks = 100 + 3000000000;
        trc_refresh(file[i]);
    }
    ana_merge_refresh(merge);
    CHECK(drain(merge, got, 10) == 1 && got[0].end_ns == 1200, "write-back horizon");
    /* It dies; one finishes; the other goes on. */
    ana_merge_set_live(merge, 2, false);
    file[0]->head.state = TRC_STATE_FINALIZED;
    ana_merge_refresh(merge);
    CHECK(drain(merge, got, 10) == 2 && got[0].end_ns == 1600 && got[1].end_ns == 1700, "the dead hold nobody back");
    /* An item that comes late, and a refresh between an event and its SUB item. */
    put(file[1], 0, &plain, 1000, 1100);
    trc_refresh(file[1]);
    ana_merge_refresh(merge);
    struct ana_event event;
    CHECK(ana_merge_next(merge, &event) == TRC_OK && event.end_ns == 1100, "late, but given out");
    put(file[1], 0, &sub, 1000, 1100);
    put(file[0], 0, &plain, 1050, 1100); /* at the same time, on a rank that goes first */
    trc_refresh(file[0]);
    trc_refresh(file[1]);
    ana_merge_refresh(merge);
    CHECK(drain(merge, got, 10) == 2 && got[0].sig == &sub && got[1].index == 0, "SUB first");
    ana_merge_close(merge);
    ana_clock_free(clock);
    for (int i = 0; i < 3; i++)
        free(file[i]);
}

int main(void)
{
    test_order();
    test_nested_and_window();
    test_live();
    CHECK(cursors_open == 0, "%d cursors left open", cursors_open);
    return failures ? 1 : 0;
}
