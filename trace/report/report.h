/* Pages of text: the report of a job, and of a comparison of two. */
#ifndef ANA_REPORT_H
#define ANA_REPORT_H

#include "trace/job/job.h"
#include "trace/diff/diff.h"
#include <stdio.h>

/* One page for a ticket: what the matter is, then who, where and the evidence.  80 columns of plain text. */

/* Writes the page of a summary (usually of the whole run, analysed to the end) to `out`, which stays open.  `utf8`: the
 * page may hold other characters than ASCII. */
void ana_report_text(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out);

/* Writes at most 60 lines of it: the answer, then sections as long as there is room. */
void ana_report_brief(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out);

/* Two runs side by side, as plain text of 80 columns. */

/* Writes what a diff found to `out`, which stays open; `job` is the second of its jobs.  `utf8`: the page may hold
 * other characters than ASCII. */
void ana_diff_text(const struct ana_diff *diff, const struct ana_job *job, bool utf8, FILE *out);

#endif
