/* Debug packages and files that would give names to places without one. */
#ifndef TUI_UNNAMED_H
#define TUI_UNNAMED_H

#include "trace/summary/summary.h"
#include <stdio.h>

/* Prints the files whose functions have no names in the first places of a summary, and what would give names: the
 * package of debug information that the package manager here has for the file, or the path of a file by its build id.
 * Prints nothing if all have names.  Runs the package manager; asks no server.  Main thread. */
void tui_unnamed_print(const struct ana_job *job, const struct ana_summary *summary, FILE *out);

#endif
