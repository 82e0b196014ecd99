#include "interpose/usage/hardware.h"
#include "interpose/core/facts.h"
#include "interpose/core/own.h"
#include "interpose/usage/usage.h"
#include "trace/writer/system.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9, on all machines */
#endif
#define OWN_TABLE   2u        /* CLOSE_RANGE_UNSHARE */
#define PATIENCE_NS 200000000 /* wait for the last count */

enum { INSTRUCTIONS, CYCLES, EVENTS };
static const struct {
    uint64_t config;
    enum trc_usage_field field;
} events[EVENTS] = {{PERF_COUNT_HW_INSTRUCTIONS, TRC_USAGE_INSTRUCTIONS}, {PERF_COUNT_HW_CPU_CYCLES, TRC_USAGE_CYCLES}};

/* The counters of the thread that has a live page. */
static struct {
    uint32_t tid; /* 0: none */
    int fd[EVENTS];
} opened[TRC_MAX_THREADS];
static atomic_int state;                 /* our thread's */
enum { NONE, LIVES, OWN_DESCRIPTORS };   /* the last: they may be opened */
static atomic_int asked, answered, ends; /* ends: after the next count */

/* Opens a counter of a thread; `leader` -1: it leads a group.  Returns a descriptor, or -1. */
static int open_event(unsigned event, uint32_t tid, int leader)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = events[event].config;
    attributes.exclude_kernel = attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &attributes, tid, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static void open_thread(uint32_t tid, uint32_t index)
{
    for (unsigned i = 0; opened[index].tid && i < EVENTS; i++)
        trc_sys_close(opened[index].fd[i]);
    opened[index].tid = 0;
    int *fd = opened[index].fd;
    fd[0] = open_event(0, tid, -1);
    fd[1] = fd[0] < 0 ? -1 : open_event(1, tid, fd[0]);
    if (fd[1] >= 0)
        opened[index].tid = tid;
    else if (fd[0] >= 0)
        trc_sys_close(fd[0]);
}

void ipo_hardware_read(uint32_t tid, uint32_t index, struct trc_usage *now)
{
    struct {
        uint64_t n, enabled, running, value[EVENTS];
    } group;
    if (atomic_load(&state) != OWN_DESCRIPTORS)
        return;
    if (opened[index].tid != tid)
        open_thread(tid, index);
    if (opened[index].tid != tid || trc_sys_read(opened[index].fd[0], &group, sizeof group) != sizeof group ||
        !group.running)
        return;
    /* Shares the processor's counters out where others count, too: unseen time counts like the rest. */
    double part = group.running < group.enabled ? (double)group.enabled / (double)group.running : 1;
    for (unsigned i = 0; i < EVENTS; i++)
        ipo_usage_set(now, events[i].field, (uint64_t)((double)group.value[i] * part));
}

static void wait_for(atomic_int *word, int value, long ns)
{
    struct timespec patience = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &patience : NULL, NULL, 0);
}

static void *run_counting(void *unused)
{
    (void)unused;
    int done = atomic_load(&answered);
    memset(opened, 0, sizeof opened); /* an earlier thread's have ended with it */
    bool own = !syscall(SYS_close_range, 0u, ~0u, OWN_TABLE);
    ipo_fact("usage.hardware", own ? "instructions and cycles" : "no: this needs Linux 5.9");
    if (own)
        atomic_store(&state, OWN_DESCRIPTORS);
    for (bool last = !own; !last;) {
        int now = atomic_load(&asked);
        if (now == done) {
            wait_for(&asked, done, 0);
            continue;
        }
        last = atomic_load(&ends);
        ipo_usage_count(last);
        done = now;
        atomic_store(&answered, done);
        syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    atomic_store(&state, NONE);
    return NULL;
}

void ipo_hardware_start(void)
{
    int fd = open_event(0, 0, -1);
    if (fd < 0) {
        ipo_fact("usage.hardware", errno == EACCES || errno == EPERM ? "no: perf_event_open is not allowed"
                                                                     : "no: perf_event_open knows no such counters");
        return;
    }
    trc_sys_close(fd);
    atomic_store(&state, LIVES);
    if (!ipo_own_thread("hpctop", run_counting, NULL))
        atomic_store(&state, NONE);
}

bool ipo_hardware_ask(bool last)
{
    if (atomic_load(&state) == NONE)
        return false;
    int before = atomic_load(&answered);
    atomic_store(&ends, last);
    atomic_fetch_add(&asked, 1);
    syscall(SYS_futex, &asked, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    if (last)
        wait_for(&answered, before, PATIENCE_NS);
    return true;
}
