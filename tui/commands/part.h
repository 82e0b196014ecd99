/* The part of a job that --from, --to and --ranks name. */
#pragma once

#include "trace/job/job.h"

/* Text as typed; NULL: all. */
struct tui_part {
    const char *from, *to, *ranks;
};

/* Reports errors in the text of the times; NULL: nothing. */
const char *tui_part_wrong(const struct tui_part *wanted);
/* Narrows `part` to the wanted range; `ranks` has room for a byte a rank, and lives as long as `part`.  False, with a
 * line in `error`: the job does not have it. */
bool tui_part_select(const struct ana_job *job, const struct tui_part *wanted, struct ana_selection *part,
                     uint8_t *ranks, char *error, size_t error_size);
