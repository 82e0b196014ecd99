/* Rates and activity over time. */
#pragma once

#include "trace/job/job.h"

enum ana_series_kind { ANA_SERIES_SENT, ANA_SERIES_RECEIVED, ANA_SERIES_CALLS, ANA_SERIES_MPI_SHARE, ANA_SERIES_KINDS };
/* Fills `n` equal steps of the selected time, of each kind that is not NULL: bytes/s, calls/s or share, summed over the
 * selected ranks (share: averaged), NAN where nothing is known.  From the pyramid: O(ranks x n). */
void ana_series(const struct ana_job *job, struct ana_selection selection, size_t n,
                double *const out[ANA_SERIES_KINDS]);

/* One cell of the timeline: how its time was spent. */
struct ana_timeline_cell {
    float share[TRC_CATEGORIES]; /* sums to 1 where known, all 0 where not (before begin, after end, recycled) */
    float waiting;               /* share of the cell lost waiting for others */
};
/* Fills `n` cells of [begin_ns, end_ns) for one rank.  Where the last summary had a filter, only of what that takes.
 * O(n) whatever the trace: from sums made before.  Below the finest level of the pyramid it decodes the chunk or two
 * that the range touches. */
void ana_timeline(struct ana_job *job, size_t rank_index, int64_t begin_ns, int64_t end_ns, size_t n,
                  struct ana_timeline_cell *out);
/* Fills the cells of several ranks: the mean over ranks with a known cell; with more than 16 ranks only from sums made
 * before.  `mean` or `most` may be NULL; most[i] has the largest share waiting of all these ranks, and the smallest
 * outside MPI. */
void ana_timeline_of(struct ana_job *job, const size_t *ranks, size_t count, int64_t begin_ns, int64_t end_ns, size_t n,
                     struct ana_timeline_cell *mean, struct ana_timeline_cell *most);
/* Whether the timeline of some rank is read from its events, of the whole run, too: it has few. */
bool ana_timelines_decode(const struct ana_job *job);
