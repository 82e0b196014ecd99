/* A line about a running job, as `hpctop watch` prints them. */
#pragma once

#include "trace/summary/summary.h"

/* The job now, as one line of JSON with the keys of json_keys.def, or of text; without the newline, for the caller to
 * free.  NULL: out of memory. */
char *tui_watch_json(const struct ana_job *job, const struct ana_summary *summary);
/* Returns that as text, with the same rules. */
char *tui_watch_text(const struct ana_job *job, const struct ana_summary *summary);
