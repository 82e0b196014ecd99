/* Calls that match the filter of a selection, and the identities of the places that make them. */
#pragma once

#include "trace/job/window.h"

/* Returns a number for what a place in a process is called: by its source line where that is known and if `by_line`,
 * by module and offset, or else its address. */
uint64_t ana_site_name(const struct ana_job *job, size_t index, uint64_t address, bool by_line);
/* Returns the identity of a place that calls, of that name, by line; `call` is job-wide. */
uint64_t ana_site_identity(const struct ana_job *job, size_t index, uint32_t call, uint64_t address);
/* Whether the filter of a selection matches a call of rank `index`; `call` is job-wide, `comm` the identity of
 * its communicator. */
bool ana_filter_matches(const struct ana_job *job, const struct ana_selection *selection, size_t index, uint32_t call,
                        uint64_t comm, uint64_t site);
/* Whether the filter of a selection matches the call that a rank is inside. */
bool ana_filter_matches_open(const struct ana_job *job, const struct ana_selection *selection, size_t index);
