/* What the index of a job (index.h) is made of.  One description of each part writes it and takes it up. */
#ifndef ANA_JOB_KEEP_H
#define ANA_JOB_KEEP_H

#include "trace/job/job_impl.h"
#include "trace/util/keep.h"

/* In the order in which they are written: what may be left out comes last.  The first two are taken up first, since
 * others refer to them; the rest side by side from the last on, so the longest stand at the end. */
enum ana_part_of_index {
    ANA_PART_CLOCK,
    ANA_PART_WHY,
    ANA_PART_OTHERS,
    ANA_PART_LANES,
    ANA_LANE_PARTS = 6,
    ANA_PART_SUMS = ANA_PART_LANES + ANA_LANE_PARTS,
    ANA_PART_ITERATIONS,
    ANA_PART_LATEST,
    ANA_PARTS_OF_INDEX
};

struct ana_job_keep {
    struct ana_keep *keep;
    struct ana_job *job;
    struct ana_map comms; /* when saving: uint64_t, the number of each communicator by its address */
    size_t newest;        /* of the latest messages and waits at most so many are saved */
    uint64_t bytes;       /* when saving: all parts but that of these */
};

/* Saves what the pass over all events of a job has found, but for the latest messages, waits and collectives. */
void ana_job_save(struct ana_job_keep *k);
/* Saves at most so many of these, and nothing else after them; again: instead.  False: it fails, or does not fit. */
bool ana_job_save_latest(struct ana_job_keep *k, size_t newest);
/* Frees what was needed for that. */
void ana_job_save_end(struct ana_job_keep *k);
/* Saves one of them, or takes it up into an analysis that has just begun. */
void ana_job_keep_part(struct ana_job_keep *k, enum ana_part_of_index part);

/* keep_store.c: the latest messages, waits and collectives. */
void ana_store_keep(struct ana_job_keep *k);
/* A communicator, by a number that means the same the next time.  When loading, *comm is filled in. */
void ana_comm_keep(struct ana_job_keep *k, const struct trc_comm **comm);

#endif
