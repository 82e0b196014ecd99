/* Ranks that are inside one call for long. */
#ifndef ANA_INSIDE_H
#define ANA_INSIDE_H

#include "trace/job/job.h"

/* Writes one sentence about the rank that has been inside a call for seconds, and far longer than usual, while nothing
 * of it moves.  False: there is none. */
bool ana_say_longest_inside(const struct ana_job *job, char *out, size_t size);
/* Returns the time to look whether a wait that has just begun is worth a word, by CLOCK_MONOTONIC in ns; INT64_MAX: no
 * rank waits that long. */
int64_t ana_inside_due(const struct ana_job *job);

#endif
