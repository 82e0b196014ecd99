/* Places between which segments lie, by their names. */
#pragma once

#include "trace/job/analysis.h"
#include "trace/summary/iterations.h"

/* Writes what a place (number of trace/why, + 1) is called; 0 leaves it empty. */
void ana_segment_end_of(const struct ana_job *job, const struct ana_why *why, uint32_t place,
                        struct ana_segment_end *out);
/* Joins places that were called before their names were known with places called later, and if
 * `by_line` the places of one source line, since an inlined function has several: fills, for each place, the first of
 * its name, + 1.  False: out of memory. */
bool ana_places_join(const struct ana_job *job, const struct ana_why *why, bool by_line, uint32_t *place);
