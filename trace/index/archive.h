/* Parts of a job's index (index.h).  One description of each part writes it and takes it up. */
#pragma once

#include "trace/job/analysis.h"
#include "trace/util/archive.h"

/* Parts in writing order: the optional ones come last.  The first two are taken up first, since others refer to them;
 * the rest side by side from the last on, so the longest stand at the end. */
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

struct ana_job_archive {
    struct ana_archive *archive;
    struct ana_job *job;
    struct ana_members *members;   /* of the job */
    struct ana_analysis *analysis; /* of the job */
    struct ana_map comms;          /* used when saving: uint64_t, the number of each communicator by its address */
    size_t newest;                 /* number of latest messages and waits to save at most */
    uint64_t bytes;                /* size when saving: all parts but the latest */
};

/* Returns the state for saving or loading parts of a job. */
static inline struct ana_job_archive ana_job_archive_of(struct ana_job *job, struct ana_archive *archive)
{
    return (struct ana_job_archive){
        .archive = archive, .job = job, .members = ana_job_members(job), .analysis = ana_job_analysis(job)};
}
/* Saves what the pass over all events of a job has found, but for the latest messages, waits and collectives. */
void ana_job_save(struct ana_job_archive *k);
/* Saves at most `newest` of the latest, and nothing after them; again: instead.  False: it fails, or does not fit. */
bool ana_job_save_latest(struct ana_job_archive *k, size_t newest);
/* Frees the memory for saving. */
void ana_job_save_end(struct ana_job_archive *k);
/* Saves a part, or takes it up into an analysis that has just begun. */
void ana_job_archive_part(struct ana_job_archive *k, enum ana_part_of_index part);

/* archive_store.c: the latest messages, waits and collectives. */
void ana_store_archive(struct ana_job_archive *k);
/* Completes the latest waits once all parts are loaded: the index has numbers for call sites.  False: out of memory. */
bool ana_store_find_sites(struct ana_job *job);
/* A communicator, by a number that means the same the next time.  When loading, *comm is filled in. */
void ana_comm_archive(struct ana_job_archive *k, const struct trc_comm **comm);
