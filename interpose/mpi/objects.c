/* Communicators, windows and files: calls that make, use and free them. */
#include "interpose/mpi/describe.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/sig_cache.h"
#include "interpose/core/state.h"

#include <errno.h>

static void take_sequence(struct ipo_frame *frame)
{
    if (frame->comm)
        ipo_take_number(frame);
}

static void use(struct ipo_frame *frame, struct ipo_comm *comm)
{
    frame->comm = comm;
    frame->sig.comm = comm ? ipo_comm_id(comm) : 0;
    frame->sig.object = comm ? comm->object : 0;
}

/* What takes a pointer to a handle away leaves the null handle there: it is read before. */
void ipo_keep_handle(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    const uintptr_t *file = (const uintptr_t *)ipo_arg(call, args, 'j'); /* MPI_File is a pointer everywhere */
    frame->handle = 0;
    if (ipo_has(call, 'P')) /* before it is gone: another thread may be given its handle with another size at once */
        ipo_cache_forget();
    if (ipo_has(call, 'k')) {
        frame->handle = ipo_handle_load(ipo_arg(call, args, 'k'), 0);
        frame->comm = ipo_comm(frame->handle);
    } else if (ipo_has(call, 'W')) {
        frame->handle = ipo_handle_load(ipo_arg(call, args, 'W'), 0);
        frame->comm = ipo_object(frame->handle);
    } else if (file) {
        frame->handle = *file;
        frame->comm = ipo_object(frame->handle);
    }
}

int ipo_type_free_unseen(uintptr_t *datatype)
{
    ipo_cache_forget();
    return ((int (*)(uintptr_t *))ipo_own[IPO_Type_free])(datatype);
}

/* Two groups meet in an intercommunicator, or it is made of a group: no communicator is the parent for all. */
static bool has_common_parent(const struct ipo_call *call, uint32_t id)
{
    return id != IPO_Intercomm_create && call->opclass != TRC_OP_SPAWN;
}

/* Members and ranks are the parent's: nothing has to be asked.  Of Idup nothing may be, before its request completes.
 */
static bool is_copy(uint32_t id)
{
    return id == IPO_Comm_dup || id == IPO_Comm_dup_with_info || id == IPO_Comm_idup || id == IPO_Comm_idup_with_info;
}

void ipo_follow_handles(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    uint32_t id = frame->sig.call;
    if (ipo_has(call, 'k'))
        ipo_comm_freed(frame->handle, frame->comm);
    if (ipo_has(call, 'W') || ipo_has(call, 'j'))
        ipo_object_freed(frame->handle, frame->comm);
    if (!trc_opclass_is(call->opclass, TRC_FACT_CREATES))
        return;
    struct ipo_comm *parent = frame->comm;
    if (frame->nested)
        parent = ipo_has(call, 'c') ? ipo_comm_accepted(ipo_arg(call, args, 'c')) : NULL;
    const uintptr_t *file = (const uintptr_t *)ipo_arg(call, args, 'A');
    if (is_copy(id) && parent)
        ipo_comm_copied(ipo_handle_load(ipo_arg(call, args, 'C'), 0), parent, id);
    else if (ipo_has(call, 'C') && !ipo_has(call, 'q'))
        ipo_comm_made(ipo_handle_load(ipo_arg(call, args, 'C'), 0), has_common_parent(call, id) ? parent : NULL, id,
                      call->opclass == TRC_OP_SPAWN ? frame->begin : 0);
    else if (ipo_has(call, 'V'))
        ipo_object_made(ipo_handle_load(ipo_arg(call, args, 'V'), 0), parent, id, NULL);
    else if (file)
        ipo_object_made(*file, parent, id, (const char *)ipo_arg(call, args, 'F'));
}

/* ---- communicators, local calls */

void ipo_describe_comm(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct ipo_comm *comm = NULL;
    if (ipo_has(call, 'k')) {
        ipo_keep_handle(frame, args);
        comm = frame->comm;
    } else if (ipo_has(call, 'c')) {
        comm = ipo_comm(ipo_arg(call, args, 'c'));
    }
    /* One that nothing else was done with needs no definition for this. */
    if (comm && (comm->defined || frame->sig.call == IPO_Comm_disconnect))
        use(frame, comm);
    frame->comm = comm;
}

void ipo_finish_comm(struct ipo_frame *frame, const uintptr_t *args)
{
    ipo_emit(frame);
    if (frame->failed)
        return;
    ipo_follow_handles(frame, args);
    if (frame->sig.call == IPO_Comm_get_parent)
        ipo_comm_accepted(ipo_handle_load(ipo_arg(frame->call, args, 'C'), 0));
    if (frame->sig.call == IPO_Comm_set_name)
        ipo_comm_named(ipo_arg(frame->call, args, 'c'), (const char *)ipo_arg(frame->call, args, 'G'));
}

/* ---- what makes and frees */

/* Not collective over the communicator that is passed. */
static bool is_partial(uint32_t call)
{
    return call == IPO_Comm_create_group || call == IPO_Comm_create_from_group ||
           call == IPO_Intercomm_create_from_groups || ipo_calls[call].opclass == TRC_OP_SPAWN;
}

void ipo_describe_create(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    if (ipo_has(call, 'W') || ipo_has(call, 'j')) {
        ipo_keep_handle(frame, args);
        use(frame, frame->comm);
    } else if (ipo_has(call, 'v')) {
        use(frame, ipo_object(ipo_handle(ipo_arg(call, args, 'v'))));
    } else if (ipo_has(call, 'a')) {
        use(frame, ipo_object(ipo_arg(call, args, 'a')));
    } else if (ipo_has(call, 'c')) {
        use(frame, ipo_comm(ipo_arg(call, args, 'c')));
    }
    if (ipo_has(call, 'q'))
        frame->sig.flags |= TRC_SIG_START;
    if (!is_partial(frame->sig.call))
        take_sequence(frame);
}

void ipo_finish_create(struct ipo_frame *frame, const uintptr_t *args)
{
    int kept = errno;
    ipo_emit(frame);
    if (!frame->failed) {
        ipo_follow_handles(frame, args);
        ipo_started(frame, args);
    }
    errno = kept;
}

/* ---- one-sided */

void ipo_describe_rma(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct trc_sig *sig = &frame->sig;
    use(frame, ipo_object(ipo_handle(ipo_arg(call, args, 'v'))));
    sig->flags |= TRC_SIG_RMA | (ipo_has(call, 'q') ? TRC_SIG_START : 0);
    sig->peer = ipo_world_rank(frame->comm, (int)ipo_arg(call, args, 'R'));
    if (sig->peer == TRC_PEER_NULL)
        return;
    if (ipo_has(call, 'n') || ipo_has(call, 'N')) {
        sig->sent = ipo_has(call, 'n') ? ipo_bytes(frame, args, 'n', 'd') : 0;
        sig->received = ipo_has(call, 'N') ? ipo_bytes(frame, args, 'N', 'D') : 0;
    } else { /* Fetch_and_op, Compare_and_swap: one element each way */
        uint64_t size = ipo_type_size(frame->thread, ipo_arg(call, args, 'd'));
        sig->sent = sig->received = size == TRC_BYTES_UNKNOWN ? 0 : size;
    }
}

void ipo_describe_rma_sync(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    use(frame, ipo_object(ipo_handle(ipo_arg(call, args, 'v'))));
    frame->sig.flags |= TRC_SIG_RMA;
    if (ipo_has(call, 'R'))
        frame->sig.peer = ipo_world_rank(frame->comm, (int)ipo_arg(call, args, 'R'));
    if (ipo_has(call, 'f') && (int)ipo_arg(call, args, 'f') == ipo_abi.lock_shared)
        frame->sig.flags |= TRC_SIG_SHARED;
    if (call->opclass == TRC_OP_RMA_FENCE)
        take_sequence(frame);
}

/* ---- files */

void ipo_describe_io(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct trc_sig *sig = &frame->sig;
    use(frame, ipo_object(ipo_arg(call, args, 'a')));
    sig->flags |= TRC_SIG_IO;
    if (ipo_has(call, 'q'))
        sig->flags |= TRC_SIG_START;
    if (call->opclass == TRC_OP_IO_COLL)
        take_sequence(frame);
    /* Room or data known now; the status, where there is one, says what it came to. */
    if (ipo_has(call, 'n'))
        sig->sent = ipo_bytes(frame, args, 'n', 'd');
    if (ipo_has(call, 'N') && (ipo_has(call, 'q') || ipo_has(call, 'S')))
        sig->received = ipo_bytes(frame, args, 'N', 'D');
    ipo_want_status(frame, args);
}

void ipo_finish_io(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct trc_sig *sig = &frame->sig;
    /* The end of a split write has a status too, but its bytes were counted when it began. */
    bool reads = ipo_has(call, 'B'), writes = ipo_has(call, 'n');
    uint64_t sent = sig->sent, received = sig->received;
    if (frame->failed) {
        sig->flags &= ~(uint32_t)TRC_SIG_START;
        sig->sent = sig->received = 0;
    } else if (frame->status && (reads || writes)) {
        struct ipo_arrived moved = ipo_arrived(NULL, frame->status, false);
        *(reads ? &sig->received : &sig->sent) = moved.bytes;
    }
    if (frame->failed || sent != sig->sent || received != sig->received)
        frame->index = trc_stream_intern(&frame->thread->stream, sig);
    ipo_emit(frame);
    if (!frame->failed && ipo_has(call, 'q'))
        ipo_started(frame, args);
}
