/* What the index of a job (index.h) is made of.  One description of each part writes it and takes it up. */
#ifndef ANA_JOB_KEEP_H
#define ANA_JOB_KEEP_H

#include "trace/job/job_impl.h"
#include "trace/util/keep.h"

/* The first two are taken up first, since others refer to them; the rest side by side, so the longest come first. */
enum ana_part_of_index {
    ANA_PART_CLOCK,
    ANA_PART_WHY,
    ANA_PART_ITERATIONS,
    ANA_PART_LATEST,
    ANA_PART_SUMS,
    ANA_PART_LANES,
    ANA_LANE_PARTS = 6,
    ANA_PART_OTHERS = ANA_PART_LANES + ANA_LANE_PARTS,
    ANA_PARTS_OF_INDEX
};

struct ana_job_keep {
    struct ana_keep *keep;
    struct ana_job *job;
    struct ana_map comms; /* when saving: uint64_t, the number of each communicator by its address */
    size_t newest;        /* of the latest messages and waits at most so many are saved */
};

/* Saves what the pass over all events of a job has found, in parts, of which the caller ends the last one.  `newest`:
 * as above. */
void ana_job_save(struct ana_keep *keep, struct ana_job *job, size_t newest);
/* Saves one of them, or takes it up into an analysis that has just begun. */
void ana_job_keep_part(struct ana_job_keep *k, enum ana_part_of_index part);

/* keep_store.c: the latest messages, waits and collectives. */
void ana_store_keep(struct ana_job_keep *k);
/* A communicator, by a number that means the same the next time.  When loading, *comm is filled in. */
void ana_comm_keep(struct ana_job_keep *k, const struct trc_comm **comm);

#endif
