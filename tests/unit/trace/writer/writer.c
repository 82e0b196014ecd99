/* The writer against the reader: what streams write is what cursors read, with a bounded file, several threads, polls,
 * definitions, and no space. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/reader/reader.h"
#include "trace/writer/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <signal.h>
#include <errno.h>
#include <unistd.h>

static char folder[] = "/tmp/hpctop-writer-XXXXXX", path[128];

/* A clock that the test sets: times in the trace are exact. */
static _Atomic uint64_t now = 1000000;
static uint64_t test_ticks(void)
{
    return now;
}

static const struct trc_call calls[] = {
    {"MPI_Send", TRC_OP_SEND}, {"MPI_Test", TRC_OP_TEST}, {"MPI_Allreduce", TRC_OP_ALLREDUCE}};

static struct trc_writer *open_writer(size_t limit)
{
    struct trc_head head = {
        .state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC, .rank = 3, .world_size = 8};
    struct trc_writer *writer = calloc(1, sizeof *writer);
    unlink(path);
    writer->calls = calls;
    writer->call_count = sizeof calls / sizeof *calls;
    int error = trc_writer_open(writer, path, limit, &head, test_ticks);
    if (error) {
        printf("cannot make %s: error %d\n", path, error);
        exit(1);
    }
    return writer;
}

static struct trc_file *open_reader(void)
{
    struct trc_file *file = NULL;
    char error[512];
    if (trc_open(path, &file, error, sizeof error) != TRC_OK) {
        printf("%s\n", error);
        exit(1);
    }
    return file;
}

static struct trc_sig send_sig(int32_t peer, uint64_t bytes)
{
    return (struct trc_sig){.flags = TRC_SIG_P2P_OUT,
                            .comm = 1,
                            .peer = peer,
                            .tag = 7,
                            .source = TRC_PEER_NONE,
                            .rtag = TRC_TAG_NONE,
                            .sent = bytes,
                            .site = 0x1234};
}

static void test_events_and_counters(void)
{
    struct trc_writer *writer = open_writer(8u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 42, "main"), "no stream");
    enum { N = 200000 }; /* more than one chunk */
    uint64_t begin = now;
    for (uint64_t i = 0; i < N; i++) {
        struct trc_sig sig = send_sig((int32_t)(i % 5), 100 * (i % 3));
        uint32_t index = trc_stream_intern(stream, &sig);
        trc_stream_event(stream, index, begin + 10, begin + 10 + i % 1000, 0);
        trc_stream_count(stream, index, i % 1000);
        begin += 10 + i % 1000;
        now = begin;
    }
    struct trc_file *file = open_reader();
    CHECK(trc_head(file)->rank == 3 && trc_head(file)->world_size == 8, "head");
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint64_t seen = 0, base = 1000000;
    while (trc_next(cursor, &record) == TRC_OK) {
        bool same = record.kind == TRC_RECORD_EVENT && record.begin == base + 10 &&
                    record.end == base + 10 + seen % 1000 && record.sig->peer == (int32_t)(seen % 5) &&
                    record.sig->sent == 100 * (seen % 3) && record.sig->site == 0x1234;
        if (!same) {
            CHECK(same, "event %llu differs", (unsigned long long)seen);
            break;
        }
        base = record.end;
        seen++;
    }
    CHECK(seen == N, "read %llu of %d", (unsigned long long)seen, N);
    uint64_t counted = 0, sent = 0, ticks = 0;
    size_t n;
    const struct trc_counter *rows = trc_rows(file, 0, &n);
    CHECK(n > 1, "%zu rows", n);
    for (const struct trc_counter *row = rows; row < rows + n; row++) {
        counted += row->calls;
        sent += row->sent;
        ticks += row->ticks;
    }
    uint64_t want_sent = 0, want_ticks = 0;
    for (uint64_t i = 0; i < N; i++) {
        want_sent += 100 * (i % 3);
        want_ticks += i % 1000;
    }
    CHECK(counted == N && sent == want_sent && ticks == want_ticks, "rows: %llu calls", (unsigned long long)counted);
    uint64_t committed = 0;
    for (size_t i = 0; i < trc_event_chunks(file); i++)
        committed += trc_event_chunk(file, i).committed;
    CHECK(committed <= 8 * (uint64_t)N, "%.2f bytes an event", (double)committed / N);
    trc_cursor_close(cursor);
    trc_close(file);
    free(stream);
    free(writer);
}

/* A bucket that is half full: shares of the histogram stay.  Whoever calls looks through them in time. */
static void test_full_bucket(void)
{
    struct trc_writer *writer = open_writer(1u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 42, "main"), "no stream");
    struct trc_sig sig = send_sig(1, 8);
    uint32_t index = trc_stream_intern(stream, &sig);
    struct trc_row *row = stream->state[index].row;
    uint32_t often = trc_bucket(100), seldom = trc_bucket(100000), once = trc_bucket(5000000);
    row->histogram[often] = 3u << 30;
    row->histogram[seldom] = 1000;
    row->histogram[once] = 1;
    stream->page->thread.calls = (1u << 29) - 1;
    trc_stream_age(stream);
    CHECK(row->histogram[often] == 3u << 30, "looked through too early");
    for (int i = 0; i < 2; i++) { /* a FOLD is begun, and the next when it is full */
        trc_stream_count(stream, index, 100);
        trc_stream_fold(stream, index, now, now);
        stream->fold[0].count = TRC_FOLD_MOST;
        CHECK(row->histogram[often] == (3u << 29) + (unsigned)i && row->histogram[seldom] == 500 &&
                  row->histogram[once] == 1,
              "%u, %u, %u in the buckets", row->histogram[often], row->histogram[seldom], row->histogram[once]);
    }
    CHECK(stream->folds == 1 && stream->chunk->records == 2, "%u open, %u records", stream->folds,
          stream->chunk->records);
    free(stream);
    free(writer);
}

static void test_recycling(void)
{
    struct trc_writer *writer = open_writer(2u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 42, "main"), "no stream");
    enum { N = 1000000 };
    struct trc_sig sig = send_sig(1, 8);
    for (uint64_t i = 0; i < N; i++) {
        uint32_t index = trc_stream_intern(stream, &sig);
        trc_stream_event(stream, index, now + 1000, now + 3000, 0);
        trc_stream_count(stream, index, 2000);
        now += 3000;
    }
    struct trc_file *file = open_reader();
    const struct trc_head *head = trc_head(file);
    CHECK(head->recycled_chunks > 0 && head->lost_records == 0, "recycled %llu, lost %llu",
          (unsigned long long)head->recycled_chunks, (unsigned long long)head->lost_records);
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    uint64_t kept = 0, last = 0;
    while (trc_next(cursor, &record) == TRC_OK) {
        if (record.kind == TRC_RECORD_LOST)
            continue;
        CHECK(record.end - record.begin == 2000 && record.begin > last, "event %llu", (unsigned long long)kept);
        last = record.end;
        kept++;
    }
    CHECK(last == now, "the newest events are kept");
    CHECK(kept + head->recycled_records == N, "%llu kept + %llu recycled", (unsigned long long)kept,
          (unsigned long long)head->recycled_records);
    uint64_t counted = 0;
    size_t n;
    const struct trc_counter *rows = trc_rows(file, 0, &n);
    for (size_t i = 0; i < n; i++)
        counted += rows[i].calls;
    CHECK(counted == N, "counters do not forget: %llu", (unsigned long long)counted);
    CHECK(lseek(writer->fd, 0, SEEK_END) <= 2 << 20, "the file stays within its limit");
    trc_cursor_close(cursor);
    trc_close(file);
    free(stream);
    free(writer);
}

static void test_folds(void)
{
    struct trc_writer *writer = open_writer(8u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 42, "main"), "no stream");
    struct trc_sig poll = {.call = 1, .flags = TRC_SIG_POLL, .peer = TRC_PEER_NONE, .tag = TRC_TAG_NONE, .site = 1};
    struct trc_sig other = poll, send = send_sig(2, 16);
    other.site = 2;
    uint64_t start = now;
    for (int i = 0; i < 100000; i++) { /* two polls in turn: two folds */
        trc_stream_fold(stream, trc_stream_intern(stream, &poll), now, now + 10);
        trc_stream_fold(stream, trc_stream_intern(stream, &other), now + 20, now + 25);
        now += 50;
    }
    trc_stream_event(stream, trc_stream_intern(stream, &send), now, now + 100, 0);
    struct trc_file *file = open_reader();
    CHECK(trc_event_chunk(file, 0).committed < 300, "%u bytes", trc_event_chunk(file, 0).committed);
    struct trc_cursor *cursor = trc_cursor_open(file, 0);
    struct trc_record record;
    CHECK(trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_FOLD && record.count == 100000 &&
              record.begin == start && record.end == now - 40 && record.busy == 1000000 && record.sig->site == 1,
          "first fold");
    CHECK(trc_next(cursor, &record) == TRC_OK && record.kind == TRC_RECORD_FOLD && record.count == 100000 &&
              record.begin == start + 20 && record.end == now - 25 && record.sig->site == 2,
          "second fold");
    CHECK(trc_next(cursor, &record) == TRC_OK && record.begin == now && record.end == now + 100, "the send after them");
    trc_cursor_close(cursor);
    trc_close(file);
    free(stream);
    free(writer);
}

struct worker {
    struct trc_writer *writer;
    struct trc_stream *stream;
    uint32_t number;
    bool opened;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->stream = calloc(1, sizeof *worker->stream);
    worker->opened = trc_stream_open(worker->stream, worker->writer, worker->number + 1, "worker");
    for (uint64_t i = 0; worker->opened && i < 100000; i++) {
        struct trc_sig sig = send_sig((int32_t)worker->number, i % 700); /* more signatures than stay in one set */
        uint32_t index = trc_stream_intern(worker->stream, &sig);
        trc_stream_event(worker->stream, index, i * 10, i * 10 + 5, 0);
        if (i % 1000 == 0)
            trc_writer_define(worker->writer, TRC_DEF_SITE, 0, 0, worker->number << 16 | (uint32_t)i, NULL, 0,
                              "here\0there", 11);
    }
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 6 };
    struct trc_writer *writer = open_writer(64u << 20);
    struct worker worker[THREADS];
    pthread_t thread[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){.writer = writer, .number = i};
        if (pthread_create(&thread[i], NULL, work, &worker[i])) {
            perror("pthread_create");
            exit(1);
        }
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    struct trc_file *file = open_reader();
    CHECK(trc_threads(file) == THREADS, "%zu threads", trc_threads(file));
    for (size_t t = 0; t < trc_threads(file); t++) {
        struct trc_cursor *cursor = trc_cursor_open(file, t);
        struct trc_record record;
        uint64_t seen = 0;
        int32_t peer = (int32_t)trc_thread(file, t)->tid - 1;
        while (trc_next(cursor, &record) == TRC_OK) {
            CHECK(record.kind == TRC_RECORD_EVENT && record.sig->peer == peer && record.sig->sent == seen % 700,
                  "thread %zu, event %llu", t, (unsigned long long)seen);
            seen++;
        }
        CHECK(seen == 100000, "thread %zu: %llu events", t, (unsigned long long)seen);
        trc_cursor_close(cursor);
    }
    const char *function, *module;
    for (uint32_t t = 0; t < THREADS; t++)
        for (uint32_t i = 0; i < 100000; i += 1000) {
            trc_site(file, t << 16 | i, &function, &module);
            CHECK(function && strcmp(function, "here") == 0 && module && strcmp(module, "there") == 0, "site %u %u", t,
                  i);
        }
    CHECK(!trc_damage(file, 0), "%s", trc_damage(file, 0));
    trc_close(file);
    for (uint32_t i = 0; i < THREADS; i++)
        free(worker[i].stream);
    free(writer);
}

/* A limit on file sizes stands for a full disk: allocation fails while the first chunks are there. */
static void test_no_space(void)
{
    struct trc_writer *writer = open_writer(64u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 42, "main"), "no stream");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {2u << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct trc_sig sig = send_sig(1, 8);
    for (uint64_t i = 0; i < 1000000; i++) {
        trc_stream_event(stream, trc_stream_intern(stream, &sig), now + 1000, now + 3000, 0);
        now += 3000;
    }
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct trc_file *file = open_reader();
    const struct trc_head *head = trc_head(file);
    CHECK(head->error[0] && head->error_errno == EFBIG, "says '%s', errno %d", head->error, head->error_errno);
    CHECK(head->recycled_chunks > 0, "goes on in the space it has");
    trc_close(file);
    free(stream);
    free(writer);
}

/* Sessions of MPI may be begun and ended again and again. */
static void test_second_end(void)
{
    struct trc_writer *writer = open_writer(64 << 20);
    atomic_store(&writer->growing, 1); /* one who hangs in posix_fallocate */
    trc_writer_trim(writer);
    CHECK(!atomic_load(&writer->trimmed), "nothing is cut off from under a thread that allocates");
    atomic_store(&writer->growing, 0);
    trc_writer_trim(writer);
    trc_writer_trim(writer);
    CHECK(trc_writer_ready(writer) == 0, "%u blocks after the end", trc_writer_ready(writer));
    CHECK(trc_writer_untrim(writer), "there is room again");
    CHECK(!trc_writer_untrim(writer), "once");
    CHECK(trc_writer_define(writer, TRC_DEF_NAME, 1, 0, 0, NULL, 0, "x", 1), "and it is given");
    trc_writer_trim(writer);
    free(writer);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 77;
    snprintf(path, sizeof path, "%s/t.hpctop", folder);
    test_events_and_counters();
    test_recycling();
    test_full_bucket();
    test_folds();
    test_threads();
    test_no_space();
    test_second_end();
    unlink(path);
    rmdir(folder);
    return check_result();
}
