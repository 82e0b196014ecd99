/* Turns calls of NCCL into operations in the table (gpu_ops.h): kind, launch, and state on their streams.  Record path,
 * around the real call. */
#pragma once

#include "interpose/cuda/gpu_ops.h"
#include "interpose/nccl/nccl.h"

/* The cache of a thread's data calls.  From the same call site with the same words a call has the same signature,
 * and the same operation but for its number and times. */
#define IPO_NCCL_CACHE_ROWS 64u
struct ipo_nccl_cached {
    uint64_t site; /* 0: free */
    const struct ipo_path *path;
    uint64_t stamp; /* stamp of cached.h, and whether the call is in a group, and nested */
    const struct ipo_nccl_copy *copy;
    uintptr_t count, type, op, root, peer, handle, stream;
    struct ipo_comm *comm;
    const struct trc_sig_state *state; /* state of the signature, like the next two */
    uint32_t index, version;
    uint32_t object; /* the stream's number */
    bool collective;
    bool known; /* member `what` is filled in */
    struct trc_gpu_op what;
};

/* Operations of a group that are watched; further ones are known up to ENQUEUED. */
#define IPO_NCCL_GROUPED 1024u
/* State of a thread's calls of NCCL. */
struct ipo_nccl_own {
    struct ipo_nccl_cached cache[IPO_NCCL_CACHE_ROWS];
    uint64_t number; /* number of the group */
    uint32_t count;
    bool launching; /* the outermost GroupEnd is running */
    struct {
        ipo_gpu_op op, launch; /* launch: the first operation of the same launch; 0 blind or captured */
        struct ipo_comm *comm;
        uintptr_t stream;
    } item[IPO_NCCL_GROUPED];
};
/* Maps it for a thread; NULL: no memory. */
struct ipo_nccl_own *ipo_nccl_own_make(struct ipo_thread *thread);
/* The calling thread's, made at the first call; NULL: no memory. */
static inline struct ipo_nccl_own *ipo_nccl_own(struct ipo_thread *thread)
{
    return __builtin_expect(thread->nccl_own != NULL, 1) ? thread->nccl_own : ipo_nccl_own_make(thread);
}
/* Drops the open group of a dead thread whose state another one takes over: its calls will never be launched. */
void ipo_nccl_thread_left(struct ipo_thread *thread);

/* Prepares the table and the events for a communicator, after its Init call succeeded or began without blocking. */
void ipo_nccl_state_start(struct ipo_comm *comm);

/* Before the real call: enters its operation, and records the first event.  `frame` as ipo_nccl_enter filled it. */
void ipo_nccl_state_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
/* After the real call, with frame->result: records the second event, and sets the operation's state. */
void ipo_nccl_state_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);

/* Enters the operation of a call that the plugin or NVTX reports.  Its stream is not known, so that no events are
 * recorded: only the plugin can report its states. */
void ipo_nccl_state_event(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
/* After such a call: sets that its operation is on its stream. */
void ipo_nccl_state_event_leave(struct ipo_frame *frame);

/* Notes what ncclCommGetAsyncError returned (`result`) and gave (*error, NULL: nothing) for a communicator. */
void ipo_nccl_state_async(const struct ipo_nccl_copy *copy, uintptr_t handle, const int *error, int result);
