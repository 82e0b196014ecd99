/* The name of the job: equal on all its ranks, on every host, and different from the names of other jobs. */
#pragma once

#include "interpose/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Appends the job's name to `job`, without slashes and blanks, and to `world` what distinguishes this MPI_COMM_WORLD
 * from others of the job, such as spawned ones.  Reads the environment and /proc; called once, at the first Init.
 *
 * The launcher's own id of the run comes first, since it reaches all ranks.  Variables of a batch system may be set on
 * the first host only (a launcher that uses ssh), so they count where the batch system itself is the launcher.  Without
 * a launcher the name is `nccl`, the hash of an NCCL communicator of all ranks; 0: none, the process is a job alone. */
void ipo_job_id(struct ipo_text *job, struct ipo_text *world, uint32_t pid, uint64_t pid_start, uint64_t nccl);

/* Whether this process was spawned by a launcher that gives its spawned worlds no name of their own.  After
 * ipo_job_id. */
bool ipo_job_shares_world(void);

/* Appends the batch system's id of the job, where its variables have reached this rank. */
void ipo_batch_id(struct ipo_text *batch);
