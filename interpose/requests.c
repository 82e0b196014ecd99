#include "interpose/requests.h"

#include <sys/mman.h>

#define SLOTS  65536u /* about 7 MB of address space; only what is used becomes memory */
#define PROBES 32u

static struct ipo_request *slots;

bool ipo_requests_start(void)
{
    void *memory =
        mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    slots = memory == MAP_FAILED ? NULL : memory;
    return slots != NULL;
}

static uint32_t first_slot(uint64_t handle)
{
    return (uint32_t)((handle * 0x9e3779b97f4a7c15u) >> 40) % SLOTS;
}

struct ipo_request *ipo_request_find(uint64_t handle)
{
    uint32_t at = first_slot(handle);
    for (uint32_t probe = 0; slots && probe < PROBES; probe++) {
        struct ipo_request *slot = &slots[(at + probe) % SLOTS];
        if (atomic_load_explicit(&slot->key, memory_order_acquire) == handle)
            return slot;
    }
    return NULL;
}

bool ipo_request_add(const struct ipo_request *request)
{
    uint64_t handle = atomic_load_explicit(&request->key, memory_order_relaxed);
    struct ipo_request *slot = ipo_request_find(handle); /* left behind by a request that ended out of our sight */
    uint32_t at = first_slot(handle);
    for (uint32_t probe = 0; slots && !slot && probe < PROBES; probe++) {
        uint64_t free_key = 0;
        struct ipo_request *candidate = &slots[(at + probe) % SLOTS];
        if (atomic_load_explicit(&candidate->key, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&candidate->key, &free_key, 1))
            slot = candidate;
    }
    if (!slot)
        return false;
    slot->flags = request->flags;
    slot->thread = request->thread;
    slot->number = request->number;
    slot->charge = request->charge;
    slot->sequence = request->sequence;
    slot->comm = request->comm;
    slot->sig = request->sig;
    atomic_store_explicit(&slot->key, handle, memory_order_release);
    return true;
}

void ipo_request_remove(struct ipo_request *request)
{
    atomic_store_explicit(&request->key, 0, memory_order_release);
}

void ipo_shared_add(struct ipo_thread *thread, uintptr_t variable, uint64_t number, const struct trc_sig *sig)
{
    if (thread->shared_end - thread->shared_first == IPO_SHARED)
        thread->shared_first++; /* the oldest was never completed in our sight */
    thread->shared[thread->shared_end++ % IPO_SHARED] =
        (struct ipo_shared_start){.variable = variable, .number = number, .sig = *sig};
}

bool ipo_shared_take(struct ipo_thread *thread, uintptr_t variable, uint64_t *number, struct trc_sig *sig)
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
        return false;
    *number = found->number;
    *sig = found->sig;
    found->variable = 0;
    while (thread->shared_first != thread->shared_end && !thread->shared[thread->shared_first % IPO_SHARED].variable)
        thread->shared_first++;
    return true;
}
