/* The calls of NCCL that start the recording, where MPI has not. */
#ifndef IPO_NCCL_START_H
#define IPO_NCCL_START_H

#include <stdbool.h>
#include <stdint.h>

/* Before the first NCCL call that makes a communicator: makes the file, with this rank and size where the environment
 * has none, and the hash of what its ranks meet by, 0 where that is not known.  Several threads may come at once.
 * False: this process is not traced.  errno is not kept. */
bool ipo_nccl_start(int rank, int size, uint64_t hash);

#endif
