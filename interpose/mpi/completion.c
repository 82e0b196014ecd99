/* Wait and Test families, Start, Cancel, Request_free: from completed requests back to what started them. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/cached.h"
#include "interpose/mpi/complete.h"
#include "interpose/core/state.h"
#include "trace/writer/switch.h"

#include <string.h>

/* A handle of one request, not the null handle or the one that finished sends share. */
static bool is_private(uintptr_t handle)
{
    return handle && handle != ipo_abi.request_null && !ipo_is_shared(handle);
}

/* Makes requests visible again that did not complete, for their next Wait or Test. */
static void unclaim_requests(struct ipo_thread *thread, uint32_t n)
{
    for (uint32_t i = 0; ipo_process.concurrent && i < n; i++)
        if (thread->entries[i])
            ipo_request_unclaim(thread->requests[i], thread->entries[i]);
    thread->claims = 0;
}

void ipo_completion_left(struct ipo_thread *thread)
{
    unclaim_requests(thread, thread->claims);
}

/* Saves the handles in the thread's scratch memory before the call overwrites them. */
static bool save_requests(struct ipo_frame *frame, const uintptr_t *args)
{
    uint32_t n = ipo_count_of_requests(frame->call, args);
    uintptr_t array = ipo_requests_of(frame->call, args);
    if (!array || !ipo_thread_scratch(frame->thread, n ? n : 1))
        return false;
    frame->thread->claims = ipo_process.concurrent ? n : 0;
    for (uint32_t i = 0; i < n; i++) {
        uintptr_t handle = frame->thread->requests[i] = ipo_handle_load(array, i);
        if (ipo_process.concurrent)
            frame->thread->entries[i] = is_private(handle) ? ipo_request_claim(handle) : NULL;
    }
    return true;
}

/* The request of the one handle that is saved; NULL: it is not known. */
static inline struct ipo_request *find_saved(const struct ipo_thread *thread)
{
    return ipo_process.concurrent ? thread->entries[0] : ipo_request_find(thread->requests[0]);
}

/* The key of the signature of a wait for this request (NULL: not known); IPO_NO_KEY: it must be described. */
static uint64_t make_wait_key(struct ipo_thread *thread, const struct ipo_request *request)
{
    if (!request)
        return 0;
    return request->flags & IPO_REQUEST_RESERVED ? 0 : ipo_wait_key(thread, request);
}

void ipo_prepare_completion(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    if (!ipo_requests_of(call, args) || !save_requests(frame, args))
        return;
    if (ipo_has(call, ROLE_STATUS_OUT)) {
        ipo_want_status(frame, args);
    } else if (ipo_has(call, ROLE_STATUSES_OUT) && ipo_status_known) {
        unsigned at = ipo_position(call, ROLE_STATUSES_OUT);
        if (args[at] == ipo_abi.statuses_ignore)
            args[at] = (uintptr_t)frame->thread->statuses;
        frame->status = args[at];
    }
    /* Waiting for one request: the live page shows for what. */
    if (call->opclass != TRC_OP_WAIT || !ipo_has(call, ROLE_REQUEST_INOUT))
        return;
    const struct ipo_request *request = find_saved(frame->thread);
    frame->handle = (uintptr_t)request;
    frame->key = make_wait_key(frame->thread, request);
}

void ipo_describe_completion(struct ipo_frame *frame, uintptr_t *args)
{
    (void)args;
    const struct ipo_request *request = (const struct ipo_request *)frame->handle;
    if (!request || request->flags & IPO_REQUEST_RESERVED) /* not known, or not a request */
        return;
    frame->sig.comm = request->sig.comm;
    frame->sig.peer = request->sig.peer;
    frame->sig.tag = request->sig.tag;
    frame->sig.source = request->sig.source;
    frame->sig.rtag = request->sig.rtag;
}

static __attribute__((noinline)) uint32_t define_completion(struct ipo_thread *thread,
                                                            const struct ipo_request *request)
{
    struct trc_stream *stream = &thread->stream;
    struct trc_sig sig;
    trc_sig_copy(&sig, &request->sig);
    sig.flags = trc_done_flags(sig.flags);
    uint32_t index = trc_stream_intern(stream, &sig);
    struct trc_sig_state *state = ipo_find_start(thread, request); /* the table may have dropped it for the new one */
    if (state) {
        state->completed_as = index;
        state->completed_version = stream->state[index].version;
    }
    return index;
}

/* Index of the completion's signature where the receive came as posted: kept beside the start's signature. */
static inline uint32_t find_completion(struct ipo_thread *thread, const struct ipo_request *request)
{
    struct trc_stream *stream = &thread->stream;
    const struct trc_sig_state *state = ipo_find_start(thread, request);
    if (state && trc_completion_known(stream, state))
        return state->completed_as;
    return define_completion(thread, request);
}

TRC_INLINE void write_completion(struct ipo_thread *thread, uint32_t index, const struct ipo_request *request)
{
    struct trc_stream *stream = &thread->stream;
    struct trc_thread *live = &stream->page->thread;
    bool foreign = request->thread != live->index;
    trc_stream_sub(stream, index, foreign, request->thread,
                   foreign ? request->number : live->starts - 1 - request->number, 0);
    live->completes++;
}

/* Completes a receive or a read: its bytes count under the call that asked for them. */
static void complete_arrival(struct ipo_thread *thread, uint32_t index, const struct ipo_request *request)
{
    struct trc_stream *stream = &thread->stream;
    write_completion(thread, index, request);
    if (!(trc_stream_sig(stream, index)->flags & TRC_SIG_CANCELLED))
        stream->state[index].use->uses++;
}

/* Replaces a status that does not fit the request by the posted values.  MPICH 4.0 to 5.0 never fills the status of an
 * MPI_Isendrecv with two partners: it is empty, or an older request's. */
static void replace_unasked(struct ipo_arrived *arrived, const struct trc_sig *posted)
{
    bool any = posted->source == TRC_PEER_ANY, any_tag = posted->rtag == TRC_TAG_ANY;
    if (arrived->cancelled || (!ipo_abi.mute_isendrecv && (any || arrived->source == posted->source) &&
                               (any_tag || arrived->tag == posted->rtag)))
        return;
    arrived->source = any ? TRC_PEER_UNKNOWN : posted->source;
    arrived->tag = any_tag ? TRC_TAG_ANY : posted->rtag;
    arrived->bytes = posted->received;
}

/* Whether a plain receive has the message that was posted, by the status alone. */
static bool is_as_posted(const struct ipo_request *request, uintptr_t status)
{
    return (request->flags & (IPO_REQUEST_RECEIVES | IPO_REQUEST_CANCELLING)) == IPO_REQUEST_RECEIVES &&
           ipo_abi.count_at >= 0 && ipo_status_known &&
           ipo_arrived_as(status, request->source, request->tag, request->sig.received);
}

/* Completes a receive, or a request that may have been cancelled, with what the status says. */
static void complete_by_status(struct ipo_thread *thread, const struct ipo_request *request, uintptr_t status)
{
    if (is_as_posted(request, status)) {
        complete_arrival(thread, find_completion(thread, request), request);
        return;
    }
    struct ipo_arrived arrived =
        ipo_arrived(ipo_request_comm(request), status, request->flags & IPO_REQUEST_CANCELLING);
    bool receives = request->sig.flags & TRC_SIG_P2P_IN, reads = request->flags & IPO_REQUEST_READ;
    const struct trc_sig *posted = &request->sig;
    if (receives && posted->flags & TRC_SIG_P2P_OUT)
        replace_unasked(&arrived, posted);
    if (receives && arrived.bytes > posted->received)
        arrived.bytes = posted->received; /* truncated: the status has the size that was sent */
    bool as_posted = !arrived.cancelled &&
                     (!receives || (arrived.source == posted->source && arrived.tag == posted->rtag)) &&
                     (!(receives || reads) || arrived.bytes == posted->received);
    uint32_t index;
    if (as_posted) {
        index = find_completion(thread, request);
    } else {
        struct trc_sig sig = *posted;
        sig.flags = trc_done_flags(sig.flags) | (arrived.cancelled ? TRC_SIG_CANCELLED : 0);
        if (receives && !arrived.cancelled) {
            sig.source = arrived.source;
            sig.rtag = arrived.tag;
        }
        if (receives || reads)
            sig.received = arrived.bytes;
        index = trc_stream_intern(&thread->stream, &sig);
    }
    if (receives || reads)
        complete_arrival(thread, index, request);
    else
        write_completion(thread, index, request);
}

/* Completes a send, or a receive whose status cannot be read. */
static void complete_blindly(struct ipo_thread *thread, uint32_t index, const struct ipo_request *request)
{
    write_completion(thread, index, request);
    if (request->sig.flags & TRC_SIG_P2P_IN)
        ipo_count_message(thread, index);
}

static void complete_request(struct ipo_thread *thread, uint32_t at, uintptr_t variable, uintptr_t status)
{
    uintptr_t handle = thread->requests[at];
    if (!handle || handle == ipo_abi.request_null)
        return;
    bool shared = ipo_is_shared(handle);
    struct ipo_request *entry = NULL;
    if (!shared)
        entry = ipo_process.concurrent ? thread->entries[at] : ipo_request_find(handle);
    const struct ipo_request *request = shared ? ipo_shared_remove(thread, variable) : entry;
    if (!request) {
        __atomic_fetch_add(&ipo_process.writer.head->unknown_requests, 1, __ATOMIC_RELAXED);
        return;
    }
    bool persistent = request->flags & IPO_REQUEST_PERSISTENT;
    if (persistent && !(request->flags & IPO_REQUEST_ACTIVE))
        return; /* waiting for an inactive request completes nothing */
    bool asks = (request->flags & (IPO_REQUEST_CANCELLING | IPO_REQUEST_READ)) || (request->sig.flags & TRC_SIG_P2P_IN);
    if (thread->stream.off && !trc_stream_switch_on(&thread->stream))
        thread->stream.page->thread.completes++; /* recording is off */
    else if (asks && status && !shared)
        complete_by_status(thread, request, status);
    else
        complete_blindly(thread, find_completion(thread, request), request);
    if (persistent)
        entry->flags &= ~(uint32_t)(IPO_REQUEST_ACTIVE | IPO_REQUEST_CANCELLING);
    else if (entry)
        ipo_request_remove(entry);
    if (ipo_process.concurrent && !persistent)
        thread->entries[at] = NULL; /* completed: must not be made visible again */
}

/* ---- requests that the fast path (complete.h) leaves */

/* The request of a handle where the usual one is, and as it is; NULL: it is elsewhere. */
static inline struct ipo_request *find_usual(struct ipo_thread *thread, uintptr_t handle, uintptr_t variable)
{
    struct ipo_request *request;
    if (handle - ipo_abi.shared < ipo_abi.shared_span) {
        request = ipo_shared_at(thread, thread->shared_first);
        if (request->variable != variable)
            return NULL;
    } else {
        const uint32_t slot = ipo_request_usual_slot(handle);
        request = &ipo_requests.slots[slot];
        if (atomic_load_explicit(&ipo_requests.keys[slot], memory_order_relaxed) != handle)
            return NULL;
    }
    return request->flags & ~(uint32_t)IPO_REQUEST_RECEIVES ? NULL : request;
}

/* Completes the request of a handle that find_usual has found.  False: it is not usual, and nothing was done. */
static __attribute__((noinline)) bool complete_new(struct ipo_thread *thread, struct ipo_request *request,
                                                   uintptr_t handle, uintptr_t status)
{
    struct trc_stream *stream = &thread->stream;
    struct trc_thread *live = &stream->page->thread;
    if (ipo_find_start(thread, request) && stream->at < stream->stop)
        trc_stream_define(stream, trc_state_index(stream, request->state)); /* the chunk has not defined it */
    unsigned char *at =
        ipo_put_usual(stream, stream->at, request, (uint64_t)live->index << 32, live->starts - 1, status);
    if (!at)
        return false;
    trc_stream_put_subs(stream, at, 1);
    live->completes++;
    if (handle - ipo_abi.shared < ipo_abi.shared_span)
        ipo_shared_next(thread, request);
    else
        ipo_request_remove(request);
    return true;
}

unsigned char *ipo_complete_slow(struct ipo_thread *thread, unsigned char *at, uint32_t done, uint32_t which,
                                 uintptr_t array, uintptr_t status)
{
    const uintptr_t handle = thread->requests[which], variable = ipo_request_variable(thread, array, which);
    struct ipo_request *request = find_usual(thread, handle, variable);
    trc_stream_put_subs(&thread->stream, at, done);
    thread->stream.page->thread.completes += done;
    if (!request || !complete_new(thread, request, handle, status))
        complete_request(thread, which, variable, status);
    return thread->stream.at;
}

static __attribute__((noinline)) void complete_range(struct ipo_thread *thread, uintptr_t array, uint32_t first,
                                                     uint32_t n, uintptr_t statuses)
{
    ipo_complete_range(thread, &thread->stream.page->thread, array, first, n, statuses);
}

void ipo_complete_requests(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    uintptr_t array = ipo_requests_of(call, args);
    uint32_t listed = ipo_count_of_requests(call, args);
    if (!array || frame->thread->scratch < listed)
        return;
    const int *indices = NULL;
    uint32_t n = frame->poll ? 0 : ipo_count_completed(frame, args, &indices);
    const bool plain = !frame->failed && ipo_process.usual && !frame->thread->fortran;
    if (plain && !indices) {
        complete_range(frame->thread, array, 0, n, frame->status);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = indices ? (uint32_t)indices[i] : i;
        if (at >= listed)
            continue;
        /* After an error, a request that is still there has not completed. */
        if (frame->failed && ipo_handle_load(array, at) != ipo_abi.request_null)
            continue;
        uintptr_t status = frame->status;
        if (status && ipo_has(call, ROLE_STATUSES_OUT))
            status += (uintptr_t)i * ipo_abi.status_bytes;
        if (plain)
            complete_range(frame->thread, array, at, 1, status);
        else
            complete_request(frame->thread, at, ipo_request_variable(frame->thread, array, at), status);
    }
    unclaim_requests(frame->thread, listed);
}

void ipo_finish_completion(struct ipo_frame *frame, const uintptr_t *args)
{
    if (!frame->failed && ipo_found_nothing(frame->call, args))
        ipo_mark_poll(frame);
    ipo_emit(frame);
    ipo_complete_requests(frame, args);
}

/* ---- Cancel, Request_free, generalized requests */

void ipo_prepare_request(struct ipo_frame *frame, uintptr_t *args)
{
    if (ipo_has(frame->call, ROLE_REQUEST_INOUT)) {
        if (save_requests(frame, args) && frame->call == &ipo_calls[IPO_Cancel])
            frame->handle = (uintptr_t)find_saved(frame->thread);
    } else if (frame->call->frees)
        ipo_save_handle(frame, args);
}

void ipo_describe_request(struct ipo_frame *frame, uintptr_t *args)
{
    if (ipo_has(frame->call, ROLE_REQUEST_OUT))
        frame->sig.flags |= TRC_SIG_START;
    if (frame->sig.call == IPO_Cancel)
        ipo_describe_completion(frame, args);
}

void ipo_finish_request(struct ipo_frame *frame, const uintptr_t *args)
{
    ipo_emit(frame);
    if (frame->failed && ipo_has(frame->call, ROLE_REQUEST_INOUT))
        unclaim_requests(frame->thread, 1);
    if (frame->failed)
        return;
    ipo_follow_handles(frame, args);
    if (ipo_has(frame->call, ROLE_REQUEST_OUT))
        ipo_started(frame, args);
    if (!ipo_has(frame->call, ROLE_REQUEST_INOUT) || !frame->thread->scratch)
        return;
    uintptr_t handle = frame->thread->requests[0];
    bool shared = ipo_is_shared(handle);
    struct ipo_request *entry = shared ? NULL : find_saved(frame->thread);
    if (frame->sig.call == IPO_Cancel && entry)
        entry->flags |= IPO_REQUEST_CANCELLING;
    if (frame->sig.call != IPO_Request_free) {
        unclaim_requests(frame->thread, 1);
        return;
    }
    uintptr_t variable = ipo_request_variable(frame->thread, ipo_arg(frame->call, args, ROLE_REQUEST_INOUT), 0);
    const struct ipo_request *request = shared ? ipo_shared_remove(frame->thread, variable) : entry;
    if (!request)
        return;
    /* The program gives up an active request: it will never complete, so the trace ends it here. */
    if (!(request->flags & IPO_REQUEST_PERSISTENT) || (request->flags & IPO_REQUEST_ACTIVE)) {
        struct trc_sig sig = request->sig;
        sig.flags = trc_done_flags(sig.flags);
        sig.flags |= sig.flags & TRC_SIG_P2P_IN ? TRC_SIG_CANCELLED : 0; /* result not known */
        write_completion(frame->thread, trc_stream_intern(&frame->thread->stream, &sig), request);
    }
    if (entry)
        ipo_request_remove(entry);
}
