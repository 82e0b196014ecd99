/* One page for a ticket: what the matter is, then who, where and the evidence.  80 columns of plain text. */
#ifndef ANA_REPORT_H
#define ANA_REPORT_H

#include "trace/job/job.h"
#include <stdio.h>

/* Writes the page of a summary (usually of the whole run, analysed to the end) to `out`, which stays open.  `utf8`: the
 * page may hold other characters than ASCII. */
void ana_report_text(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out);

#endif
