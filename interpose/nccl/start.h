/* The calls of NCCL that start the recording, where MPI has not. */
#ifndef IPO_NCCL_START_H
#define IPO_NCCL_START_H

#include <stdbool.h>
#include <stdint.h>

/* Before the first NCCL call that makes a communicator: makes the file, with this rank and size where the
 * environment has none.  `hash`: of the communicator's unique id, 0 where it is not known.  Several threads may call
 * it at once; one starts, the others wait a moment.  False: this process is not traced.  errno is not kept. */
bool ipo_nccl_start(int rank, int size, uint64_t hash);

#endif
