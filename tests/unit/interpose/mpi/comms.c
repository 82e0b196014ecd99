/* Communicators: random ones are made, duplicated and freed.  Their members are right, their identities are equal on
 * all ranks, never another's, and no reused handle leads to its former communicator. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/describe.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/ranks.h"
#include "tests/support/recorder/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORLD = 8, OWN = 3, LIVE = 60, STEPS = 9000, MEMBERS = 12 };

/* The test's own account of a communicator. */
struct known {
    uintptr_t handle; /* 0: none */
    struct ipo_comm *comm;
    uint64_t identity;
    uint32_t id;
    int local[MEMBERS], remote[MEMBERS], size, remote_size;
};

/* Ranks in random order; those past the world are of another one.  Own rank: among them or not, as asked. */
static int draw_members(uint64_t *state, int *out, bool own, bool foreign)
{
    int order[MEMBERS], n = 0, most = foreign ? MEMBERS : WORLD;
    for (int i = 0; i < most; i++) {
        int at = (int)draw(state, (uint32_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    for (int i = 0; i < most; i++)
        if (order[i] == OWN ? own : draw(state, 2))
            out[n++] = order[i];
    return n;
}

static int32_t world_rank_of(int member, int rank)
{
    return member < WORLD ? member : TRC_PEER_REMOTE - rank;
}

static void check_members(const struct known *known)
{
    const struct ipo_comm *comm = ipo_comm(known->handle);
    CHECK(comm == known->comm && comm->identity == known->identity && comm->id == known->id, "handle %#lx",
          (unsigned long)known->handle);
    bool inter = known->remote_size > 0;
    int n = inter ? known->remote_size : known->size;
    for (int i = 0; i < n; i++) {
        int member = inter ? known->remote[i] : known->local[i];
        CHECK(ipo_world_rank(comm, i) == world_rank_of(member, i), "rank %d of communicator %u is %d, not %d", i,
              comm->id, ipo_world_rank(comm, i), member);
    }
    CHECK(ipo_world_rank(comm, n) == TRC_PEER_UNKNOWN, "rank %d is none", n);
    CHECK(ipo_world_rank(comm, ipo_abi.proc_null) == TRC_PEER_NULL &&
              ipo_world_rank(comm, ipo_abi.any_source) == TRC_PEER_ANY,
          "nobody and anybody");
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* No identity twice among all that were ever made. */
static void check_unique(uint64_t *identity, size_t n)
{
    qsort(identity, n, sizeof *identity, by_value);
    for (size_t i = 1; i < n; i++)
        CHECK(identity[i] != identity[i - 1] && identity[i - 1], "%#lx twice among %zu", (unsigned long)identity[i], n);
}

static void learn(struct known *known, uint64_t *identities, size_t *made)
{
    known->comm = ipo_comm(known->handle);
    CHECK(known->comm != NULL, "communicator of %d", known->size);
    if (!known->comm)
        exit(1);
    known->identity = identities[(*made)++] = known->comm->identity;
    known->id = known->comm->id;
    check_members(known);
}

/* One that a call makes out of `parent`: a duplicate, some of its ranks, or two groups. */
static void make(uint64_t *state, struct known *out, const struct known *parent)
{
    static const enum ipo_call_id calls[] = {IPO_Comm_split, IPO_Comm_create, IPO_Cart_create};
    uint32_t kind = draw(state, 4);
    *out = (struct known){0};
    if (kind == 0) {
        *out = *parent;
        out->handle = fake_comm_new(out->local, out->size, out->remote, out->remote_size);
        ipo_comm_copied(out->handle, parent->comm, IPO_Comm_dup);
        return;
    }
    bool inter = kind == 1;
    out->size = draw_members(state, out->local, true, inter);
    out->remote_size = inter ? draw_members(state, out->remote, false, true) : 0;
    out->handle = fake_comm_new(out->local, out->size, out->remote, out->remote_size);
    ipo_comm_made(out->handle, out->remote_size ? NULL : parent->comm,
                  out->remote_size ? IPO_Intercomm_create : calls[draw(state, 3)], 0);
}

static void give_up(struct known *known)
{
    struct ipo_comm *comm = known->comm;
    fake_comm_free(known->handle);
    ipo_comm_freed(known->handle, comm);
    CHECK(!ipo_comm(known->handle), "what was freed is not there");
    CHECK(comm->id == known->id && comm->identity == known->identity, "who still has the pointer sees it as it was");
    known->handle = 0;
}

/* Definition in the file of one that was made early enough to be in it from the beginning. */
static void check_definition(const struct trc_file *file, const struct known *known)
{
    const struct trc_comm *comm = trc_comm(file, known->id);
    CHECK(comm && comm->def.identity == known->identity && comm->def.size == known->size &&
              comm->def.remote_size == known->remote_size,
          "definition of communicator %u", known->id);
    bool foreign = false;
    for (int i = 0; i < known->size + known->remote_size; i++)
        foreign |= (i < known->size ? known->local[i] : known->remote[i - known->size]) >= WORLD;
    CHECK(comm && !(comm->def.flags & TRC_COMM_FOREIGN) == !foreign, "communicator %u has members of another world",
          known->id);
    CHECK(trc_comm_freed(file, known->id) == !known->handle, "communicator %u is freed, or not", known->id);
    for (int i = 0; comm && i < known->size; i++)
        CHECK(trc_comm_world_rank(comm, i, false) ==
                      (known->local[i] < WORLD ? known->local[i] : TRC_PEER_REMOTE - i) ||
                  known->local[i] >= WORLD,
              "rank %d of communicator %u", i, known->id);
}

/* One rank's: random ones against what the test knows; windows and files beside them. */
static int random_comms(int family)
{
    static uint64_t identities[4 * STEPS];
    static struct known live[LIVE], early[LIVE];
    uint64_t state = 11;
    size_t made = 0;
    recorder_start(&(struct recorder_setup){.family = (enum fake_family)family, .rank = OWN, .size = WORLD});
    struct known world = {.handle = ipo_abi.comm_world, .size = WORLD};
    for (int i = 0; i < WORLD; i++)
        world.local[i] = i;
    learn(&world, identities, &made);
    identities[made++] = ipo_comm(ipo_abi.comm_self)->identity;
    for (unsigned step = 0; step < STEPS; step++) {
        uint32_t i = draw(&state, LIVE);
        if (live[i].handle) {
            give_up(&live[i]);
            if (step < 200)
                early[i] = live[i];
            continue;
        }
        const struct known *parent = &live[draw(&state, LIVE)];
        make(&state, &live[i], parent->handle && parent != &live[i] ? parent : &world);
        learn(&live[i], identities, &made);
        if (step % 4 == 0) { /* a window's handle is a space of its own */
            uintptr_t window = 0x1000 + i * 8;
            struct ipo_comm *object = ipo_object_made(window, live[i].comm, IPO_Win_create, NULL);
            CHECK(object && ipo_object(window) == object && object->object, "a window");
            identities[made++] = object->identity;
            ipo_object_freed(window, object);
            CHECK(!ipo_object(window), "a window that was freed");
        }
        const struct known *other = &live[draw(&state, LIVE)];
        check_members(other->handle ? other : &world);
    }
    for (uint32_t i = 0; i < LIVE; i++)
        if (live[i].handle)
            check_members(&live[i]);
    check_unique(identities, made);
    struct trc_file *file = recorder_read();
    for (uint32_t i = 0; i < LIVE; i++)
        if (early[i].size)
            check_definition(file, &early[i]);
    trc_close(file);
    recorder_remove();
    return check_result();
}

/* A handle that another thread was given while the call that freed it was returning. */
static int handed_on(int family)
{
    const int both[] = {0, 1};
    recorder_start(&(struct recorder_setup){.family = (enum fake_family)family, .rank = 0, .size = 2});
    struct ipo_comm *world = ipo_comm(ipo_abi.comm_world);
    uintptr_t handle = fake_comm_new(both, 2, both, 0);
    ipo_comm_copied(handle, world, IPO_Comm_dup);
    struct ipo_comm *before = ipo_comm(handle);
    ipo_comm_copied(handle, world, IPO_Comm_dup);
    struct ipo_comm *after = ipo_comm(handle);
    ipo_comm_freed(handle, before);
    CHECK(after != before && ipo_comm(handle) == after, "the new one is still there");
    ipo_comm_freed(handle, after);
    CHECK(!ipo_comm(handle), "until it is freed");
    recorder_remove();
    return check_result();
}

/* A place is used again only after thousands of others were freed, and says so by its number. */
static int reuse(int family)
{
    recorder_start(&(struct recorder_setup){.family = (enum fake_family)family, .rank = 0, .size = 2});
    struct ipo_comm *world = ipo_comm(ipo_abi.comm_world), *first = NULL;
    struct ipo_request request = {.comm = NULL};
    for (unsigned i = 0; i < 4096 + 2; i++) {
        const int both[] = {0, 1};
        uintptr_t handle = fake_comm_new(both, 2, both, 0);
        ipo_comm_copied(handle, world, IPO_Comm_dup);
        struct ipo_comm *comm = ipo_comm(handle);
        if (!first) {
            first = comm;
            request.comm = comm;
            request.sig.comm = comm->id;
        }
        CHECK(ipo_request_comm(&request) == (i <= 4096 ? first : NULL), "after %u others", i);
        fake_comm_free(handle);
        ipo_comm_freed(handle, comm);
    }
    recorder_remove();
    return check_result();
}

/* ---- all ranks alike */

enum { MADE = 400 };
static uint64_t (*shared)[MADE]; /* handles by rank and communicator; 0: this rank is not in it */

/* All ranks draw the same program, and each makes the ones that it is in. */
static int rank_of_many(int rank)
{
    struct {
        uint32_t ranks; /* a bit each */
        uintptr_t handle;
    } comm[MADE];
    uint64_t state = 21;
    recorder_start(&(struct recorder_setup){.family = FAKE_MPICH, .rank = rank, .size = WORLD});
    comm[0].ranks = (1u << WORLD) - 1;
    comm[0].handle = ipo_abi.comm_world;
    for (unsigned i = 1; i < MADE; i++) {
        unsigned parent = draw(&state, i < 20 ? i : 20);
        bool copy = draw(&state, 3) == 0;
        uint32_t ranks = comm[parent].ranks & (draw(&state, 2) ? ~0u : 0x55u | 1u << draw(&state, WORLD));
        comm[i].ranks = copy || !ranks ? comm[parent].ranks : ranks;
        if (!(comm[i].ranks >> rank & 1))
            continue;
        int members[WORLD], n = 0;
        for (int r = 0; r < WORLD; r++)
            if (comm[i].ranks >> r & 1)
                members[n++] = r;
        comm[i].handle = fake_comm_new(members, n, members, 0);
        struct ipo_comm *from = ipo_comm(comm[parent].handle);
        if (copy)
            ipo_comm_copied(comm[i].handle, from, IPO_Comm_dup);
        else
            ipo_comm_made(comm[i].handle, from, i % 2 ? IPO_Comm_split : IPO_Comm_create, 0);
        shared[rank][i] = ipo_comm(comm[i].handle)->identity;
    }
    recorder_remove();
    return 0;
}

static void check_alike(void)
{
    static uint64_t one_each[MADE];
    size_t n = 0;
    shared = ranks_memory(WORLD * sizeof *shared);
    CHECK(ranks_run(WORLD, rank_of_many) == 0, "a rank has failed");
    for (unsigned i = 1; i < MADE; i++) {
        uint64_t known = 0;
        for (int rank = 0; rank < WORLD; rank++) {
            uint64_t here = shared[rank][i];
            CHECK(!here || !known || here == known, "communicator %u is %#lx on rank %d, elsewhere %#lx", i,
                  (unsigned long)here, rank, (unsigned long)known);
            known = here ? here : known;
        }
        one_each[n++] = known;
    }
    check_unique(one_each, n);
}

/* ---- threads: each makes its own out of its own, and comes to the same as alone */

enum { THREADS = 4, BY_THREAD = 1000 };
static struct ipo_comm *root[THREADS];
static uint64_t (*identity)[BY_THREAD];

static pthread_barrier_t beginning;
static bool together;

static void *make_many(void *argument)
{
    const unsigned me = (unsigned)(uintptr_t)argument;
    uintptr_t handle[8] = {0};
    uint64_t state = me;
    fake_mpi_thread(me);
    if (together)
        pthread_barrier_wait(&beginning);
    for (unsigned i = 0; i < BY_THREAD; i++) {
        unsigned at = draw(&state, 8);
        if (handle[at]) {
            struct ipo_comm *comm = ipo_comm(handle[at]);
            uintptr_t old = handle[at];
            ipo_comm_freed(old, comm); /* before another thread can be given the handle */
            fake_comm_free(old);
        }
        int members[] = {0, 1, 2};
        handle[at] = fake_comm_new(members, 2 + (int)draw(&state, 2), members, 0);
        ipo_comm_made(handle[at], root[me], IPO_Comm_split, 0);
        struct ipo_comm *comm = ipo_comm(handle[at]);
        CHECK(comm && ipo_world_rank(comm, 1) == 1, "communicator %u of thread %u", i, me);
        identity[me][i] = comm ? comm->identity : 0;
    }
    return NULL;
}

static int in_threads(int alone)
{
    pthread_t thread[THREADS];
    recorder_start(&(struct recorder_setup){.family = FAKE_OPENMPI, .rank = 0, .size = 3, .concurrent = true});
    for (unsigned i = 0; i < THREADS; i++) {
        int members[] = {0, 1, 2};
        uintptr_t handle = fake_comm_new(members, 3, members, 0);
        ipo_comm_copied(handle, ipo_comm(ipo_abi.comm_world), IPO_Comm_dup);
        root[i] = ipo_comm(handle);
    }
    identity += alone * THREADS;
    together = !alone;
    pthread_barrier_init(&beginning, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, make_many, (void *)i))
            return 1;
        if (alone)
            pthread_join(thread[i], NULL);
    }
    for (unsigned i = 0; i < THREADS && !alone; i++)
        pthread_join(thread[i], NULL);
    recorder_remove();
    return check_result();
}

static void check_threads(void)
{
    identity = ranks_memory(2 * THREADS * sizeof *identity);
    CHECK(ranks_run(2, in_threads) == 0, "threads");
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(!memcmp(identity[i], identity[THREADS + i], sizeof *identity), "thread %u has others than alone", i);
    check_unique(identity[0], THREADS * BY_THREAD);
}

int main(void)
{
    CHECK(ranks_run(FAKE_FAMILIES, random_comms) == 0, "random communicators");
    CHECK(ranks_run(FAKE_FAMILIES, handed_on) == 0, "a handle that is given out again at once");
    CHECK(ranks_run(1, reuse) == 0, "places that are used again");
    check_alike();
    check_threads();
    return check_result();
}
