#include "interpose/core/heartbeat.h"
#include "interpose/core/facts.h"
#include "interpose/core/filter.h"
#include "interpose/core/state.h"
#include "interpose/core/own.h"
#include "interpose/core/source.h"
#include "trace/writer/now.h"
#include "trace/writer/system.h"

#include <stdatomic.h>
#include <sys/prctl.h>

#define SLACK_NS 10000000 /* longest delay of a pause: waking with another timer costs less */

static atomic_int urgent; /* a round is due at once */
static atomic_int ending; /* reason for the end */
enum { UNFINISHED, PAUSE, OVER };

void ipo_heartbeat_wake(void)
{
    atomic_store(&urgent, 1);
    trc_writer_wake(&ipo_process.writer);
}

void ipo_heartbeat_anchor(void)
{
    struct trc_writer *writer = &ipo_process.writer;
    struct trc_head *head = writer->head;
    struct trc_anchor anchor;
    trc_writer_anchor(writer, &anchor);
    __atomic_fetch_add(&head->latest_version, 1, __ATOMIC_ACQ_REL);
    head->latest = anchor;
    __atomic_fetch_add(&head->latest_version, 1, __ATOMIC_ACQ_REL);
}

static void write_beat(void)
{
    struct trc_head *head = ipo_process.writer.head;
    ipo_heartbeat_anchor();
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

/* A mapped page of a network file system stays in this host's cache; other hosts see written-back pages only. */
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
    ipo_own_leave();
    return true;
}

/* The last round, which the program's thread waits for. */
static void finish(struct trc_writer *writer)
{
    IPO_ASK_SOURCES(round, true);
    ipo_facts_round();
    write_beat();
    ipo_heartbeat_file();
    if (atomic_load(&ending))
        trc_writer_trim(writer);
    else if (ipo_filter_is_there()) /* all that there will be */
        trc_writer_alloc_all(writer);
    if (atomic_load(&ending) == OVER && !atomic_load(&writer->stopped))
        writer->head->state = TRC_STATE_FINALIZED;
    write_back();
}

static void *run_heartbeat(void *unused)
{
    struct trc_writer *writer = &ipo_process.writer;
    unsigned rounds = 0;
    uint64_t now = trc_now_ns(), due = now;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    while (atomic_load(&ipo_own_runs)) {
        unsigned asked = atomic_load(&writer->asked);
        if (now < due && !atomic_load(&urgent) && atomic_load(&ipo_own_runs))
            trc_sys_wait(&writer->asked, asked, due - now);
        IPO_ASK_SOURCES(wake);
        trc_writer_prepare_room(writer);
        bool at_once = atomic_exchange(&urgent, 0);
        now = trc_now_ns();
        if (now < due && !at_once) /* woken for room alone */
            continue;
        due = now + TRC_BEAT_NS;
        write_beat();
        if (++rounds % 10 == 0) { /* about a second */
            IPO_ASK_SOURCES(second);
            if (is_over())
                break;
        }
        IPO_ASK_SOURCES(round, false);
        ipo_facts_round();
        ipo_heartbeat_file();
        if (rounds % 5 == 0)
            write_back();
    }
    finish(writer);
    return unused;
}

void ipo_heartbeat_start(void)
{
    static atomic_flag known = ATOMIC_FLAG_INIT;
    atomic_store(&ending, UNFINISHED);
    ipo_heartbeat_anchor(); /* the second clock anchor: from now on ticks can be converted to time */
    if (!atomic_flag_test_and_set(&known))
        ipo_own_thread("hpctop", run_heartbeat, NULL);
    ipo_own_start();
}

void ipo_heartbeat_end(bool over)
{
    atomic_store(&ending, over ? OVER : PAUSE);
    if (ipo_own_end() && !trc_must_not_ask())
        ipo_heartbeat_anchor(); /* no thread may have written one */
}
