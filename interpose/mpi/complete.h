/* The fast path of completions: the completing thread started the request, and the message is the one that was posted.
 * Record path. */
#pragma once

#include "interpose/mpi/describe.h"

/* Writes the completion, where its signature is defined in the current chunk and the message is the one that was
 * posted.  NULL: it is not so.  `own`: the thread's number in the upper half. */
TRC_INLINE unsigned char *ipo_put_usual(struct trc_stream *stream, unsigned char *at, const struct ipo_request *request,
                                        uint64_t own, uint64_t newest, uintptr_t status)
{
    uint64_t flags_and_thread;
    memcpy(&flags_and_thread, &request->flags, sizeof flags_and_thread);
    const uint64_t receives = flags_and_thread ^ own;
    if (__builtin_expect(at >= stream->stop || (receives & ~(uint64_t)IPO_REQUEST_RECEIVES), 0))
        return NULL;
    const struct trc_sig_state *start = request->state;
    if (__builtin_expect(start->version != request->version || start->epoch != stream->epoch, 0))
        return NULL;
    if (receives) {
        if (!status || !ipo_arrived_as(status, request->source, request->tag, request->sig.received))
            return NULL;
        start->use->arrivals++;
    }
    const uint64_t back = (newest - request->number) * 2;
    return trc_put_varint(trc_put_item_word(at, start->done_item), back);
}

/* Commits the `done` items written up to `at`, and completes saved request `which` of the array by the slow path.
 * Returns the place of the next item. */
unsigned char *ipo_complete_slow(struct ipo_thread *thread, unsigned char *at, uint32_t done, uint32_t which,
                                 uintptr_t array, uintptr_t status);

/* Completes `n` saved requests of the array from `first` on, with their `statuses` (0: none).  Only where calls of
 * threads do not overlap, and not for Fortran.  `live`: the thread's live page. */
TRC_INLINE void ipo_complete_range(struct ipo_thread *thread, struct trc_thread *live, uintptr_t array, uint32_t first,
                                   uint32_t n, uintptr_t statuses)
{
    struct trc_stream *stream = &thread->stream;
    const uint64_t own = (uint64_t)live->index << 32, newest = live->starts - 1;
    const uint32_t step = statuses ? ipo_abi.status_bytes : 0, end = first + n;
    unsigned char *at = stream->at;
    uint32_t from = first; /* the first one that is written and not committed */
    for (uint32_t i = first; i != end; i++, statuses += step) {
        const uintptr_t handle = thread->requests[i];
        unsigned char *next = NULL;
        if (handle - ipo_abi.shared < ipo_abi.shared_span) {
            struct ipo_request *request = ipo_shared_at(thread, thread->shared_first);
            if (__builtin_expect(request->variable == array + i * ipo_abi.handle_bytes, 1))
                next = ipo_put_usual(stream, at, request, own, newest, statuses);
            if (__builtin_expect(next != NULL, 1))
                ipo_shared_next(thread, request);
        } else {
            const uint32_t slot = ipo_request_usual_slot(handle);
            if (__builtin_expect(atomic_load_explicit(&ipo_requests.keys[slot], memory_order_relaxed) == handle, 1))
                next = ipo_put_usual(stream, at, &ipo_requests.slots[slot], own, newest, statuses);
            if (__builtin_expect(next != NULL, 1))
                atomic_store_explicit(&ipo_requests.keys[slot], 0, memory_order_release);
        }
        if (__builtin_expect(!next, 0)) {
            next = ipo_complete_slow(thread, at, i - from, i, array, statuses);
            from = i + 1;
        }
        at = next;
    }
    trc_stream_put_subs(stream, at, end - from);
    live->completes += end - from;
}
