/* Start of the recording where MPI has not started it: by the first communicator of NCCL, or group of Gloo. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Before the first such call: makes the file, with this rank and size where the environment has none.  `hash`: of what
 * all ranks have, 0 where nothing is known; `by`: where rank and size are from, for a fact.  Several threads may call
 * it at once; one starts, the others wait a moment.  False: this process is not traced.  errno is not kept. */
bool ipo_start_alone(int rank, int size, uint64_t hash, const char *by);
