#include "interpose/base/oldglibc.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/facts.h"
#include "interpose/core/state.h"
#include "interpose/core/own.h"
#include "interpose/core/source.h"
#include "trace/writer/system.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUND_NS      100000000 /* usual pause */
#define BUSY_ROUND_NS 5000000   /* while chunks are used up fast */
#define SMALL         64u       /* blocks of a file that is to stay small */
#define READY_LEAST   4u   /* blocks ahead of need: half of what a small one has, as many as a larger one has ... */
#define READY_MOST    256u /* ... but no more, usually */
#define BUSY          128u /* so many blocks in a round are many */
#define BUSY_READY    4096u
#define BUSY_PAGES    512u       /* so many of these get their pages at once */
#define LONG_START    100u       /* rounds in MPI_Init after which it may never come out of it */
#define LATE_ROUND_NS 1000000000 /* after MPI_Finalize */

#define SLACK_NS 10000000 /* by so much a usual pause may be longer: to wake with another timer costs less */

static atomic_int stopping;
static atomic_int running;

/* Sleeps, but ends at once when recording ends: MPI_Finalize waits for the last round. */
static void pause_ns(long ns)
{
    struct timespec pause = {.tv_nsec = ns};
    syscall(SYS_futex, &stopping, FUTEX_WAIT_PRIVATE, 0, &pause, NULL, 0);
}

void ipo_heartbeat_wake(void)
{
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void write_beat(void)
{
    struct trc_writer *writer = &ipo_process.writer;
    struct trc_head *head = writer->head;
    struct trc_anchor anchor;
    trc_writer_anchor(writer, &anchor);
    __atomic_fetch_add(&head->latest_version, 1, __ATOMIC_ACQ_REL);
    head->latest = anchor;
    __atomic_fetch_add(&head->latest_version, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&head->heartbeats, head->heartbeats + 1, __ATOMIC_RELAXED);
}

static void end_recording(const char *why)
{
    static atomic_flag ended = ATOMIC_FLAG_INIT;
    if (!why || atomic_flag_test_and_set(&ended))
        return;
    ipo_process_disarm();
    trc_writer_stop(&ipo_process.writer, why);
}

void ipo_heartbeat_file(void)
{
    end_recording(trc_writer_check(&ipo_process.writer));
}

/* On a network file system a mapped page stays in this host's cache; other hosts see only what was written back. */
static void write_back(void)
{
    if (ipo_process.write_back && !atomic_load(&ipo_process.writer.stopped))
        end_recording(trc_writer_sync(&ipo_process.writer));
}

/* Whether the program's threads have all ended.  The main thread may leave by pthread_exit, and the process ends
 * with its last thread, which must not be ours. */
static bool is_over(void)
{
    if (!ipo_own_alone())
        return false;
    atomic_store(&ipo_own_ending, true);
    IPO_ASK_SOURCES(over);
    return true;
}

/* After MPI_Finalize: a process that does not end still shows that it lives, and where it is. */
static void *run_after_end(void)
{
    for (unsigned rounds = 1; !is_over(); rounds++) {
        trc_sys_sleep(LATE_ROUND_NS);
        write_beat();
        ipo_heartbeat_file();
        IPO_ASK_SOURCES(round, IPO_ROUND_OVER);
        if (rounds % 2 == 0)
            write_back();
    }
    return NULL;
}

static void make_room(struct trc_writer *writer, bool busy)
{
    unsigned used = atomic_load(&writer->next_block), usual = used < SMALL ? used / 2 : used;
    usual = usual < READY_LEAST ? READY_LEAST : usual < READY_MOST ? usual : READY_MOST;
    /* Where the program's threads may not make room themselves, more is kept ready. */
    unsigned ready = busy || atomic_load(&writer->emulates) ? BUSY_READY : usual;
    if (trc_writer_ready(writer) < ready / 2)
        trc_writer_grow(writer, ready);
    trc_writer_populate(writer, busy ? BUSY_PAGES : usual);
}

static void *run_heartbeat(void *unused)
{
    (void)unused;
    struct trc_writer *writer = &ipo_process.writer;
    unsigned busy_rounds = 0, beats = 0, rounds = 0, before = atomic_load(&writer->next_block);
    bool busy = false, hurried = false;
    while (!atomic_load(&stopping)) {
        if (busy != hurried || !rounds)
            prctl(PR_SET_TIMERSLACK, busy ? 1 : SLACK_NS);
        hurried = busy;
        pause_ns(busy ? BUSY_ROUND_NS : ROUND_NS);
        IPO_ASK_SOURCES(wake);
        unsigned now = atomic_load(&writer->next_block);
        busy = now - before >= BUSY;
        before = now;
        make_room(writer, busy);
        if (busy && ++busy_rounds % 20 != 0)
            continue;
        write_beat();
        if (++rounds % 10 == 0) { /* about a second: call sites of calls that take that long get names */
            IPO_ASK_SOURCES(second);
            if (is_over())
                break;
        }
        IPO_ASK_SOURCES(round, IPO_ROUND);
        ipo_facts_round(writer->head->state != TRC_STATE_STARTING || rounds == LONG_START);
        ipo_heartbeat_file();
        if (++beats % 5 == 0)
            write_back();
    }
    IPO_ASK_SOURCES(round, IPO_ROUND_LAST);
    ipo_facts_round(true);
    write_beat();
    ipo_heartbeat_file();
    write_back();
    atomic_store(&running, 0);
    syscall(SYS_futex, &running, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return run_after_end();
}

void ipo_heartbeat_start(void)
{
    atomic_store(&running, 1);
    if (!ipo_own_thread("hpctop", run_heartbeat, NULL))
        atomic_store(&running, 0);
}

void ipo_heartbeat_now(void)
{
    if (atomic_load(&running))
        ipo_heartbeat_wake();
    else
        write_beat();
}

void ipo_heartbeat_stop(void)
{
    atomic_store(&stopping, 1);
    syscall(SYS_futex, &stopping, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    struct timespec patience = {.tv_nsec = 500000000}; /* a disk that hangs must not hang the program */
    if (atomic_load(&running))
        syscall(SYS_futex, &running, FUTEX_WAIT_PRIVATE, 1, &patience, NULL, 0);
}
