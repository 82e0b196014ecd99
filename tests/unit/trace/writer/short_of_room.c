/* The writer where room ends early: an item without room costs nothing else, a lost one is tried again, and the last
 * blocks of a disk are used. */
#include "tests/support/check.h"
#include "trace/reader/reader.h"
#include "trace/writer/round.h"
#include "trace/writer/writer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char path[64];
static uint64_t now;
static uint64_t ticks(void)
{
    return now;
}

static const struct trc_call calls[] = {{"MPI_Send", TRC_OP_SEND}, {"MPI_Barrier", TRC_OP_BARRIER}};
static struct trc_writer writer;
static struct trc_stream *stream;

/* A limit on file sizes stands for a disk that is full: the file has room for a number of blocks more than at first. */
static void fill_disk(unsigned more)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    if (more)
        limit.rlim_cur = writer.head->chunks_offset + (uint64_t)(writer.head->blocks_allocated + more) * TRC_BLOCK;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void begin(size_t limit)
{
    struct trc_head head = {.clock_source = TRC_CLOCK_MONOTONIC, .state = TRC_STATE_RUNNING, .world_size = 2, .pid = 1};
    now = 1000000;
    fill_disk(0);
    writer = (struct trc_writer){.calls = calls, .call_count = 2};
    unlink(path);
    int error = trc_writer_open(&writer, path, limit, &head, ticks);
    stream = calloc(1, sizeof *stream);
    if (error || !stream) {
        printf("the writer cannot write %s: error %d\n", path, error);
        exit(1);
    }
}

static void end(void)
{
    close(writer.fd);
    free(stream);
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

static void record(uint64_t n)
{
    struct trc_sig sig = {.peer = 1, .flags = TRC_SIG_P2P_OUT, .sent = 8};
    for (uint64_t i = 0; i < n; i++) {
        now += 300;
        trc_stream_event(stream, trc_stream_intern(stream, &sig), now - 200, now, 0);
    }
}

/* A call whose definition has no room is told once as lost, and defined when there is some. */
static void test_definition_later(void)
{
    begin(1);
    char name[4096] = "x";
    while (trc_writer_define(&writer, TRC_DEF_NAME, 1, 0, 0, NULL, 0, name, sizeof name))
        ;
    while (trc_writer_define(&writer, TRC_DEF_NAME, 1, 0, 0, NULL, 0, name, 1))
        ;
    uint64_t lost = writer.head->lost_records;
    for (int i = 0; i < 5; i++)
        trc_writer_call(&writer, 1);
    CHECK(writer.head->lost_records == lost + 1, "%llu lost", (unsigned long long)(writer.head->lost_records - lost));
    atomic_store(&writer.defs_blocks, 0);
    trc_writer_call(&writer, 1);
    trc_writer_call(&writer, 1);
    struct trc_file *file = look();
    CHECK(trc_call_known(file, 1) && !strcmp(trc_call(file, 1)->name, "MPI_Barrier"), "it is not defined later");
    trc_close(file);
    end();
}

/* A ROUND item has no room in any present chunk: the records behind it have. */
static void test_said(bool first)
{
    begin(64u << 20);
    fill_disk(2);
    CHECK(trc_stream_open(stream, &writer, 1, "main"), "no page");
    for (int i = 0; first && i < 150; i++) /* four blocks are left */
        trc_writer_define(&writer, TRC_DEF_FACT, 0, 0, 0, NULL, 0, "k\0v", 3);
    if (!first)
        record(100000);
    CHECK(!writer.head->lost_records, "%llu lost before", (unsigned long long)writer.head->lost_records);
    static char text[TRC_ROUND_BYTES];
    struct trc_round said = {.part = {text}, .size = {sizeof text}};
    while (writer.head->lost_records == 0 && trc_stream_add_round(stream, now, now, &said))
        ;
    uint64_t lost = writer.head->lost_records;
    CHECK(lost == 1, "%llu lost, not what was said", (unsigned long long)lost);
    record(5000);
    CHECK(writer.head->lost_records == lost, "%llu records lost behind it",
          (unsigned long long)(writer.head->lost_records - lost));
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record last = {0}, each;
    while (trc_next(cursor, &each) == TRC_OK)
        last = each;
    CHECK(last.end == now, "the newest event is not there");
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_cursor_close(cursor);
    trc_close(file);
    end();
}

/* Stacks of threads find a chunk in the smallest file that is full of events, and on a disk that was full early. */
static void test_stacks(unsigned full)
{
    static char text[TRC_STACK_TEXT];
    static struct trc_stack_place place;
    place = (struct trc_stack_place){0};
    begin(full ? 64u << 20 : 1);
    if (full)
        fill_disk(full);
    CHECK(trc_stream_open(stream, &writer, 1, "main"), "no page");
    record(1000000);
    CHECK(writer.head->recycled_chunks > 0, "the file is not full");
    struct trc_def_stack stack = {.reason = TRC_STACK_HANG};
    bool kept = trc_writer_stack(&writer, &place, 1, 1, 0, &stack, text, full ? 500 : sizeof text);
    CHECK(kept, "no stack where %u blocks were left", full);
    record(1000000);
    CHECK(!kept || place.chunk[place.current]->kind == TRC_CHUNK_STACKS, "it was overwritten");
    end();
}

/* However many blocks are left on the disk: they are all taken, and it is said that there are no more. */
static void test_last_blocks(void)
{
    for (unsigned left = 1; left < 40; left++) {
        begin(64u << 20);
        unsigned before = atomic_load(&writer.allocated);
        fill_disk(left);
        CHECK(trc_writer_grow(&writer, 256), "nothing was taken of %u blocks", left);
        unsigned taken = atomic_load(&writer.allocated) - before;
        CHECK(taken == left && writer.head->block_limit == before + left, "%u of %u blocks", taken, left);
        CHECK(writer.head->error[0] && writer.head->error_errno, "nothing is said");
        CHECK(!trc_writer_grow(&writer, 512), "more than there is");
        end();
    }
}

/* Full disks: early definitions have as much room as in the smallest file. */
static void test_definitions(void)
{
    begin(64u << 20);
    fill_disk(4);
    unsigned bytes = 0;
    char text[64 - sizeof(struct trc_def)] = "";
    while (trc_writer_define(&writer, TRC_DEF_NAME, 1, 0, 0, NULL, 0, text, sizeof text))
        bytes += 64;
    CHECK(bytes > 8 * TRC_BLOCK, "%u bytes of definitions", bytes);
    end();
}

/* A live page does not touch more of the file than it uses, and does not take what lay there for counters. */
static void test_page(void)
{
    begin(64u << 20);
    unsigned char *chunk = (unsigned char *)writer.chunks;
    memset(chunk + sizeof(struct trc_chunk), 0xaa, TRC_BLOCK * 2 - sizeof(struct trc_chunk));
    CHECK(trc_stream_open(stream, &writer, 1, "main"), "no page");
    size_t dirty = 0;
    for (size_t i = sizeof(struct trc_page); i < (size_t)TRC_BLOCK * 2; i++)
        dirty += chunk[i] != 0xaa;
    CHECK(dirty == 0, "%zu bytes were written behind the page", dirty);
    struct trc_sig sig = {.peer = 1, .flags = TRC_SIG_P2P_OUT, .sent = 8};
    uint32_t index = trc_stream_intern(stream, &sig);
    trc_stream_event(stream, index, now, now + 7, 0);
    trc_stream_count(stream, index, 7);
    struct trc_file *file = look();
    size_t rows, peers;
    const struct trc_counter *row = trc_rows(file, 0, &rows);
    const struct trc_peer *peer = trc_peers(file, 0, &peers);
    CHECK(rows == 1 && row->calls == 1 && row->ticks == 7 && row->sent == 8 && row->received == 0, "the row");
    CHECK(peers == 1 && peer->sent_bytes == 8 && peer->received_messages == 0, "the partner");
    trc_close(file);
    end();
}

int main(void)
{
    signal(SIGXFSZ, SIG_IGN);
    snprintf(path, sizeof path, "/tmp/short-of-room-%d.hpctop", (int)getpid());
    test_definition_later();
    test_said(false);
    test_said(true);
    test_stacks(0);
    for (unsigned left = 1; left < 32; left += 3)
        test_stacks(left);
    test_last_blocks();
    test_definitions();
    test_page();
    unlink(path);
    return check_result();
}
