/* The lines that hpctop record prints when its command has ended. */
#pragma once

#include "tui/launch/record.h"

#include <time.h>

/* Returns when the newest trace was written: in a folder, or, if that is NULL, in the hpctop-* folders of the working
 * directory; zeros: there is none. */
struct timespec tui_newest_trace(const char *folder);

/* Prints what became of the jobs whose traces were written since `before` (tui_newest_trace), at most five lines a job:
 * headline or verdict, and where the trace is; or why there is none.  `failed`: the command's exit status is not 0. */
void tui_print_end(const struct tui_plan *plan, const char *folder, struct timespec before, bool failed);
