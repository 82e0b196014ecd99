/* The writer's file on file systems that allocate by writing, and when somebody overwrites it. */
#include "tests/support/check.h"
#include "tests/support/trace_builder.h"
#include "trace/writer/writer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file system without fallocate: its stand-in writes, which is counted. */
static atomic_int written_here, written_there;
static pthread_t recording;
static bool opening = true;
static void wrote(void)
{
    if (!opening)
        atomic_fetch_add(pthread_equal(pthread_self(), recording) ? &written_here : &written_there, 1);
}
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_fallocate) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (number == SYS_pwrite64)
        wrote();
    if (!real)
        real = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static char path[] = "/tmp/hpctop-space-XXXXXX";

static uint64_t ticks(void)
{
    static uint64_t now = 1000;
    return now += 10;
}

static struct trc_writer *open_writer(size_t limit)
{
    static struct trc_writer writer;
    struct trc_head head = {.state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC};
    unlink(path);
    writer = (struct trc_writer){0};
    int error = trc_writer_open(&writer, path, limit, &head, ticks);
    CHECK(!error, "cannot be made: error %d", error);
    return error ? NULL : &writer;
}

static void record(struct trc_stream *stream, int n)
{
    for (int i = 0; i < n; i++) {
        struct trc_sig sig = {.call = 1, .peer = i % 7, .sent = 8};
        uint32_t index = trc_stream_intern(stream, &sig);
        uint64_t at = ticks();
        trc_stream_event(stream, index, at, at + 5, 0);
        trc_stream_count(stream, index, 5);
    }
}

static void *grow(void *writer)
{
    trc_writer_grow(writer, 1024);
    return NULL;
}

/* Chunks are made by our own thread; the program's thread goes on in old ones meanwhile. */
static void test_emulated(void)
{
    struct trc_writer *writer = open_writer(16u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    recording = pthread_self();
    opening = false;
    CHECK(trc_stream_open(stream, writer, 1, "main"), "no stream");
    record(stream, 300000);
    CHECK(written_here == 0, "%d allocations by writing in the recording thread", written_here);
    CHECK(writer->head->recycled_chunks > 0 && !writer->head->lost_records, "%llu chunks begun anew",
          (unsigned long long)writer->head->recycled_chunks);
    unsigned before = writer->head->blocks_allocated;
    pthread_t own;
    pthread_create(&own, NULL, grow, writer);
    pthread_join(own, NULL);
    CHECK(writer->head->blocks_allocated >= before + 1000 && written_there > 0, "%u blocks, then %u", before,
          writer->head->blocks_allocated);
    struct stat is;
    CHECK(!stat(path, &is) && (uint64_t)is.st_size ==
                                  writer->head->chunks_offset + (uint64_t)writer->head->blocks_allocated * TRC_BLOCK,
          "the file has %lld bytes", (long long)is.st_size);
    CHECK((is.st_mode & 0777) == 0600, "mode %o", is.st_mode & 0777);
    record(stream, 100000);
    CHECK(written_here == 0, "%d allocations by writing afterwards", written_here);
    trc_writer_trim(writer);
    free(stream);
}

/* Bytes that others write into the file do not lead our stores astray. */
static void test_overwritten(void)
{
    struct trc_writer *writer = open_writer(4u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 1, "main"), "no stream");
    record(stream, 1000);
    static struct trc_stack_place place;
    struct trc_def_stack stack = {.reason = TRC_STACK_HANG};
    CHECK(trc_writer_stack(writer, &place, 1, 1, 0, &stack, "x", 1), "no stack");
    place.chunk[place.current]->committed = UINT32_MAX - 64;
    memset((char *)writer->head + 8, 0xee, sizeof *writer->head - 8);
    record(stream, 300000);
    CHECK(trc_writer_stack(writer, &place, 2, 1, 0, &stack, "x", 1), "no second stack");
    CHECK(!trc_writer_check(writer), "the file is whole");
    trc_writer_trim(writer);
    free(stream);
}

/* The head is made anew where the file was cut before it, also if it is as long again when it is checked: by a thread
 * that was about to allocate.  `touched`: a page behind the end was touched meanwhile. */
static void test_cut(bool again, bool touched)
{
    struct trc_writer *writer = open_writer(4u << 20);
    struct trc_stream *stream = calloc(1, sizeof *stream);
    CHECK(trc_stream_open(stream, writer, 1, "main"), "no stream");
    record(stream, 1000);
    CHECK(!trc_writer_check(writer), "the file is whole");
    struct stat is;
    CHECK(!stat(path, &is) && !truncate(path, 0), "truncate");
    if (touched)
        CHECK(trc_writer_fault(writer, (uintptr_t)writer->chunks), "not in the mapping");
    CHECK(!again || !truncate(path, is.st_size), "truncate");
    const char *why = trc_writer_check(writer);
    CHECK(why && strstr(why, "cut") && atomic_load(&writer->stopped), "%s", why ? why : "not seen");
    record(stream, 300000); /* stores into memory that goes nowhere */
    trc_writer_stop(writer, why);
    struct trc_head head = {0};
    int fd = open(path, O_RDONLY);
    CHECK(read(fd, &head, sizeof head) == sizeof head && !memcmp(head.magic, TRC_MAGIC, 8) &&
              head.state == TRC_STATE_STOPPED && strstr(head.error, "cut") && head.blocks_allocated == 0,
          "the head is not there");
    close(fd);
    free(stream);
}

/* A chunk's part was cut and is as long again: no disk failed. */
static void test_cut_behind_the_head(void)
{
    struct trc_writer *writer = open_writer(4u << 20);
    struct stat is;
    CHECK(!stat(path, &is) && !truncate(path, (off_t)writer->head->chunks_offset), "truncate");
    CHECK(trc_writer_fault(writer, (uintptr_t)writer->chunks), "not in the mapping");
    CHECK(!truncate(path, is.st_size), "truncate");
    const char *why = trc_writer_check(writer);
    CHECK(why && strstr(why, "cut"), "%s", why ? why : "not seen");
    CHECK(trc_writer_fault(writer, (uintptr_t)writer->chunks), "not in the mapping");
}

int main(void)
{
    close(mkstemp(path));
    test_emulated();
    test_overwritten();
    test_cut(false, false);
    test_cut(true, false);
    test_cut(true, true);
    test_cut_behind_the_head();
    unlink(path);
    return check_result();
}
