/* The report as one page of HTML: it needs no network, and can be mailed, put into a ticket and printed. */
#ifndef TUI_PAGE_H
#define TUI_PAGE_H

#include "trace/job/job.h"
#include <stdio.h>

struct ana_verdict;

/* Writes the page.  What comes from the trace stands in it as JSON alone, in which nothing can end the element that it
 * is in; the page's script shows it as text.  `verdict` may be NULL, `healthy` is its sentence where all is well;
 * `said`, which may be NULL, is what the batch system says of the job's end.  Of many ranks several share a row; long
 * lists are cut, and the page says so.  False: out of memory; `to` has its own errors. */
bool tui_page_write(struct ana_job *job, const struct ana_summary *summary, const struct ana_verdict *verdict,
                    const char *healthy, const char *said, FILE *to);

#endif
