/* The name of the job: equal on all its ranks, on every host, and different from that of other jobs. */
#ifndef IPO_JOB_ID_H
#define IPO_JOB_ID_H

#include "interpose/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* Adds to `job` what names the folder (no slash or space in it), and to `world` what tells this MPI_COMM_WORLD from
 * others of the job, such as spawned ones.  From the environment and /proc; at the first Init only.
 *
 * The launcher's own id for the run counts before any other: it reaches all ranks.  A batch system's variables may be
 * there on the first host only (a launcher that uses ssh), so they count where the batch system is the launcher.
 * Without any launcher it is what the ranks agreed on to meet in: `nccl`, the hash of the NCCL communicator of them
 * all, 0 where there is none; else the process is a job by itself. */
void ipo_job_id(struct ipo_text *job, struct ipo_text *world, uint32_t pid, uint64_t pid_start, uint64_t nccl);

/* Whether this is a spawned process whose launcher gives nothing by which worlds that it spawned can be told apart;
 * after ipo_job_id. */
bool ipo_job_shares_world(void);

/* Adds the batch system's id of the job, where its variables have reached this rank. */
void ipo_batch_id(struct ipo_text *batch);

#endif
