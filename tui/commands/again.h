/* A job that was watched to its end is read once more, by its watcher: only then all is known of its clocks, and the
 * results can be kept for the next reader (trace/index/index.h).  One thread at a time. */
#pragma once

#include "trace/job/job.h"

struct tui_again {
    const char *const *folders; /* the caller's, as they were opened */
    size_t count;
    struct ana_job *job; /* job being read; NULL before and afterwards */
};

/* Whether a job that was watched has to be read once more, so that it has an index.  It is asked before that is
 * closed. */
bool tui_again_wanted(const struct ana_job *watched);
/* Reads for about `budget_ns` (0: to the end), and keeps the results once all is read.  The first call opens the
 * files.  Returns whether there is more to read; nothing is said if reading is not possible. */
bool tui_again_step(struct tui_again *again, int64_t budget_ns);
/* Closes a job not read to the end; keeps no results. */
void tui_again_leave(struct tui_again *again);
