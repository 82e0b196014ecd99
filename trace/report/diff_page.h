/* Two runs side by side, as plain text of 80 columns. */
#ifndef ANA_DIFF_PAGE_H
#define ANA_DIFF_PAGE_H

#include "trace/diff/diff.h"
#include <stdio.h>

/* Writes what a diff found to `out`, which stays open; `job` is the second of its jobs.  `utf8`: the page may hold
 * other characters than ASCII. */
void ana_diff_text(const struct ana_diff *diff, const struct ana_job *job, bool utf8, FILE *out);

#endif
