/* Opening a job with everything that hpctop computes about it. */
#pragma once

#include "trace/job/job.h"

/* Opens every *.hpctop file in the folders (a file's own path works too).  If one folder holds several runs of MPI,
 * runs that ended before the latest was started are left out.  Unreadable files are left out and named by
 * ana_job_warning.  TRC_BAD, with one line in `error`, if none can be read. */
enum trc_status ana_job_open(const char *const *folders, size_t n, struct ana_job **out, char *error,
                             size_t error_size);

/* Opens a job as ana_job_open, and calls `opening` with `user` meanwhile (NULL: nobody). */
enum trc_status ana_job_open_watched(const char *const *folders, size_t n, ana_opening *opening, void *user,
                                     struct ana_job **out, char *error, size_t error_size);
