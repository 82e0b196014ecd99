/* The table of requests against a plain model: started requests are found until they have completed, under handles of
 * both kinds, where buckets are full, and where several threads start, complete and hand over at once. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/requests.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/recorder/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;
/* Handles as MPIs give them: objects of a pool, its pieces apart; numbers in a row. */
static uint64_t handle_of(enum fake_family family, uint32_t i)
{
    return family == FAKE_OPENMPI ? 0x55d0c0de0000u + (i / 64) * 0x21000u + i % 64 * 0x1c0u : 0x98000000u + i;
}

/* Handles whose first bucket is the same one. */
static uint64_t colliding(uint32_t n)
{
    static uint64_t found[64];
    static uint32_t known;
    for (uint64_t handle = known ? found[known - 1] + 64 : 0x7f0000000040u; known <= n; handle += 64)
        if (ipo_request_usual_slot(handle) / IPO_REQUEST_WAYS == 77)
            found[known++] = handle;
    return found[n];
}

enum { LIVE = 3000, STEPS = 200000 };

struct model {
    uint64_t number[LIVE]; /* number of the start; 0: not under way */
    bool claimed[LIVE];
    struct ipo_request *entry[LIVE];
};

static void check_found(const struct model *model, enum fake_family family, uint32_t i)
{
    struct ipo_request *request = ipo_request_find(handle_of(family, i));
    if (!model->number[i] || model->claimed[i])
        CHECK(!request, "handle %u is found, and has no request in sight", i);
    else
        CHECK(request && request->number == model->number[i], "handle %u: start %llu, not %llu", i,
              request ? (unsigned long long)request->number : 0, (unsigned long long)model->number[i]);
}

/* Random starts, completions and claims, each handle again and again. */
static void check_random(enum fake_family family)
{
    static struct model model;
    memset(&model, 0, sizeof model);
    for (uint64_t step = 1; step <= STEPS; step++) {
        uint32_t i = draw(&state, LIVE), what = draw(&state, 4);
        uint64_t handle = handle_of(family, i);
        if (!model.number[i]) {
            struct ipo_request request = {.number = step};
            CHECK(ipo_request_add(handle, &request), "no room for request %u", i);
            model.number[i] = step;
        } else if (model.claimed[i]) {
            if (what == 0) { /* it has completed */
                ipo_request_remove(model.entry[i]);
                model.number[i] = 0;
            } else {
                ipo_request_unclaim(handle, model.entry[i]);
            }
            model.claimed[i] = false;
        } else if (what < 2) {
            ipo_request_remove(ipo_request_find(handle));
            model.number[i] = 0;
        } else if (what == 2) {
            model.entry[i] = ipo_request_claim(handle);
            model.claimed[i] = true;
        } else { /* end not seen: the handle is another request's now */
            struct ipo_request request = {.number = step};
            CHECK(ipo_request_add(handle, &request), "no room for request %u again", i);
            model.number[i] = step;
        }
        check_found(&model, family, i);
        check_found(&model, family, draw(&state, LIVE));
    }
    for (uint32_t i = 0; i < LIVE; i++) {
        check_found(&model, family, i);
        if (model.number[i])
            ipo_request_remove(model.claimed[i] ? model.entry[i] : ipo_request_find(handle_of(family, i)));
    }
}

/* More than a bucket holds: they go to their second ones, and are found there. */
static void check_full_bucket(void)
{
    enum { MANY = 40 };
    for (uint32_t i = 0; i < MANY; i++)
        CHECK(ipo_request_add(colliding(i), &(struct ipo_request){.number = i + 1}), "no room for the %uth", i);
    CHECK(atomic_load(&ipo_requests.spilled), "%d handles of one bucket of %u", MANY, IPO_REQUEST_WAYS);
    for (uint32_t i = 0; i < MANY; i += 2)
        ipo_request_remove(ipo_request_find(colliding(i)));
    for (uint32_t i = 0; i < MANY; i++) {
        struct ipo_request *request = ipo_request_find(colliding(i));
        CHECK(i % 2 ? request && request->number == i + 1 : !request, "the %uth of one bucket", i);
    }
    /* Requests whose end was not seen are started again: one entry each, wherever there is room now. */
    for (uint32_t i = 1; i < MANY; i += 2)
        ipo_request_add(colliding(i), &(struct ipo_request){.number = 100 + i});
    for (uint32_t i = 1; i < MANY; i += 2) {
        struct ipo_request *request = ipo_request_find(colliding(i));
        CHECK(request && request->number == 100 + i, "the %uth of one bucket, started again", i);
        if (request)
            ipo_request_remove(request);
        CHECK(!ipo_request_find(colliding(i)), "the %uth of one bucket has a second entry", i);
    }
}

/* The place of a handle that means no request is nobody else's. */
static void check_reserved(void)
{
    const uint64_t null = colliding(0);
    ipo_request_reserve(null);
    for (uint32_t i = 1; i < 12; i++)
        ipo_request_add(colliding(i), &(struct ipo_request){.number = i});
    struct ipo_request *reserved = ipo_request_find(null);
    CHECK(reserved && reserved->flags & IPO_REQUEST_RESERVED, "the null handle");
    for (uint32_t i = 1; i < 12; i++)
        ipo_request_remove(ipo_request_find(colliding(i)));
    ipo_request_remove(reserved);
}

/* ---- the shared handle */

/* Completed by their variables in any order; by their age where the program has moved its variable. */
static void check_shared(void)
{
    enum { STARTS = 3000 }; /* more than the first part holds */
    struct ipo_thread *thread = ipo_thread_self();
    static uintptr_t variable[STARTS];
    static bool taken[STARTS];
    for (uint32_t round = 0; round < 3; round++) {
        memset(taken, 0, sizeof taken);
        for (uint32_t i = 0; i < STARTS; i++) {
            variable[i] = 0x1000 + i * 8;
            struct ipo_request *request = ipo_shared_add(thread, variable[i]);
            request->number = i;
            ipo_shared_publish(thread, request, variable[i]);
        }
        for (uint32_t n = 0; n < STARTS / 2; n++) {
            uint32_t i = draw(&state, STARTS);
            if (taken[i])
                continue;
            const struct ipo_request *request = ipo_shared_remove(thread, variable[i]);
            CHECK(request && request->number == i, "start %u of round %u", i, round);
            taken[i] = true;
        }
        for (uint32_t i = 0; i < STARTS; i++) {
            if (taken[i])
                continue;
            const struct ipo_request *request = ipo_shared_remove(thread, 0xdead0000);
            CHECK(request && request->number == i, "the oldest is %u", i);
        }
        CHECK(!ipo_shared_remove(thread, variable[0]), "none is left");
    }
}

/* ---- threads */

enum { THREADS = 4, OWN = 400, ROUNDS = 20000 };

/* A start of one thread that the next one completes. */
static _Atomic uint64_t handed[THREADS];

static void check_handed_over(uint32_t from)
{
    uint64_t handle = atomic_exchange(&handed[from], 0);
    if (!handle)
        return;
    struct ipo_request *request = ipo_request_claim(handle);
    CHECK(request && request->number == handle && request->thread == from, "a request of thread %u", from);
    if (request)
        ipo_request_remove(request);
}

static void *start_and_complete(void *argument)
{
    const uint32_t me = (uint32_t)(uintptr_t)argument;
    uint64_t own_state = me + 7, under_way[OWN] = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t i = draw(&own_state, OWN);
        uint64_t handle = handle_of(FAKE_OPENMPI, (me * OWN + i) * 2);
        if (under_way[i]) {
            struct ipo_request *request = ipo_request_claim(handle);
            CHECK(request && request->number == under_way[i] && request->thread == me, "own request %u", i);
            if (request && draw(&own_state, 3) == 0) { /* a test that finds nothing */
                ipo_request_unclaim(handle, request);
                continue;
            }
            if (request)
                ipo_request_remove(request);
            under_way[i] = 0;
        } else {
            under_way[i] = (uint64_t)me << 32 | (round + 1);
            ipo_request_add(handle, &(struct ipo_request){.number = under_way[i], .thread = me});
        }
        if (round % 5 == 0 && !atomic_load(&handed[me])) {
            uint64_t given = handle_of(FAKE_MPICH, me * ROUNDS + round);
            ipo_request_add(given, &(struct ipo_request){.number = given, .thread = me});
            atomic_store(&handed[me], given);
        }
        check_handed_over((me + THREADS - 1) % THREADS);
    }
    return NULL;
}

/* All share the handle; who finds no start of its own takes another's, and each is taken once. */
static _Atomic uint32_t shared_taken[THREADS * ROUNDS], shared_starts, shared_takes;

static void *start_and_take_shared(void *argument)
{
    const uint32_t me = (uint32_t)(uintptr_t)argument;
    struct ipo_thread *thread = ipo_thread_self();
    uint64_t own_state = me + 99;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        if (draw(&own_state, 2) == 0) {
            const uintptr_t variable = 0x10000 * (me + 1) + draw(&own_state, 4) * 8;
            struct ipo_request *request = ipo_shared_add(thread, variable);
            request->number = me * ROUNDS + round;
            ipo_shared_publish(thread, request, variable);
            atomic_fetch_add(&shared_starts, 1);
        } else {
            const struct ipo_request *request =
                ipo_shared_remove(thread, 0x10000 * (1 + draw(&own_state, THREADS)) + draw(&own_state, 4) * 8);
            if (!request)
                continue;
            atomic_fetch_add(&shared_taken[request->number], 1);
            atomic_fetch_add(&shared_takes, 1);
        }
    }
    return NULL;
}

static void run_threads(void *(*what)(void *))
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, what, (void *)i);
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void check_threads(void)
{
    ipo_process.concurrent = ipo_process.serialized = true;
    run_threads(start_and_complete);
    run_threads(start_and_take_shared);
    struct ipo_thread *thread = ipo_thread_self();
    for (const struct ipo_request *left; (left = ipo_shared_remove(thread, 0)); atomic_fetch_add(&shared_takes, 1))
        atomic_fetch_add(&shared_taken[left->number], 1);
    CHECK(shared_takes == shared_starts, "%u starts behind the shared handle, %u taken", shared_starts, shared_takes);
    for (uint32_t i = 0; i < THREADS * ROUNDS; i++)
        CHECK(shared_taken[i] <= 1, "start %u was taken %u times", i, shared_taken[i]);
}

int main(void)
{
    recorder_start(&(struct recorder_setup){.family = FAKE_OPENMPI, .rank = 0, .size = 2});
    check_reserved();
    check_random(FAKE_OPENMPI);
    check_random(FAKE_MPICH);
    check_full_bucket();
    ipo_process.concurrent = ipo_process.serialized = true;
    check_random(FAKE_OPENMPI);
    ipo_process.concurrent = ipo_process.serialized = false;
    check_shared();
    check_threads();
    recorder_remove();
    return check_result();
}
