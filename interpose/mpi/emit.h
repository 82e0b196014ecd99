/* The end of every recorded call: its event, and the counters. */
#ifndef IPO_EMIT_H
#define IPO_EMIT_H

#include "interpose/mpi/record.h"
#include "interpose/stacks/sites.h"

/* Of a call that has no partner, tag or communicator. */
static inline struct trc_sig ipo_plain_sig(uint32_t call, uint64_t site)
{
    return (struct trc_sig){.call = call,
                            .peer = TRC_PEER_NONE,
                            .tag = TRC_TAG_NONE,
                            .source = TRC_PEER_NONE,
                            .rtag = TRC_TAG_NONE,
                            .site = site};
}

/* Writes and counts the event: in one piece with ipo_leave for the calls that have nothing else to do. */
static inline __attribute__((always_inline)) void ipo_emit_here(struct ipo_frame *frame)
{
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_thread *live = &stream->page->thread;
    const uint32_t index = frame->index;
    if (__builtin_expect(stream->state[index].epoch == UINT32_MAX, 0))
        ipo_site_seen(frame->site);
    if (__builtin_expect(frame->poll, 0))
        trc_stream_fold(stream, index, frame->begin, frame->end);
    else
        trc_stream_event(stream, index, frame->begin, frame->end, frame->sequence);
    trc_stream_count(stream, index, frame->end - frame->begin);
    live->last_end = frame->end;
    live->last = index + 1;
}

#endif
