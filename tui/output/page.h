/* The report as one page of HTML: it needs no network, and can be mailed, put into a ticket and printed. */
#pragma once

#include "trace/summary/summary.h"
#include <stdio.h>

struct ana_verdict;

/* Writes the page.  Texts from the trace stand in it as JSON alone, and nothing there can end the element around it;
 * the page's script shows them as text.  `verdict` may be NULL, `healthy` is its sentence if all is well; `said`,
 * which may be NULL, is the batch system's word on the job's end.  Of many ranks several share a row; long lists are
 * cut, and the page says so.  False: out of memory; `to` has its own errors. */
bool tui_page_write(struct ana_job *job, const struct ana_summary *summary, const struct ana_verdict *verdict,
                    const char *healthy, const char *said, FILE *to);
