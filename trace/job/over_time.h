/* Timelines of ranks whose events are read again. */
#ifndef ANA_OVER_TIME_H
#define ANA_OVER_TIME_H

#include "trace/job/job.h"

/* Whether the timeline of some rank is read from its events, of the whole run, too: it has few. */
bool ana_timelines_decode(const struct ana_job *job);

#endif
