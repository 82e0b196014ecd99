/* A job that has ended, and whose events others read, in parts (trace/relations/parts.h): threads, or other processes.
 * What is found does not depend on it. */
#ifndef ANA_JOB_PARTS_H
#define ANA_JOB_PARTS_H

#include "trace/job/job.h"
#include "trace/relations/parts.h"

/* Has events of the job read by threads, as far as ana_job_set_workers allows for enough of them.  Nothing is done for
 * a job that still runs, or after the first ana_job_advance.  From then on until that says 1 the caller does not
 * refresh the job. False: out of memory. */
bool ana_job_read_by_threads(struct ana_job *job);

/* What another process needs to read a part of this job: the files it has, and how their clocks were fitted. */
struct ana_job_files {
    struct trc_file *const *file; /* as long as the job is not refreshed */
    size_t count;
    struct ana_clock *clock;
};
/* Says that of a job. */
struct ana_job_files ana_job_files(struct ana_job *job);
/* Likewise has them read by those of `source`, which is copied and must live until the job is closed.  Where they fail,
 * what was found is incomplete, and says so. */
bool ana_job_read_by(struct ana_job *job, const struct ana_part_source *source);

#endif
