/* No number in a file costs more than the file is long: each field of a rank's head, definitions, live page, items and
 * GPU table in turn is made huge, before the job is opened and while it is looked at.  Verdict, report and Horovod's
 * analysis end all the same, with little memory. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/device.h"
#include "trace/encode.h"
#include "trace/horovod.h"
#include "trace/report.h"
#include "trace/verdict.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define S        INT64_C(1000000000)
#define CASE_CPU 20 /* seconds: a case takes milliseconds, one that runs away minutes */
#define CASE_AS  (3ull << 30)

enum { RANKS = 4, GRID = 3, COPY = 4, INTER = 5, NCCL = 6, BETWEEN = 7, LOOP = 1 };

static FILE *nowhere;
static char doing[128]; /* what the alarm says */

static void ran_away(int signal)
{
    (void)signal;
    static const char text[] = ": more than its share of time\n";
    ssize_t n = write(1, doing, strlen(doing));
    n += write(1, text, sizeof text - 1);
    _exit(n < 0 ? 2 : 1);
}

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static void comms(struct tb *tb, int rank)
{
    static const int32_t all[] = {0, 1, 2, 3};
    struct trc_def_comm copy = {
        .identity = 0x44, .parent = TB_WORLD_IDENTITY, .rank = rank, .size = RANKS, .flags = TRC_COMM_ALL};
    struct trc_def_comm nccl = {.identity = 0x66, .rank = rank, .size = RANKS, .created_by = TB_NCCL_INIT};
    tb_comm(tb, GRID, 0x33, rank, all, RANKS);
    tb_define(tb, TRC_DEF_COMM, COPY, 0, 0, &copy, sizeof copy, 0);
    tb_intercomm(tb, INTER, 0x55, rank % 2, rank < 2 ? all : (const int32_t[]){2, 3, 0, 1}, 2, 2);
    tb_define(tb, TRC_DEF_COMM, NCCL, 0, 0, &nccl, sizeof nccl, 0);
    tb_between(tb, BETWEEN,
               &(struct tb_between){.identity = 0x77, .call = TB_COMM_DUP, .rank = rank, .here = RANKS, .beyond = 2});
    tb_comm_name(tb, GRID, "grid");
    tb_comm_free(tb, COPY);
    tb_win(tb, 1, GRID);
    tb_site(tb, 0x1000u + TB_SEND, "main+0x10", "/bin/app+0x10");
    tb_fact(tb, "env.HOROVOD_CACHE_CAPACITY", "1024");
    tb_stack(tb, 1, 7, (struct trc_def_stack){.reason = TRC_STACK_HANG, .state = 'S'}, "native\tmain+0x10\tapp+0x10\n");
    tb_stack(tb, 1, 0, (struct trc_def_stack){.reason = TRC_STACK_HANG, .flags = TRC_STACK_CLOSING, .count = 1}, "");
}

/* One turn of Horovod's loop: what was said in it, and the round. */
static void turn(struct tb *tb, uint64_t k, int64_t at)
{
    uint8_t item[128], body[96], *p = body;
    uint64_t words[2] = {k % 3 ? 0 : 1u << 3, 0};
    const uint64_t fields[] = {TRC_SAID_AND, COPY, k, k, 0, 1000, sizeof words};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        p = trc_put_varint(p, fields[i]);
    memcpy(p, words, sizeof words);
    p += sizeof words;
    item[0] = TRC_ITEM_SAID;
    uint8_t *end = trc_put_varint(item + 1, (uint64_t)(p - body));
    memcpy(end, body, (size_t)(p - body));
    tb_raw(tb, LOOP, item, (size_t)(end - item) + (size_t)(p - body), 0);
    struct trc_sig sig = tb_sig(TB_ALLREDUCE);
    sig.comm = COPY;
    sig.flags = TRC_SIG_COLL | TRC_SIG_CONTROL;
    sig.sent = sig.received = sizeof words / 2;
    tb_fold(tb, LOOP, &sig, at, at + 1000, 1, 900);
}

static void operations(struct tb *tb, int rank)
{
    for (uint64_t k = 0; k < 3; k++)
        tb_gpu_op(tb, (struct trc_gpu_op){.sequence = k,
                                          .count = 1024,
                                          .bytes = 4096,
                                          .stream = 0x100,
                                          .called = 1000 * k + 1,
                                          .enqueued = 1000 * k + 2,
                                          .started = 1000 * k + 3,
                                          .ended = k < 2 ? 1000 * k + 4 : 0,
                                          .comm = NCCL,
                                          .call = TB_NCCL_ALLREDUCE,
                                          .root = -1,
                                          .type = 7,
                                          .state = k < 2 ? TRC_GPU_COMPLETED : TRC_GPU_STARTED});
    (void)rank;
}

static void events(struct tb *tb, int rank)
{
    int32_t next = (rank + 1) % RANKS, before = (rank + RANKS - 1) % RANKS;
    for (uint64_t k = 0; k < 4; k++) {
        int64_t at = 10000 * (int64_t)k;
        uint64_t in = tb_irecv(tb, 0, at + 10, at + 20, before, 7, 100);
        tb_send(tb, 0, at + 30, at + 90, next, 7, 100);
        tb_wait_recv(tb, 0, at + 100, at + 200, in, before, 7, 100);
        tb_allreduce(tb, 0, at + 300, at + 400 + rank, TB_WORLD, k, 8);
        tb_barrier(tb, 0, at + 500, at + 600, GRID, k);
        tb_barrier(tb, 0, at + 700, at + 800, INTER, k);
        turn(tb, k, at);
    }
    tb_irecv(tb, 0, 90000, 90010, TRC_PEER_ANY, TRC_TAG_ANY, 1 << 20);
    struct trc_sig poll = tb_sig(TB_IPROBE);
    poll.flags = TRC_SIG_POLL;
    poll.source = TRC_PEER_ANY;
    tb_fold(tb, 0, &poll, 91000, 92000, 5, 500);
}

/* The last rank does not come to what the others wait in. */
static struct tb *make(int rank, enum tb_call call, uint32_t comm)
{
    struct tb *tb = tb_new(rank, RANKS);
    comms(tb, rank);
    events(tb, rank);
    tb_running(tb, 100 * S);
    if (comm == NCCL)
        operations(tb, rank);
    else if (rank < RANKS - 1) {
        struct trc_sig sig = tb_sig(call);
        sig.comm = comm;
        sig.flags = call == TB_RECV ? TRC_SIG_P2P_IN : TRC_SIG_COLL;
        sig.source = call == TB_RECV ? TRC_PEER_ANY : TRC_PEER_NONE;
        tb_inside(tb, 0, &sig, 20 * S, 4);
    }
    return tb;
}

/* ---- one look ------------------------------------------------------------------------------------------------------
 */

static void judge(struct ana_job *job)
{
    struct ana_summary s;
    struct ana_verdict v;
    struct ana_gpu_look look;
    ana_job_advance(job, 0);
    bool summed = ana_summarize(job, (struct ana_selection){0, INT64_MAX, NULL}, &s) == TRC_OK;
    bool judged = ana_verdict(job, NULL, &v);
    CHECK(summed && judged, "%s: out of memory", doing);
    if (summed) {
        ana_report_text(job, &s, true, nowhere);
        ana_summary_free(&s);
    }
    if (judged)
        ana_verdict_free(&v);
    if (ana_gpu_take_look(job, (struct ana_selection){0, INT64_MAX, NULL}, &look))
        ana_gpu_look_free(&look);
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
    for (int late = 0; late < 2; late++) {
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
    part(folder, fd, "thread", at, offsetof(struct trc_thread_chunk, reserved));
    part(folder, fd, "uses", at + (off_t)offsetof(struct trc_thread_chunk, uses), 8 * sizeof(uint64_t));
    part(folder, fd, "row", at + (off_t)offsetof(struct trc_thread_chunk, rows), 64);
    part(folder, fd, "peers", at + (off_t)offsetof(struct trc_thread_chunk, peers), 2 * sizeof(struct trc_peer));
    part(folder, fd, "sigs", at + (off_t)offsetof(struct trc_thread_chunk, sigs), 10 * sizeof(struct trc_sig));
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
    for (uint32_t i = 0; i < head.chunks_used; i++) {
        off_t at = (off_t)head.chunks_offset + (off_t)i * head.chunk_size;
        struct trc_chunk chunk;
        CHECK(pread(fd, &chunk, sizeof chunk, at) == sizeof chunk, "chunk %u", i);
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
    static const struct {
        enum tb_call call;
        uint32_t comm;
    } scene[] = {{TB_BARRIER, TB_WORLD}, {TB_BARRIER, GRID}, {TB_ALLREDUCE, COPY},  {TB_BARRIER, INTER},
                 {TB_RECV, TB_WORLD},    {TB_RECV, COPY},    {TB_BARRIER, BETWEEN}, {TB_INIT, NCCL}};
    nowhere = fopen("/dev/null", "w");
    signal(SIGPROF, ran_away);
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &(struct rlimit){CASE_AS, CASE_AS});
#endif
    for (size_t i = 0; i < sizeof scene / sizeof *scene; i++) {
        const char *folder = folder_make("counts");
        for (int rank = 0; rank < RANKS; rank++)
            folder_write(make(rank, scene[i].call, scene[i].comm), rank);
        all_fields(folder, i == 0);
        folder_remove();
    }
    fclose(nowhere);
    return failures ? 1 : 0;
}
