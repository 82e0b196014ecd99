/* Where each NCCL operation of the process is: the table of trace/format/format_gpu.h, written in place, so that it can
 * be read while the job hangs and after kill -9.  Who knows what happens to an operation says it here: the wrappers
 * that it was called, the driver's events (cuda_events.h) and NCCL's profiler plugin that it started and ended.
 *
 * Any thread of the program may call all of these, and our own threads too.  No lock, no allocation, no system call but
 * where said.  An operation is named by a handle that outlives its slot: what is said of one that is over is ignored.
 */
#ifndef IPO_GPU_OPS_H
#define IPO_GPU_OPS_H

#include "interpose/mpi/calls.h"
#include "trace/format/format.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t ipo_gpu_op; /* 0: none; every function takes it and does nothing */

/* Makes the table; once, with the first communicator.  Maps memory. */
void ipo_gpu_start(void);
extern IPO_OURS struct trc_gpu_table *ipo_gpu_table; /* NULL: there is none */

/* An operation is called: `what` is known of it; number, state and the times after `called` (0: now) are 0.  0: no
 * table, or all slots hold operations that are not over (counted).
 */
ipo_gpu_op ipo_gpu_op_begin(const struct trc_gpu_op *what);

/* What becomes of it.  A state never goes back, so these may come in any order and from any thread.  `ticks` of the
 * process's clock, 0: now.  `how`: flags to add (TRC_GPU_BY_PLUGIN ..). */
void ipo_gpu_op_enqueued(ipo_gpu_op op, uint64_t ticks,
                         uint8_t how); /* with TRC_GPU_BLIND: and no more will be known */
void ipo_gpu_op_started(ipo_gpu_op op, uint64_t ticks, uint8_t how);
void ipo_gpu_op_completed(ipo_gpu_op op, uint64_t ticks, uint8_t how);
void ipo_gpu_op_captured(ipo_gpu_op op);
/* What it ran in is no more (cudaDeviceReset), and nobody will know what became of it. */
void ipo_gpu_op_lost(ipo_gpu_op op);
void ipo_gpu_op_failed(ipo_gpu_op op, int result);
/* All of a communicator (TRC_DEF_COMM id) that are not over. */
void ipo_gpu_ops_aborted(uint32_t comm);
/* ncclCommGetAsyncError said so of a communicator. */
void ipo_gpu_async_error(uint32_t comm, uint32_t call, int result);

/* The slot of an operation, for reading what was said of it; NULL: it has none any more.  It may be given to another
 * one at any time once it is over. */
const struct trc_gpu_op *ipo_gpu_op_of(ipo_gpu_op op);

/* The last operation that the calling thread has called; 0: none yet.  While the real call runs (what the plugin tells
 * on the same thread then) it is that call's. */
extern IPO_OURS __thread ipo_gpu_op ipo_gpu_current;

/* An operation of a communicator by its sequence number, the newest; 0: none.  For those who are told of it by another
 * thread (the plugin's KernelCh): looks at all slots. */
ipo_gpu_op ipo_gpu_op_find(uint32_t comm, uint32_t call, uint64_t sequence);

/* The oldest operation of a communicator with this call and size that nobody has said to have started, and that was not
 * given out here before; 0: none.  Looks at all slots. */
ipo_gpu_op ipo_gpu_op_oldest(uint32_t comm, uint32_t call, uint64_t bytes);

/* The next launch group's number. */
uint64_t ipo_gpu_next_group(void);

#endif
