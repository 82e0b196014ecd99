#include "interpose/mpi/requests.h"
#include "interpose/core/state.h"

#include <sys/mman.h>

#define BUCKETS IPO_REQUEST_BUCKETS
#define WAYS    IPO_REQUEST_WAYS
#define FILLING 1u
#define CLAIMED 2u

struct ipo_request_table ipo_requests;

bool ipo_requests_start(void)
{
    size_t key_bytes = BUCKETS * WAYS * sizeof *ipo_requests.keys,
           slot_bytes = BUCKETS * WAYS * sizeof *ipo_requests.slots,
           shared_bytes = IPO_SHARED_BUCKETS * sizeof *ipo_requests.shared;
    char *memory = mmap(NULL, key_bytes + slot_bytes + shared_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    ipo_requests.keys = (_Atomic uint64_t *)(void *)memory;
    ipo_requests.slots = (struct ipo_request *)(void *)(memory + key_bytes);
    ipo_requests.shared = (void *)(memory + key_bytes + slot_bytes);
    return true;
}

static bool is_spilled(void)
{
    return atomic_load_explicit(&ipo_requests.spilled, memory_order_relaxed);
}

/* The first slot of a handle's first or second bucket. */
static uint32_t find_bucket(uint64_t handle, uint32_t second)
{
    uint32_t bucket =
        second ? (uint32_t)(handle * 0x9e3779b97f4a7c15u >> 20) % BUCKETS : ipo_request_usual_slot(handle) / WAYS;
    return bucket * WAYS;
}

/* The slot in a bucket with this key (0: a free one), UINT32_MAX if there is none. */
static uint32_t find_in_bucket(uint32_t bucket, uint64_t key)
{
    for (uint32_t at = bucket; at < bucket + WAYS; at++)
        if (atomic_load_explicit(&ipo_requests.keys[at], memory_order_acquire) == key)
            return at;
    return UINT32_MAX;
}

struct ipo_request *ipo_request_find_slow(uint64_t handle)
{
    for (uint32_t second = 0; second < 2; second++) {
        uint32_t at = find_in_bucket(find_bucket(handle, second), handle);
        if (at != UINT32_MAX)
            return &ipo_requests.slots[at];
        if (!is_spilled())
            break;
    }
    return NULL;
}

/* The slot that has the handle already, from a request whose end was not seen; else a free one. */
static struct ipo_request *choose_slot(uint64_t handle)
{
    struct ipo_request *known = ipo_process.concurrent || is_spilled() ? ipo_request_find(handle) : NULL;
    if (known)
        return known;
    for (uint32_t second = 0; second < 2; second++) {
        uint32_t bucket = find_bucket(handle, second), favourite = bucket + ipo_request_usual_slot(handle) % WAYS;
        uint32_t at = find_in_bucket(bucket, handle);
        if (at == UINT32_MAX)
            at = ipo_requests.keys[favourite] == 0 ? favourite : find_in_bucket(bucket, 0);
        for (; at != UINT32_MAX; at = find_in_bucket(bucket, 0)) {
            uint64_t unused = 0;
            if (!ipo_process.concurrent || ipo_requests.keys[at] == handle) /* saves a locked instruction a request */
                return &ipo_requests.slots[at];
            if (atomic_compare_exchange_strong(&ipo_requests.keys[at], &unused, FILLING))
                return &ipo_requests.slots[at];
        }
        atomic_store_explicit(&ipo_requests.spilled, true, memory_order_relaxed);
    }
    return NULL;
}

static _Atomic uint64_t *find_key(const struct ipo_request *request)
{
    return &ipo_requests.keys[request - ipo_requests.slots];
}

struct ipo_request *ipo_request_place_slow(uint64_t handle)
{
    return choose_slot(handle);
}

void ipo_requests_walk(void (*tell)(const struct ipo_request *request))
{
    for (uint32_t at = 0; at < BUCKETS * WAYS; at++)
        if (atomic_load_explicit(&ipo_requests.keys[at], memory_order_relaxed) > CLAIMED)
            tell(&ipo_requests.slots[at]);
}

bool ipo_request_add(uint64_t handle, const struct ipo_request *request)
{
    struct ipo_request *slot = choose_slot(handle);
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
        atomic_store_explicit(find_key(request), CLAIMED, memory_order_release);
    return request;
}

void ipo_request_unclaim(uint64_t handle, struct ipo_request *request)
{
    atomic_store_explicit(find_key(request), handle, memory_order_release);
}

void ipo_request_reserve(uint64_t handle)
{
    uint32_t at = ipo_request_usual_slot(handle);
    uint64_t unused = 0; /* also where the handle is 0: there is none */
    if (atomic_compare_exchange_strong(&ipo_requests.keys[at], &unused, handle))
        ipo_requests.slots[at].flags = IPO_REQUEST_BY_STATUS | IPO_REQUEST_RESERVED;
}

void ipo_request_remove(struct ipo_request *request)
{
    atomic_store_explicit(find_key(request), 0, memory_order_release);
}
