#include "interpose/mpi/requests.h"
#include "interpose/base/arena.h"
#include "interpose/core/state.h"
#include "interpose/mpi/thread.h"

#include <string.h>
#include <sys/mman.h>

#define BUCKETS IPO_REQUEST_BUCKETS
#define WAYS    IPO_REQUEST_WAYS
#define FILLING 1u
#define CLAIMED 2u

struct ipo_request_table ipo_requests;

bool ipo_requests_start(void)
{
    size_t key_bytes = BUCKETS * WAYS * sizeof *ipo_requests.keys,
           slot_bytes = BUCKETS * WAYS * sizeof *ipo_requests.slots;
    char *memory =
        mmap(NULL, key_bytes + slot_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    ipo_requests.keys = (_Atomic uint64_t *)(void *)memory;
    ipo_requests.slots = (struct ipo_request *)(void *)(memory + key_bytes);
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

struct ipo_request *ipo_request_place(uint64_t handle)
{
    return choose_slot(handle);
}

void ipo_requests_walk(void (*tell)(const struct ipo_request *request))
{
    for (uint32_t at = 0; at < BUCKETS * WAYS; at++)
        if (atomic_load_explicit(&ipo_requests.keys[at], memory_order_relaxed) > CLAIMED)
            tell(&ipo_requests.slots[at]);
}

/* A bit in a start's `variable`, an even address: its owner fills the place in, or another thread copies it, and no
 * other thread reads it meanwhile. */
#define BUSY 1u

static void publish_shared(struct ipo_thread *thread, struct ipo_request *request)
{
    __atomic_store_n(&request->variable, request->variable & ~(uintptr_t)BUSY, __ATOMIC_RELEASE);
    __atomic_store_n(&thread->shared_end, thread->shared_end + 1, __ATOMIC_RELEASE);
}

void ipo_request_publish(struct ipo_thread *thread, struct ipo_request *request, uint64_t handle)
{
    if (request >= ipo_requests.slots && request < ipo_requests.slots + (size_t)BUCKETS * WAYS)
        atomic_store_explicit(find_key(request), handle, memory_order_release);
    else
        publish_shared(thread, request);
}

bool ipo_request_add(uint64_t handle, const struct ipo_request *request)
{
    struct ipo_request *slot = choose_slot(handle);
    if (!slot)
        return false;
    *slot = *request;
    atomic_store_explicit(find_key(slot), handle, memory_order_release);
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

/* ---- the shared handle.  Each thread keeps its own starts.  Another one may take one of them, where calls of several
 * threads overlap, by setting its variable to 0; only the owner moves the ends of the queue. */

static void drop_completed(struct ipo_thread *thread)
{
    while (thread->shared_first != thread->shared_end &&
           !__atomic_load_n(&ipo_shared_at(thread, thread->shared_first)->variable, __ATOMIC_ACQUIRE))
        ipo_shared_next(thread);
}

struct ipo_request *ipo_shared_add(struct ipo_thread *thread, uintptr_t variable)
{
    drop_completed(thread);
    if (thread->shared_end - thread->shared_first == IPO_SHARED)
        /* the completion of the oldest was never seen */
        __atomic_store_n(&thread->shared_first, thread->shared_first + 1, __ATOMIC_RELAXED);
    struct ipo_request *request = ipo_shared_at(thread, thread->shared_end);
    if (__builtin_expect(!request, 0)) {
        struct ipo_request *part = ipo_arena_get(IPO_SHARED_PART * sizeof *part);
        if (!part)
            return NULL;
        __atomic_store_n(&thread->shared[thread->shared_end % IPO_SHARED / IPO_SHARED_PART], part, __ATOMIC_RELEASE);
        request = ipo_shared_at(thread, thread->shared_end);
    }
    __atomic_store_n(&request->variable, variable | BUSY, __ATOMIC_RELAXED);
    return request;
}

/* Whether a start that is kept at `kept` is one of those wanted: the one at `variable`, or, if that is 0, any. */
static bool is_wanted(uintptr_t kept, uintptr_t variable)
{
    return kept && !(kept & BUSY) && (kept == (variable & ~(uintptr_t)BUSY) || !variable);
}

/* The oldest wanted start of a thread. */
static struct ipo_request *find_shared(struct ipo_thread *thread, uintptr_t variable)
{
    uint32_t first = __atomic_load_n(&thread->shared_first, __ATOMIC_ACQUIRE);
    uint32_t n = __atomic_load_n(&thread->shared_end, __ATOMIC_ACQUIRE) - first;
    for (uint32_t i = 0; i < n && n <= IPO_SHARED; i++) { /* more: its owner restarts at the front */
        struct ipo_request *request = ipo_shared_at(thread, first + i);
        if (request && is_wanted(__atomic_load_n(&request->variable, __ATOMIC_ACQUIRE), variable))
            return request;
    }
    return NULL;
}

/* Takes a start, unless another thread was faster.  `left`: the new value of its variable. */
static bool take_start(struct ipo_request *request, uintptr_t variable, uintptr_t left)
{
    uintptr_t kept = __atomic_load_n(&request->variable, __ATOMIC_ACQUIRE);
    return is_wanted(kept, variable) &&
           __atomic_compare_exchange_n(&request->variable, &kept, left, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Copies all but the variable, which other threads may read meanwhile. */
static void copy_around_variable(struct ipo_request *to, const struct ipo_request *from)
{
    memcpy(to, from, offsetof(struct ipo_request, variable));
    memcpy(&to->comm, &from->comm, sizeof *to - offsetof(struct ipo_request, comm));
}

/* Takes a start of another thread as a copy: its owner may use the place again at once. */
static const struct ipo_request *take_of_others(struct ipo_thread *thread, uintptr_t variable)
{
    for (struct ipo_thread *other = ipo_threads(); other; other = other->next) {
        struct ipo_request *request = other == thread ? NULL : find_shared(other, variable);
        if (!request || !take_start(request, variable, BUSY))
            continue;
        copy_around_variable(&thread->of_other, request);
        __atomic_store_n(&request->variable, 0, __ATOMIC_RELEASE);
        return &thread->of_other;
    }
    return NULL;
}

const struct ipo_request *ipo_shared_take(struct ipo_thread *thread, uintptr_t variable)
{
    /* From MPI_THREAD_SERIALIZED (2) on a thread may wait for what another one has started. */
    const bool searched = ipo_process.concurrent || ipo_process.writer.head->thread_level >= 2;
    /* Where the program has copied its request, the oldest will do: all of these had finished. */
    for (int tries = 0; tries < 2; tries++, variable = 0) {
        struct ipo_request *request = find_shared(thread, variable);
        if (request && take_start(request, variable, 0)) {
            drop_completed(thread);
            return request;
        }
        const struct ipo_request *others = searched ? take_of_others(thread, variable) : NULL;
        if (others)
            return others;
    }
    return NULL;
}
