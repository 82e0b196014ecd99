/* Counts of the kernel, written and read: in order and at its times, by whoever it is of; a file that grows; the
 * share of the file that it may take; a chunk that was overwritten; damage. */
#include "tests/support/check.h"
#include "trace/format/opclass.h"
#include "trace/reader/usage.h"
#include "trace/writer/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 64 << 20, SMALL = 6 << 20, THREADS = 200 };

static char path[64];
static uint64_t now;
static uint64_t ticks(void)
{
    return now;
}

static const struct trc_call calls[] = {{"MPI_Send", TRC_OP_SEND}};
static struct trc_writer writer;
static struct trc_usage_stream stream;

static void begin_file(size_t limit)
{
    struct trc_head head = {.clock_source = TRC_CLOCK_MONOTONIC, .state = TRC_STATE_RUNNING, .world_size = 1, .pid = 1};
    now = 1000000;
    writer = (struct trc_writer){.calls = calls, .call_count = 1};
    stream = (struct trc_usage_stream){.writer = &writer};
    unlink(path);
    int error = trc_writer_open(&writer, path, limit, &head, ticks);
    if (error) {
        printf("the writer cannot write %s: %s\n", path, strerror(error));
        exit(1);
    }
}

static struct trc_file *look(void)
{
    struct trc_file *file = NULL;
    char error[256];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK) {
        printf("%s\n", error);
        exit(1);
    }
    return file;
}

static struct trc_usage usage_of(uint32_t whose, uint64_t cpu, uint64_t read)
{
    struct trc_usage usage = {.whose = whose, .fields = 1u << TRC_USAGE_CPU | 1u << TRC_USAGE_READ};
    usage.value[TRC_USAGE_CPU] = cpu;
    usage.value[TRC_USAGE_READ] = read;
    return usage;
}

/* Item i: 200 threads, from 1000 i to 1000 i + 900. */
static bool write_item(uint64_t i)
{
    now = 2000000 + 1000 * i + 900;
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        struct trc_usage usage = usage_of(TRC_USAGE_THREAD + thread, i + thread, thread % 2 ? i << 30 : 0);
        if (!trc_usage_add(&stream, &usage))
            return false;
    }
    return trc_usage_end(&stream, now - 900, now);
}

/* Reads items from `i` on, with the empty ones before them; returns the number of the first that is not there. */
static uint64_t read_items(struct trc_usage_cursor *cursor, uint64_t i)
{
    struct trc_usage_item item;
    for (; trc_usage_next(cursor, &item) == TRC_OK; i++) {
        uint64_t at = 2000000 + 1000 * i;
        if (item.n == 0 && item.end == at && trc_usage_next(cursor, &item) != TRC_OK)
            break;
        bool good = item.n == THREADS && item.begin == at && item.end == at + 900;
        for (uint32_t t = 0; good && t < THREADS; t++) {
            const struct trc_usage *usage = &item.entry[t];
            uint64_t read = t % 2 ? i << 30 : 0;
            good = usage->whose == TRC_USAGE_THREAD + t && usage->value[TRC_USAGE_CPU] == i + t &&
                   usage->value[TRC_USAGE_READ] == read && (usage->fields >> TRC_USAGE_READ & 1) == (read != 0);
        }
        CHECK(good, "item %llu: %zu entries from %llu to %llu", (unsigned long long)i, item.n,
              (unsigned long long)item.begin, (unsigned long long)item.end);
        if (!good)
            break;
    }
    return i;
}

/* Blocks of chunks of usage. */
static size_t usage_blocks(struct trc_file *file)
{
    size_t n = 0;
    for (uint32_t i = 0; i < trc_head(file)->blocks_used;) {
        const struct trc_chunk *chunk = (const void *)(writer.chunks + (size_t)i * TRC_BLOCK);
        n += chunk->kind == TRC_CHUNK_USAGE ? chunk->blocks : 0;
        i += chunk->blocks;
    }
    return n;
}

static void test_order(void)
{
    begin_file(LARGE);
    uint64_t n = 0;
    while (n < 300)
        CHECK(write_item(n++), "no room");
    struct trc_file *file = look();
    struct trc_usage_cursor *cursor = trc_usage_open(file);
    CHECK(read_items(cursor, 0) == 300, "items are missing");
    CHECK(stream.chunks > 3, "%u chunks are no test", stream.chunks);
    for (uint64_t from = n; n < 700;) {
        CHECK(write_item(n++), "no room");
        if (n % 37 == 0) {
            trc_refresh(file);
            CHECK(read_items(cursor, from) == n, "item %llu", (unsigned long long)n);
            from = n;
        }
    }
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_usage_close(cursor);
    trc_close(file);
    close(writer.fd);
}

/* An eighth of the file is full: the oldest items go, and a reader in their midst goes on behind. */
static void test_share(void)
{
    begin_file(SMALL);
    CHECK(write_item(0) && write_item(1), "no room");
    struct trc_file *file = look();
    struct trc_usage_cursor *cursor = trc_usage_open(file);
    CHECK(read_items(cursor, 0) == 2, "the first two");
    for (uint64_t i = 2; i < 3000; i++)
        CHECK(write_item(i), "no room");
    trc_refresh(file);
    size_t most = trc_head(file)->block_limit / 8, has = usage_blocks(file);
    CHECK(has <= most && has >= most / 2, "%zu blocks of %zu", has, most);
    struct trc_usage_item item;
    uint64_t last = 0, seen = 0;
    while (trc_usage_next(cursor, &item) == TRC_OK) {
        CHECK(item.end > last, "back in time");
        last = item.end;
        seen += item.n > 0;
    }
    CHECK(last == 2000000 + 1000 * 2999 + 900 && seen > 100 && seen < 2998, "%llu items, the last at %llu",
          (unsigned long long)seen, (unsigned long long)last);
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_usage_close(cursor);
    trc_close(file);
    close(writer.fd);
}

/* Nothing is written where nothing rose; an owner may be new without any count; what does not decode costs its
 * chunk. */
static void test_small(void)
{
    begin_file(LARGE);
    CHECK(trc_usage_end(&stream, 1500000, 1600000) && stream.chunks == 0, "an item of nothing");
    struct trc_usage usage = {.whose = TRC_USAGE_NODE};
    CHECK(trc_usage_add(&stream, &usage) && trc_usage_end(&stream, 1700000, 1700000), "a new owner");
    usage = usage_of(TRC_USAGE_PROCESS, UINT64_MAX, 7);
    CHECK(trc_usage_add(&stream, &usage) && trc_usage_end(&stream, 1600000, 1500000), "a clock that steps back");
    struct trc_file *file = look();
    struct trc_usage_cursor *cursor = trc_usage_open(file);
    struct trc_usage_item item;
    CHECK(trc_usage_next(cursor, &item) == TRC_OK && item.n == 1 && item.entry[0].whose == TRC_USAGE_NODE &&
              item.entry[0].fields == 0 && item.begin == 1700000 && item.end == 1700000,
          "the new owner");
    CHECK(trc_usage_next(cursor, &item) == TRC_OK && item.n == 1 && item.entry[0].value[TRC_USAGE_CPU] == UINT64_MAX &&
              item.begin == 1700000 && item.end == 1700000,
          "the clock that steps back");
    CHECK(trc_usage_next(cursor, &item) == TRC_END && !trc_damage(file, 0), "no more");
    uint8_t *end = (uint8_t *)(stream.chunk[0] + 1) + stream.chunk[0]->committed;
    memcpy(end, (uint8_t[]){4, 1, 2, 1, 0xff}, 5); /* the value has no end */
    stream.chunk[0]->committed += 5;
    trc_refresh(file);
    CHECK(trc_usage_next(cursor, &item) == TRC_END && trc_damage(file, 0), "damage is not seen");
    trc_usage_close(cursor);
    trc_close(file);
    close(writer.fd);
}

/* Bytes that others write into the file do not lead our stores astray. */
static void test_overwritten(void)
{
    begin_file(LARGE);
    CHECK(write_item(0), "no room");
    struct trc_chunk *first = stream.chunk[0];
    first->committed = UINT32_MAX - 64;
    CHECK(write_item(1) && stream.chunk[stream.current] != first, "into a chunk with no room");
    close(writer.fd);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/usage-items-%d.hpctop", (int)getpid());
    test_order();
    test_share();
    test_small();
    test_overwritten();
    unlink(path);
    return check_result();
}
