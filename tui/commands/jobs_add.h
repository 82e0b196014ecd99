/* Adding what a site has recorded to its list. */
#ifndef TUI_JOBS_ADD_H
#define TUI_JOBS_ADD_H

/* Adds the jobs in n folders to the list at `path`, a row a run, and leaves a page for each beside its traces.  Root
 * reads what is another's with his rights alone.  `said`: what the batch system says of their end, "" if nothing.
 * Returns the exit status; what goes wrong is told on stderr. */
int tui_jobs_add(const char *path, const char *said, char **folder, int n);

#endif
