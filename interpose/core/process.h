/* The recording of this process, from its file to its end; who starts it are the calls of MPI (mpi/start.h) and of NCCL
 * (nccl/start.h), whichever come first.  Each function is called once unless it says more.  errno is not kept. */
#ifndef IPO_PROCESS_H
#define IPO_PROCESS_H

#include "interpose/core/state.h"

/* Reads the options.  False: this process is not to be traced (switched off, other privileges). */
bool ipo_process_wanted(void);

/* Makes the file, unless this process has it already: then true at once.  `nccl_size`, `nccl_hash`: of the NCCL
 * communicator that the recording begins with, else 0.  False, and a message: no file could be made. */
bool ipo_process_begin(int nccl_size, uint64_t nccl_hash);

/* What ipo_arm is to say of wrappers that record. */
uint32_t ipo_process_arming(void);

/* From here on there are signs of life, and stacks: also of a process that never comes out of MPI_Init.  May be called
 * again. */
void ipo_process_live(void);

/* From here on the process is traced: its rank is known.  May be called again. */
void ipo_process_run(void);

/* The last call begins; it has returned, so that the file is closed; the process is about to be aborted. */
void ipo_process_ending(void);
void ipo_process_end(void);
void ipo_process_abort(int code);

#endif
