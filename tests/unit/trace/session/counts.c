/* No number in a file costs more than the file is long: each field of a rank's head, definitions, live page, items and
 * GPU table in turn is made huge, before the job is opened and while it is looked at.  Verdict, report and Horovod's
 * analysis end all the same, with little memory. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "tests/support/trace_scene.h"
#include "trace/gpu/device.h"
#include "trace/session/session.h"
#include "trace/horovod/horovod.h"
#include "trace/report/report.h"
#include "trace/verdict/verdict.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define CASE_CPU 20 /* seconds: a case takes milliseconds, one that runs away minutes */
#define CASE_AS  (3ull << 30)

static FILE *nowhere;
static char doing[128]; /* message of the alarm */

static void ran_away(int signal)
{
    (void)signal;
    static const char text[] = ": more than its share of time\n";
    ssize_t n = write(1, doing, strlen(doing));
    n += write(1, text, sizeof text - 1);
    _exit(n < 0 ? 2 : 1);
}

/* ---- one look ------------------------------------------------------------------------------------------------------
 */

static void judge(struct ana_job *job)
{
    struct ana_summary s;
    struct ana_gpu_summary look;
    ana_job_advance(job, 0);
    bool summed = ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &s) == TRC_OK;
    const struct ana_verdict *v = ana_job_verdict(job);
    CHECK(summed && v, "%s: out of memory", doing);
    if (summed) {
        ana_report_text(job, &s, true, nowhere);
        ana_summary_free(&s);
    }
    if (ana_gpu_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &look))
        ana_gpu_summary_free(&look);
    ana_job_horovod(job);
}

static void watch(bool on)
{
    struct itimerval timer = {.it_value.tv_sec = on ? CASE_CPU : 0};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static struct ana_job *open_quietly(const char *folder)
{
    struct ana_job *job = NULL;
    char error[512];
    ana_job_open(&folder, 1, &job, error, sizeof error);
    return job;
}

static void one(const char *folder, int fd, off_t at, uint32_t value)
{
    uint32_t before;
    if (pread(fd, &before, sizeof before, at) != sizeof before || before == value)
        return;
    watch(true);
    for (int late = at / 16 % 2; late < 2; late += 2) {
        struct ana_job *job = late ? open_quietly(folder) : NULL;
        if (job)
            judge(job);
        CHECK(pwrite(fd, &value, sizeof value, at) == sizeof value, "no room");
        if (job)
            ana_job_refresh(job);
        else
            job = open_quietly(folder);
        if (job) {
            judge(job);
            ana_job_close(job);
        }
        CHECK(pwrite(fd, &before, sizeof before, at) == sizeof before, "no room");
    }
    watch(false);
}

/* ---- all fields ---------------------------------------------------------------------------------------------------
 */

static void part(const char *folder, int fd, const char *what, off_t from, size_t size)
{
    static const uint32_t huge[] = {400000000, 16000000, 0x7fffffff, 0xffffffff};
    size_t kinds = getenv("COUNTS_ALL") ? 4 : 1;
    for (size_t at = 0; at + 4 <= size; at += 4)
        for (size_t i = 0; i < kinds; i++) {
            size_t k = kinds == 1 ? at / 4 % 4 : i;
            snprintf(doing, sizeof doing, "%s+%zu (%lld) made %u", what, at, (long long)from + (long long)at, huge[k]);
            one(folder, fd, from + (off_t)at, huge[k]);
        }
}

static void live_page(const char *folder, int fd, off_t at)
{
    struct trc_page page;
    CHECK(pread(fd, &page, sizeof page, at) == sizeof page, "a live page");
    part(folder, fd, "thread", at, sizeof page);
    off_t end = at + (off_t)(sizeof page.chunk + page.chunk.committed);
    size_t size = 0;
    for (off_t entry = at + (off_t)sizeof page; entry < end; entry += (off_t)size) {
        uint16_t what;
        CHECK(pread(fd, &what, sizeof what, entry) == sizeof what, "an entry");
        size = what == TRC_ENTRY_ROW    ? sizeof(struct trc_row)
               : what == TRC_ENTRY_PEER ? sizeof(struct trc_peer)
                                        : sizeof(struct trc_use);
        part(folder, fd, "entry", entry, size < sizeof(struct trc_use) ? size : sizeof(struct trc_use));
    }
}

static void all_fields(const char *folder, bool whole)
{
    char path[512];
    struct trc_head head;
    snprintf(path, sizeof path, "%s/0.hpctop", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0 && pread(fd, &head, sizeof head, 0) == sizeof head, "%s", path);
    if (whole)
        part(folder, fd, "head", 0, offsetof(struct trc_head, host));
    struct trc_chunk chunk;
    for (uint32_t i = 0; i < head.blocks_used; i += chunk.blocks) {
        off_t at = (off_t)head.chunks_offset + (off_t)i * head.block_size;
        CHECK(pread(fd, &chunk, sizeof chunk, at) == sizeof chunk && chunk.blocks, "chunk at block %u", i);
        size_t items = chunk.committed < 1024 ? chunk.committed : 1024;
        if (chunk.kind == TRC_CHUNK_THREAD && whole)
            live_page(folder, fd, at);
        else if (chunk.kind == TRC_CHUNK_GPU)
            part(folder, fd, "operations", at,
                 sizeof chunk + sizeof(struct trc_gpu_head) + 2 * sizeof(struct trc_gpu_op));
        else if (whole || chunk.kind == TRC_CHUNK_DEFS)
            part(folder, fd, chunk.kind == TRC_CHUNK_DEFS ? "definitions" : "items", at, sizeof chunk + items);
    }
    close(fd);
}

int main(void)
{
    nowhere = fopen("/dev/null", "w");
    signal(SIGPROF, ran_away);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    setrlimit(RLIMIT_AS, &(struct rlimit){CASE_AS, CASE_AS});
#endif
    for (int scene = 0; scene < SCENES; scene++) {
        const char *folder = folder_make("counts");
        for (int rank = 0; rank < SCENE_RANKS; rank++) {
            struct tb *tb = scene_rank(scene, rank);
            folder_write(tb, rank);
            tb_free(tb);
        }
        all_fields(folder, scene == 0);
        folder_remove();
    }
    fclose(nowhere);
    return check_result();
}
