/* The critical path, and what it saves to mend something, of the events read so far. */
#pragma once

#include "trace/job/analysis.h"

struct ana_path_sums;
/* Finds the whole path of a pass with causes, to be freed by the caller, and what each scenario
 * (ANA_SCENARIOS) saves.  False: out of memory. */
bool ana_path_of_pass(const struct ana_job *job, const struct ana_pass *pass, int64_t begin_ns, int64_t end_ns,
                      struct ana_path_sums *sums, int64_t *saves);
