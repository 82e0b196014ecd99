/* The writer's and the reader's idea of times, rows of FOLDs and requests against each other, in the corners. */
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "trace/reader/reader.h"
#include "trace/format/opclass.h"
#include "trace/writer/writer.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];
static uint64_t now = 1000000;
static uint64_t ticks(void)
{
    return now;
}

static const struct trc_call calls[] = {{"MPI_Send", TRC_OP_SEND},
                                        {"MPI_Iprobe", TRC_OP_PROBE},
                                        {"MPI_Barrier", TRC_OP_BARRIER},
                                        {"kernel", TRC_OP_KERNEL}};

static struct trc_writer writer;
static struct trc_stream *stream;

static void begin(size_t limit)
{
    struct trc_head head = {
        .clock_source = TRC_CLOCK_MONOTONIC, .state = TRC_STATE_RUNNING, .rank = 0, .world_size = 2, .pid = 1};
    now = 1000000;
    writer = (struct trc_writer){.calls = calls, .call_count = 4};
    unlink(path);
    int error = trc_writer_open(&writer, path, limit, &head, ticks);
    stream = calloc(1, sizeof *stream);
    if (error || !stream || !trc_stream_open(stream, &writer, 17, "main")) {
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

static void end(struct trc_file *file, struct trc_cursor *cursor)
{
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_cursor_close(cursor);
    trc_close(file);
    close(writer.fd);
    free(stream);
}

static struct trc_sig sig_of(uint32_t call, uint32_t flags, int32_t tag)
{
    return (struct trc_sig){.call = call,
                            .flags = flags,
                            .comm = 1,
                            .peer = TRC_PEER_NONE,
                            .tag = tag,
                            .source = TRC_PEER_ANY,
                            .rtag = TRC_TAG_NONE,
                            .sent = 8};
}

static void event(uint32_t call, uint32_t flags, int32_t tag, uint64_t from, uint64_t to, uint64_t sequence)
{
    struct trc_sig sig = sig_of(call, flags, tag);
    now = to;
    trc_stream_event(stream, trc_stream_intern(stream, &sig), from, to, sequence);
}

/* Many signatures, so that ways of the table change hands; many chunks; sequences. */
static void test_events(void)
{
    begin(64u << 20);
    enum { N = 200000 };
    for (uint64_t i = 0; i < N; i++) {
        uint64_t at = 2000000 + 100 * i;
        bool coll = i % 5 == 0;
        event(coll ? 2 : 0, coll ? TRC_SIG_COLL : 0, (int32_t)(i * 7919 % 5000), at, at + 60, i / 5);
    }
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint64_t i = 0;
    for (; trc_next(cursor, &record) == TRC_OK; i++) {
        uint64_t at = 2000000 + 100 * i;
        if (record.kind == TRC_RECORD_EVENT && record.begin == at && record.end == at + 60 &&
            record.sig->tag == (int32_t)(i * 7919 % 5000) && record.sequence == (i % 5 ? 0 : i / 5))
            continue;
        CHECK(0, "record %llu: tag %d begin %llu", (unsigned long long)i, record.sig ? record.sig->tag : 0,
              (unsigned long long)record.begin);
        break;
    }
    CHECK(i == N, "%llu records", (unsigned long long)i);
    CHECK(trc_event_chunks(file) > 3, "one chunk is no test");
    end(file, cursor);
}

/* Changes about a third of the fields in which variants of a signature differ. */
static void draw_variant(uint64_t *state, struct trc_sig *sig)
{
#define FIELD(type, name, kind)                                                                                        \
    if (TRC_VARIED_FIELDS >> TRC_SIG_FIELD_##name & 1 && draw(state, 3) == 0)                                          \
        sig->name = (type)(draw_bits(state) >> draw(state, 64));
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
}

/* Variants that are defined by the one before, also where the chunk does not define that. */
static void test_variants(void)
{
    begin(64u << 20);
    enum { N = 30000 };
    static struct trc_sig made[N];
    uint64_t state = 5;
    made[0] = sig_of(1, 0, 3);
    uint32_t index = trc_stream_intern(stream, &made[0]);
    for (uint32_t i = 0; i < N; i++) {
        trc_stream_event(stream, index, 2000000 + i, 2000000 + i, 0);
        if (i + 1 == N)
            break;
        const uint32_t like = index;
        made[i + 1] = made[i];
        draw_variant(&state, &made[i + 1]);
        index = trc_stream_variant(stream, like, draw(&state, TRC_SIGS / TRC_VARIANTS), &made[i + 1]);
        CHECK(index != like && trc_sig_equal(trc_stream_sig(stream, like), &made[i]), "variant %u has its place", i);
    }
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint32_t i = 0;
    while (i < N && trc_next(cursor, &record) == TRC_OK && trc_sig_equal(record.sig, &made[i]))
        i++;
    CHECK(i == N, "signature %u is another", i);
    CHECK(trc_event_chunks(file) > 3, "one chunk is no test");
    end(file, cursor);
}

/* A completion under the signature that the definition of a start's signature gives. */
static void test_done(void)
{
    begin(64u << 20);
    struct trc_sig start = sig_of(1, TRC_SIG_START | TRC_SIG_P2P_IN | TRC_SIG_ANY_TAG, 3);
    uint32_t index = trc_stream_intern(stream, &start);
    trc_stream_event(stream, index, 2000000, 2000010, 0);
    unsigned char *at = trc_put_item_word(stream->at, stream->state[index].done_item);
    trc_stream_put_subs(stream, trc_put_varint(at, 0), 1);
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    CHECK(trc_next(cursor, &record) == TRC_OK && record.request == 0, "the start");
    CHECK(trc_next(cursor, &record) == TRC_OK && record.request == 0 && record.begin == 2000000, "its completion");
    start.flags = TRC_SIG_P2P_IN | TRC_SIG_SUB | TRC_SIG_COMPLETE;
    CHECK(trc_sig_equal(record.sig, &start), "flags %x", record.sig->flags);
    end(file, cursor);
}

/* More kinds of polls in a row than stay open at once: each time is still right, and every poll is counted once. */
static void test_folds(int32_t kinds)
{
    begin(64u << 20);
    enum { ROUNDS = 100 };
    uint64_t at = 2000000, last_end = 0, polls = 0;
    event(0, 0, 1, at, at + 10, 0);
    for (int round = 0; round < ROUNDS; round++)
        for (int32_t kind = 0; kind < kinds; kind++, polls++) {
            struct trc_sig sig = sig_of(1, TRC_SIG_POLL, kind);
            at += 100;
            now = last_end = at + 30;
            trc_stream_fold(stream, trc_stream_intern(stream, &sig), at, last_end);
        }
    at += 100;
    event(0, 0, 2, at, at + 10, 0);
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint64_t counted = 0, busy = 0, latest = 0, first = UINT64_MAX;
    CHECK(trc_next(cursor, &record) == TRC_OK && record.sig->tag == 1, "the event before");
    while (trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_FOLD) {
        counted += record.count;
        busy += record.busy;
        latest = record.end > latest ? record.end : latest;
        first = record.begin < first ? record.begin : first;
        uint64_t begins = record.begin - 2000100, ends = record.end - 2000130, n = (uint64_t)kinds;
        CHECK(begins % 100 == 0 && ends % 100 == 0 && begins / 100 % n == (uint64_t)record.sig->tag &&
                  ends / 100 % n == (uint64_t)record.sig->tag && (ends - begins) / 100 == n * (record.count - 1),
              "%llu polls of kind %d from %llu to %llu", (unsigned long long)record.count, record.sig->tag,
              (unsigned long long)begins, (unsigned long long)ends);
    }
    CHECK(counted == polls && busy == polls * 30, "%llu polls of %llu", (unsigned long long)counted,
          (unsigned long long)polls);
    CHECK(first == 2000100 && latest == last_end, "from %llu to %llu", (unsigned long long)first,
          (unsigned long long)latest);
    CHECK(record.kind == TRC_RECORD_EVENT && record.sig->tag == 2 && record.begin == at && record.end == at + 10,
          "the event behind stands at %llu, not %llu", (unsigned long long)record.begin, (unsigned long long)at);
    end(file, cursor);
}

/* Calls made inside another call; a clock that steps back. */
static void test_times(void)
{
    begin(64u << 20);
    static const uint64_t from_to[][2] = {{2000000, 2000010}, {2000120, 2000130}, {2000140, 2000150},
                                          {2000100, 2000200}, {2000190, 2000250}, {2000300, 2000310}};
    for (int i = 0; i < 6; i++) /* the second and third lie inside the fourth */
        event(0, i == 1 || i == 2 ? TRC_SIG_NESTED : 0, i, from_to[i][0], from_to[i][1], 0);
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    for (int i = 0; i < 6; i++) {
        uint64_t from = i == 4 ? 2000200 : from_to[i][0]; /* it began before the one before had ended */
        CHECK(trc_next(cursor, &record) == TRC_OK && record.sig->tag == i && record.begin == from &&
                  record.end == from_to[i][1],
              "event %d from %llu to %llu", i, (unsigned long long)record.begin, (unsigned long long)record.end);
    }
    CHECK(trc_next(cursor, &record) == TRC_END, "one more");
    end(file, cursor);
}

/* Requests of this thread and of others. */
static void test_requests(void)
{
    begin(64u << 20);
    struct trc_sig done = sig_of(0, TRC_SIG_SUB | TRC_SIG_COMPLETE, 1);
    for (uint64_t i = 0; i < 100; i++) {
        event(0, TRC_SIG_START, 1, 2000000 + i * 10, 2000005 + i * 10, 0);
        stream->page->thread.starts++;
    }
    event(2, 0, 2, 3000000, 3000010, 0);
    uint32_t index = trc_stream_intern(stream, &done);
    for (uint64_t i = 0; i < 100; i += 9)
        trc_stream_sub(stream, index, false, 0, 99 - i, 0);
    trc_stream_sub(stream, index, true, 3, 12345, 0);
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    for (uint64_t i = 0; i < 100; i++)
        CHECK(trc_next(cursor, &record) == TRC_OK && record.request == i && record.request_thread == 0, "start");
    CHECK(trc_next(cursor, &record) == TRC_OK && record.sig->call == 2, "the call between");
    for (uint64_t i = 0; i < 100; i += 9)
        CHECK(trc_next(cursor, &record) == TRC_OK && record.request == i && record.request_thread == 0 &&
                  record.end == 3000010,
              "completion of %llu is of %llu", (unsigned long long)i, (unsigned long long)record.request);
    CHECK(trc_next(cursor, &record) == TRC_OK && record.request == 12345 && record.request_thread == 3,
          "another thread's");
    CHECK(trc_next(cursor, &record) == TRC_END, "one more");
    end(file, cursor);
}

/* Definitions of more than a chunk. */
static void test_definitions(void)
{
    begin(64u << 20);
    struct {
        struct trc_def_comm comm;
        int32_t members[100];
    } comm = {.comm = {.size = 100, .members = 100}};
    for (int32_t i = 0; i < 100; i++)
        comm.members[i] = i * 3;
    for (uint32_t id = 1; id <= 2000; id++) {
        comm.comm.identity = id;
        CHECK(trc_writer_define(&writer, TRC_DEF_COMM, id, 0, 0, &comm, sizeof comm, NULL, 0), "comm %u", id);
    }
    trc_writer_define(&writer, TRC_DEF_NAME, 5, 0, 0, NULL, 0, "five", 4);
    trc_writer_define(&writer, TRC_DEF_SITE, 0, 0, 0x1234, NULL, 0, "main+0x1\0app+0x2", 16);
    struct trc_file *file = look();
    for (uint32_t id = 1; id <= 2000; id++) {
        const struct trc_comm *found = trc_comm(file, id);
        CHECK(found && found->def.identity == id && trc_comm_world_rank(found, 99, false) == 297, "comm %u", id);
    }
    const struct trc_comm *five = trc_comm(file, 5);
    CHECK(five && five->name && !strcmp(five->name, "five"), "a name");
    const char *function, *module;
    trc_site(file, 0x1234, &function, &module);
    CHECK(function && !strcmp(function, "main+0x1") && module && !strcmp(module, "app+0x2"), "a site");
    end(file, NULL);
}

/* A process that writes as fast as it can into a file that is too small, and one that reads along: read items are in
 * order and whole, missed ones are reported, and nothing looks like damage. */
static void test_alongside(size_t limit)
{
    enum { N = 800000, FIRST = 2000000 };
    begin(limit);
    event(0, 0, -1, FIRST - 100, FIRST - 40, 0);
    struct trc_file *file = look();
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    CHECK(trc_next(cursor, &record) == TRC_OK && record.sig->tag == -1, "the first"); /* before it can be recycled */
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(1);
    }
    if (!child) {
        for (uint64_t i = 0; i < N; i++) {
            uint64_t at = FIRST + 100 * i;
            struct trc_sig poll = sig_of(1, TRC_SIG_POLL, 0);
            event(0, 0, (int32_t)(i * 7919 % 3000), at, at + 10, 0);
            for (uint64_t polls = i % 4; polls--;) /* sometimes */
                trc_stream_fold(stream, trc_stream_intern(stream, &poll), at + 90 - polls * 5, at + 92 - polls * 5);
        }
        writer.head->state = TRC_STATE_FINALIZED;
        _exit(0);
    }
    uint64_t next = 0, missed = 0, reads = 0;
    bool gap = false, over = false;
    while (!over) {
        over = trc_head(file)->state == TRC_STATE_FINALIZED; /* one more round after that */
        while (trc_next(cursor, &record) == TRC_OK) {
            if (record.kind == TRC_RECORD_LOST) {
                missed += record.count;
                gap = true;
                continue;
            }
            reads++;
            uint64_t i = (record.begin - FIRST) / 100;
            if (record.kind == TRC_RECORD_FOLD) {
                if (record.count != i % 4 || record.end != FIRST + 100 * i + 92)
                    CHECK(0, "%llu polls of %llu", (unsigned long long)record.count, (unsigned long long)i);
                continue;
            }
            if (record.end != record.begin + 10 || record.sig->tag != (int32_t)(i * 7919 % 3000) || i < next ||
                (i > next && !gap))
                CHECK(0, "event %llu where %llu was due", (unsigned long long)i, (unsigned long long)next);
            next = i + 1;
            gap = false;
        }
        if (failures)
            break;
        trc_refresh(file);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(next == N, "the last is %llu", (unsigned long long)next);
    CHECK(limit < 100u << 20 || !missed, "%llu missed in a file with room for all", (unsigned long long)missed);
    uint64_t all = N + (N / 4) * 3; /* a FOLD for three of four */
    CHECK(reads + missed == all, "%llu read, %llu missed of %llu", (unsigned long long)reads,
          (unsigned long long)missed, (unsigned long long)all);
    end(file, cursor);
}

/* A stream of a GPU: its page says whose it is, a kernel has a name, and late items have their own times. */
static void test_stream(void)
{
    static const struct trc_device_stream of = {.number = 1, .device = 3, .context = 5, .stream = 7};
    begin(2u << 20);
    struct trc_stream *gpu = calloc(1, sizeof *gpu);
    CHECK(gpu && trc_stream_open_device(gpu, &writer, &of, "gpu"), "no page");
    trc_writer_define(&writer, TRC_DEF_KERNEL, 1, 0, 0, NULL, 0, "_Z4busyi", 8);
    struct trc_sig sig = {.call = 3,
                          .object = 1,
                          .peer = TRC_PEER_NONE,
                          .tag = TRC_TAG_NONE,
                          .source = TRC_PEER_NONE,
                          .rtag = TRC_TAG_NONE};
    static const uint64_t span[][2] = {{500, 700}, {800, 900}, {300, 400}, {950, 960}};
    for (size_t i = 0; i < 4; i++) {
        uint32_t index = trc_stream_intern(gpu, &sig);
        trc_stream_step_back(gpu, span[i][0]);
        trc_stream_event(gpu, index, span[i][0], span[i][1], 0);
        trc_stream_count(gpu, index, span[i][1] - span[i][0]);
    }
    struct trc_file *file = look();
    const struct trc_thread *page = trc_thread(file, 1);
    const struct trc_device_stream *is = trc_device_stream(file, 1);
    CHECK(trc_threads(file) == 2 && !trc_is_stream(file, 0) && trc_is_stream(file, 1) && !trc_is_stream(file, 2),
          "kinds");
    CHECK(is->number == 1 && is->device == 3 && is->context == 5 && is->stream == 7 && !page->tid, "its page");
    CHECK(page->calls == 4, "%d", (int)page->calls);
    struct trc_cursor *cursor = trc_cursor_open(file, 1);
    struct trc_record r;
    for (size_t i = 0; i < 4; i++) {
        CHECK(trc_next(cursor, &r) == TRC_OK && r.begin == span[i][0] && r.end == span[i][1], "item %zu", i);
        const char *name = trc_kernel(file, r.sig->object);
        CHECK(name && strcmp(name, "_Z4busyi") == 0, "name %s", name ? name : "-");
    }
    CHECK(trc_next(cursor, &r) == TRC_END && !trc_kernel(file, 2), "more");
    free(gpu);
    end(file, cursor);
}

int main(void)
{
    snprintf(path, sizeof path, "hpctop-roundtrip-%d.hpctop", (int)getpid());
    test_events();
    test_variants();
    test_done();
    test_folds(2);
    test_folds(8);
    test_folds(20);
    test_times();
    test_requests();
    test_definitions();
    test_stream();
    test_alongside(2u << 20); /* recycled again and again */
    test_alongside(200u << 20);
    unlink(path);
    return check_result();
}
