/* Regions of the program's own, written and read: in order and at their times, whoever asks for them and who does not;
 * open regions where a chunk begins; ends that do not fit. */
#include "tests/support/check.h"
#include "trace/format/opclass.h"
#include "trace/reader/reader.h"
#include "trace/writer/region.h"
#include "trace/writer/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SOLVE = 7, HALO = 300, SMALL = 2 << 20, EVENTS = 600000 };

static char path[64];
static uint64_t now;
static uint64_t ticks(void)
{
    return now;
}

static const struct trc_call calls[] = {{"MPI_Send", TRC_OP_SEND}, {"MPI_Iprobe", TRC_OP_PROBE}};
static struct trc_writer writer;
static struct trc_stream *stream;
static struct trc_regions regions;

static void begin_file(size_t limit)
{
    struct trc_head head = {.clock_source = TRC_CLOCK_MONOTONIC, .state = TRC_STATE_RUNNING, .world_size = 1, .pid = 1};
    now = 1000000;
    writer = (struct trc_writer){.calls = calls, .call_count = 2};
    regions = (struct trc_regions){0};
    unlink(path);
    int error = trc_writer_open(&writer, path, limit, &head, ticks);
    stream = calloc(1, sizeof *stream);
    if (error || !stream || !trc_stream_open(stream, &writer, 17, "main")) {
        printf("the writer cannot write %s: %s\n", path, strerror(error));
        exit(1);
    }
    stream->regions = &regions;
}

static void begin(uint32_t id, uint64_t at)
{
    if (regions.depth < TRC_REGIONS_DEEP)
        trc_stream_region(stream, TRC_REGION_BEGIN, id, now = at);
    trc_regions_enter(&regions, id);
}

static void end(uint32_t id, uint64_t at)
{
    if (!regions.deeper)
        trc_stream_region(stream, TRC_REGION_END, id, now = at);
    trc_regions_leave(&regions, id);
}

static uint32_t index_of(uint32_t call, uint32_t flags)
{
    struct trc_sig sig = {.call = call, .flags = flags, .peer = TRC_PEER_NONE};
    return trc_stream_intern(stream, &sig);
}

static void event(uint64_t from, uint64_t to)
{
    trc_stream_event(stream, index_of(0, 0), from, now = to, 0);
}

static struct trc_file *look(void)
{
    struct trc_file *file = NULL;
    char error[256];
    writer.head->state = TRC_STATE_FINALIZED;
    if (trc_open(path, &file, error, sizeof error) != TRC_OK) {
        printf("%s\n", error);
        exit(1);
    }
    return file;
}

static void close_file(struct trc_file *file)
{
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_close(file);
    close(writer.fd);
    free(stream);
}

/* Calls, folds and regions in between: each has its time, and calls have the same without regions. */
static void test_times(void)
{
    begin_file(64u << 20);
    trc_writer_define(&writer, TRC_DEF_REGION, SOLVE, 0, 0, NULL, 0, "solve\n", 6);
    begin(SOLVE, 1000100);
    event(1000200, 1000300);
    begin(HALO, 1000250); /* a clock that stepped back */
    trc_stream_fold(stream, index_of(1, TRC_SIG_POLL), 1000400, 1000410);
    trc_stream_fold(stream, index_of(1, TRC_SIG_POLL), 1000420, 1000430);
    end(HALO, 1000500);
    event(1000600, 1000700);
    end(0, 1000800);
    struct trc_file *file = look();
    static const struct {
        enum trc_record_kind kind;
        uint64_t begin, end, id;
    } wanted[] = {{TRC_RECORD_BEGIN, 1000100, 1000100, SOLVE}, {TRC_RECORD_EVENT, 1000200, 1000300, 0},
                  {TRC_RECORD_BEGIN, 1000300, 1000300, HALO},  {TRC_RECORD_FOLD, 1000400, 1000430, 0},
                  {TRC_RECORD_END, 1000500, 1000500, HALO},    {TRC_RECORD_EVENT, 1000600, 1000700, 0},
                  {TRC_RECORD_END, 1000800, 1000800, 0}};
    for (int all = 0; all < 2; all++) {
        struct trc_cursor *cursor = trc_cursor_open(file, 0);
        struct trc_record record;
        if (all)
            trc_cursor_want_regions(cursor);
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (!all && trc_is_region(wanted[i].kind))
                continue;
            bool same = trc_next(cursor, &record) == TRC_OK && record.kind == wanted[i].kind &&
                        record.begin == wanted[i].begin && record.end == wanted[i].end &&
                        record.sequence == wanted[i].id && (record.sig != NULL) == !trc_is_region(record.kind);
            CHECK(same, "record %zu: kind %d, from %llu to %llu", i, (int)record.kind, (unsigned long long)record.begin,
                  (unsigned long long)record.end);
        }
        CHECK(trc_next(cursor, &record) == TRC_END, "nothing more");
        trc_cursor_close(cursor);
    }
    CHECK(trc_region(file, SOLVE) && strcmp(trc_region(file, SOLVE), "solve?") == 0 && !trc_region(file, HALO),
          "a name, made harmless");
    close_file(file);
}

/* Old chunks are overwritten: regions begun in them are known all the same, and lost records are reported. */
static void test_recycled(void)
{
    begin_file(SMALL);
    begin(SOLVE, 1000100);
    begin(HALO, 1000200);
    for (uint64_t i = 0; i < EVENTS; i++)
        event(1001000 + 100 * i, 1001050 + 100 * i);
    struct trc_file *file = look();
    CHECK(trc_head(file)->recycled_chunks > 0, "else it is no test");
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    trc_cursor_want_regions(cursor);
    struct trc_record record;
    uint64_t opens = 0, events = 0;
    while (trc_next(cursor, &record) == TRC_OK) {
        events += record.kind == TRC_RECORD_EVENT;
        if (!trc_is_region(record.kind))
            continue;
        bool inner = opens++ % 2;
        CHECK(record.kind == TRC_RECORD_OPEN && record.count == 1u + inner && record.sequence == (inner ? HALO : SOLVE),
              "OPEN %llu: depth %llu", (unsigned long long)opens, (unsigned long long)record.count);
    }
    CHECK(opens == 2 * trc_event_chunks(file), "%llu in %zu chunks", (unsigned long long)opens, trc_event_chunks(file));
    uint64_t kept = 0;
    for (size_t i = 0; i < trc_event_chunks(file); i++)
        kept += trc_event_chunk(file, i).records;
    CHECK(events == kept, "regions are no records of a chunk: %llu, %llu", (unsigned long long)events,
          (unsigned long long)kept);
    trc_cursor_close(cursor);
    close_file(file);
}

/* Regions that an end leaves open. */
static void test_ends(void)
{
    struct trc_regions r = {0};
    for (uint32_t id = 1; id <= 4; id++)
        trc_regions_enter(&r, id);
    CHECK(trc_regions_leave(&r, 9) && r.depth == 4, "an end of none of them");
    CHECK(trc_regions_leave(&r, 2) && r.depth == 1, "an end of one further out ends those inside");
    CHECK(trc_regions_leave(&r, 0) && r.depth == 0 && trc_regions_leave(&r, 0) && r.depth == 0, "an end without begin");
    for (uint32_t i = 0; i < TRC_REGIONS_DEEP + 3; i++)
        CHECK(trc_regions_enter(&r, 5) == (i < TRC_REGIONS_DEEP), "%u deep", i);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(!trc_regions_leave(&r, 0) && r.depth == TRC_REGIONS_DEEP, "too deep");
    CHECK(trc_regions_leave(&r, 0) && r.depth == TRC_REGIONS_DEEP - 1, "the deepest that is recorded");
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/regions-%d.hpctop", (int)getpid());
    test_times();
    test_recycled();
    test_ends();
    unlink(path);
    return check_result();
}
