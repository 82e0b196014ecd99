/* Point to point: blocking, nonblocking, persistent, probes and claimed messages. */
#include "interpose/mpi/abi.h"
#include "interpose/mpi/describe.h"
#include "interpose/core/state.h"

static int get_int(const struct ipo_frame *frame, const uintptr_t *args, enum ipo_role role)
{
    return (int)ipo_arg(frame->call, args, role);
}

static void store_comm(struct ipo_frame *frame, const uintptr_t *args)
{
    frame->comm = ipo_comm(ipo_arg(frame->call, args, ROLE_COMM));
    frame->sig.comm = frame->comm ? ipo_comm_id(frame->comm) : 0;
}

static void describe_out(struct ipo_frame *frame, const uintptr_t *args)
{
    struct trc_sig *sig = &frame->sig;
    sig->peer = ipo_world_rank(frame->comm, get_int(frame, args, ROLE_DESTINATION));
    sig->tag = get_int(frame, args, ROLE_SEND_TAG);
    if (sig->peer == TRC_PEER_NULL)
        return;
    sig->sent = ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
    sig->flags |= TRC_SIG_P2P_OUT;
}

static void describe_in(struct ipo_frame *frame, const uintptr_t *args)
{
    struct trc_sig *sig = &frame->sig;
    int tag = get_int(frame, args, ROLE_RECEIVE_TAG);
    sig->source = ipo_world_rank(frame->comm, get_int(frame, args, ROLE_SOURCE));
    sig->rtag = tag == ipo_abi.any_tag ? TRC_TAG_ANY : tag;
    if (sig->source == TRC_PEER_NULL)
        return;
    bool own = ipo_has(frame->call, ROLE_RECEIVE_COUNT);
    sig->received =
        ipo_bytes(frame, args, own ? ROLE_RECEIVE_COUNT : ROLE_SEND_COUNT, own ? ROLE_RECEIVE_TYPE : ROLE_SEND_TYPE);
    sig->flags |= TRC_SIG_P2P_IN;
}

void ipo_describe_send(struct ipo_frame *frame, uintptr_t *args)
{
    store_comm(frame, args);
    describe_out(frame, args);
    if (trc_opclass_is(frame->call->opclass, TRC_FACT_SYNC))
        frame->sig.flags |= TRC_SIG_SYNC;
    if (ipo_has(frame->call, ROLE_REQUEST_OUT))
        frame->sig.flags |= TRC_SIG_START;
}

void ipo_describe_recv(struct ipo_frame *frame, uintptr_t *args)
{
    store_comm(frame, args);
    describe_in(frame, args);
    if (ipo_has(frame->call, ROLE_REQUEST_OUT))
        frame->sig.flags |= TRC_SIG_START;
}

void ipo_describe_sendrecv(struct ipo_frame *frame, uintptr_t *args)
{
    ipo_describe_send(frame, args);
    describe_in(frame, args);
}

/* Drops the message: there was none, or there is none yet. */
static void drop_message(struct ipo_frame *frame)
{
    frame->sig.flags &= ~(uint32_t)(TRC_SIG_P2P_IN | TRC_SIG_P2P_OUT | TRC_SIG_SYNC | TRC_SIG_START);
    frame->sig.sent = frame->sig.received = 0;
}

static void intern_signature(struct ipo_frame *frame)
{
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
}

void ipo_finish_send(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    if (frame->failed) {
        drop_message(frame);
        intern_signature(frame);
    }
    ipo_emit(frame);
}

static bool is_truncation(const struct ipo_frame *frame)
{
    return ipo_error_class(frame->result) == ipo_abi.truncate_class;
}

/* Blocking receives: the message's source, tag and size replace the posted ones. */
void ipo_finish_recv(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    struct trc_sig *sig = &frame->sig;
    bool cut = frame->failed && is_truncation(frame); /* received, but cut at the buffer's size */
    if (frame->failed && !cut) {
        drop_message(frame);
        intern_signature(frame);
    } else if ((sig->flags & TRC_SIG_P2P_IN) && frame->status) {
        struct ipo_arrived arrived = ipo_arrived(frame->comm, frame->status, false);
        if (cut && arrived.bytes > sig->received)
            arrived.bytes = sig->received;
        if (arrived.source != sig->source || arrived.tag != sig->rtag || arrived.bytes != sig->received) {
            sig->flags |= sig->source == TRC_PEER_ANY ? TRC_SIG_ANY_SOURCE : 0;
            sig->flags |= sig->rtag == TRC_TAG_ANY ? TRC_SIG_ANY_TAG : 0;
            sig->source = arrived.source;
            sig->rtag = arrived.tag;
            sig->received = arrived.bytes;
            if (arrived.source == TRC_PEER_NULL)
                sig->flags &= ~(uint32_t)TRC_SIG_P2P_IN;
            intern_signature(frame);
        }
    }
    ipo_emit(frame);
}

void ipo_finish_isend(struct ipo_frame *frame, const uintptr_t *args)
{
    ipo_finish_send(frame, args);
    if (!frame->failed)
        ipo_started(frame, args);
}

/* Persistent requests move nothing yet.  The event shows the partner; the request keeps what each start will move. */
void ipo_finish_init(struct ipo_frame *frame, const uintptr_t *args)
{
    struct trc_sig moves = frame->sig;
    moves.flags &= ~(uint32_t)TRC_SIG_START;
    drop_message(frame);
    intern_signature(frame);
    ipo_emit(frame);
    frame->sig = moves;
    if (!frame->failed)
        ipo_started(frame, args);
}

void ipo_describe_probe(struct ipo_frame *frame, uintptr_t *args)
{
    store_comm(frame, args);
    frame->sig.source = ipo_world_rank(frame->comm, get_int(frame, args, ROLE_SOURCE));
    int tag = get_int(frame, args, ROLE_RECEIVE_TAG);
    frame->sig.rtag = tag == ipo_abi.any_tag ? TRC_TAG_ANY : tag;
}

void ipo_finish_probe(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t flag = ipo_arg(frame->call, args, ROLE_FLAG_OUT);
    if (!frame->failed && flag && !*(const int *)flag) {
        ipo_mark_poll(frame);
    }
    ipo_emit(frame);
}

/* A claimed message counts as a posted receive: later sends cannot overtake it. */
void ipo_finish_mprobe(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t flag = ipo_arg(frame->call, args, ROLE_FLAG_OUT), message = ipo_arg(frame->call, args, ROLE_MESSAGE_OUT);
    if (frame->failed || (flag && !*(const int *)flag)) {
        ipo_finish_probe(frame, args);
        return;
    }
    uintptr_t handle = ipo_handle_load(message, 0);
    struct ipo_arrived arrived = ipo_arrived(frame->comm, frame->status, false);
    bool real = frame->status && arrived.source != TRC_PEER_NULL;
    frame->sig.source = arrived.source;
    frame->sig.rtag = arrived.tag;
    frame->sig.received = real ? arrived.bytes : 0;
    if (arrived.source == TRC_PEER_NULL)
        __atomic_store_n(&ipo_abi.no_message, handle, __ATOMIC_RELAXED);
    if (real)
        frame->sig.flags |= TRC_SIG_START | TRC_SIG_P2P_IN;
    intern_signature(frame);
    ipo_emit(frame);
    if (!real)
        return;
    struct ipo_request request = {.flags = IPO_REQUEST_BY_STATUS,
                                  .thread = frame->thread->stream.page->thread.index,
                                  .number = ipo_next_start(frame->thread),
                                  .comm = frame->comm,
                                  .sig = frame->sig};
    ipo_request_add(handle, &request);
}

/* Finds the claim before the call overwrites the message handle.  Where threads overlap it is hidden meanwhile: MPI may
 * give the handle to another thread as soon as the message is received. */
void ipo_describe_mrecv(struct ipo_frame *frame, uintptr_t *args)
{
    const uintptr_t handle = ipo_handle_load(ipo_arg(frame->call, args, ROLE_MESSAGE_INOUT), 0);
    struct ipo_request *claim = ipo_process.concurrent ? ipo_request_claim(handle) : ipo_request_find(handle);
    frame->handle = (uintptr_t)claim;
    if (!claim && handle && handle == __atomic_load_n(&ipo_abi.no_message, __ATOMIC_RELAXED))
        frame->sig.source = TRC_PEER_NULL;
    if (!claim)
        return;
    frame->comm = ipo_request_comm(claim);
    frame->sig.comm = claim->sig.comm;
    frame->sig.source = claim->sig.source;
    frame->sig.rtag = claim->sig.rtag;
    frame->sig.received = claim->sig.received;
}

/* The claim; NULL: not known, or the call `failed` and has not received the message. */
static struct ipo_request *get_claimed(const struct ipo_frame *frame, const uintptr_t *args, bool failed)
{
    struct ipo_request *claim = (struct ipo_request *)frame->handle;
    if (claim && failed && ipo_process.concurrent)
        ipo_request_unclaim(ipo_handle_load(ipo_arg(frame->call, args, ROLE_MESSAGE_INOUT), 0), claim);
    return failed ? NULL : claim;
}

void ipo_finish_mrecv(struct ipo_frame *frame, const uintptr_t *args)
{
    bool cut = frame->failed && is_truncation(frame);
    struct ipo_request *claim = get_claimed(frame, args, frame->failed && !cut);
    if (frame->failed) {
        uint64_t room = cut ? ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE) : 0;
        frame->sig.received = room < frame->sig.received ? room : frame->sig.received;
        intern_signature(frame);
    }
    ipo_emit(frame);
    if (!claim)
        return;
    struct trc_sig sig = claim->sig;
    sig.call = frame->sig.call;
    sig.site = frame->sig.site;
    sig.received = frame->sig.received;
    sig.flags = TRC_SIG_SUB | TRC_SIG_COMPLETE | TRC_SIG_P2P_IN;
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_thread *live = &stream->page->thread;
    uint32_t index = trc_stream_intern(stream, &sig);
    bool foreign = claim->thread != live->index;
    trc_stream_sub(stream, index, foreign, claim->thread, foreign ? claim->number : live->starts - 1 - claim->number,
                   0);
    ipo_count_message(frame->thread, index);
    live->completes++;
    ipo_request_remove(claim);
}

/* The new request takes over the claim's start number; without a message it gets a number of its own. */
void ipo_finish_imrecv(struct ipo_frame *frame, const uintptr_t *args)
{
    struct ipo_request *claim = get_claimed(frame, args, frame->failed);
    bool of_nobody = frame->sig.source == TRC_PEER_NULL && !frame->failed;
    frame->sig.received = 0;
    frame->sig.flags |= of_nobody ? TRC_SIG_START : 0;
    intern_signature(frame);
    ipo_emit(frame);
    if (of_nobody)
        ipo_started(frame, args);
    if (!claim)
        return;
    const uint64_t room = ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE);
    struct ipo_request request = {.flags = IPO_REQUEST_BY_STATUS,
                                  .thread = claim->thread,
                                  .number = claim->number,
                                  .comm = ipo_request_comm(claim),
                                  .sig = claim->sig};
    request.sig.call = frame->sig.call;
    request.sig.site = frame->sig.site;
    if (room < request.sig.received)
        request.sig.received = room;
    ipo_request_remove(claim);
    ipo_request_add(ipo_handle_load(ipo_arg(frame->call, args, ROLE_REQUEST_OUT), 0), &request);
}
