/* The merge over trace files that the builder makes: order, windows, running jobs. */
#define FILES 5
#include "tests/support/clocked_files.h"
#include "trace/relations/merge.h"
#include <sys/syscall.h>

/* Stands in front of libc's: counts bytes read. */
static size_t reads;
ssize_t pread(int fd, void *buffer, size_t size, off_t at)
{
    reads++;
    return syscall(SYS_pread64, fd, buffer, size, at);
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* An event that can be told by its `sent`; SUB events belong to the one before. */
static void put(size_t i, uint32_t thread, uint32_t flags, uint64_t id, int64_t begin, int64_t end)
{
    struct trc_sig sig = tb_sig(TB_BARRIER);
    sig.flags = flags;
    sig.comm = TB_WORLD;
    sig.sent = id;
    if (flags & TRC_SIG_SUB)
        tb_sub(made[i], thread, &sig, (struct tb_more){0});
    else
        tb_event(made[i], thread, &sig, begin, end, (struct tb_more){0});
}

/* ---- delivered events -------------------------------------------------------------------------------------------- */

struct out {
    struct ana_event event;
    struct ana_use use;
    uint64_t id;
    uint32_t flags;
};
static struct out got[20000], window[20000];

static size_t drain(struct ana_merge *merge, struct out *out, size_t max)
{
    size_t n = 0;
    for (const struct ana_event *e; n < max && (e = ana_merge_next(merge)) != NULL; n++)
        out[n] = (struct out){*e, e->use ? *e->use : (struct ana_use){0}, e->sig ? e->sig->sent : 0,
                              e->sig ? e->sig->flags : 0};
    return n;
}

/* Reads the files in slices, whose `n` items got[] holds in the order of their ends: by slice, rank and end, and each
 * call gives out items of one slice. */
static void check_slices(size_t n, unsigned shift)
{
    struct ana_merge *merge = ana_merge_open(file, FILES, clock_);
    ana_merge_set_slices(merge, shift);
    struct ana_event *e[7], before = {.end_ns = INT64_MIN};
    uint64_t next[FILES][4] = {{0}};
    size_t m = 0;
    for (size_t few; (few = ana_merge_next_few(merge, e, 7)) > 0; m += few) {
        for (size_t i = 0; i < few; i++) {
            const int64_t slice = e[i]->end_ns >> shift, slice_before = before.end_ns >> shift;
            const bool later =
                e[i]->index > before.index || (e[i]->index == before.index && e[i]->end_ns >= before.end_ns);
            CHECK(slice > slice_before || (slice == slice_before && later), "item %zu of slices of 2^%u", m + i, shift);
            CHECK(i == 0 || slice == slice_before, "item %zu of another slice", m + i);
            CHECK(e[i]->sig->sent == next[e[i]->index][e[i]->thread]++, "thread's order at %zu", m + i);
            before = *e[i];
        }
        CHECK(ana_merge_position(merge) == before.end_ns >> shift << shift, "position inside a slice");
        const bool more = ana_merge_in_slice(merge);
        CHECK(more || ana_merge_position(merge) < ((before.end_ns >> shift) + 1) << shift, "position behind a slice");
    }
    CHECK(m == n && ana_merge_position(merge) == got[n - 1].event.end_ns, "%zu of %zu items in slices", m, n);
    ana_merge_close(merge);
}

static void test_order(void)
{
    start(FILES);
    srand(3);
    size_t total = 0;
    for (size_t f = 0; f < FILES; f++)
        for (uint32_t t = 0; t < 1 + f % 3; t++) {
            int64_t end = 0;
            for (uint64_t i = 0; i < 400; i++, total++) {
                bool sub = i > 0 && rand() % 4 == 0;
                int64_t begin = end + rand() % 5;
                if (!sub)
                    end = begin + rand() % 20;
                put(f, t, sub ? TRC_SIG_SUB : 0, i, begin, end);
                if (i % 50 == 49)
                    tb_next_chunk(made[f], t);
            }
        }
    for (size_t f = 0; f < FILES; f++)
        open_file(f);
    struct ana_merge *merge = ana_merge_open(file, FILES, clock_);
    size_t n = drain(merge, got, 20000);
    CHECK(n == total && ana_merge_count(merge) == total, "%zu of %zu items", n, total);
    uint64_t next[FILES][4] = {{0}};
    for (size_t i = 0; i < n; i++) {
        const struct ana_event *e = &got[i].event, *before = &got[i ? i - 1 : 0].event;
        CHECK(e->end_ns >= before->end_ns, "item %zu ends before the one before it", i);
        CHECK(got[i].id == next[e->index][e->thread]++, "thread's order at %zu", i);
        if (got[i].flags & TRC_SIG_SUB)
            CHECK(i > 0 && e->index == before->index && e->thread == before->thread && e->end_ns == before->end_ns &&
                      e->begin_ns == before->begin_ns,
                  "item %zu has left its event", i);
        CHECK(got[i].use.comm && got[i].use.comm->def.size == FILES && !strcmp(got[i].use.call->name, "MPI_Barrier"),
              "definitions");
    }
    CHECK(ana_merge_position(merge) == got[n - 1].event.end_ns, "position");

    /* Windows: exactly what overlaps, of the selected ranks. */
    for (int64_t begin = 0; begin < 3000; begin += 331) {
        int64_t end = begin + 100;
        const uint8_t ranks[FILES] = {1, 0, 1, 1, 0};
        CHECK(ana_merge_seek(merge, begin, end, ranks), "seek");
        size_t expect = 0;
        for (size_t i = 0; i < n; i++)
            expect += ranks[got[i].event.index] && got[i].event.end_ns >= begin && got[i].event.begin_ns < end;
        size_t m = drain(merge, window, 20000);
        CHECK(m == expect, "window %lld: %zu of %zu", (long long)begin, m, expect);
        for (size_t i = 0; i < m; i++) {
            const struct ana_event *e = &window[i].event;
            CHECK(ranks[e->index] && e->end_ns >= begin && e->begin_ns < end, "window item %zu", i);
        }
    }
    CHECK(ana_merge_seek(merge, INT64_MIN, INT64_MAX, NULL) && drain(merge, window, 20000) == n, "again");
    for (size_t i = 0; i < n; i++)
        CHECK(window[i].id == got[i].id && window[i].event.end_ns == got[i].event.end_ns, "the same at %zu", i);
    ana_merge_close(merge);
    for (unsigned shift = 1; shift < 14; shift += 4)
        check_slices(n, shift);
    stop(FILES);
}

/* Nothing is read of a file that nobody asks for: a job whose index is there opens the sooner. */
static void test_unread(void)
{
    start(1);
    put(0, 0, 0, 1, 0, 10);
    open_file(0);
    size_t before = reads;
    struct ana_merge *merge = ana_merge_open(file, 1, clock_);
    CHECK(merge && ana_merge_refresh(merge) && reads == before, "%zu reads", reads - before);
    CHECK(ana_merge_position(merge) == INT64_MIN && !ana_merge_failed(merge), "nothing was given out");
    CHECK(drain(merge, got, 10) == 1 && reads > before, "but all is there");
    ana_merge_close(merge);
    stop(1);
}

static void test_nested_and_window(void)
{
    start(1);
    put(0, 0, 0, 1, 0, 10);
    put(0, 0, TRC_SIG_NESTED, 2, 30, 40); /* inside the next */
    put(0, 0, 0, 3, 15, 50);
    put(0, 0, 0, 4, 60, 70);
    open_file(0);
    struct ana_merge *merge = ana_merge_open(file, 1, clock_);
    CHECK(drain(merge, got, 10) == 4 && got[1].id == 2 && got[2].event.begin_ns == 15, "all");
    ana_merge_seek(merge, 12, 20, NULL);
    size_t n = drain(merge, got, 10);
    CHECK(n == 1 && got[0].id == 3 && got[0].event.end_ns == 50, "the outer call is found behind its nested one");
    ana_merge_close(merge);
    stop(1);
}

static void test_clock(void)
{
    start(2);
    strcpy(tb_head(made[1])->boot_id, "another");
    tb_clock(made[1], 77000000000ull, 1700000000000000000ull, 2.5);
    put(0, 0, 0, 1, 1000, 2000);
    put(1, 0, 0, 2, 500, 1500);
    tb_fold(made[1], 0, &(struct trc_sig){.flags = TRC_SIG_POLL}, 3000, 5000, 7, 1000);
    tb_lost(made[1], 0, 3);
    open_file(0);
    open_file(1);
    struct ana_merge *merge = ana_merge_open(file, 2, clock_);
    size_t n = drain(merge, got, 10);
    CHECK(n == 4 && got[0].id == 2 && got[0].event.begin_ns == 500 && got[0].event.end_ns == 1500, "%zu", n);
    CHECK(got[1].id == 1 && got[1].event.begin_ns == 1000, "the other host");
    CHECK(got[2].event.kind == TRC_RECORD_FOLD && got[2].event.count == 7 && got[2].event.busy_ns == 1000, "polls");
    CHECK(got[3].event.kind == TRC_RECORD_LOST && got[3].event.count == 3 && !got[3].event.sig, "lost");
    ana_merge_close(merge);
    stop(2);
}

/* Files 0 and 1 are written as they are now, and read again; `ticks`: of a heartbeat, 0 for none. */
static void refresh_two(struct ana_merge *merge, uint64_t ticks)
{
    for (size_t i = 0; i < 2; i++) {
        if (ticks)
            tb_running(made[i], ticks);
        write_file(i);
        trc_refresh(file[i]);
    }
    ana_merge_refresh(merge);
}

static void test_live(void)
{
    start(3);
    put(0, 0, 0, 1, 10, 20);
    put(0, 0, 0, 2, 30, 900);
    put(1, 0, 0, 3, 10, 15);
    tb_running(made[0], 500);
    tb_running(made[1], 500);
    open_file(0);
    open_file(1);
    struct ana_merge *merge = ana_merge_open(file, 2, clock_);
    CHECK(drain(merge, got, 10) == 2 && got[0].id == 3 && got[1].id == 1, "up to the heartbeat");
    ana_merge_refresh(merge);
    CHECK(drain(merge, got, 10) == 0, "the horizon has not moved");
    put(1, 0, 0, 4, 16, 600);
    put(1, 1, 0, 5, 550, 560);
    put(1, 1, TRC_SIG_SUB, 6, 0, 0);
    refresh_two(merge, 1000);
    size_t n = drain(merge, got, 10);
    CHECK(n == 4 && got[0].id == 5 && got[1].id == 6 && got[2].id == 4 && got[3].id == 2, "a new thread: %zu", n);
    /* A third file comes, of a process that writes back over a network: two seconds behind. */
    put(2, 0, 0, 7, 1100, 1200);
    put(2, 0, 0, 8, 1300, 1600);
    tb_running(made[2], 2000001500);
    tb_head(made[2])->flags |= TRC_HEAD_WRITE_BACK;
    open_file(2);
    CHECK(ana_merge_add(merge, file[2]), "add");
    put(0, 0, 0, 9, 910, 1700);
    refresh_two(merge, 3000000000);
    CHECK(drain(merge, got, 10) == 1 && got[0].id == 7, "write-back horizon");
    /* It dies; one finishes; the other goes on. */
    ana_merge_set_live(merge, 2, false);
    tb_head(made[0])->state = TRC_STATE_FINALIZED;
    write_file(0);
    trc_refresh(file[0]);
    ana_merge_refresh(merge);
    CHECK(drain(merge, got, 10) == 2 && got[0].id == 8 && got[1].id == 9, "the dead hold nobody back");
    /* An item that comes late, and a refresh between an event and its SUB item. */
    put(1, 0, 0, 10, 1000, 1800);
    write_file(1);
    trc_refresh(file[1]);
    ana_merge_refresh(merge);
    const struct ana_event *event = ana_merge_next(merge);
    CHECK(event && event->end_ns == 1800, "late, but given out");
    put(1, 0, TRC_SIG_SUB, 11, 0, 0);
    put(0, 0, 0, 12, 1750, 1800); /* event at the same time, on a rank that goes first */
    refresh_two(merge, 0);
    CHECK(drain(merge, got, 10) == 2 && got[0].id == 11 && got[1].id == 12, "SUB first");
    CHECK(got[0].event.begin_ns == 1000, "and it has its event's times");
    ana_merge_close(merge);
    stop(3);
}

int main(void)
{
    if (!mkdtemp(folder)) {
        printf("no temporary folder\n");
        return 77;
    }
    test_order();
    test_unread();
    test_nested_and_window();
    test_clock();
    test_live();
    rmdir(folder);
    return check_result();
}
