/* Completions in the usual case, in line where it matters: requests that the completing thread started by a repeated
 * call, and that brought what they were posted for. */
#ifndef IPO_COMPLETE_H
#define IPO_COMPLETE_H

#include "interpose/describe.h"

/* Commits what has been put so far up to `at`, `done` items, and completes request `which` in any case; returns where
 * the next item goes. */
unsigned char *ipo_complete_oddly(struct ipo_thread *thread, unsigned char *at, uint32_t done, uint32_t which,
                                  uintptr_t array, uintptr_t status);

/* The start of a request, if its completion is known and defined in the current chunk, and what it received is what was
 * posted.  NULL: something is otherwise.  `own`: the thread's number in the upper half. */
static inline __attribute__((always_inline)) const struct trc_sig_state *
ipo_usual_start(struct trc_stream *stream, const struct ipo_request *request, uint64_t own, uint64_t when,
                uintptr_t status)
{
    const struct trc_sig_state *start = &stream->state[request->index];
    uint64_t flags_and_thread;
    memcpy(&flags_and_thread, &request->flags, sizeof flags_and_thread);
    if (__builtin_expect(start->version != request->version || start->completed_when != when, 0))
        return NULL;
    if (flags_and_thread == own)
        return start;
    if (flags_and_thread != (own | IPO_REQUEST_RECEIVES) || !status ||
        !ipo_arrived_as(status, request->source, request->tag, request->sig.received))
        return NULL;
    stream->page->uses[start->completed_as]++;
    return start;
}

/* See describe.h. */
static inline __attribute__((always_inline)) void ipo_complete_each(struct ipo_thread *thread, uintptr_t array,
                                                                    uint32_t first, uint32_t n, uintptr_t statuses)
{
    struct trc_stream *stream = &thread->stream;
    struct trc_thread *live = &stream->page->thread;
    const uint64_t own = (uint64_t)live->index << 32, newest = live->starts - 1;
    const uint32_t step = statuses ? ipo_abi.status_bytes : 0, width = ipo_abi.handle_bytes;
    uintptr_t variable = array + (size_t)first * width;
    unsigned char *at = stream->at;
    uint32_t done = 0;
    for (uint32_t i = first; i < first + n; i++, statuses += step, variable += width) {
        const uintptr_t handle = thread->requests[i];
        const bool shared = handle - ipo_abi.shared < ipo_abi.shared_span;
        const uint32_t slot = ipo_request_favourite(handle);
        const struct ipo_request *request =
            shared ? &thread->shared[thread->shared_first % IPO_SHARED] : &ipo_requests.slots[slot];
        bool found = shared ? request->variable == variable
                            : atomic_load_explicit(&ipo_requests.keys[slot], memory_order_relaxed) == handle;
        const struct trc_sig_state *start = NULL;
        if (__builtin_expect(found && at < stream->stop, 1))
            start = ipo_usual_start(stream, request, own, stream->when, statuses);
        if (__builtin_expect(!start, 0)) {
            at = ipo_complete_oddly(thread, at, done, i, array, statuses);
            done = 0;
            continue;
        }
        const uint64_t back = (newest - request->number) * 2;
        if (shared)
            ipo_shared_next(thread);
        else
            atomic_store_explicit(&ipo_requests.keys[slot], 0, memory_order_release);
        at = trc_put_varint(trc_put_item_word(at, start->completed_item), back);
        done++;
    }
    trc_stream_put_subs(stream, at, done);
    live->completes += done;
}

#endif
