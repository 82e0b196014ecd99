/* Parts of a summary; for the files that make it. */
#pragma once

#include "trace/job/analysis.h"
#include "trace/job/comms.h"
#include "trace/job/filter.h"
#include "trace/job/site_words.h"
#include "trace/summary/places.h"
#include "trace/summary/summary.h"

/* counters.c: fills ranks, calls, cells and pairs for the whole run.  False: out of memory. */
bool ana_summary_counters(struct ana_job *job, struct ana_summary *s);
/* range.c: fills all of a summary from the events of the range.  False: out of memory. */
bool ana_summary_time_range(struct ana_job *job, struct ana_summary *s);
/* events.c: fills all data from events: waits, collectives, sites, latencies.  False: out of memory. */
bool ana_summary_relations(struct ana_job *job, struct ana_summary *s, const struct ana_tally *relations,
                           const struct ana_tally *events);
/* Whether a thread only serves requests of others, by its time in calls: it is another than the main one, and waits for
 * messages in nearly all of `all_ns`.  Its calls are no time of the rank. */
static inline bool ana_only_serves(size_t thread, const int64_t category_ns[TRC_CATEGORIES], int64_t all_ns)
{
    const int64_t ns = ana_plus(category_ns[TRC_CAT_P2P], category_ns[TRC_CAT_WAIT]);
    return thread != ANA_MAIN_THREAD && (double)ns >= 0.95 * (double)all_ns;
}
/* events.c: whether all waits of a selection's time are known. */
bool ana_waits_are_known(const struct ana_job *job, const struct ana_summary *s);
struct ana_matched;
/* outliers.c: fills the outliers of a part of the run.  False: out of memory. */
bool ana_summary_outliers(const struct ana_job *job, struct ana_summary *s, const struct ana_matched *taken);
/* segments.c: fills the segments.  False: out of memory. */
bool ana_summary_segments(struct ana_job *job, struct ana_summary *s, const struct ana_pass *pass);
/* Returns the identity of a segment, made from two places (+ 1) and its region's name: equal to the one in the
 * summary's rows; 0: none. */
uint64_t ana_segment_identity(const struct ana_job *job, const struct ana_why *why, uint32_t from, uint32_t to,
                              const char *region);
/* usage.c: says of each row why its worst rank takes longer; `row_of`: the row of each segment, UINT32_MAX:
 * none.  False: out of memory. */
bool ana_summary_usage(struct ana_summary *s, const struct ana_why *why, const uint32_t *row_of);
/* usage.c: the reason why a time of a rank took longer than the others of its segment, `number`, + 1; the time
 * ended at end_ns.  Empty if nothing was counted in it. */
struct ana_reason ana_reason_once(const struct ana_why *why, size_t index, int64_t end_ns, uint32_t number);
/* usage.c: adds the networks of the hosts.  False: out of memory. */
bool ana_summary_networks(const struct ana_job *job, struct ana_summary *s, const struct ana_why *why);
/* collectives.c: fills the collectives.  False: out of memory. */
bool ana_summary_collectives(struct ana_job *job, struct ana_summary *s, const struct ana_tally *relations);
/* sites.c: fills the places that call.  False: out of memory. */
bool ana_summary_sites(struct ana_job *job, struct ana_summary *s, const struct ana_tally *events);
/* prices.c: fills the critical path, the prices and their input to the efficiencies; a summary of the whole run
 * has its ranks by then.  False: out of memory. */
bool ana_summary_prices(const struct ana_job *job, struct ana_summary *s, struct ana_pass *pass);
/* segments.c: frees them. */
void ana_summary_segments_free(struct ana_summary *s);
/* accesses.c: fills the files.  False: out of memory. */
bool ana_summary_accesses(struct ana_summary *s, const struct ana_accesses *accesses);
/* Fills the pairs of their sums, with latencies as far as they are known.  False: out of memory. */
bool ana_summary_pairs(struct ana_summary *s, const struct ana_map *sums, const struct ana_tally *relations);

/* One of the sums over all sizes, or of one size, that calls and cells are made of. */
struct ana_call_cell {
    uint32_t call;
    uint16_t size_class;
    uint64_t sent, received;
    uint64_t passing; /* part of times.calls: calls that end after the range */
    uint64_t unknown; /* see ana_call_stat; set by ana_summary_calls */
    int64_t time_ns, open_ns;
    struct ana_times_sum times;
};
/* Makes s->calls and s->cells of cells in any order; sorts those.  False: out of memory. */
bool ana_summary_calls(struct ana_job *job, struct ana_summary *s, struct ana_call_cell **cells, size_t n);
/* Adds the time in the call that the rank is still inside, as far as it is selected, to its categories, and fills
 * wall_ns, mpi_ns and category_ns[TRC_CAT_COMPUTE] from category_ns. */
void ana_summary_rank_time(const struct ana_job *job, const struct ana_summary *s, struct ana_rank_stat *stat);
