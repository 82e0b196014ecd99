/* Age of the last sign of life of a process of another host, when the wall clocks of the two hosts differ.  What a
 * GPU has done is no call of the process, but shows that it gets on. */
#include "tests/support/check.h"
#include "tests/support/trace_folder.h"
#include "trace/job/job.h"
#include "trace/members/members.h"
#include "trace/members/process.h"
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static void *write_some(void *unused)
{
    static char some[MIB];
    int fd = open("/dev/null", O_WRONLY);
    CHECK(write(fd, some, sizeof some) == MIB, "writing to nowhere");
    close(fd);
    return unused;
}

static sem_t go, done;
static void *recorder(void *unused)
{
    prctl(PR_SET_NAME, "hpctop");
    for (int i = 0; i < 2; i++) {
        sem_post(&done);
        sem_wait(&go);
        for (int k = 0; i == 0 && k < 8; k++)
            write_some(NULL);
    }
    return unused;
}

static void in_a_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, write_some, NULL);
    pthread_join(thread, NULL);
}

/* Threads that ended count, and the recorder's own does not, whether it lives or not. */
static void test_io(void)
{
    struct ana_process p = {.alive = true, .by_pid = true};
    p.rank.pid = (uint32_t)getpid();
    if (access("/proc/self/io", R_OK) != 0) {
        printf("skip io: this kernel does not count it\n");
        return;
    }
    pthread_t ours;
    sem_init(&go, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&ours, NULL, recorder, NULL);
    sem_wait(&done);
    uint64_t moved[5];
    moved[0] = ana_process_io(&p);
    in_a_thread();
    moved[1] = ana_process_io(&p);
    sem_post(&go);
    sem_wait(&done);
    moved[2] = ana_process_io(&p);
    sem_post(&go);
    pthread_join(ours, NULL);
    moved[3] = ana_process_io(&p);
    in_a_thread();
    moved[4] = ana_process_io(&p);
    const uint64_t want[] = {MIB, 0, 0, MIB};
    for (int i = 0; i < 4; i++) {
        uint64_t more = moved[i + 1] - moved[i];
        CHECK(more >= want[i] && more < want[i] + MIB / 2, "look %d: %llu more", i + 1, (unsigned long long)more);
    }
    p.rank.inside = "MPI_Recv";
    CHECK(ana_process_io(&p) == UINT64_MAX, "inside MPI nobody asks");
}

static void test_gpu_gets_on(void)
{
    enum { KERNELS = 5 };
    uint64_t progress[2], calls[2];
    for (int round = 0; round < 2; round++) {
        folder_make("process");
        struct tb *tb = tb_new(0, 1);
        struct trc_sig kernel = tb_sig(TB_KERNEL);
        tb_barrier(tb, 0, 1000, 2000, TB_WORLD, 0);
        for (int i = 0; i < KERNELS * (round + 1); i++)
            tb_event(tb, 1, &kernel, 3000 + 10 * i, 3005 + 10 * i, (struct tb_more){0});
        tb_device_stream(tb, 1, (struct trc_device_stream){1, 0, 1, 7});
        folder_write(tb, 0);
        tb_free(tb);
        struct ana_job *job = folder_open();
        progress[round] = ana_job_members(job)->process[0].progress;
        calls[round] = ana_job_members(job)->process[0].rank.calls;
        ana_job_close(job);
        folder_remove();
    }
    CHECK(progress[1] == progress[0] + KERNELS, "kernels: %d and %d done", (int)progress[0], (int)progress[1]);
    CHECK(calls[0] == 1 && calls[1] == 1, "calls: %d and %d", (int)calls[0], (int)calls[1]);
}

/* One look at the process, `s` seconds after the first one. */
static void look_at(struct ana_process *p, const struct ana_job *job, double s)
{
    int64_t now = (int64_t)((1000 + s) * 1e9);
    struct ana_here here = {.host = "here", .realtime_ns = INT64_MAX, .monotonic_ns = now, .read_ns = now};
    ana_process_refresh(p, ana_job_members(job)->clock, 0, &here);
}

static void write_beat(uint64_t number, int64_t ns)
{
    struct tb *tb = tb_new(0, 1);
    strcpy(tb_head(tb)->host, "elsewhere");
    tb_running(tb, ns);
    tb_head(tb)->heartbeats = number;
    folder_write(tb, 0);
    tb_free(tb);
}

/* A heartbeat is found seconds after the one before it: it is old where the process's own clock says so, as when a node
 * died and its digest told the last ones no more. */
static void test_found_late(void)
{
    static const struct {
        const char *what;
        double beat, look[2], silent; /* s after the first look, which saw the heartbeat before; 0: no look */
    } cases[] = {
        {"it died", 0.4, {2.5, 3.5}, 3.1},
        {"it lives", 3.5, {2.5, 3.5}, 0},
        {"it lives, and its clock is faster", 3.7, {2.5, 3.5}, 0},
        {"nobody looked meanwhile", 0.4, {0, 3.5}, 0},
        {"it was looked for a moment ago", 0.4, {0.7, 1.4}, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        folder_make("process");
        write_beat(100, 5000000000);
        struct ana_job *job = folder_open();
        struct ana_process p = {.heartbeats = 99, .rank.file = ana_job_members(job)->process[0].rank.file};
        look_at(&p, job, 0);
        if (cases[k].look[0] > 0)
            look_at(&p, job, cases[k].look[0]);
        write_beat(101, 5000000000 + (int64_t)(cases[k].beat * 1e9));
        trc_refresh(p.rank.file);
        look_at(&p, job, cases[k].look[1]);
        double silent = (double)p.silent_ns / 1e9;
        CHECK(silent > cases[k].silent - 0.01 && silent < cases[k].silent + 0.01, "%s: silent for %g s", cases[k].what,
              silent);
        ana_job_close(job);
        folder_remove();
    }
}

int main(void)
{
    test_gpu_gets_on();
    test_found_late();
    test_io();
    folder_make("process");
    struct tb *a = tb_new(0, 1);
    strcpy(tb_head(a)->host, "elsewhere");
    tb_running(a, 5000000);
    folder_write(a, 0);
    tb_free(a);
    struct ana_job *job = folder_open();
    struct ana_process p = {.rank = *ana_job_rank(job, 0), .alive = true};
    const struct trc_head *head = trc_head(p.rank.file);
    const int64_t second = 1000000000;
    struct ana_here here = {
        .host = "here", .realtime_ns = (int64_t)head->latest.realtime_ns + 5 * second, .monotonic_ns = 77 * second};
    double apart[3];
    apart[0] = (double)(ana_process_end_ticks(&p, &here) - head->latest.ticks) * trc_ns_per_tick(p.rank.file) / 1e9;
    p.heartbeat_seen = 77 * second - second / 10; /* it moved a moment ago */
    apart[1] = (double)(ana_process_end_ticks(&p, &here) - head->latest.ticks) * trc_ns_per_tick(p.rank.file) / 1e9;
    here.realtime_ns -= 8 * second; /* theirs is ahead */
    apart[2] = (double)(ana_process_end_ticks(&p, &here) - head->latest.ticks) * trc_ns_per_tick(p.rank.file) / 1e9;
    CHECK(apart[0] > 4.9 && apart[0] < 5.1, "the first look can only believe the wall clocks: %g", apart[0]);
    CHECK(apart[1] > 0.09 && apart[1] < 0.11, "then our own clock tells: %g", apart[1]);
    CHECK(apart[2] == 0, "never before the heartbeat: %g", apart[2]);
    ana_job_close(job);
    folder_remove();
    return check_result();
}
