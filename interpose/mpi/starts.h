/* Enters a call that has started a request into the table of requests (requests.h).  Record path. */
#pragma once

#include "interpose/mpi/describe.h"

/* Returns the place for the request `handle`, where it is the usual one, free, and no other thread may search for
 * it; else NULL. */
static inline struct ipo_request *ipo_usual_place(const struct ipo_thread *thread, uintptr_t handle, bool shared)
{
    if (shared)
        return ipo_shared_usual(thread);
    const uint32_t slot = ipo_request_usual_slot(handle);
    const bool taken =
        atomic_load_explicit(&ipo_requests.keys[slot], memory_order_relaxed); /* also what is no request */
    return !handle || taken || ipo_process.concurrent ? NULL : &ipo_requests.slots[slot];
}

/* A place for a request, in the table or behind the shared handle; NULL: no room, or the handle means no request. */
static inline struct ipo_request *ipo_start_place(struct ipo_thread *thread, uintptr_t variable, uintptr_t handle,
                                                  bool shared)
{
    if (shared)
        return ipo_shared_add(thread, variable);
    return handle == ipo_abi.request_null ? NULL : ipo_request_place(handle, !ipo_process.concurrent);
}

/* Fills in and publishes the place of a request that a call with this signature, entry `state` of the thread's table,
 * has made.  `shared`: its handle is, and it is found by the address of the program's `variable`.  `envelope`: source
 * and tag of a plain receive among the arguments of the call; NULL: it receives nothing. */
TRC_INLINE void ipo_fill_start(struct ipo_request *request, struct ipo_thread *thread, uintptr_t handle, bool shared,
                               uintptr_t variable, const struct trc_sig *sig, uint64_t number,
                               struct trc_sig_state *state, struct ipo_comm *comm, const uintptr_t *envelope)
{
    request->flags = envelope ? sig->flags & TRC_SIG_P2P_IN : 0; /* IPO_REQUEST_RECEIVES */
    request->thread = thread->stream.page->thread.index;
    request->number = number;
    request->version = state->version;
    request->state = state;
    if (envelope) {
        request->source = (int)envelope[0];
        request->tag = (int)envelope[1];
    }
    request->comm = comm;
    request->sig = *sig;
    if (shared)
        ipo_shared_publish(thread, request, variable);
    else
        ipo_request_publish(request, handle);
}
_Static_assert((uint32_t)IPO_REQUEST_RECEIVES == (uint32_t)TRC_SIG_P2P_IN, "a start's flag is its signature's");

/* Notes the request in `variable` that a call has made (ipo_fill_start).  `starts`: it gets the next start number of
 * the thread.  After the call's event.  NULL: there is no request, or no room. */
static inline struct ipo_request *ipo_note_start(struct ipo_thread *thread, uintptr_t variable,
                                                 const struct trc_sig *sig, bool starts, struct trc_sig_state *state,
                                                 struct ipo_comm *comm, const uintptr_t *envelope)
{
    const uintptr_t handle = ipo_handle_at(variable, 0);
    const bool shared = ipo_is_shared(handle);
    const uint64_t number = starts ? thread->stream.page->thread.starts++ : 0;
    const uintptr_t name = ipo_request_variable(thread, variable, 0);
    struct ipo_request *request = ipo_start_place(thread, name, handle, shared);
    if (__builtin_expect(!request, 0))
        return NULL;
    ipo_fill_start(request, thread, handle, shared, name, sig, number, state, comm, envelope);
    return request;
}
