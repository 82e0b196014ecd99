#include "interpose/requests.h"
#include "interpose/process.h"
#include "interpose/thread.h"

#include <sys/mman.h>

/* Buckets of eight keys, one cache line, in an array of their own: a look-up that misses costs one line.  A handle has
 * a favourite way in its bucket, looked at first.  One that finds its bucket full goes to a second bucket; only after
 * that has happened is the second one looked at. */
#define BUCKETS 8192u
#define WAYS    8u
#define FILLING 1u
#define CLAIMED 2u

static _Atomic uint64_t (*keys)[WAYS];
static struct ipo_request *slots; /* BUCKETS x WAYS; only what is used becomes memory */
static atomic_bool spilled;

bool ipo_requests_start(void)
{
    size_t key_bytes = BUCKETS * WAYS * sizeof **keys, slot_bytes = BUCKETS * WAYS * sizeof *slots;
    char *memory =
        mmap(NULL, key_bytes + slot_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    keys = (_Atomic uint64_t(*)[WAYS])(void *)memory;
    slots = (struct ipo_request *)(void *)(memory + key_bytes);
    return true;
}

/* Handles are addresses of objects in pools, or small numbers: their low bits differ least. */
static uint32_t bucket_of(uint64_t handle, uint32_t second)
{
    uint64_t mixed = handle * 0x9e3779b97f4a7c15u;
    return (uint32_t)(second ? mixed >> 20 : mixed >> 51) % BUCKETS;
}

static uint32_t favourite_of(uint64_t handle)
{
    return (uint32_t)(handle * 0x9e3779b97f4a7c15u >> 48) % WAYS;
}

/* The way with this key (0: a free one), WAYS if there is none. */
static uint32_t way_of(uint32_t bucket, uint64_t key, uint32_t favourite)
{
    if (__builtin_expect(atomic_load_explicit(&keys[bucket][favourite], memory_order_acquire) == key, 1))
        return favourite;
    uint32_t way = 0;
    while (way < WAYS && atomic_load_explicit(&keys[bucket][way], memory_order_acquire) != key)
        way++;
    return way;
}

struct ipo_request *ipo_request_find(uint64_t handle)
{
    for (uint32_t second = 0; second < 2; second++) {
        uint32_t bucket = bucket_of(handle, second), way = way_of(bucket, handle, favourite_of(handle));
        if (way < WAYS)
            return &slots[bucket * WAYS + way];
        if (!atomic_load_explicit(&spilled, memory_order_relaxed))
            break;
    }
    return NULL;
}

/* The slot that has the handle already (left behind by a request that ended out of our sight), or else a free one. */
static struct ipo_request *slot_for(uint64_t handle)
{
    struct ipo_request *known = ipo_process.concurrent || atomic_load_explicit(&spilled, memory_order_relaxed)
                                    ? ipo_request_find(handle)
                                    : NULL;
    if (known)
        return known;
    for (uint32_t second = 0; second < 2; second++) {
        uint32_t bucket = bucket_of(handle, second), way = WAYS, favourite = favourite_of(handle);
        if (!ipo_process.concurrent && keys[bucket][favourite] == 0) /* one left behind in another way stays there */
            return &slots[bucket * WAYS + favourite];
        for (uint32_t i = 0; i < WAYS; i++) {
            uint64_t key = atomic_load_explicit(&keys[bucket][i], memory_order_relaxed);
            if (key == handle)
                return &slots[bucket * WAYS + i];
            if (key == 0 && way == WAYS)
                way = i;
        }
        for (; way < WAYS; way = way_of(bucket, 0, favourite)) {
            uint64_t unused = 0;
            if (!ipo_process.concurrent) /* saves a locked instruction a request */
                return &slots[bucket * WAYS + way];
            if (atomic_compare_exchange_strong(&keys[bucket][way], &unused, FILLING))
                return &slots[bucket * WAYS + way];
        }
        atomic_store_explicit(&spilled, true, memory_order_relaxed);
    }
    return NULL;
}

static _Atomic uint64_t *key_of(const struct ipo_request *request)
{
    size_t i = (size_t)(request - slots);
    return &keys[i / WAYS][i % WAYS];
}

struct ipo_request *ipo_request_place(uint64_t handle)
{
    return slot_for(handle);
}

void ipo_request_publish(struct ipo_request *request, uint64_t handle)
{
    if (request >= slots && request < slots + (size_t)BUCKETS * WAYS)
        atomic_store_explicit(key_of(request), handle, memory_order_release);
}

bool ipo_request_add(uint64_t handle, const struct ipo_request *request)
{
    struct ipo_request *slot = slot_for(handle);
    if (!slot)
        return false;
    *slot = *request;
    ipo_request_publish(slot, handle);
    return true;
}

struct ipo_request *ipo_request_claim(uint64_t handle)
{
    struct ipo_request *request = ipo_request_find(handle);
    if (request)
        atomic_store_explicit(key_of(request), CLAIMED, memory_order_release);
    return request;
}

void ipo_request_unclaim(uint64_t handle, struct ipo_request *request)
{
    atomic_store_explicit(key_of(request), handle, memory_order_release);
}

void ipo_request_remove(struct ipo_request *request)
{
    atomic_store_explicit(key_of(request), 0, memory_order_release);
}

struct ipo_request *ipo_shared_add(struct ipo_thread *thread, uintptr_t variable)
{
    if (thread->shared_end - thread->shared_first == IPO_SHARED)
        thread->shared_first++; /* the oldest was never completed in our sight */
    struct ipo_shared_start *start = &thread->shared[thread->shared_end++ % IPO_SHARED];
    start->variable = variable;
    return &start->request;
}

const struct ipo_request *ipo_shared_take(struct ipo_thread *thread, uintptr_t variable)
{
    struct ipo_shared_start *found = NULL, *oldest = NULL;
    for (uint32_t i = thread->shared_first; i != thread->shared_end && !found; i++) {
        struct ipo_shared_start *start = &thread->shared[i % IPO_SHARED];
        if (start->variable == variable)
            found = start;
        else if (start->variable && !oldest)
            oldest = start;
    }
    if (!found)
        found = oldest; /* the program copied its request: all of these had finished, so the oldest will do */
    if (!found)
        return NULL;
    found->variable = 0;
    while (thread->shared_first != thread->shared_end && !thread->shared[thread->shared_first % IPO_SHARED].variable)
        thread->shared_first++;
    if (thread->shared_first == thread->shared_end)
        thread->shared_first = thread->shared_end = 0; /* from the front again: memory that is warm */
    return &found->request;
}
