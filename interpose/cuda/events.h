/* Has an operation started, is it complete?  Asked by two events of the driver around each launch: one recorded on its
 * stream before the real call, one after it.  A thread of its own asks for them (cuEventQuery) and tells gpu_ops.h; it
 * is the only one of ours that calls the driver, since such a call may never return where a kernel hangs.
 *
 * Events are without timing, belong to a slot of the table and a context, and are used again, never destroyed or waited
 * for.  Nothing is recorded in a stream that is being captured.  Whatever fails here fails quietly: the operations then
 * are known up to ENQUEUED (TRC_GPU_BLIND).  No lock or allocation on the way of a call; the driver's own calls are. */
#ifndef IPO_CUDA_EVENTS_H
#define IPO_CUDA_EVENTS_H

#include "interpose/cuda/gpu_ops.h"

/* After ipo_gpu_start, with each communicator until a driver is there: begins to watch. */
void ipo_cuda_watch_start(void);

/* What is launched together on one stream, named by its first operation. */
enum ipo_launch {
    IPO_LAUNCH_BLIND,    /* nothing is recorded */
    IPO_LAUNCH_CAPTURED, /* the stream is being captured */
    IPO_LAUNCH_OPEN
};
/* Before the real call: records the first event.  `op` must have a slot.  `home`: the context that stands behind the
 * special streams (0, 1, 2) of this communicator, 0 unknown. */
enum ipo_launch ipo_cuda_launch_begin(ipo_gpu_op op, uintptr_t stream, uintptr_t home);
/* Another operation of the same launch. */
void ipo_cuda_launch_add(ipo_gpu_op first, ipo_gpu_op op);
/* After it: records the second event; from now on the launch is watched. */
void ipo_cuda_launch_end(ipo_gpu_op first, uint8_t how);
/* The same later, when the communicator has really launched: for all that were deferred of it (TRC_DEF_COMM id).
 * *deferred, 0 at first, says whether there are any. */
void ipo_cuda_launch_defer(ipo_gpu_op first, _Atomic uint64_t *deferred);
void ipo_cuda_launch_settle(uint32_t comm, _Atomic uint64_t *deferred);

/* The context current in the calling thread; 0 none, or no driver.  Called with each new communicator: where it is not
 * the context that was at this address before (cudaDeviceReset), that one's events are forgotten. */
uintptr_t ipo_cuda_context(void);

#endif
