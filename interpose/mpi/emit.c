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

void ipo_charge(struct ipo_thread *thread, uint32_t call, uint64_t sent, uint64_t received)
{
    if (thread->stream.off)
        return;
    const struct trc_sig sig = {.call = call, .sent = sent, .received = received};
    struct trc_row *row = trc_stream_row(&thread->stream, &sig);
    row->sent += sent;
    row->received += received;
    thread->stream.page->thread.sent += sent;
    thread->stream.page->thread.received += received;
}

void ipo_count_sent(struct ipo_thread *thread, uint32_t index)
{
    struct trc_thread *live = &thread->stream.page->thread;
    const struct trc_sig *sig = trc_stream_sig(&thread->stream, index);
    struct trc_peer *peer = trc_peer_at(&thread->stream, thread->stream.state[index].out);
    if (thread->stream.off)
        return;
    live->sent_messages++;
    if (peer) {
        peer->sent_messages++;
        peer->sent_bytes += sig->sent;
    } else {
        live->peer_overflow++;
    }
}

void ipo_count_received(struct ipo_thread *thread, uint32_t index)
{
    struct trc_thread *live = &thread->stream.page->thread;
    const struct trc_sig *sig = trc_stream_sig(&thread->stream, index);
    struct trc_peer *peer = trc_peer_at(&thread->stream, thread->stream.state[index].in);
    if (thread->stream.off)
        return;
    live->received_messages++;
    if (peer) {
        peer->received_messages++;
        peer->received_bytes += sig->received;
    } else {
        live->peer_overflow++;
    }
}
