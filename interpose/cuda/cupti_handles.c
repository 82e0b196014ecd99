/* Finds the number that a stream has in the trace from the stream that a call of NCCL names. */
#include "interpose/cuda/cupti.h"
#include "interpose/cuda/cupti_inside.h"

#define HANDLES 256u
static struct {
    _Atomic uint64_t key;    /* driver's number of a stream, or its context for the special streams; 0: free */
    _Atomic uint64_t number; /* upper half: the lower half of the key, since two threads may fill the place */
} handles[HANDLES];

static uint32_t ask_number(uintptr_t stream)
{
    void *context = NULL;
    uint32_t context_id = 0, id = 0;
    if (!ipo_cupti.stream_context || ipo_cupti.stream_context((void *)stream, &context) ||
        ipo_cupti.GetContextId(context, &context_id) ||
        ipo_cupti.GetStreamIdEx(context, (void *)stream, stream == 2, &id))
        return 0;
    return ipo_device_stream(context_id, id);
}

uint32_t ipo_cupti_stream(uintptr_t stream)
{
    if (__builtin_expect(atomic_load_explicit(&ipo_cupti_state, memory_order_relaxed) != IPO_CUPTI_ON, 1))
        return 0;
    int capturing = 0;
    if (ipo_cupti.is_capturing && (ipo_cupti.is_capturing((void *)stream, &capturing) || capturing))
        return 0; /* kernel runs with the graph, each time that the graph is launched */
    unsigned long long id = 0;
    uint64_t key = 0;
    if (stream > 2) { /* keyed by a number that is never used again; older drivers have none */
        if (!ipo_cupti.stream_id || ipo_cupti.stream_id((void *)stream, &id))
            return ask_number(stream);
        key = ((uint64_t)id + 1) * 0x9e3779b97f4a7c15u | (uint64_t)1 << 63;
    } else { /* the default streams: of the context that is current, and 2 of each thread */
        void *context = NULL;
        if (stream == 2 || !ipo_cupti.current_context || ipo_cupti.current_context(&context))
            return ask_number(stream);
        key = ((uint64_t)(uintptr_t)context + stream + 1) & ~((uint64_t)1 << 63);
    }
    const uint32_t home = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 40) % HANDLES;
    uint32_t at = home;
    uint64_t there = 0;
    for (uint32_t i = 0; i < 16 && (there = atomic_load(&handles[at].key)) && there != key; i++)
        at = (at + 1) % HANDLES;
    uint64_t known = there == key ? atomic_load(&handles[at].number) : 0;
    if (known >> 32 == (uint32_t)key && (uint32_t)known)
        return (uint32_t)known;
    const uint32_t number = ask_number(stream);
    at = there && there != key ? home : at; /* no room: replaces the first one */
    if (number) {
        atomic_store(&handles[at].key, key);
        atomic_store(&handles[at].number, key << 32 | number);
    }
    return number;
}
