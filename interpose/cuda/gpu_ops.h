/* The state of each NCCL operation of the process: the table of trace/format/format_gpu.h, written in place, so that
 * it can be read while the job hangs and after kill -9.  Wrappers set that an operation was called; the driver's
 * events (events.h) and NCCL's profiler plugin set that it started and ended.
 *
 * Any thread of the program may call all functions, and our own threads too.  No lock, no allocation, no system call
 * but where said.  An operation is named by a handle that outlives its slot: a state of an operation that is over is
 * ignored. */
#pragma once

#include "interpose/mpi/calls.h"
#include "trace/format/format.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t ipo_gpu_op; /* 0: none; every function takes it and does nothing */

/* Makes the table, with the first communicator; later calls return at once.  Maps memory. */
void ipo_gpu_start(void);
extern IPO_OURS struct trc_gpu_table *ipo_gpu_table; /* NULL: there is none */

/* Enters an operation that is called.  `what`: the known fields; its number, state and the times after `called` (0:
 * now) are 0.  Returns 0 if there is no table, or if all slots hold operations under way (counted). */
ipo_gpu_op ipo_gpu_op_begin(const struct trc_gpu_op *what);

/* Sets that an operation is on its stream.  A state never goes back, so this and the next functions may be called in
 * any order.  `ticks`: of the process's clock, 0: now.  `how`: flags to add (TRC_GPU_BY_PLUGIN ..); TRC_GPU_BLIND:
 * no later state will be known. */
void ipo_gpu_op_enqueued(ipo_gpu_op op, uint64_t ticks, uint8_t how); /* TRC_GPU_BLIND: no more will be known */
/* Sets that it has started. */
void ipo_gpu_op_started(ipo_gpu_op op, uint64_t ticks, uint8_t how);
/* Sets that it is complete. */
void ipo_gpu_op_completed(ipo_gpu_op op, uint64_t ticks, uint8_t how);
/* Sets that it was captured into a graph, in place of being launched. */
void ipo_gpu_op_captured(ipo_gpu_op op);
/* Sets that its context was destroyed (cudaDeviceReset), so that its end will never be known. */
void ipo_gpu_op_lost(ipo_gpu_op op);
/* Sets that its call failed with an ncclResult_t. */
void ipo_gpu_op_failed(ipo_gpu_op op, int result);
/* Sets all operations of a communicator (TRC_DEF_COMM id) that are not over to aborted. */
void ipo_gpu_ops_aborted(uint32_t comm);
/* Notes the error that ncclCommGetAsyncError gave for a communicator. */
void ipo_gpu_async_error(uint32_t comm, uint32_t call, int result);

/* The slot of an operation, for reading; NULL: it has none any more.  Once the operation is over the slot may be
 * given to another one at any time. */
const struct trc_gpu_op *ipo_gpu_op_of(ipo_gpu_op op);

/* The last operation that this thread has called; 0: none yet.  During the real call it is that call's, for events
 * of the plugin on the same thread. */
extern IPO_OURS __thread ipo_gpu_op ipo_gpu_current;

/* The oldest operation of a communicator with this call and size that has not started, and that this function has not
 * returned before; 0: none.  Searches all slots. */
ipo_gpu_op ipo_gpu_op_oldest(uint32_t comm, uint32_t call, uint64_t bytes);

/* A new number for a launch group. */
uint64_t ipo_gpu_next_group(void);
