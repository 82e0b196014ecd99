/* Communicators, windows and files: calls that make, use and free them. */
#include "interpose/mpi/describe.h"
#include "interpose/mpi/living.h"
#include "interpose/mpi/members.h"
#include "interpose/mpi/ranks.h"
#include "interpose/mpi/abi.h"
#include "interpose/mpi/cached.h"
#include "interpose/core/state.h"

#include <errno.h>

static void next_sequence(struct ipo_frame *frame)
{
    if (frame->comm)
        ipo_assign_number(frame);
}

static void use_comm(struct ipo_frame *frame, struct ipo_comm *comm)
{
    frame->comm = comm;
    frame->sig.comm = comm ? ipo_comm_id(comm) : 0;
    frame->sig.object = comm ? comm->object : 0;
}

/* A call that frees an object overwrites the program's handle, so it is read before. */
void ipo_save_handle(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    const uintptr_t *file =
        (const uintptr_t *)ipo_arg(call, args, ROLE_FILE_INOUT); /* MPI_File is a pointer everywhere */
    frame->handle = 0;
    bool cached = ipo_has(call, ROLE_TYPE_INOUT) || ipo_has(call, ROLE_HANDLE_INOUT);
    if (cached) { /* before the call: another thread may be given the handle for another datatype at once */
        ipo_cache_forget();
        frame->handle = ipo_handle_load(
            ipo_arg(call, args, ipo_has(call, ROLE_TYPE_INOUT) ? ROLE_TYPE_INOUT : ROLE_HANDLE_INOUT), 0);
    }
    if (ipo_has(call, ROLE_COMM_INOUT)) {
        frame->handle = ipo_handle_load(ipo_arg(call, args, ROLE_COMM_INOUT), 0);
        frame->comm = ipo_comm(frame->handle);
    } else if (ipo_has(call, ROLE_WINDOW_INOUT)) {
        frame->handle = ipo_handle_load(ipo_arg(call, args, ROLE_WINDOW_INOUT), 0);
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

/* Whether all members have the same parent: not where two groups join, nor where a group is the source. */
static bool has_common_parent(const struct ipo_call *call, uint32_t id)
{
    return id != IPO_Intercomm_create && call->opclass != TRC_OP_SPAWN;
}

/* Whether the call makes a duplicate, so that MPI need not be asked.  After Idup it must not be, before the request
 * completes. */
static bool is_copy(uint32_t id)
{
    return id == IPO_Comm_dup || id == IPO_Comm_dup_with_info || id == IPO_Comm_idup || id == IPO_Comm_idup_with_info;
}

/* The handle of what the call has made. */
static uintptr_t made_handle(const struct ipo_call *call, const uintptr_t *args)
{
    static const char roles[] = {ROLE_COMM_OUT, ROLE_WINDOW_OUT, ROLE_HANDLE_OUT, 0};
    const uintptr_t *file = (const uintptr_t *)ipo_arg(call, args, ROLE_FILE_OUT);
    uintptr_t at = 0;
    for (unsigned i = 0; roles[i] && !at; i++)
        at = ipo_arg(call, args, (enum ipo_role)roles[i]);
    return file ? *file : ipo_handle_load(at, 0);
}

/* Learns the communicator, window or file that the call has made. */
static void follow_made(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    const uint32_t id = frame->sig.call;
    struct ipo_comm *parent = frame->comm;
    if (frame->nested)
        parent = ipo_has(call, ROLE_COMM) ? ipo_comm_accepted(ipo_arg(call, args, ROLE_COMM)) : NULL;
    const uintptr_t *file = (const uintptr_t *)ipo_arg(call, args, ROLE_FILE_OUT);
    if (is_copy(id) && parent)
        ipo_comm_copied(ipo_handle_load(ipo_arg(call, args, ROLE_COMM_OUT), 0), parent, id);
    else if (ipo_has(call, ROLE_COMM_OUT) && !ipo_has(call, ROLE_REQUEST_OUT))
        ipo_comm_made(ipo_handle_load(ipo_arg(call, args, ROLE_COMM_OUT), 0),
                      has_common_parent(call, id) ? parent : NULL, id,
                      call->opclass == TRC_OP_SPAWN ? frame->begin : 0);
    else if (ipo_has(call, ROLE_WINDOW_OUT))
        ipo_object_made(ipo_handle_load(ipo_arg(call, args, ROLE_WINDOW_OUT), 0), parent, id, NULL);
    else if (file)
        ipo_object_made(*file, parent, id, (const char *)ipo_arg(call, args, ROLE_FILE_NAME));
}

void ipo_follow_handles(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    const uint32_t id = frame->sig.call;
    if (call->frees)
        ipo_living_forget((enum ipo_makes)call->frees, frame->handle);
    if (call->makes && !frame->nested)
        ipo_living_made((enum ipo_makes)call->makes, made_handle(call, args), id, frame->sig.site);
    if (ipo_has(call, ROLE_COMM_INOUT))
        ipo_comm_freed(frame->handle, frame->comm);
    if (ipo_has(call, ROLE_WINDOW_INOUT) || ipo_has(call, ROLE_FILE_INOUT))
        ipo_object_freed(frame->handle, frame->comm);
    if (!trc_opclass_is(call->opclass, TRC_FACT_CREATES))
        return;
    frame->thread->making = frame->nested ? 0 : frame->sig.path;
    follow_made(frame, args);
    frame->thread->making = 0;
}

/* ---- communicators, local calls */

void ipo_describe_comm(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct ipo_comm *comm = NULL;
    if (ipo_has(call, ROLE_COMM_INOUT) || ipo_has(call, ROLE_HANDLE_INOUT)) {
        ipo_save_handle(frame, args);
        comm = frame->comm;
    } else if (ipo_has(call, ROLE_COMM)) {
        comm = ipo_comm(ipo_arg(call, args, ROLE_COMM));
    }
    /* A communicator that was not used otherwise is not defined for this. */
    if (comm && comm->defined)
        use_comm(frame, comm);
    frame->comm = comm;
}

void ipo_finish_comm(struct ipo_frame *frame, const uintptr_t *args)
{
    ipo_emit(frame);
    if (frame->failed)
        return;
    ipo_follow_handles(frame, args);
    if (frame->sig.call == IPO_Comm_get_parent)
        ipo_comm_accepted(ipo_handle_load(ipo_arg(frame->call, args, ROLE_COMM_OUT), 0));
    if (frame->sig.call == IPO_Comm_set_name)
        ipo_comm_named(ipo_arg(frame->call, args, ROLE_COMM), (const char *)ipo_arg(frame->call, args, ROLE_NAME));
}

/* ---- calls that make and free */

/* Not collective over the communicator that is passed. */
static bool is_partial(uint32_t call)
{
    return call == IPO_Comm_create_group || call == IPO_Comm_create_from_group ||
           call == IPO_Intercomm_create_from_groups || ipo_calls[call].opclass == TRC_OP_SPAWN;
}

/* MPI_Intercomm_create: the tag, and on its group's leader the other group's leader. */
static void describe_leader(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    frame->sig.tag = (int)ipo_arg(call, args, ROLE_SEND_TAG);
    if (frame->comm && frame->comm->rank == (int)ipo_arg(call, args, ROLE_ROOT))
        frame->sig.peer =
            ipo_world_rank(ipo_comm(ipo_arg(call, args, ROLE_HANDLE)), (int)ipo_arg(call, args, ROLE_DESTINATION));
}

/* The number of the group's list of ranks; 0: not known.  MPI is asked about a group only if the program has made it,
 * or after the call has accepted it. */
static uint32_t find_group(struct ipo_frame *frame, uintptr_t handle, struct ipo_epoch_group *last)
{
    uint64_t stamp = ipo_cache_stamp();
    handle = ipo_handle(handle);
    if (last->handle == handle && last->stamp == stamp)
        return last->ranks;
    bool made = ipo_living_is(IPO_MAKES_GROUP, handle);
    if (!made && frame->thread->sizes != IPO_SIZES_ASKED) {
        frame->thread->sizes = IPO_SIZES_MISSED;
        return 0;
    }
    struct ipo_members *members = ipo_members_of_group(handle);
    uint32_t ranks = members ? ipo_ranks_number(members->world, (uint32_t)members->n) : 0;
    ipo_members_drop(members);
    /* A group of unknown origin may be freed in a call that is not recorded: it is not remembered. */
    *last = (struct ipo_epoch_group){made ? handle : 0, stamp, ranks};
    return ranks;
}

void ipo_describe_create(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    if (ipo_has(call, ROLE_COMM_INOUT) || ipo_has(call, ROLE_WINDOW_INOUT) || ipo_has(call, ROLE_FILE_INOUT)) {
        ipo_save_handle(frame, args);
        use_comm(frame, frame->comm);
    } else if (ipo_has(call, ROLE_WINDOW)) {
        use_comm(frame, ipo_object(ipo_handle(ipo_arg(call, args, ROLE_WINDOW))));
    } else if (ipo_has(call, ROLE_FILE)) {
        use_comm(frame, ipo_object(ipo_arg(call, args, ROLE_FILE)));
    } else if (ipo_has(call, ROLE_COMM)) {
        use_comm(frame, ipo_comm(ipo_arg(call, args, ROLE_COMM)));
    }
    if (frame->sig.call == IPO_Intercomm_create)
        describe_leader(frame, args);
    if (frame->sig.call == IPO_Comm_create_group) {
        struct ipo_epoch_group none = {0};
        frame->sig.tag = (int)ipo_arg(call, args, ROLE_SEND_TAG);
        frame->sig.object = find_group(frame, ipo_arg(call, args, ROLE_HANDLE), &none);
    }
    if (ipo_has(call, ROLE_REQUEST_OUT))
        frame->sig.flags |= TRC_SIG_START;
    if (!is_partial(frame->sig.call))
        next_sequence(frame);
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
    use_comm(frame, ipo_object(ipo_handle(ipo_arg(call, args, ROLE_WINDOW))));
    sig->flags |= TRC_SIG_RMA | (ipo_has(call, ROLE_REQUEST_OUT) ? TRC_SIG_START : 0);
    sig->peer = ipo_world_rank(frame->comm, (int)ipo_arg(call, args, ROLE_TARGET));
    if (sig->peer == TRC_PEER_NULL)
        return;
    if (ipo_has(call, ROLE_SEND_COUNT) || ipo_has(call, ROLE_RECEIVE_COUNT)) {
        sig->sent = ipo_has(call, ROLE_SEND_COUNT) ? ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE) : 0;
        sig->received =
            ipo_has(call, ROLE_RECEIVE_COUNT) ? ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE) : 0;
    } else { /* Fetch_and_op, Compare_and_swap: one element each way */
        uint64_t size = ipo_type_size(frame->thread, ipo_arg(call, args, ROLE_SEND_TYPE));
        sig->sent = sig->received = size == TRC_BYTES_UNKNOWN ? 0 : size;
    }
}

/* The group of the epoch that the call begins or ends; 0: none, or not known. */
static uint32_t epoch_group(struct ipo_frame *frame, const uintptr_t *args)
{
    uintptr_t handle = ipo_arg(frame->call, args, ROLE_GROUP);
    switch (frame->sig.call) {
    case IPO_Win_post:
        return find_group(frame, handle, &frame->comm->posted);
    case IPO_Win_start:
        return find_group(frame, handle, &frame->comm->started);
    case IPO_Win_complete:
        return frame->comm->started.ranks;
    case IPO_Win_wait:
    case IPO_Win_test:
        return frame->comm->posted.ranks;
    default:
        return 0;
    }
}

void ipo_describe_rma_sync(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    use_comm(frame, ipo_object(ipo_handle(ipo_arg(call, args, ROLE_WINDOW))));
    frame->sig.flags |= TRC_SIG_RMA;
    if (ipo_has(call, ROLE_TARGET))
        frame->sig.peer = ipo_world_rank(frame->comm, (int)ipo_arg(call, args, ROLE_TARGET));
    if (ipo_has(call, ROLE_LOCK_KIND) && (int)ipo_arg(call, args, ROLE_LOCK_KIND) == ipo_abi.lock_shared)
        frame->sig.flags |= TRC_SIG_SHARED;
    uint32_t group = frame->comm ? epoch_group(frame, args) : 0;
    if (group)
        frame->sig.tag = (int32_t)group;
    if (call->opclass == TRC_OP_RMA_FENCE)
        next_sequence(frame);
}

/* ---- files */

void ipo_describe_io(struct ipo_frame *frame, uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct trc_sig *sig = &frame->sig;
    use_comm(frame, ipo_object(ipo_arg(call, args, ROLE_FILE)));
    sig->flags |= TRC_SIG_IO;
    if (ipo_has(call, ROLE_REQUEST_OUT))
        sig->flags |= TRC_SIG_START;
    if (call->opclass == TRC_OP_IO_COLL)
        next_sequence(frame);
    /* The size of the buffer; the status, where there is one, has the bytes that were moved. */
    if (ipo_has(call, ROLE_SEND_COUNT))
        sig->sent = ipo_bytes(frame, args, ROLE_SEND_COUNT, ROLE_SEND_TYPE);
    if (ipo_has(call, ROLE_RECEIVE_COUNT) && (ipo_has(call, ROLE_REQUEST_OUT) || ipo_has(call, ROLE_STATUS_OUT)))
        sig->received = ipo_bytes(frame, args, ROLE_RECEIVE_COUNT, ROLE_RECEIVE_TYPE);
    ipo_want_status(frame, args);
}

void ipo_finish_io(struct ipo_frame *frame, const uintptr_t *args)
{
    const struct ipo_call *call = frame->call;
    struct trc_sig *sig = &frame->sig;
    /* The end of a split write has a status too, but its bytes were counted when it began. */
    bool reads = ipo_has(call, ROLE_RECEIVE_BUFFER), writes = ipo_has(call, ROLE_SEND_COUNT);
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
    if (!frame->failed && ipo_has(call, ROLE_REQUEST_OUT))
        ipo_started(frame, args);
}
