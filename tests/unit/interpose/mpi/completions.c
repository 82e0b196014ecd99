/* Requests through the record path: random starts, waits and frees on the fake MPI, sends behind the shared handle
 * among them.  The trace has each start, and each completion under the number of its start with its result, in order;
 * and so where four threads wait for what the others have started. */
#include "interpose/mpi/abi.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/ranks.h"
#include "tests/support/recorder/recorder.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { WORLD = 6, SLOTS = 32, STEPS = 20000, THREADS = 4, BY_THREAD = 2500, SITE = 0x700000 };

/* A start, or a completion. */
struct item {
    bool completes, receives, cancelled;
    uint32_t thread; /* thread that started it */
    uint64_t number; /* number of the start, there */
    int32_t peer, tag;
    uint64_t bytes;
};

/* Expected part of one thread in the trace. */
struct list {
    struct item item[2 * STEPS];
    unsigned n;
};

/* A request variable of the program. */
struct slot {
    atomic_bool started; /* the rest is there for the thread that completes it */
    struct item completion;
};

static struct list lists[THREADS];
static struct slot slots[THREADS][SLOTS];
static _Alignas(8) char variables[THREADS][SLOTS * 8];

static w variable(unsigned thread, unsigned slot)
{
    return (w)&variables[thread][slot * ipo_abi.handle_bytes];
}

static void begin(unsigned me, unsigned at, uint64_t *state, uint64_t *starts)
{
    struct slot *slot = &slots[me][at];
    const bool receives = draw(state, 2), any = receives && draw(state, 3) == 0;
    const bool usual = draw(state, 8); /* like the one before it, as a rule */
    const int n = usual ? 8 << draw(state, 5) : 2 * (int)draw(state, 100), tag = (int)draw(state, usual ? 3 : 50),
              peer = (int)draw(state, WORLD);
    struct item item = {.receives = receives,
                        .thread = ipo_thread_self()->stream.page->thread.index,
                        .number = (*starts)++,
                        .peer = any ? TRC_PEER_ANY : peer,
                        .tag = any ? TRC_TAG_ANY : tag,
                        .bytes = (uint64_t)n};
    if (receives)
        MPI(SITE, Irecv, 0x1000, (w)n, ipo_abi.byte_type, any ? (w)ipo_abi.any_source : (w)peer,
            any ? (w)ipo_abi.any_tag : (w)tag, ipo_abi.comm_world, variable(me, at));
    else
        MPI(SITE, Isend, 0x1000, (w)n, ipo_abi.byte_type, (w)peer, (w)tag, ipo_abi.comm_world, variable(me, at));
    lists[me].item[lists[me].n++] = item;
    item.completes = true;
    if (any) {
        item.peer = item.tag = 0;
        item.bytes /= 2;
    }
    slot->completion = item;
    atomic_store(&slot->started, true);
}

/* Completions by `me` of the slots of `owner`. */
static void note(unsigned me, unsigned owner, unsigned at)
{
    lists[me].item[lists[me].n++] = slots[owner][at].completion;
    atomic_store(&slots[owner][at].started, false);
}

static void give_up(unsigned me, unsigned at)
{
    struct item *item = &slots[me][at].completion;
    item->cancelled = item->receives; /* unknown result yet */
    MPI(SITE, Request_free, variable(me, at));
    note(me, me, at);
}

static void wait_for(unsigned me, unsigned owner, unsigned at, uint64_t *state)
{
    uintptr_t status[4];
    MPI(SITE, Wait, variable(owner, at), draw(state, 2) ? (w)status : ipo_abi.status_ignore);
    note(me, owner, at);
}

/* Requests under way in a range. */
static void wait_for_all(unsigned me, unsigned at, uint64_t *state)
{
    static _Thread_local uintptr_t statuses[SLOTS * 4];
    unsigned n = 1 + draw(state, SLOTS - at);
    MPI(SITE, Waitall, n, variable(me, at), draw(state, 2) ? (w)statuses : ipo_abi.statuses_ignore);
    for (unsigned i = at; i < at + n; i++)
        if (atomic_load(&slots[me][i].started))
            note(me, me, i);
}

static void clear_variables(void)
{
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned at = 0; at < SLOTS; at++)
            fake_mpi_store((void *)variable(thread, at), ipo_abi.request_null);
}

/* ---- the trace */

static bool is_said(const struct trc_record *record, const struct item *item)
{
    const struct trc_sig *sig = record->sig;
    bool completes = sig->flags & TRC_SIG_COMPLETE, receives = sig->flags & TRC_SIG_P2P_IN;
    if (completes != item->completes || receives != item->receives || record->request != item->number ||
        record->request_thread != item->thread ||
        !(sig->flags & TRC_SIG_CANCELLED) == (item->completes && item->cancelled))
        return false;
    if (item->cancelled)
        return true;
    return receives ? sig->source == item->peer && sig->rtag == item->tag && sig->received == item->bytes
                    : sig->peer == item->peer && sig->tag == item->tag && sig->sent == item->bytes;
}

static void compare(struct trc_file *file, const struct list *list, uint32_t thread)
{
    struct trc_cursor *cursor = trc_cursor_open(file, thread);
    struct trc_record record;
    unsigned at = 0;
    while (trc_next(cursor, &record) == TRC_OK) {
        if (!record.sig || !(record.sig->flags & (TRC_SIG_START | TRC_SIG_COMPLETE)))
            continue;
        bool same = at < list->n && is_said(&record, &list->item[at]);
        CHECK(same, "item %u of %u, thread %u: request %lu of thread %u, flags %x", at, list->n, thread,
              (unsigned long)record.request, record.request_thread, record.sig->flags);
        at++;
        if (!same)
            break;
    }
    CHECK(at == list->n && at > BY_THREAD, "thread %u: %u of %u are there", thread, at, list->n);
    trc_cursor_close(cursor);
}

/* The live page counts what the trace has. */
static void check_counters(struct trc_file *file, const struct list *list, uint32_t thread)
{
    uint64_t starts = 0, completes = 0, sent = 0, received = 0;
    for (unsigned i = 0; i < list->n; i++) {
        const struct item *item = &list->item[i];
        starts += !item->completes;
        completes += item->completes;
        sent += !item->completes && !item->receives ? item->bytes : 0;
        received += item->completes && item->receives && !item->cancelled ? item->bytes : 0;
    }
    const struct trc_thread *live = trc_thread(file, thread);
    CHECK(live->starts == starts && live->completes == completes && live->sent == sent && live->received == received,
          "thread %u: %lu starts, %lu completions, %lu sent, %lu received; it was %lu, %lu, %lu, %lu", thread,
          (unsigned long)live->starts, (unsigned long)live->completes, (unsigned long)live->sent,
          (unsigned long)live->received, (unsigned long)starts, (unsigned long)completes, (unsigned long)sent,
          (unsigned long)received);
}

static int one_thread(int family)
{
    uint64_t state = 81, starts = 0;
    recorder_start(&(struct recorder_setup){
        .family = (enum fake_family)(family % FAKE_FAMILIES), .size = WORLD, .concurrent = family >= FAKE_FAMILIES});
    clear_variables();
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned at = draw(&state, SLOTS), what = draw(&state, 8);
        if (!slots[0][at].started)
            begin(0, at, &state, &starts);
        else if (what == 0)
            give_up(0, at);
        else if (what < 5)
            wait_for(0, 0, at, &state);
        else
            wait_for_all(0, at, &state);
    }
    struct trc_file *file = recorder_read();
    compare(file, &lists[0], 0);
    check_counters(file, &lists[0], 0);
    CHECK(trc_head(file)->unknown_requests == 0, "%lu requests are not known",
          (unsigned long)trc_head(file)->unknown_requests);
    trc_close(file);
    recorder_remove();
    return check_result();
}

/* ---- threads */

static uint32_t index_of[THREADS];
static atomic_uint finished;        /* threads that start no more */
static pthread_barrier_t beginning; /* no thread takes over the page of one that has ended */

static void *start_and_wait(void *argument)
{
    const unsigned me = (unsigned)(uintptr_t)argument;
    uint64_t state = me + 91, starts = 0;
    fake_mpi_thread(me);
    index_of[me] = ipo_thread_self()->stream.page->thread.index;
    pthread_barrier_wait(&beginning);
    while (atomic_load(&finished) < THREADS) {
        const unsigned owner = (me + 1 + draw(&state, THREADS - 1)) % THREADS, at = draw(&state, SLOTS / THREADS);
        /* Each slot has one thread that completes it: me, of the slots of another. */
        const unsigned mine = draw(&state, SLOTS), theirs = at * THREADS + me;
        const bool begins = starts < BY_THREAD && mine % THREADS != me && !atomic_load(&slots[me][mine].started),
                   completes = atomic_load(&slots[owner][theirs].started);
        if (begins)
            begin(me, mine, &state, &starts);
        if (completes)
            wait_for(me, owner, theirs, &state);
        if (begins && starts == BY_THREAD)
            atomic_fetch_add(&finished, 1);
        if (!begins && !completes)
            sched_yield();
    }
    return NULL;
}

static int in_threads(int family)
{
    pthread_t thread[THREADS];
    recorder_start(&(struct recorder_setup){.family = (enum fake_family)family, .size = WORLD, .concurrent = true});
    clear_variables();
    pthread_barrier_init(&beginning, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, start_and_wait, (void *)i))
            return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    struct trc_file *file = recorder_read();
    for (unsigned i = 0; i < THREADS; i++) {
        compare(file, &lists[i], index_of[i]);
        check_counters(file, &lists[i], index_of[i]);
    }
    CHECK(trc_head(file)->unknown_requests == 0, "%lu requests are not known",
          (unsigned long)trc_head(file)->unknown_requests);
    trc_close(file);
    recorder_remove();
    return check_result();
}

int main(void)
{
    CHECK(ranks_run(2 * FAKE_FAMILIES, one_thread) == 0, "one thread");
    CHECK(ranks_run(FAKE_FAMILIES, in_threads) == 0, "threads");
    return check_result();
}
