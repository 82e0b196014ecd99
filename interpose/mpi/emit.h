/* The end of every recorded call: its event, and the counters.  Record path of the thread that made the call. */
#pragma once

#include "interpose/mpi/record.h"

/* The signature of a call without partner, tag and communicator. */
static inline struct trc_sig ipo_plain_sig(uint32_t call, uint64_t site)
{
    return (struct trc_sig){.call = call,
                            .peer = TRC_PEER_NONE,
                            .tag = TRC_TAG_NONE,
                            .source = TRC_PEER_NONE,
                            .rtag = TRC_TAG_NONE,
                            .site = site};
}

/* Writes what ipo_emit_here cannot: a poll, an event whose signature the chunk does not define yet, and one with a long
 * time or gap. */
void ipo_emit_slow(struct ipo_frame *frame);

/* Writes and counts the event of frame->sig.  Inlined into ipo_leave, for calls that have nothing else to do. */
TRC_INLINE void ipo_emit_here(struct ipo_frame *frame)
{
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_thread *live = &stream->page->thread;
    const uint32_t index = frame->index;
    struct trc_sig_state *state = &stream->state[index];
    if (frame->poll || !trc_stream_ready(stream, state) ||
        !trc_stream_record(stream, live, state, state->use->sig.flags & TRC_SIG_COLL, frame->begin, frame->end,
                           frame->sequence))
        ipo_emit_slow(frame);
    live->last_end = frame->end;
    live->last = index + 1;
}
