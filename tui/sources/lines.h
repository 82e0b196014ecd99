/* Source lines of call sites, from the debug information of the program's files, where these are still there. */
#pragma once

#include "trace/job/job.h"

#define TUI_LINES_PATIENCE 10.0 /* seconds that a command waits which prints once */

/* Sets the job's finder of source lines ("app.c:17"), which may be called by any thread.  It waits for at most
 * patience_s seconds in all; lines that take longer are found later.  A thread of its own reads the files.
 * Only the file that ran is read: a regular file with the build id that the trace has or, if it has none, one that was
 * not changed since the job began.  Servers of debug information are asked only if HPCTOP_DEBUGINFOD is set.
 * Lines that were found live until the program ends. */
void tui_lines_use(struct ana_job *job, double patience_s);

/* Returns the source line of a site with the path of its file, "/src/app.c:17"; NULL: not known, or not yet.  Any
 * thread. */
const char *tui_line_of(const struct trc_file *file, uint64_t site);

/* Whether lines were found since the last call.  Any thread. */
bool tui_lines_changed(void);

/* Whether the thread that reads files was started.  It may be inside a library that exit() would take apart.  Any
 * thread. */
bool tui_lines_busy(void);

/* Makes C++ names readable, if a C++ library is installed.  Call it before files are opened. */
void tui_names_use(void);
