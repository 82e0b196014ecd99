/* Reading of an ended job's events in parts (trace/relations/parts.h): by threads, or other processes. The result does
 * not depend on it. */
#pragma once

#include "trace/job/job.h"
#include "trace/relations/parts.h"

/* Makes threads read the events of the job, if ana_job_set_workers allows enough threads.  Does nothing for a job that
 * still runs, or after the first ana_job_advance.  From then on until ana_job_advance returns 1 the caller does not
 * refresh the job.  False: out of memory. */
bool ana_job_read_by_threads(struct ana_job *job);

/* Input of another process that reads a part of this job: its files, and the fit of their clocks. */
struct ana_job_files {
    struct trc_file *const *file; /* valid until the job is refreshed */
    size_t count;
    struct ana_clock *clock;
};
/* Returns the files and clocks of a job. */
struct ana_job_files ana_job_files(struct ana_job *job);
/* Makes `source` read them, which is copied and must live until the job is closed.  If a reader fails, the results are
 * incomplete, and say so. */
bool ana_job_read_by(struct ana_job *job, const struct ana_part_source *source);
