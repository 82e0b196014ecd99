/* Loading of an index (index.h) into a job. */
#pragma once

#include "trace/job/analysis.h"
#include <stdio.h>

/* Fills a job whose events were not read; other threads help.  The first part begins at byte `at` of the file, which
 * has `size` bytes.  False: the index is refused, or memory is out; then the analysis of the job begins anew. */
bool ana_index_load(struct ana_job *job, FILE *file, uint64_t at, uint64_t size);
