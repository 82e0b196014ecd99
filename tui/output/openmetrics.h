/* A job as OpenMetrics text, for Prometheus and what collects for it. */
#pragma once

#include "trace/summary/summary.h"
#include <stdio.h>

/* Writes all families of openmetrics.def, and the line that ends them.  Seconds and bytes; unknown values have no
 * sample.  `summary` is of the whole run.  Whether the stream failed is for the caller to ask. */
void tui_openmetrics(const struct ana_job *job, const struct ana_summary *summary, FILE *out);
