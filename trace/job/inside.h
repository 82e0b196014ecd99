/* Calls that ranks are inside, in words, and ranks that are inside one for long. */
#pragma once

#include "trace/job/job.h"

/* Writes a call of rank `index` with its partner, as far as known: "MPI_Recv from rank 0, tag 7, on rows". */
void ana_call_words(const struct ana_job *job, size_t index, const char *call, const struct trc_sig *sig, char *out,
                    size_t size);
/* Writes one sentence about the rank that has been inside a call for seconds, and far longer than usual, while nothing
 * of it moves.  False: there is none. */
bool ana_write_longest_inside(const struct ana_job *job, char *out, size_t size);
/* Returns the time to look whether a wait that has just begun is worth a word, by CLOCK_MONOTONIC in ns; INT64_MAX: no
 * rank waits that long. */
int64_t ana_inside_due(const struct ana_job *job);
