#include "interpose/nccl_state.h"
#include "interpose/nccl_windows.h"
#include "interpose/cuda_events.h"
#include "interpose/process.h"

#include <errno.h>
#include <sys/mman.h>

/* Operations of the calling thread's open group; those beyond are known up to ENQUEUED. */
#define GROUPED 1024u
struct ipo_nccl_group {
    uint64_t number;
    uint32_t count;
    bool launching; /* the outermost GroupEnd is running */
    struct {
        ipo_gpu_op op, launch; /* launch: the first operation of what it is launched with; 0 blind or captured */
        struct ipo_comm *comm;
        uintptr_t stream;
    } item[GROUPED];
};
static __thread struct ipo_nccl_group *open_group;

static struct ipo_nccl_group *group_of(void)
{
    if (__builtin_expect(open_group != NULL, 1))
        return open_group;
    void *memory = mmap(NULL, sizeof *open_group, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    open_group = memory == MAP_FAILED ? NULL : memory;
    return open_group;
}

void ipo_nccl_state_start(struct ipo_comm *comm)
{
    ipo_gpu_start();
    ipo_cuda_watch_start();
    if (comm && !comm->gpu_context)
        comm->gpu_context = ipo_cuda_context();
}

static struct trc_gpu_op describe(const struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    struct ipo_comm *comm = frame->comm;
    bool message = call->opclass == TRC_OP_NCCL_P2P;
    struct trc_gpu_op what = {.sequence = frame->sequence,
                              .bytes = TRC_BYTES_UNKNOWN,
                              .site = frame->site,
                              .called = frame->begin,
                              .comm = comm->id,
                              .call = IPO_NCCL_NUMBER(id),
                              .root = -1,
                              .thread = frame->thread->stream.page->chunk.thread,
                              .type = 255,
                              .op = TRC_GPU_OP_NONE,
                              .flags = message ? TRC_GPU_MESSAGE : 0,
                              .order = comm->operations++};
    for (unsigned i = 0; i < call->arity; i++)
        switch (call->roles[i]) {
        case 'n':
            what.count = args[i];
            break;
        case 'd':
            what.type = (uint8_t)args[i];
            break;
        case 'o':
            what.op = args[i] < 5 ? (uint8_t)args[i] : TRC_GPU_OP_OWN;
            break;
        case 'r':
        case 'p':
        case 's':
            what.root = (int32_t)args[i];
            break;
        case 't':
            what.stream = args[i];
            break;
        default:
            break;
        }
    what.bytes = ipo_nccl_bytes(what.type, what.count);
    uint32_t *messages = message ? ipo_comm_messages(comm) : NULL;
    if (messages && what.root >= 0 && what.root < comm->size)
        what.sequence = messages[what.root * 2 + (call->moves == IPO_MOVES_RECV)]++;
    return what;
}

/* The first event of a launch; tells those that will not be watched. */
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

/* What follows the real call, for an operation of the launch named by `launch` (0: not watched). */
static void close_launch(ipo_gpu_op op, ipo_gpu_op launch, struct ipo_comm *comm, int result, uint64_t ticks)
{
    if (result == IPO_NCCL_IN_PROGRESS)
        comm->nonblocking = true;
    if (result != IPO_NCCL_SUCCESS && result != IPO_NCCL_IN_PROGRESS)
        ipo_gpu_op_failed(op, result);
    else if (launch == 0)
        ipo_gpu_op_enqueued(op, ticks, TRC_GPU_BLIND);
    else if (launch != op)
        return; /* its first operation says it for all */
    else if (comm->nonblocking)
        ipo_cuda_launch_defer(launch, &comm->deferred);
    else
        ipo_cuda_launch_end(launch, 0);
}

static void add_to_group(struct ipo_nccl_group *group, ipo_gpu_op op, struct ipo_comm *comm, uintptr_t stream)
{
    if (!group || group->count == GROUPED) {
        ipo_gpu_op_enqueued(op, 0, TRC_GPU_BLIND);
        return;
    }
    group->item[group->count].op = op;
    group->item[group->count].launch = 0;
    group->item[group->count].comm = comm;
    group->item[group->count++].stream = stream;
}

/* Those of one communicator and stream are launched together. */
static void launch_group(struct ipo_nccl_group *group)
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
        if (!slot || slot->state >= TRC_GPU_COMPLETED) { /* its call failed */
            group->item[i].op = 0;
            continue;
        }
        if (other || first == 0) {
            ipo_cuda_launch_settle(&group->item[i].comm->deferred);
            group->item[i].launch = open_launch(op, group->item[i].comm, group->item[i].stream);
        } else {
            group->item[i].launch = first;
            ipo_cuda_launch_add(first, op);
        }
    }
    group->launching = true;
}

static void group_launched(struct ipo_nccl_group *group, int result, uint64_t ticks)
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
    uint8_t opclass = ipo_nccl_calls[id].opclass;
    uint32_t depth = frame->thread->nccl_depth;
    if (id == IPO_NCCL_GroupEnd && depth == 1 && open_group && open_group->count)
        launch_group(open_group);
    if ((opclass != TRC_OP_NCCL_COLL && opclass != TRC_OP_NCCL_P2P) || !frame->comm)
        return;
    int kept = errno;
    struct ipo_nccl_group *group = depth ? group_of() : NULL;
    struct trc_gpu_op what = describe(frame, id, args);
    if (group && group->count == 0)
        group->number = ipo_gpu_next_group();
    what.group = group ? group->number : ipo_gpu_next_group();
    what.flags |= depth ? TRC_GPU_GROUPED : 0;
    frame->gpu_op = ipo_gpu_current = ipo_gpu_op_begin(&what);
    if (depth) {
        add_to_group(group, frame->gpu_op, frame->comm, what.stream);
    } else {
        ipo_cuda_launch_settle(&frame->comm->deferred);
        frame->gpu_launch = open_launch(frame->gpu_op, frame->comm, what.stream);
    }
    errno = kept;
}

void ipo_nccl_state_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    (void)args;
    if (!ipo_gpu_table)
        return;
    if (open_group && open_group->launching && id == IPO_NCCL_GroupEnd)
        group_launched(open_group, frame->result, frame->end);
    if (frame->gpu_op && frame->thread->nccl_depth == 0)
        close_launch(frame->gpu_op, frame->gpu_launch, frame->comm, frame->result, frame->end);
    else if (frame->gpu_op && frame->failed)
        ipo_gpu_op_failed(frame->gpu_op, frame->result);
    if ((id == IPO_NCCL_CommAbort || id == IPO_NCCL_CommRevoke) && frame->comm && !frame->failed)
        ipo_gpu_ops_aborted(frame->comm->id);
}

void ipo_nccl_state_told(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    uint8_t opclass = ipo_nccl_calls[id].opclass;
    frame->gpu_op = 0;
    if (!ipo_gpu_table || !frame->comm || (opclass != TRC_OP_NCCL_COLL && opclass != TRC_OP_NCCL_P2P))
        return;
    struct trc_gpu_op what = describe(frame, id, args);
    what.bytes = what.count; /* bytes are told, not counts and types */
    what.type = 255;
    what.op = TRC_GPU_OP_NONE;
    what.group = ipo_gpu_next_group();
    what.flags |= frame->sig.flags & TRC_SIG_GROUPED ? TRC_GPU_GROUPED : 0;
    frame->gpu_op = ipo_gpu_current = ipo_gpu_op_begin(&what);
}

void ipo_nccl_state_told_leave(struct ipo_frame *frame)
{
    if (frame->gpu_op)
        ipo_gpu_op_enqueued(frame->gpu_op, frame->end,
                            ipo_nccl_window_allowed(IPO_WINDOW_CHANNELS) ? 0 : TRC_GPU_BLIND);
}

void ipo_nccl_state_async(const struct ipo_nccl_copy *copy, uintptr_t handle, const int *error, int result)
{
    struct ipo_comm *comm = *ipo_nccl_armed && ipo_gpu_table && copy ? ipo_nccl_comm_find(handle) : NULL;
    if (!comm || result != IPO_NCCL_SUCCESS || !error)
        return;
    int kept = errno;
    if (*error == IPO_NCCL_SUCCESS)
        ipo_cuda_launch_settle(&comm->deferred);
    else if (*error != IPO_NCCL_IN_PROGRESS && !comm->async_error) {
        comm->async_error = true;
        ipo_gpu_async_error(comm->id, IPO_NCCL_NUMBER(IPO_NCCL_CommGetAsyncError), *error);
    }
    errno = kept;
}
