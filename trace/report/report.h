/* Pages of text: the report of a job, and of a comparison of two. */
#pragma once

#include "trace/summary/summary.h"
#include "trace/diff/diff.h"
#include <stdio.h>

/* Pages of a summary (usually of the whole run, analysed to the end), in 80 columns of plain text.  `utf8`: they may
 * hold other characters than ASCII.  `out` stays open. */

/* Writes a page for a ticket, of at most 60 lines: the answer, then the tables that matter, the first ones first. */
void ana_report_brief(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out);

/* Writes all sections and tables. */
void ana_report_text(const struct ana_job *job, const struct ana_summary *summary, bool utf8, FILE *out);

/* Writes one table with all of its rows.  `csv`: with the keys and values of `hpctop report --json`. */
void ana_report_table(const struct ana_job *job, const struct ana_summary *summary, const char *name, bool csv,
                      bool utf8, FILE *out);

/* Returns the name of table `i`, "" where it has no CSV; NULL behind the last. */
const char *ana_report_table_name(size_t i, bool csv);

/* Writes, after `before`, which transport carries messages of rank `index`, as far as loaded components of Open MPI and
 * variables show: "pml ob1, btl tcp, OMPI_MCA_btl=tcp,self".  False: nothing is known, and nothing was written. */
bool ana_transport_write(const struct ana_job *job, size_t index, const char *before, FILE *out);

/* Two runs side by side, as plain text of 80 columns. */

/* Writes what a diff found to `out`, which stays open; `job` is the second of its jobs.  `utf8`: the page may hold
 * other characters than ASCII. */
void ana_diff_text(const struct ana_diff *diff, const struct ana_job *job, bool utf8, FILE *out);
