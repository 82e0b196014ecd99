#include "interpose/base/oldglibc.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/facts.h"
#include "interpose/core/filter.h"
#include "interpose/core/state.h"
#include "interpose/core/own.h"
#include "interpose/core/source.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define ROUND_NS      100000000  /* usual pause */
#define LONG_START    100u       /* rounds in MPI_Init after which it may never come out of it */
#define LATE_ROUND_NS 1000000000 /* after MPI_Finalize */

#define PATIENCE_NS 500000000 /* a disk that hangs must not hang the program */
#define SLACK_NS    10000000  /* by so much a usual pause may be longer: to wake with another timer costs less */

static atomic_int stopping;
static atomic_int running;
static atomic_int urgent; /* a round is due at once */

void ipo_heartbeat_wake(void)
{
    atomic_store(&urgent, 1);
    trc_writer_wake(&ipo_process.writer);
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
    if (!atomic_load(&ipo_own_ending) && !ipo_own_alone())
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

static void *run_heartbeat(void *unused)
{
    (void)unused;
    struct trc_writer *writer = &ipo_process.writer;
    unsigned beats = 0, rounds = 0;
    uint64_t now = trc_now_ns(), due = now + ROUND_NS;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    while (!atomic_load(&stopping) && !atomic_load(&ipo_own_ending)) {
        unsigned asked = atomic_load(&writer->asked);
        if (now < due && !atomic_load(&urgent) && !atomic_load(&stopping))
            trc_sys_wait(&writer->asked, asked, due - now);
        IPO_ASK_SOURCES(wake);
        trc_writer_keep_room(writer);
        bool at_once = atomic_exchange(&urgent, 0);
        now = trc_now_ns();
        if (now < due && !at_once) /* woken for room alone */
            continue;
        due = now + ROUND_NS;
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
    if (atomic_load(&stopping))
        trc_writer_trim(writer);
    else if (ipo_filter_is_there()) /* all that there will be */
        trc_writer_take_all(writer);
    write_back();
    atomic_store(&running, 0);
    trc_sys_wake(&running, 1);
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
    trc_writer_wake(&ipo_process.writer);
    if (atomic_load(&running))
        trc_sys_wait(&running, 1, PATIENCE_NS);
}
