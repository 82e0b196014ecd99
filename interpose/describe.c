/* Point to point, and what all classes share: sizes, statuses, request starts. */
#include "interpose/describe.h"
#include "interpose/abi.h"
#include "interpose/process.h"

typedef uintptr_t w;

/* ---- sizes ---------------------------------------------------------------------------------------------------------
 */

/* A predefined type has no constituents and cannot be freed, so that its size can be remembered by its handle. */
static bool is_predefined(uintptr_t datatype)
{
    int integers = 1, addresses = 1, types = 1, combiner = 0;
    int (*envelope)(w, int *, int *, int *, int *) =
        (int (*)(w, int *, int *, int *, int *))ipo_own[IPO_Type_get_envelope];
    return envelope && !envelope(datatype, &integers, &addresses, &types, &combiner) && !integers && !addresses &&
           !types;
}

static __attribute__((noinline)) uint64_t ask_type_size(struct ipo_type *slot, uintptr_t datatype)
{
    int64_t size = -1;
    int small = -1;
    if (ipo_own[IPO_Type_size_x]) {
        if (((int (*)(w, int64_t *))ipo_own[IPO_Type_size_x])(datatype, &size))
            size = -1;
    } else if (!((int (*)(w, int *))ipo_own[IPO_Type_size])(datatype, &small)) {
        size = small;
    }
    if (size < 0)
        return TRC_BYTES_UNKNOWN;
    if (slot && is_predefined(datatype))
        *slot = (struct ipo_type){.handle = datatype, .size = (uint64_t)size};
    return (uint64_t)size;
}

uint64_t ipo_type_size(struct ipo_thread *thread, uintptr_t datatype)
{
    datatype = ipo_handle(datatype);
    struct ipo_type *slot = &thread->type[(datatype ^ datatype >> 9) % IPO_TYPES];
    if (__builtin_expect(slot->handle == datatype, 1))
        return slot->size;
    return ask_type_size(slot, datatype);
}

/* Partitioned calls have an MPI_Count without saying so in their name. */
static bool has_wide_counts(const struct ipo_call *call)
{
    return call->large || ipo_has(call, 'K');
}

uint64_t ipo_count(const struct ipo_call *call, const uintptr_t *args, char role)
{
    uintptr_t word = ipo_arg(call, args, role);
    int64_t n = has_wide_counts(call) ? (int64_t)word : (int64_t)(int32_t)word;
    return n > 0 ? (uint64_t)n : 0;
}

uint64_t ipo_count_at(const struct ipo_call *call, const uintptr_t *args, char role, uint32_t i)
{
    uintptr_t array = ipo_arg(call, args, role);
    if (!array)
        return 0;
    int64_t n = has_wide_counts(call) ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
    return n > 0 ? (uint64_t)n : 0;
}

uint64_t ipo_bytes(const struct ipo_frame *frame, const uintptr_t *args, char count, char type)
{
    uint64_t n = ipo_count(frame->call, args, count);
    if (ipo_has(frame->call, 'K'))
        n *= (uint64_t)(int32_t)ipo_arg(frame->call, args, 'K');
    if (n == 0)
        return 0;
    uint64_t size = ipo_type_size(frame->thread, ipo_arg(frame->call, args, type));
    return size == TRC_BYTES_UNKNOWN ? 0 : n * size;
}

/* ---- statuses ------------------------------------------------------------------------------------------------------
 */

void ipo_want_status(struct ipo_frame *frame, uintptr_t *args)
{
    unsigned at = ipo_position(frame->call, 'S');
    if (at == IPO_ABSENT || (ipo_process.writer.head->flags & TRC_HEAD_STATUS_UNKNOWN))
        return;
    if (args[at] == ipo_abi.status_ignore) {
        if (!ipo_thread_scratch(frame->thread, 1))
            return;
        args[at] = (uintptr_t)frame->thread->statuses;
    }
    frame->status = args[at];
}

struct ipo_arrived ipo_arrived(struct ipo_thread *thread, const struct ipo_comm *comm, uintptr_t status,
                               bool may_be_cancelled)
{
    struct ipo_arrived arrived = {.source = TRC_PEER_UNKNOWN, .tag = TRC_TAG_NONE, .bytes = 0};
    (void)thread;
    if (!status)
        return arrived;
    if (may_be_cancelled) {
        int flag = 0;
        ((int (*)(w, int *))ipo_own[IPO_Test_cancelled])(status, &flag);
        arrived.cancelled = flag != 0;
        if (flag)
            return arrived;
    }
    arrived.source = ipo_world_rank(comm, ipo_status_source((const char *)status));
    arrived.tag = ipo_status_tag((const char *)status);
    int64_t elements = 0;
    int count = 0;
    if (ipo_own[IPO_Get_elements_x]) {
        ((int (*)(w, w, int64_t *))ipo_own[IPO_Get_elements_x])(status, ipo_abi.byte_type, &elements);
    } else {
        ((int (*)(w, w, int *))ipo_own[IPO_Get_count])(status, ipo_abi.byte_type, &count);
        elements = count;
    }
    arrived.bytes = elements > 0 ? (uint64_t)elements : 0;
    return arrived;
}

/* ---- starts --------------------------------------------------------------------------------------------------------
 */

void ipo_started(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t variable = ipo_arg(frame->call, args, 'q');
    if (!variable)
        return;
    uintptr_t handle = ipo_handle_load(variable, 0);
    struct ipo_thread *thread = frame->thread;
    struct ipo_request request = {
        .thread = thread->stream.page->thread.index,
        .charge = frame->sig.call,
        .sequence = frame->sequence,
        .comm = frame->comm,
        .sig = frame->sig,
    };
    if (frame->call->persistent)
        request.flags = IPO_REQUEST_PERSISTENT;
    else if (frame->sig.flags & TRC_SIG_START)
        request.number = ipo_next_start(thread);
    if (frame->call->opclass == TRC_OP_IO || frame->call->opclass == TRC_OP_IO_COLL)
        request.flags |= ipo_has(frame->call, 'B') ? IPO_REQUEST_READ : 0;
    if (handle == ipo_abi.request_null)
        return;
    if (handle == ipo_abi.shared_request && handle)
        ipo_shared_add(thread, variable, request.number, &frame->sig);
    else if (!ipo_request_add(handle, &request))
        __atomic_fetch_add(&ipo_process.writer.head->unknown_requests, 1, __ATOMIC_RELAXED);
}

/* ---- point to point
 * -------------------------------------------------------------------------------------------------- */

static int int_arg(const struct ipo_frame *frame, const uintptr_t *args, char role)
{
    return (int)ipo_arg(frame->call, args, role);
}

static void take_comm(struct ipo_frame *frame, const uintptr_t *args)
{
    frame->comm = ipo_comm(ipo_arg(frame->call, args, 'c'));
    frame->sig.comm = frame->comm ? frame->comm->id : 0;
}

static void describe_out(struct ipo_frame *frame, const uintptr_t *args)
{
    struct trc_sig *sig = &frame->sig;
    sig->peer = ipo_world_rank(frame->comm, int_arg(frame, args, 'p'));
    sig->tag = int_arg(frame, args, 't');
    if (sig->peer == TRC_PEER_NULL)
        return;
    sig->sent = ipo_bytes(frame, args, 'n', 'd');
    sig->flags |= TRC_SIG_P2P_OUT;
}

static void describe_in(struct ipo_frame *frame, const uintptr_t *args)
{
    struct trc_sig *sig = &frame->sig;
    int tag = int_arg(frame, args, 'T');
    sig->source = ipo_world_rank(frame->comm, int_arg(frame, args, 's'));
    sig->rtag = tag == ipo_abi.any_tag ? TRC_TAG_ANY : tag;
    if (sig->source == TRC_PEER_NULL)
        return;
    bool own = ipo_has(frame->call, 'N');
    sig->received = ipo_bytes(frame, args, own ? 'N' : 'n', own ? 'D' : 'd');
    sig->flags |= TRC_SIG_P2P_IN;
}

static void describe_send(struct ipo_frame *frame, uintptr_t *args)
{
    take_comm(frame, args);
    describe_out(frame, args);
    if (frame->call->opclass == TRC_OP_SSEND || frame->call->opclass == TRC_OP_ISSEND)
        frame->sig.flags |= TRC_SIG_SYNC;
    if (ipo_has(frame->call, 'q'))
        frame->sig.flags |= TRC_SIG_START;
}

static void describe_recv(struct ipo_frame *frame, uintptr_t *args)
{
    take_comm(frame, args);
    describe_in(frame, args);
    if (ipo_has(frame->call, 'q'))
        frame->sig.flags |= TRC_SIG_START;
    else
        ipo_want_status(frame, args);
}

static void describe_sendrecv(struct ipo_frame *frame, uintptr_t *args)
{
    describe_send(frame, args);
    describe_in(frame, args);
    ipo_want_status(frame, args);
}

/* The call failed: no message, unless it was one that did not fit. */
static void drop_message(struct ipo_frame *frame)
{
    frame->sig.flags &= ~(uint32_t)(TRC_SIG_P2P_IN | TRC_SIG_P2P_OUT | TRC_SIG_START);
    frame->sig.sent = frame->sig.received = 0;
}

static void intern(struct ipo_frame *frame)
{
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
}

static void finish_send(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    if (frame->failed) {
        drop_message(frame);
        intern(frame);
    }
    ipo_emit(frame);
}

/* Blocking receives: what was asked for gives way to what came. */
static void finish_recv(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    struct trc_sig *sig = &frame->sig;
    if (frame->failed) {
        drop_message(frame);
        intern(frame);
    } else if ((sig->flags & TRC_SIG_P2P_IN) && frame->status) {
        struct ipo_arrived arrived = ipo_arrived(frame->thread, frame->comm, frame->status, false);
        if (arrived.source != sig->source || arrived.tag != sig->rtag || arrived.bytes != sig->received) {
            sig->source = arrived.source;
            sig->rtag = arrived.tag;
            sig->received = arrived.bytes;
            if (arrived.source == TRC_PEER_NULL)
                sig->flags &= ~(uint32_t)TRC_SIG_P2P_IN;
            intern(frame);
        }
    }
    ipo_emit(frame);
}

static void finish_isend(struct ipo_frame *frame, const uintptr_t *args)
{
    finish_send(frame, args);
    if (!frame->failed)
        ipo_started(frame, args);
}

/* One event, two requests' worth of directions: completed as a whole by its one request. */
static void finish_isendrecv(struct ipo_frame *frame, const uintptr_t *args)
{
    finish_isend(frame, args);
}

/* Persistent: only prepared.  The event shows the partner; the request keeps what each start will move. */
static void finish_init(struct ipo_frame *frame, const uintptr_t *args)
{
    struct trc_sig moves = frame->sig;
    moves.flags &= ~(uint32_t)TRC_SIG_START;
    drop_message(frame);
    intern(frame);
    ipo_emit(frame);
    frame->sig = moves;
    if (!frame->failed)
        ipo_started(frame, args);
}

static void describe_probe(struct ipo_frame *frame, uintptr_t *args)
{
    take_comm(frame, args);
    frame->sig.source = ipo_world_rank(frame->comm, int_arg(frame, args, 's'));
    int tag = int_arg(frame, args, 'T');
    frame->sig.rtag = tag == ipo_abi.any_tag ? TRC_TAG_ANY : tag;
    if (ipo_has(frame->call, 'u'))
        ipo_want_status(frame, args);
}

static void finish_probe(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t flag = ipo_arg(frame->call, args, 'g');
    if (!frame->failed && flag && !*(const int *)flag) {
        frame->poll = true;
        frame->sig.flags |= TRC_SIG_POLL;
        intern(frame);
    }
    ipo_emit(frame);
}

void ipo_describe_mprobe(struct ipo_frame *frame, uintptr_t *args)
{
    describe_probe(frame, args);
}

/* A claimed message is a posted receive: it is this one that later sends cannot overtake. */
void ipo_finish_mprobe(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t flag = ipo_arg(frame->call, args, 'g'), message = ipo_arg(frame->call, args, 'u');
    if (frame->failed || (flag && !*(const int *)flag)) {
        finish_probe(frame, args);
        return;
    }
    uintptr_t handle = ipo_handle_load(message, 0);
    struct ipo_arrived arrived = ipo_arrived(frame->thread, frame->comm, frame->status, false);
    bool real = frame->status && arrived.source != TRC_PEER_NULL;
    frame->sig.source = arrived.source;
    frame->sig.rtag = arrived.tag;
    frame->sig.received = real ? arrived.bytes : 0;
    if (real)
        frame->sig.flags |= TRC_SIG_START | TRC_SIG_P2P_IN;
    intern(frame);
    ipo_emit(frame);
    if (!real)
        return;
    struct ipo_request request = {.thread = frame->thread->stream.page->thread.index,
                                  .number = ipo_next_start(frame->thread),
                                  .charge = frame->sig.call,
                                  .comm = frame->comm,
                                  .sig = frame->sig};
    ipo_request_add(handle, &request);
}

/* The claim behind the message handle, found before the call overwrites it. */
void ipo_describe_mrecv(struct ipo_frame *frame, uintptr_t *args)
{
    struct ipo_request *claim = ipo_request_find(ipo_handle_load(ipo_arg(frame->call, args, 'U'), 0));
    if (claim) {
        frame->comm = claim->comm;
        frame->sig.comm = claim->sig.comm;
        frame->sig.source = claim->sig.source;
        frame->sig.rtag = claim->sig.rtag;
        frame->sig.received = claim->sig.received;
        if (ipo_thread_scratch(frame->thread, 1))
            frame->thread->requests[0] = (uintptr_t)claim;
    } else if (ipo_thread_scratch(frame->thread, 1)) {
        frame->thread->requests[0] = 0;
    }
}

static struct ipo_request *claimed(const struct ipo_frame *frame)
{
    return frame->thread->scratch ? (struct ipo_request *)frame->thread->requests[0] : NULL;
}

void ipo_finish_mrecv(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    ipo_emit(frame);
    struct ipo_request *claim = claimed(frame);
    if (!claim || frame->failed)
        return;
    struct trc_sig sig = claim->sig;
    sig.flags = TRC_SIG_SUB | TRC_SIG_COMPLETE | TRC_SIG_P2P_IN;
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_thread *live = &stream->page->thread;
    uint32_t index = trc_stream_intern(stream, &sig);
    bool foreign = claim->thread != live->index;
    trc_stream_sub(stream, index, foreign, claim->thread, foreign ? claim->number : live->starts - 1 - claim->number,
                   0);
    ipo_count_received(frame->thread, index);
    live->completes++;
    ipo_request_remove(claim);
}

/* The new request goes on under the number of the claim. */
void ipo_finish_imrecv(struct ipo_frame *frame, const uintptr_t *args)
{
    struct ipo_request *claim = claimed(frame);
    frame->sig.received = 0;
    intern(frame);
    ipo_emit(frame);
    if (!claim || frame->failed)
        return;
    struct ipo_request request = {.thread = claim->thread,
                                  .number = claim->number,
                                  .charge = frame->sig.call,
                                  .comm = claim->comm,
                                  .sig = claim->sig};
    ipo_request_remove(claim);
    ipo_request_add(ipo_handle_load(ipo_arg(frame->call, args, 'q'), 0), &request);
}

static void describe_level(struct ipo_frame *frame, uintptr_t *args)
{
    frame->sig.tag = (int)ipo_arg(frame->call, args, 'L');
    if (frame->call->opclass == TRC_OP_ABORT)
        ipo_process_aborting(frame->sig.tag);
}

static void describe_finalize(struct ipo_frame *frame, uintptr_t *args)
{
    (void)frame, (void)args;
    ipo_process_ending();
}

static void finish_finalize(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    ipo_emit(frame);
    if (!frame->failed)
        ipo_process_finalized();
}

static void finish_init_call(struct ipo_frame *frame, const uintptr_t *args)
{
    (void)args;
    if (!frame->failed)
        ipo_process_ready();
    ipo_emit(frame);
}

const struct ipo_class ipo_classes[] = {
    [TRC_OP_OTHER] = {ipo_describe_request, ipo_finish_request},
    [TRC_OP_INIT] = {NULL, finish_init_call},
    [TRC_OP_FINALIZE] = {describe_finalize, finish_finalize},
    [TRC_OP_ABORT] = {describe_level, NULL},
    [TRC_OP_PCONTROL] = {describe_level, NULL},
    [TRC_OP_SEND] = {describe_send, finish_send},
    [TRC_OP_SSEND] = {describe_send, finish_send},
    [TRC_OP_RECV] = {describe_recv, finish_recv},
    [TRC_OP_SENDRECV] = {describe_sendrecv, finish_recv},
    [TRC_OP_ISEND] = {describe_send, finish_isend},
    [TRC_OP_ISSEND] = {describe_send, finish_isend},
    [TRC_OP_IRECV] = {describe_recv, finish_isend},
    [TRC_OP_ISENDRECV] = {describe_sendrecv, finish_isendrecv},
    [TRC_OP_SEND_INIT] = {describe_send, finish_init},
    [TRC_OP_SSEND_INIT] = {describe_send, finish_init},
    [TRC_OP_RECV_INIT] = {describe_recv, finish_init},
    [TRC_OP_START] = {ipo_describe_start, ipo_finish_start},
    [TRC_OP_WAIT] = {ipo_describe_completion, ipo_finish_completion},
    [TRC_OP_TEST] = {ipo_describe_completion, ipo_finish_completion},
    [TRC_OP_PARTITION] = {NULL, finish_probe},
    [TRC_OP_PROBE] = {describe_probe, finish_probe},
    [TRC_OP_MPROBE] = {ipo_describe_mprobe, ipo_finish_mprobe},
    [TRC_OP_MRECV] = {ipo_describe_mrecv, ipo_finish_mrecv},
    [TRC_OP_IMRECV] = {ipo_describe_mrecv, ipo_finish_imrecv},
    [TRC_OP_REQUEST] = {ipo_describe_request, ipo_finish_request},
    [TRC_OP_BARRIER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_BCAST] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_SCATTER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_GATHER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_REDUCE] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLGATHER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLREDUCE] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_ALLTOALL] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_REDUCE_SCATTER] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_SCAN] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_EXSCAN] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_NEIGHBOR] = {ipo_describe_collective, ipo_finish_collective},
    [TRC_OP_COMM] = {ipo_describe_comm, ipo_finish_comm},
    [TRC_OP_COMM_CREATE] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_SPAWN] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_RMA] = {ipo_describe_rma, finish_isend},
    [TRC_OP_RMA_SYNC] = {ipo_describe_rma_sync, NULL},
    [TRC_OP_RMA_FENCE] = {ipo_describe_rma_sync, NULL},
    [TRC_OP_WIN_CREATE] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_IO] = {ipo_describe_io, ipo_finish_io},
    [TRC_OP_IO_COLL] = {ipo_describe_io, ipo_finish_io},
    [TRC_OP_FILE_OPEN] = {ipo_describe_create, ipo_finish_create},
    [TRC_OP_PASS] = {NULL, NULL},
};
