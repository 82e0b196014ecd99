/* Choice of the segments and calls taken out in scenarios (replay.h): the ones that cost most so far, and their time if
 * mended. */
#pragma once

#include "trace/cause/replay.h"

/* Returns the median time of a segment by its number + 1, in ns; `of`: the caller's argument. */
typedef double ana_usual_time(const void *of, uint32_t segment);

/* Follows the waits that ended ANA_DELAY_LAG_NS before `now_ns` (INT64_MIN: no more than before), and chooses anew.
 * Each segment kind that costs most: its ranks that cost about as much as the worst, which then take as long as the
 * others' median; else as other segments after the same call, else as their own.  And the places whose calls have most
 * of the path. */
void ana_scenarios_choose(struct ana_causes *causes, int64_t now_ns, ana_usual_time *time, const void *of);
