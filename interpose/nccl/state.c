#include "interpose/nccl/state.h"
#include "interpose/nccl/hooks.h"
#include "interpose/cuda/events.h"

#include <errno.h>
#include <sys/mman.h>

struct ipo_nccl_own *ipo_nccl_own_make(struct ipo_thread *thread)
{
    int kept = errno;
    void *memory = mmap(NULL, sizeof(struct ipo_nccl_own), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = kept;
    return thread->nccl_own = memory == MAP_FAILED ? NULL : memory;
}

void ipo_nccl_thread_left(struct ipo_thread *thread)
{
    if (thread->nccl_own) {
        thread->nccl_own->count = 0;
        thread->nccl_own->launching = false;
    }
}

void ipo_nccl_state_start(struct ipo_comm *comm)
{
    ipo_gpu_start();
    ipo_cuda_watch_start();
    uintptr_t context = ipo_cuda_context(); /* asks with each Init, so that a reset is noticed */
    if (comm && !comm->gpu_context)
        comm->gpu_context = context;
}

static struct trc_gpu_op describe_operation(const struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    struct ipo_comm *comm = frame->comm;
    bool message = call->opclass == TRC_OP_NCCL_P2P;
    struct trc_gpu_op what = {.bytes = TRC_BYTES_UNKNOWN,
                              .site = frame->site,
                              .comm = comm->id,
                              .call = IPO_NCCL_NUMBER(id),
                              .root = -1,
                              .thread = frame->thread->stream.page->chunk.thread,
                              .type = 255,
                              .op = TRC_GPU_OP_NONE,
                              .flags = message ? TRC_GPU_MESSAGE : 0};
    for (unsigned i = 0; i < call->arity; i++)
        switch (call->roles[i]) {
        case NCCL_ROLE_COUNT:
            what.count = args[i];
            break;
        case NCCL_ROLE_TYPE:
            what.type = (uint8_t)args[i];
            break;
        case NCCL_ROLE_OPERATION:
            what.op = args[i] < 5 ? (uint8_t)args[i] : TRC_GPU_OP_OWN;
            break;
        case NCCL_ROLE_ROOT:
        case NCCL_ROLE_DESTINATION:
        case NCCL_ROLE_SOURCE:
            what.root = (int32_t)args[i];
            break;
        case NCCL_ROLE_STREAM:
            what.stream = args[i];
            break;
        default:
            break;
        }
    what.bytes = ipo_nccl_bytes(what.type, what.count);
    return what;
}

/* Fills in what differs from call to call. */
static void fill_changing(struct trc_gpu_op *what, const struct ipo_frame *frame, enum ipo_nccl_id id)
{
    struct ipo_comm *comm = frame->comm;
    what->sequence = frame->sequence;
    what->called = frame->begin;
    what->order = comm->operations++;
    if (!(what->flags & TRC_GPU_MESSAGE))
        return;
    uint32_t *messages = ipo_comm_messages(comm);
    if (messages && what->root >= 0 && what->root < comm->size)
        what->sequence = messages[what->root * 2 + (ipo_nccl_calls[id].moves == IPO_MOVES_RECV)]++;
}

static __attribute__((noinline)) void fill(struct ipo_nccl_cached *cached, const struct ipo_frame *frame,
                                           enum ipo_nccl_id id, const uintptr_t *args)
{
    cached->what = describe_operation(frame, id, args);
    cached->what.flags |= frame->thread->nccl_depth ? TRC_GPU_GROUPED : 0;
    cached->known = true;
}

/* The operation of a call, from the cache or described anew.  NULL: no memory. */
static struct trc_gpu_op *get_operation(const struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    struct ipo_nccl_cached *cached = frame->cached;
    if (!cached)
        return NULL;
    if (!cached->known)
        fill(cached, frame, id, args);
    fill_changing(&cached->what, frame, id);
    return &cached->what;
}

/* Records the first event of a launch, and marks operations that will not be watched. */
static ipo_gpu_op open_launch(ipo_gpu_op op, const struct ipo_comm *comm, uintptr_t stream)
{
    switch (ipo_cuda_launch_begin(op, stream, comm->gpu_context)) {
    case IPO_LAUNCH_OPEN:
        return op;
    case IPO_LAUNCH_CAPTURED:
        ipo_gpu_op_captured(op);
        return 0;
    default:
        return 0;
    }
}

/* After the real call: closes an operation of the launch named by `launch` (0: not watched). */
static void close_launch(ipo_gpu_op op, ipo_gpu_op launch, struct ipo_comm *comm, int result, uint64_t ticks)
{
    if (result == IPO_NCCL_IN_PROGRESS)
        comm->nonblocking = true;
    if (result != IPO_NCCL_SUCCESS && result != IPO_NCCL_IN_PROGRESS)
        ipo_gpu_op_failed(op, result);
    else if (launch == 0)
        ipo_gpu_op_enqueued(op, ticks, TRC_GPU_BLIND);
    else if (launch != op)
        return; /* the launch's first operation does it for all */
    else if (comm->nonblocking)
        ipo_cuda_launch_defer(launch, &comm->deferred);
    else
        ipo_cuda_launch_end(launch, 0);
}

static void add_to_group(struct ipo_nccl_own *group, ipo_gpu_op op, struct ipo_comm *comm, uintptr_t stream)
{
    if (!group || group->count == IPO_NCCL_GROUPED) {
        ipo_gpu_op_enqueued(op, 0, TRC_GPU_BLIND);
        return;
    }
    group->item[group->count].op = op;
    group->item[group->count].launch = 0;
    group->item[group->count].comm = comm;
    group->item[group->count++].stream = stream;
}

/* Operations of one communicator and stream are launched together. */
static void launch_group(struct ipo_nccl_own *group)
{
    for (uint32_t i = 0; i < group->count; i++) {
        ipo_gpu_op first = 0;
        bool other = true;
        for (uint32_t k = i; k-- > 0 && other;)
            if (group->item[k].comm == group->item[i].comm && group->item[k].stream == group->item[i].stream) {
                first = group->item[k].launch;
                other = false;
            }
        ipo_gpu_op op = group->item[i].op;
        const struct trc_gpu_op *slot = ipo_gpu_op_of(op);
        if (!slot || slot->state >= TRC_GPU_COMPLETED) { /* call failed */
            group->item[i].op = 0;
            continue;
        }
        if (other || first == 0) {
            ipo_cuda_launch_settle(group->item[i].comm->id, &group->item[i].comm->deferred);
            group->item[i].launch = open_launch(op, group->item[i].comm, group->item[i].stream);
        } else {
            group->item[i].launch = first;
            ipo_cuda_launch_add(first, op);
        }
    }
    group->launching = true;
}

static void close_group(struct ipo_nccl_own *group, int result, uint64_t ticks)
{
    for (uint32_t i = 0; i < group->count; i++)
        close_launch(group->item[i].op, group->item[i].launch, group->item[i].comm, result, ticks);
    group->count = 0;
    group->launching = false;
}

void ipo_nccl_state_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    frame->gpu_op = frame->gpu_launch = 0;
    if (!ipo_gpu_table)
        return;
    uint32_t depth = frame->thread->nccl_depth;
    struct ipo_nccl_own *own = frame->thread->nccl_own;
    if (id == IPO_NCCL_GroupEnd && depth == 1 && own && own->count)
        launch_group(own);
    if (!ipo_nccl_is_data(id) || !frame->comm)
        return;
    struct trc_gpu_op *what = get_operation(frame, id, args);
    if (!what)
        return;
    own = depth ? ipo_nccl_own(frame->thread) : NULL;
    if (own && own->count == 0)
        own->number = ipo_gpu_next_group();
    what->group = own ? own->number : ipo_gpu_next_group();
    frame->gpu_op = ipo_gpu_current = ipo_gpu_op_begin(what);
    if (depth) {
        add_to_group(own, frame->gpu_op, frame->comm, what->stream);
    } else {
        ipo_cuda_launch_settle(frame->comm->id, &frame->comm->deferred);
        frame->gpu_launch = open_launch(frame->gpu_op, frame->comm, what->stream);
    }
}

void ipo_nccl_state_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    (void)args;
    if (!ipo_gpu_table)
        return;
    if (frame->gpu_op) {
        if (frame->thread->nccl_depth == 0)
            close_launch(frame->gpu_op, frame->gpu_launch, frame->comm, frame->result, frame->end);
        else if (frame->failed)
            ipo_gpu_op_failed(frame->gpu_op, frame->result);
        return;
    }
    struct ipo_nccl_own *own = frame->thread->nccl_own;
    if (id == IPO_NCCL_GroupEnd && own && own->launching)
        close_group(own, frame->result, frame->end);
    if ((id == IPO_NCCL_CommAbort || id == IPO_NCCL_CommRevoke) && frame->comm && !frame->failed)
        ipo_gpu_ops_aborted(frame->comm->id);
}

void ipo_nccl_state_event(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    frame->gpu_op = 0;
    if (!ipo_gpu_table || !frame->comm || !ipo_nccl_is_data(id))
        return;
    struct trc_gpu_op what = describe_operation(frame, id, args);
    fill_changing(&what, frame, id);
    what.bytes = what.count; /* events have bytes in place of counts and types */
    what.type = 255;
    what.op = TRC_GPU_OP_NONE;
    what.group = ipo_gpu_next_group();
    what.flags |= frame->sig.flags & TRC_SIG_GROUPED ? TRC_GPU_GROUPED : 0;
    frame->gpu_op = ipo_gpu_current = ipo_gpu_op_begin(&what);
}

void ipo_nccl_state_event_leave(struct ipo_frame *frame)
{
    if (frame->gpu_op)
        ipo_gpu_op_enqueued(frame->gpu_op, frame->end, ipo_nccl_hook_allowed(IPO_HOOK_CHANNELS) ? 0 : TRC_GPU_BLIND);
}

void ipo_nccl_state_async(const struct ipo_nccl_copy *copy, uintptr_t handle, const int *error, int result)
{
    struct ipo_comm *comm = *ipo_nccl_armed && ipo_gpu_table && copy ? ipo_nccl_comm_find(handle) : NULL;
    if (!comm || result != IPO_NCCL_SUCCESS || !error)
        return;
    int kept = errno;
    if (*error == IPO_NCCL_SUCCESS)
        ipo_cuda_launch_settle(comm->id, &comm->deferred);
    else if (*error != IPO_NCCL_IN_PROGRESS && !comm->async_error) {
        comm->async_error = true;
        ipo_gpu_async_error(comm->id, IPO_NCCL_NUMBER(IPO_NCCL_CommGetAsyncError), *error);
    }
    errno = kept;
}
