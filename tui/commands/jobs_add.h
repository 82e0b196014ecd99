/* Adding what a site has recorded to its list. */
#ifndef TUI_JOBS_ADD_H
#define TUI_JOBS_ADD_H

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

#endif
