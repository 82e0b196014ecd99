#include "interpose/mpi/emit.h"
#include "trace/writer/switch.h"

void ipo_emit_slow(struct ipo_frame *frame)
{
    struct trc_stream *stream = &frame->thread->stream;
    const uint32_t index = frame->index;
    if (stream->off && !trc_stream_switch_on(stream))
        return;
    if (frame->poll)
        trc_stream_fold(stream, index, frame->begin, frame->end);
    else
        trc_stream_event(stream, index, frame->begin, frame->end, frame->sequence);
    trc_stream_count(stream, index, frame->end - frame->begin);
}

void ipo_emit(struct ipo_frame *frame)
{
    ipo_emit_here(frame);
}

uint64_t ipo_next_start(struct ipo_thread *thread)
{
    return thread->stream.page->thread.starts++;
}

void ipo_count_message(struct ipo_thread *thread, uint32_t index)
{
    const struct trc_sig_state *state = &thread->stream.state[index];
    struct trc_thread *live = &thread->stream.page->thread;
    struct trc_peer *peer = trc_peer_at(&thread->stream, state->in);
    if (thread->stream.off)
        return;
    live->received_messages++;
    if (!peer) {
        live->peer_overflow++;
        return;
    }
    peer->received_messages++;
    peer->received_bytes += state->use->sig.received;
}
