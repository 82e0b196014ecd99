/* The traced process: from the first MPI_Init to the end. */
#ifndef IPO_PROCESS_H
#define IPO_PROCESS_H

#include "interpose/core/state.h"

/* Before the first Init call of the process: finds MPI, makes the file, arms the wrappers.  False: not traced (switched
 * off, no file could be made ...).  errno is not kept. */
bool ipo_process_start(const void *caller);

/* After an Init call returned: rank, size, world, heartbeat. */
void ipo_process_ready(void);

/* Before the first NCCL call that makes a communicator, in a process without MPI so far: the same, with its rank and
 * size where the environment has none, and the hash of what its ranks meet by, 0 where that is not known.  False: not
 * traced. */
bool ipo_process_start_nccl(int rank, int size, uint64_t hash);

/* MPI_Finalize entered / returned; MPI_Abort entered. */
void ipo_process_ending(void);
void ipo_process_finalized(void);
void ipo_process_aborting(int code);

#endif
