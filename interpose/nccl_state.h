/* From NCCL's calls to operations in the table (gpu_ops.h): which they are, what they are launched with, and when they
 * are on their streams.  Around the real call, on the record path. */
#ifndef IPO_NCCL_STATE_H
#define IPO_NCCL_STATE_H

#include "interpose/nccl.h"

/* After a communicator's Init call succeeded, or began without blocking. */
void ipo_nccl_state_start(struct ipo_comm *comm);

/* Before and after the real call; `frame` as ipo_nccl_enter filled it, `frame->result` set for the latter. */
void ipo_nccl_state_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
void ipo_nccl_state_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);

/* The same for calls that NCCL itself tells of: no stream is known, so no events are recorded; what becomes of an
 * operation only the plugin may say. */
void ipo_nccl_state_told(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args);
void ipo_nccl_state_told_leave(struct ipo_frame *frame);

/* ncclCommGetAsyncError has returned `result`, with *error. */
void ipo_nccl_state_async(const struct ipo_nccl_copy *copy, uintptr_t handle, const int *error, int result);

#endif
