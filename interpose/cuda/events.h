/* Whether an operation has started and completed, by two events of the driver for each launch: one is recorded on the
 * stream before the real call, one after it.  A thread of our own queries them (cuEventQuery) and sets states of
 * gpu_ops.h.  No other thread of ours calls the driver: where a kernel hangs such a call may never return.
 *
 * Events are without timing, belong to a slot of the table and a context, and are used again, never destroyed or waited
 * for.  Nothing is recorded in a stream that is being captured.  Whatever fails here fails quietly: the operations then
 * are known up to ENQUEUED (TRC_GPU_BLIND).  No lock or allocation on the way of a call; the driver's own calls are. */
#pragma once

#include "interpose/cuda/gpu_ops.h"

/* Starts the thread, once a driver is loaded.  After ipo_gpu_start; called with each new communicator. */
void ipo_cuda_watch_start(void);

/* A launch: the operations that are launched together on one stream, named by the first operation. */
enum ipo_launch {
    IPO_LAUNCH_BLIND,    /* nothing is recorded */
    IPO_LAUNCH_CAPTURED, /* the stream is being captured */
    IPO_LAUNCH_OPEN
};
/* Before the real call: records the first event.  `op` must have a slot.  `home`: the context that stands behind the
 * special streams (0, 1, 2) of this communicator, 0 unknown. */
enum ipo_launch ipo_cuda_launch_begin(ipo_gpu_op op, uintptr_t stream, uintptr_t home);
/* Adds another operation to the launch of `first`. */
void ipo_cuda_launch_add(ipo_gpu_op first, ipo_gpu_op op);
/* After the real call: records the second event.  From now on the thread watches the launch.  `how`: flags to add
 * (TRC_GPU_BY_EVENTS ..). */
void ipo_cuda_launch_end(ipo_gpu_op first, uint8_t how);
/* After a real call that returned before it launched: the second event has to wait.  *deferred, 0 at first, belongs
 * to the communicator and says whether it has such launches. */
void ipo_cuda_launch_defer(ipo_gpu_op first, _Atomic uint64_t *deferred);
/* Records the second event of all deferred launches of the communicator `comm` (TRC_DEF_COMM id), which has
 * launched. */
void ipo_cuda_launch_settle(uint32_t comm, _Atomic uint64_t *deferred);

/* The context that is current in the calling thread; 0: none, or no driver.  Called with each new communicator: if
 * another context was at this address before (cudaDeviceReset), its events are forgotten. */
uintptr_t ipo_cuda_context(void);
