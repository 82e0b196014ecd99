/* The pages of a trace are made before the recording thread writes them: by our own thread, or where that is late, by
 * one system call a chunk. */
#include "tests/support/check.h"
#include "trace/writer/writer.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS 1000000 /* 5 bytes each: 1200 pages */
#define FAULTS 20      /* faults of a thread that meets the file's pages first: code, stack, a stream's memory */

static char path[] = "/tmp/hpctop-pages-XXXXXX";
static struct trc_writer writer;
static sem_t woken, slept;
static bool ended;

static uint64_t ticks(void)
{
    static uint64_t now = 1000;
    return now += 10;
}

/* Our own thread, which wakes when it is asked to. */
static void *keep_room(void *unused)
{
    for (sem_wait(&woken); !ended; sem_wait(&woken)) {
        trc_writer_prepare_room(&writer);
        sem_post(&slept);
    }
    return unused;
}

static void wake(void)
{
    sem_post(&woken);
    sem_wait(&slept);
}

static long count_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

/* Records, and serves the recorder's wishes if `served`.  Returns the page faults of this thread. */
static long record(bool served)
{
    static struct trc_stream stream;
    struct trc_head head = {.state = TRC_STATE_RUNNING, .clock_source = TRC_CLOCK_MONOTONIC};
    const struct trc_sig sig = {.call = 1, .sent = 8};
    unlink(path);
    memset(&writer, 0, sizeof writer);
    memset(&stream, 0, sizeof stream);
    if (trc_writer_open(&writer, path, 64u << 20, &head, ticks) || !trc_stream_open(&stream, &writer, 1, "main")) {
        CHECK(false, "no file");
        return 0;
    }
    if (served)
        wake();
    const uint32_t index = trc_stream_intern(&stream, &sig);
    const long before = count_faults();
    unsigned asked = atomic_load(&writer.asked), late = 0;
    for (int i = 0; i < EVENTS; i++) {
        const uint64_t begin = ticks();
        trc_stream_event(&stream, index, begin, begin + 5, 0);
        late += atomic_load(&writer.populated) < atomic_load(&writer.next_block);
        if (served && atomic_load(&writer.asked) != asked)
            wake();
        asked = atomic_load(&writer.asked);
    }
    const long faults = count_faults() - before;
    CHECK(!late, "%u events while a chunk was there without its pages", late);
    CHECK(writer.head->blocks_used > 1200 && !writer.head->lost_records && !writer.head->recycled_chunks, "%llu blocks",
          (unsigned long long)writer.head->blocks_used);
    if (served)
        CHECK(writer.head->inline_growths <= 2, "%llu times nothing was ready",
              (unsigned long long)writer.head->inline_growths);
    trc_writer_trim(&writer);
    munmap(writer.base, writer.size);
    close(writer.fd);
    return faults;
}

int main(void)
{
    pthread_t own;
    close(mkstemp(path));
    sem_init(&woken, 0, 0);
    sem_init(&slept, 0, 0);
    pthread_create(&own, NULL, keep_room, NULL);
    record(false);
    const long faults = record(true);
    CHECK(writer.no_populate || faults <= FAULTS, "%ld page faults", faults);
    ended = true;
    sem_post(&woken);
    pthread_join(own, NULL);
    unlink(path);
    return check_result();
}
