/* MPI_Start and MPI_Startall: starts of persistent requests, each behind the event of the call. */
#include "interpose/mpi/cached.h"
#include "interpose/mpi/describe.h"

/* Returns the index of the signature of a start, which the request has from its last start by this thread. */
static uint32_t find_started(struct ipo_thread *thread, struct ipo_request *request)
{
    struct trc_stream *stream = &thread->stream;
    if (!ipo_find_start(thread, request)) {
        struct trc_sig sig = request->sig;
        sig.flags |= TRC_SIG_SUB | TRC_SIG_START;
        request->state = &stream->state[trc_stream_intern(stream, &sig)];
        request->version = request->state->version;
        request->thread = stream->page->thread.index;
    }
    return trc_state_index(stream, request->state);
}

void ipo_finish_start(struct ipo_frame *frame, const uintptr_t *args)
{
    ipo_emit(frame);
    uintptr_t array = ipo_requests_of(frame->call, args);
    if (frame->failed || !array)
        return;
    struct ipo_thread *thread = frame->thread;
    struct trc_stream *stream = &thread->stream;
    for (uint32_t i = 0; i < ipo_count_of_requests(frame->call, args); i++) {
        struct ipo_request *request = ipo_request_find(ipo_handle_load(array, i));
        if (!request)
            continue;
        uint64_t sequence = 0;
        struct ipo_comm *comm = ipo_request_comm(request);
        if ((request->sig.flags & TRC_SIG_COLL) && comm)
            sequence = comm->sequence++;
        const uint32_t index = find_started(thread, request);
        trc_stream_sub(stream, index, false, 0, 0, sequence);
        if (!stream->off)
            stream->state[index].use->uses++;
        request->number = ipo_next_start(thread);
        request->flags |= IPO_REQUEST_ACTIVE;
    }
}
