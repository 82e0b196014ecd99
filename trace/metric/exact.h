/* Values as text for scripts: all digits of a number, times in seconds.  JSON and CSV write the same. */
#pragma once

#include "trace/metric/metric.h"

#define ANA_EXACT 40 /* room for any number */

/* Each returns the text, written into `out`, or NULL if the value is not known. */
const char *ana_exact_real(double value, char out[ANA_EXACT]); /* shortest text of this very number; NAN: unknown */
const char *ana_exact_ns(int64_t ns, char out[ANA_EXACT]);     /* text in seconds; negative: unknown */
/* A metric's value: a rank is its number in its world, a boolean "true" or "false", words are returned as they are.
 * Without a job no rank is known. */
const char *ana_exact(const struct ana_metric *metric, struct ana_value value, const struct ana_job *job,
                      char out[ANA_EXACT]);
