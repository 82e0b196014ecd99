/* Source lines of call sites, out of the debug information of the program's files where they are still to be had. */
#ifndef TUI_LINES_H
#define TUI_LINES_H

#include "trace/job/job.h"

/* Gives the job a finder of source lines ("app.c:17").  Only the very file that ran is asked: a regular file, by its
 * build id, or, where the trace has none of it, by its time of change.  A thread of its own reads it, so that nothing
 * there holds up a screen; answers are waited for `patience_s` in all, and come later where that is over.  No server of
 * debug information is asked unless HPCTOP_DEBUGINFOD is set.  What was found lives until the program ends. */
#define TUI_LINES_PATIENCE 10.0 /* of a command that prints once */
void tui_lines_use(struct ana_job *job, double patience_s);
void tui_lines_patience(double patience_s);

/* Lines were found since this was asked last. */
bool tui_lines_came(void);
/* The thread was started: it may be inside a library of which exit() would take something away. */
bool tui_lines_busy(void);

/* C++ names are shown as people write them, where this system has a C++ library; once, before files are opened. */
void tui_names_use(void);

#endif
