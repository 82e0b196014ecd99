/* From NCCL's calls to operations in the table (gpu_ops.h): which they are, what they are launched with, and when they
 * are on their streams.  Around the real call, on the record path. */
#ifndef IPO_NCCL_STATE_H
#define IPO_NCCL_STATE_H

#include "interpose/cuda/gpu_ops.h"
#include "interpose/nccl/nccl.h"

/* A call of NCCL's as a thread made it before: from the same place with the same words it has the same signature, and
 * is the same operation but for its number and times.  Data calls only. */
#define IPO_NCCL_CACHE_ROWS 64u
struct ipo_nccl_cached {
    uint64_t site;  /* 0: free */
    uint64_t stamp; /* of sig_cache.h; with whether it is in a group, and nested */
    const struct ipo_nccl_copy *copy;
    uintptr_t count, type, op, root, peer, handle, stream;
    struct ipo_comm *comm;
    const struct trc_sig_state *state; /* of the signature, as are the next two */
    uint32_t index, version;
    uint32_t object; /* the stream's number */
    bool collective;
    bool known; /* `what` is filled in */
    struct trc_gpu_op what;
};

/* Operations of the thread's open group; those beyond are known up to ENQUEUED. */
#define IPO_NCCL_GROUPED 1024u
struct ipo_nccl_own {
    struct ipo_nccl_cached cache[IPO_NCCL_CACHE_ROWS];
    uint64_t number; /* of the group */
    uint32_t count;
    bool launching; /* the outermost GroupEnd is running */
    struct {
        ipo_gpu_op op, launch; /* launch: the first operation of what it is launched with; 0 blind or captured */
        struct ipo_comm *comm;
        uintptr_t stream;
    } item[IPO_NCCL_GROUPED];
};
/* The calling thread's; NULL: no memory. */
struct ipo_nccl_own *ipo_nccl_own_make(struct ipo_thread *thread);
static inline struct ipo_nccl_own *ipo_nccl_own(struct ipo_thread *thread)
{
    return __builtin_expect(thread->nccl_own != NULL, 1) ? thread->nccl_own : ipo_nccl_own_make(thread);
}
/* Another thread has taken over what a dead one left: calls of an open group will never be launched. */
void ipo_nccl_thread_left(struct ipo_thread *thread);

/* After a communicator's Init call succeeded, or began without blocking. */
void ipo_nccl_state_start(struct ipo_comm *comm);

/* Before and after the real call; `frame` as ipo_nccl_enter filled it, `frame->result` set for the latter. */
void ipo_nccl_state_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
void ipo_nccl_state_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);

/* The same for calls that NCCL itself tells of: no stream is known, so no events are recorded; what becomes of an
 * operation only the plugin may say. */
void ipo_nccl_state_event(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
void ipo_nccl_state_event_leave(struct ipo_frame *frame);

/* ncclCommGetAsyncError has returned `result`, with *error. */
void ipo_nccl_state_async(const struct ipo_nccl_copy *copy, uintptr_t handle, const int *error, int result);

#endif
