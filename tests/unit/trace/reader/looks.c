/* Bytes that a look at a file reads: only existing ones, of an idle rank next to nothing. */
#include "tests/support/check.h"
#include "trace/reader/reader.h"
#include "trace/writer/writer.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Stands in front of libc's: counts bytes read. */
static size_t bytes_read, reads;
ssize_t pread(int fd, void *buffer, size_t size, off_t at)
{
    ssize_t n = syscall(SYS_pread64, fd, buffer, size, at);
    bytes_read += n > 0 ? (size_t)n : 0;
    reads++;
    return n;
}

static uint64_t now = 1000000;
static uint64_t ticks(void)
{
    return now;
}

static const struct trc_call calls[] = {{"MPI_Init", TRC_OP_INIT},
                                        {"MPI_Send", TRC_OP_SEND},
                                        {"MPI_Recv", TRC_OP_RECV},
                                        {"MPI_Allreduce", TRC_OP_ALLREDUCE}};
enum { CALLS = sizeof calls / sizeof *calls, USUAL = 12288, IDLE = 6144, READS = 10 };

static char path[] = "/tmp/hpctop-looks-XXXXXX";
static struct trc_writer writer;
static struct trc_stream *stream;

static void call(uint32_t which, int32_t peer)
{
    struct trc_sig sig = {.call = which, .flags = TRC_SIG_P2P_OUT, .peer = peer, .source = TRC_PEER_NONE, .sent = 64};
    uint32_t index = trc_stream_intern(stream, &sig);
    trc_stream_event(stream, index, now, now + 10, 0);
    trc_stream_count(stream, index, 10);
    stream->page->thread.last_end = now += 20;
}

static size_t look(struct trc_file *file)
{
    bytes_read = reads = 0;
    trc_refresh(file);
    return bytes_read;
}

static uint64_t count_calls(const struct trc_file *file, size_t *rows)
{
    uint64_t sum = 0;
    const struct trc_counter *row = trc_rows(file, 0, rows);
    for (size_t i = 0; i < *rows; i++)
        sum += row[i].calls;
    return sum;
}

int main(void)
{
    static char error[256];
    struct trc_head head = {.state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC, .world_size = 8};
    struct trc_file *file = NULL;
    size_t rows, peers;
    close(mkstemp(path));
    unlink(path);
    stream = calloc(1, sizeof *stream);
    writer.calls = calls;
    writer.call_count = CALLS;
    CHECK(!trc_writer_open(&writer, path, 64u << 20, &head, ticks) && trc_stream_open(stream, &writer, 1, "main"),
          "no file");
    for (uint32_t i = 0; i < 40; i++)
        call(i % CALLS, 1);
    CHECK(trc_open(path, &file, error, sizeof error) == TRC_OK, "%s", error);
    CHECK(count_calls(file, &rows) == 40 && rows == CALLS, "%zu rows", rows);
    call(0, 1);
    size_t busy = look(file);
    CHECK(busy <= USUAL && count_calls(file, &rows) == 41, "a look at a rank with %d kinds of calls reads %zu bytes",
          CALLS, busy);
    CHECK(reads <= READS, "a look at a rank reads %zu times", reads);
    look(file);
    size_t idle = look(file);
    CHECK(idle <= IDLE, "a look at an idle rank reads %zu bytes", idle);

    for (int32_t peer = 0; peer < 400; peer++) /* the page grows by several pieces */
        call(1, peer);
    size_t large = look(file);
    trc_peers(file, 0, &peers);
    CHECK(large > 2 * busy && peers == 400 && count_calls(file, &rows) == 441, "%zu bytes, %zu peers", large, peers);
    CHECK(trc_counters_known(file) && !trc_damage(file, 0), "%s", trc_damage(file, 0));
    printf("bytes a look reads: idle %zu, moved %zu, with 400 partners %zu\n", idle, busy, large);
    trc_close(file);
    unlink(path);
    return check_result();
}
