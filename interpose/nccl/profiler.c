#include "interpose/nccl/profiler.h"
#include "interpose/cuda/gpu_ops.h"
#include "interpose/nccl/hooks.h"
#include "interpose/mpi/alone.h"

#include <errno.h>

int ipo_profiler_row(const char *name, bool without)
{
    for (int i = 0; i < IPO_NCCL_CALLS; i++)
        if (strcmp(ipo_nccl_calls[i].name + (without ? 4 : 0), name) == 0)
            return ipo_nccl_wrapper[0][i] && ipo_nccl_calls[i].opclass != TRC_OP_LOOK ? i : -1;
    return -1;
}

bool ipo_profiler_is_wrapped(void)
{
    const struct ipo_thread *thread = ipo_thread_current;
    return thread->outer && thread->nccl == thread->outer;
}

bool ipo_profiler_start(int rank, int size, uint64_t hash)
{
    if (!*ipo_profiler_armed) {
        int kept = errno;
        ipo_start_alone(rank, size, hash, IPO_NCCL_ALONE);
        errno = kept;
    }
    struct trc_head *head = ipo_process.writer.head;
    if (!*ipo_profiler_armed)
        return false;
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        ipo_nccl_hooks_report();
    ipo_gpu_start();                   /* once */
    if (head->rank < 0 && rank >= 0) { /* recording began before the rank was known */
        head->rank = rank;
        head->world_size = size;
    }
    return true;
}

void ipo_profiler_set(struct ipo_profiler_event *call, enum ipo_nccl_role role, uintptr_t value)
{
    const struct ipo_nccl_call *row = &ipo_nccl_calls[call->id];
    for (unsigned i = 0; i < row->arity && i < IPO_PROFILER_ARGS; i++)
        if (row->roles[i] == (char)role)
            call->args[i] = value;
}

void ipo_profiler_set_partner(struct ipo_profiler_event *call, uintptr_t rank)
{
    ipo_profiler_set(call, NCCL_ROLE_ROOT, rank);
    ipo_profiler_set(call, NCCL_ROLE_DESTINATION, rank);
    ipo_profiler_set(call, NCCL_ROLE_SOURCE, rank);
}

void ipo_profiler_open(struct ipo_profiler_event *call, struct ipo_comm *comm, const void *site)
{
    call->open = *ipo_profiler_armed && ipo_nccl_event_enter(&call->frame, call->id, call->args, comm, site);
}

void ipo_profiler_made(struct ipo_profiler_event *call, struct ipo_comm *comm)
{
    if (!call->open || !comm)
        return;
    call->frame.comm = comm;
    call->frame.sig.comm = comm->id;
    call->frame.sig.flags |= TRC_SIG_COLL;
    call->frame.sequence = comm->sequence++;
    call->frame.index = trc_stream_intern(&call->frame.thread->stream, &call->frame.sig);
}

void ipo_profiler_close(struct ipo_profiler_event *call)
{
    if (call->open && call->frame.thread == ipo_thread_current)
        ipo_nccl_event_leave(&call->frame, call->id);
    else if (call->open && *ipo_profiler_armed) /* the event ends on another thread, whose stream it is not */
        __atomic_fetch_add(&ipo_process.writer.head->lost_records, 1, __ATOMIC_RELAXED);
    call->open = false;
}
