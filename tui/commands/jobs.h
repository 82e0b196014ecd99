/* Adding jobs to the list of a site. */
#pragma once

#include "tui/sources/jobs_db.h"

/* Reading the runs that a folder holds, a row each. */

enum { TUI_JOBS_RUNS = 1000 }; /* limit of runs that a folder may add: its owner may put anything there */

/* Receives a row, valid during the call.  False: the rest is not wanted. */
typedef bool tui_jobs_row_do(void *user, const struct tui_job_row *row);

/* Reads all runs in the working folder, the steps of a batch job, and writes a page for each beside its traces.  Names
 * no file but relative to the working folder.  `shown`: the folder's name for errors, which go to stderr a line each;
 * `said`: the batch system's words on the end.  A row's `page` is a bare file name, `folder` and `user` are empty.
 * Returns the exit status.  One thread. */
int tui_jobs_read(const char *shown, const char *said, tui_jobs_row_do *take, void *user);

/* Adding what a site has recorded to its list. */

struct tui_jobs_adding {
    const char *list;  /* path of the list */
    const char *said;  /* the batch system's words on the end of the jobs; "": none */
    const char *owner; /* the user id that must own each folder, as digits; NULL: any */
};

/* Adds the jobs in n folders to the list, a row a run, and writes a page for each beside its traces.  A process of its
 * own reads each folder, by a descriptor; where root calls, with the rights of the descriptor's owner, who must be the
 * only one that may write to it.  With `owner` a folder must not be named by a link.  Errors go to stderr, a line each.
 * Returns the exit status. */
int tui_jobs_add(const struct tui_jobs_adding *adding, char **folder, int n);
