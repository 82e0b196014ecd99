/* A part of a job with all its events read. */
#ifndef ANA_SUM_UP_H
#define ANA_SUM_UP_H

#include "trace/summary/summary.h"

/* Reads all events that there are now, and fills *out for a selection, as ana_summarize (job.h) does when nothing is
 * left to read.  Costs and prices of a time: ana_job_set_window (window.h) comes first.  TRC_BAD: out of memory. */
enum trc_status ana_summarize_all(struct ana_job *job, struct ana_selection selection, struct ana_summary *out);

#endif
