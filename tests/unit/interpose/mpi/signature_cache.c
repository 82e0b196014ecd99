/* The memory of calls: one that was made before is not described again, and a call that differs in anything that
 * counts is, wherever its place is taken and whatever handles have come to mean.  That a call was described shows in
 * what the thread notes of the data that it moves.  The trace has the signature that a call was taken for. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/cached.h"
#include "interpose/mpi/describe.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/ranks.h"
#include "tests/support/recorder/recorder.h"

#include <pthread.h>
#include <string.h>

enum { SITE = 0x400000, CALLS = 40000, SITES = 7, PEERS = 5, TAGS = 40, TYPES = 6, THREADS = 4 };

static uintptr_t world;

enum { UNTOUCHED = 77 };

static void forget(void)
{
    ipo_thread_self()->moves[0] = UNTOUCHED;
}

/* Whether the call since was described; 0 or 1. */
static unsigned described(void)
{
    return ipo_thread_self()->moves[0] != UNTOUCHED;
}

static void free_type(uintptr_t type)
{
    uintptr_t cell = 0;
    fake_mpi_store(&cell, type);
    ipo_type_free_unseen(&cell);
}

static unsigned send(uint64_t site, int n, uintptr_t type, int peer, int tag)
{
    forget();
    MPI(site, Send, 0x1000, (w)n, type, (w)peer, (w)tag, world);
    return described();
}

/* Each argument that counts, and the place of the call, makes it another call; the address of the data does not. */
static void check_what_counts(void)
{
    uintptr_t type = fake_type_new(24), other = fake_type_new(40);
    send(SITE, 10, type, 1, 5);
    CHECK(send(SITE, 10, type, 1, 5) == 0, "a call as before is not described again");
    CHECK(MPI(SITE, Send, 0x2000, 10, type, 1, 5, world) == 0 && send(SITE, 10, type, 1, 5) == 0,
          "nor with other data");
    CHECK(send(SITE, 11, type, 1, 5) == 1, "another count");
    CHECK(send(SITE, 10, other, 1, 5) == 1, "another datatype");
    CHECK(send(SITE, 10, type, 2, 5) == 1, "another partner");
    CHECK(send(SITE, 10, type, 1, 6) == 1, "another tag");
    CHECK(send(SITE + 64, 10, type, 1, 5) == 1, "another place in the program");
    forget();
    MPI(SITE, Ssend, 0x1000, 10, type, 1, 5, world);
    CHECK(described() == 1, "another function");
    unsigned asked = fake_mpi_calls(IPO_Type_size_x);
    CHECK(send(SITE, 0, fake_type_new(7), 1, 5) == 1 && fake_mpi_calls(IPO_Type_size_x) == asked,
          "no data: nobody asks for the size");
    CHECK(send(SITE, 2, type, 1, 5) == 1 && fake_mpi_calls(IPO_Type_size_x) == asked, "a datatype is asked about once");
    free_type(type);
    free_type(other);
}

/* The row of a send of 3 elements to rank 1. */
static struct ipo_cached *row_of(uint64_t site, uintptr_t type, int tag)
{
    const w words[] = {3, type, 1, (w)tag, world};
    uint64_t hash = ipo_cache_mix(site, 0);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = ipo_cache_mix(hash, words[i]);
    return ipo_cache_row(ipo_thread_self(), hash);
}

/* Two calls with one place in the memory: each takes it from the other, and both stay right. */
static void check_collision(void)
{
    uintptr_t type = fake_type_new(16);
    int tag = 1;
    while (row_of(SITE, type, tag) != row_of(SITE, type, 0))
        tag++;
    send(SITE, 3, type, 1, 0);
    for (int i = 0; i < 4; i++)
        CHECK(send(SITE, 3, type, 1, i % 2 ? 0 : tag) == 1, "tags 0 and %d take turns", tag);
    CHECK(send(SITE, 3, type, 1, 0) == 0, "until one of them stays");
    uint64_t site = SITE + 1;
    while (row_of(site, type, 0) != row_of(SITE, type, 0))
        site++;
    CHECK(send(site, 3, type, 1, 0) == 1, "the same from %#lx, which has the same place", (unsigned long)site);
    free_type(type);
}

/* MPI_IN_PLACE makes another call where it changes the bytes, and the same call where it does not. */
static void check_in_place(void)
{
    uintptr_t type = fake_type_new(8), buffer[] = {0x2000, ipo_abi.in_place};
    unsigned reduced = 0, gathered[2] = {0};
    for (int i = 0; i < 6; i++) {
        forget();
        MPI(SITE, Allreduce, buffer[i % 2], 0x1000, 4, type, 0x77, world);
        reduced += described();
    }
    for (int i = 0; i < 6; i++) { /* apart: their places in the memory follow from addresses, and may be one */
        forget();
        MPI(SITE, Allgather, buffer[i % 2], 4, type, 0x1000, 4, type, world);
        gathered[i % 2] += described();
    }
    CHECK(reduced == 1, "%u reductions described", reduced);
    CHECK(gathered[0] >= 1 && gathered[1] >= 1, "gathered: %u and %u described", gathered[0], gathered[1]);
    free_type(type);
}

/* Counts in arrays: another sum, or another share of the rank, makes another call. */
static void check_counts(void)
{
    uintptr_t type = fake_type_new(8);
    int counts[PEERS] = {3, 2, 1}, wide[PEERS] = {INT32_MAX, 1}, *const lists[] = {counts, counts, counts, wide, wide};
    const unsigned wanted[] = {1, 0, 1, 1, 1};
    for (unsigned i = 0; i < 5; i++) {
        counts[0] = i < 2 ? 3 : 2;
        counts[1] = i < 2 ? 2 : 3;
        forget();
        MPI(SITE, Reduce_scatter, 0x2000, 0x1000, (w)lists[i], type, 0x77, world);
        CHECK(described() == wanted[i], "list %u is described %u times", i, described());
    }
    free_type(type);
}

/* A datatype is freed and its handle comes back with another size: the remembered size is stale. */
static void check_stale(void)
{
    uintptr_t type = fake_type_new(100);
    send(SITE, 1, type, 1, 9);
    uintptr_t cell = 0;
    fake_mpi_store(&cell, type);
    MPI(SITE, Type_free, (w)&cell);
    uintptr_t again = fake_type_new(300);
    CHECK(again == type, "the fake MPI gives the handle out again");
    CHECK(send(SITE, 1, again, 1, 9) == 1, "the same words, another datatype");
    cell = 0;
    fake_mpi_store(&cell, again);
    ipo_type_free_unseen(&cell); /* made by a library inside MPI, past the wrappers */
    again = fake_type_new(500);
    CHECK(again == type && send(SITE, 1, again, 1, 9) == 1, "freed where no wrapper saw it");
    /* The same holds for calls that make or free a communicator: its handle may be in an argument. */
    uintptr_t copy = 0;
    MPI(SITE, Comm_dup, world, (w)&copy);
    CHECK(send(SITE, 1, again, 1, 9) == 1 && send(SITE, 1, again, 1, 9) == 0, "a communicator was made");
    MPI(SITE, Comm_free, (w)&copy);
    CHECK(send(SITE, 1, again, 1, 9) == 1, "a communicator was freed");
    free_type(again);
}

/* A call that failed is not what the next one is taken for. */
static void check_failed(void)
{
    uintptr_t type = fake_type_new(4);
    for (int i = 0; i < 3; i++) {
        fake_mpi_fail(IPO_Recv, i == 1 ? 305 : 0);
        uintptr_t status[4];
        int result = MPI(SITE, Recv, 0x1000, 2, type, 1, 70, world, (w)status);
        CHECK(result == (i == 1 ? 305 : 0), "call %d gives %d", i, result);
    }
    free_type(type);
}

/* ---- random calls, against a list of all calls */

struct call {
    uint64_t site;
    int32_t peer, tag;
    uint64_t bytes;
    bool receives;
};

static void compare(struct trc_file *file, size_t thread, const struct call *call, unsigned n, uint64_t first)
{
    struct trc_cursor *cursor = trc_cursor_open(file, thread);
    struct trc_record record;
    unsigned at = 0;
    while (at < n && trc_next(cursor, &record) == TRC_OK) {
        const uint64_t site = record.kind == TRC_RECORD_EVENT ? trc_site_innermost(file, record.sig->site) : 0;
        if (site < first || site >= first + SITES * 64)
            continue;
        const struct trc_sig *sig = record.sig;
        const struct call *want = &call[at++];
        bool same =
            site == want->site &&
            (want->receives ? sig->source == want->peer && sig->rtag == want->tag && sig->received == want->bytes
                            : sig->peer == want->peer && sig->tag == want->tag && sig->sent == want->bytes);
        CHECK(same, "call %u from %#lx: %d %d %lu, not %d %d %lu", at, (unsigned long)site, sig->peer, sig->tag,
              (unsigned long)sig->sent, want->peer, want->tag, (unsigned long)want->bytes);
        if (!same)
            break;
    }
    CHECK(at == n, "%u of %u calls are in the trace", at, n);
    trc_cursor_close(cursor);
}

/* Datatypes go and come back with other sizes, between calls that differ in little.  Returns how many were
 * described. */
static unsigned make_calls(struct call *made, uint64_t first, unsigned n, uint64_t state)
{
    uintptr_t type[TYPES];
    int size[TYPES];
    unsigned times = 0;
    for (unsigned i = 0; i < TYPES; i++)
        type[i] = fake_type_new(size[i] = 4 + (int)i);
    for (unsigned i = 0; i < n; i++) {
        unsigned t = draw(&state, TYPES);
        if (draw(&state, 200) == 0) {
            uintptr_t cell = 0;
            fake_mpi_store(&cell, type[t]);
            ipo_type_free_unseen(&cell);
            type[t] = fake_type_new(size[t] = 1 + (int)draw(&state, 64));
        }
        int count = 1 + (int)draw(&state, 3);
        struct call *call = &made[i];
        *call = (struct call){.site = first + draw(&state, SITES) * 64,
                              .peer = (int)draw(&state, PEERS),
                              .tag = (int)draw(&state, TAGS),
                              .bytes = (uint64_t)(count * size[t]),
                              .receives = draw(&state, 2)};
        forget();
        if (call->receives)
            MPI(call->site, Recv, 0x1000, (w)count, type[t], (w)call->peer, (w)call->tag, world, ipo_abi.status_ignore);
        else
            MPI(call->site, Send, 0x1000, (w)count, type[t], (w)call->peer, (w)call->tag, world);
        times += described();
    }
    return times;
}

static struct call calls[THREADS][CALLS];

static int by_hand_and_random(int family)
{
    recorder_start(&(struct recorder_setup){.family = (enum fake_family)family, .rank = 0, .size = PEERS});
    world = ipo_abi.comm_world;
    check_what_counts();
    check_collision();
    check_in_place();
    check_counts();
    check_stale();
    check_failed();
    CHECK(make_calls(calls[0], 2 * SITE, CALLS, 17) < CALLS, "some of %d calls are remembered", CALLS);
    struct trc_file *file = recorder_read();
    compare(file, 0, calls[0], CALLS, 2 * SITE);
    trc_close(file);
    recorder_remove();
    return check_result();
}

/* ---- each thread has its own memory, and what one makes stale is so for all */

static uint32_t index_of[THREADS];
static pthread_barrier_t beginning; /* no thread takes over the page of one that has ended */

static void *call_in_thread(void *argument)
{
    const uint32_t me = (uint32_t)(uintptr_t)argument;
    fake_mpi_thread(me);
    index_of[me] = ipo_thread_self()->stream.page->thread.index;
    pthread_barrier_wait(&beginning);
    make_calls(calls[me], (me + 2) * SITE, CALLS / 4, me);
    return NULL;
}

static int in_threads(int family)
{
    pthread_t thread[THREADS];
    recorder_start(
        &(struct recorder_setup){.family = (enum fake_family)family, .rank = 0, .size = PEERS, .concurrent = true});
    world = ipo_abi.comm_world;
    pthread_barrier_init(&beginning, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, call_in_thread, (void *)i))
            return 1;
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    struct trc_file *file = recorder_read();
    for (unsigned i = 0; i < THREADS; i++)
        compare(file, index_of[i], calls[i], CALLS / 4, (i + 2) * SITE);
    trc_close(file);
    recorder_remove();
    return check_result();
}

int main(void)
{
    CHECK(ranks_run(FAKE_FAMILIES, by_hand_and_random) == 0, "one thread");
    CHECK(ranks_run(FAKE_FAMILIES, in_threads) == 0, "threads");
    return check_result();
}
