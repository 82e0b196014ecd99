/* Source lines of call sites, out of the debug information of the program's files where they are still to be had. */
#ifndef TUI_LINES_H
#define TUI_LINES_H

#include "trace/job/job.h"

/* Gives the job a finder of source lines ("app.c:17").  A file that was changed after the job began is not the one that
 * ran, so it is not asked.  What was found lives until the program ends. */
void tui_lines_use(struct ana_job *job);

/* C++ names are shown as people write them, where this system has a C++ library; once, before files are opened. */
void tui_names_use(void);

#endif
