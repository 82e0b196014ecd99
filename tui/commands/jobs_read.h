/* Reading the runs that a folder holds, a row each. */
#ifndef TUI_JOBS_READ_H
#define TUI_JOBS_READ_H

#include "tui/sources/jobs_db.h"

enum { TUI_JOBS_RUNS = 1000 }; /* limit of runs that a folder may add: its owner may put anything there */

/* Receives a row, valid during the call.  False: the rest is not wanted. */
typedef bool tui_jobs_take(void *user, const struct tui_job_row *row);

/* Reads all runs in the working folder, the steps of a batch job, and writes a page for each beside its traces.  Names
 * no file but relative to the working folder.  `shown`: the folder's name for errors, which go to stderr a line each;
 * `said`: the batch system's words on the end.  A row's `page` is a bare file name, `folder` and `user` are empty.
 * Returns the exit status.  One thread. */
int tui_jobs_read(const char *shown, const char *said, tui_jobs_take *take, void *user);

#endif
