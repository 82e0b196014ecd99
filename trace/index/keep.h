/* What the index of a job (index.h) is made of.  One description of each part writes it and takes it up. */
#ifndef ANA_JOB_KEEP_H
#define ANA_JOB_KEEP_H

#include "trace/job/job_impl.h"
#include "trace/util/keep.h"

struct ana_job_keep {
    struct ana_keep *keep;
    struct ana_job *job;
    struct ana_map comms; /* when saving: uint64_t, the number of each communicator by its address */
    size_t newest;        /* of the latest messages and waits at most so many are saved */
};

/* Saves what the pass over all events of a job has found, in parts, of which the caller ends the last one.  `newest`:
 * as above. */
void ana_job_save(struct ana_keep *keep, struct ana_job *job, size_t newest);
/* Takes it up into an analysis that has just begun, side by side where the job has threads.  The first part begins at
 * byte `at` of the file; no part may unpack to more than `most` bytes.  False: it is refused, and has left an analysis
 * which must begin anew. */
bool ana_job_load(struct ana_job *job, FILE *file, uint64_t at, uint64_t most);

/* keep_store.c: the latest messages, waits and collectives. */
void ana_store_keep(struct ana_job_keep *k);
/* A communicator, by a number that means the same the next time.  When loading, *comm is filled in. */
void ana_comm_keep(struct ana_job_keep *k, const struct trc_comm **comm);

#endif
