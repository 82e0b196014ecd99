/* Results of the passes over the events of a job, for the folders that make summaries and the like. */
#pragma once

#include "trace/iter/iter.h"
#include "trace/sums/accesses.h"
#include "trace/job/job.h"
#include "trace/sums/store.h"
#include "trace/sums/tally.h"
#include "trace/sums/timeline.h"
#include "trace/members/members.h"
#include "trace/relations/match.h"
#include "trace/relations/merge.h"
#include "trace/util/spans.h"
#include "trace/why/regions.h"
#include "trace/why/why.h"

struct ana_devices;

/* The way through all events, or through the events of a time range.  Only the way through all finds relations
 * (messages, instances, waits): pairing needs every event before. */
struct ana_pass {
    struct trc_file **file; /* file of each rank */
    struct ana_merge *merge;
    struct ana_tally tally;
    struct ana_why why;
    struct ana_regions regions;
    struct ana_accesses accesses;
    bool done; /* nothing more now */
};

struct ana_time_range {
    struct ana_selection asked; /* selection with ranks of its own */
    int64_t begin_ns, end_ns;   /* INT64_MIN and INT64_MAX where all time was asked for */
    uint8_t *ranks;             /* NULL: all */
    struct ana_pass pass;
    struct ana_devices *gpu; /* device.c: what ran on GPUs in it */
    struct ana_lane *lane;   /* one a rank, of calls that match the filter; NULL: there is no filter */
    uint64_t cut;            /* calls that begin before it or end after it */
    bool open;
};

/* The pass over all events. */
struct ana_analysis {
    struct ana_pass pass;
    struct ana_match *match;
    struct ana_iter iter;  /* iterations */
    struct ana_lane *lane; /* one a rank */
    struct ana_store store;
    struct ana_devices *gpu;             /* device.c */
    struct ana_thread_pool *thread_pool; /* threads that analyse events, too; NULL: there are none */
    struct ana_span window;              /* all that costs, path, iterations and the store are of; ana_job_set_window */
    uint64_t records;                    /* number in all files */
    uint64_t check_at;                   /* events at the next check whether the window is over */
    bool flushed;                        /* the match knows that no more events follow */
    bool unread;                         /* memory ran out in the pass for the bounds of clocks */
    bool index_asked, indexed;           /* presence of an index was asked; results are from it */
    bool no_index;                       /* nobody wants one */
    int64_t kept_since_ns; /* index only: messages, waits and collectives that ended later are all in it */
    uint64_t index_of;     /* identity of the files when their events began to be read (trace/index); 0: they grew */
};

/* Returns the analysis of a job. */
struct ana_analysis *ana_job_analysis(const struct ana_job *job) __attribute__((const));
/* Returns the pass over a part of its events. */
struct ana_time_range *ana_job_range(const struct ana_job *job) __attribute__((const));

/* Brings all processes and the state of the job up to date, after a refresh of the files or a new fit of the clock.
 * True if the same files may give another verdict (ana_members_update). */
bool ana_job_refresh_state(struct ana_job *job);

/* advance.c */
/* Forgets the analysis so far, and starts anew.  False: out of memory. */
bool ana_analysis_again(struct ana_job *job);
/* The share of the records that the main pass has read, 0..1. */
double ana_analysis_share(const struct ana_job *job);
/* Whether no event is read yet of a trace that has events. */
bool ana_analysis_ahead(const struct ana_job *job);
/* Ends the pass for the bounds of the clocks, wherever it is. */
void ana_bounds_pass_stop(struct ana_job *job);
/* Makes empty lanes for all ranks, for all or maybe a part of their events. */
void ana_lanes_start(const struct ana_job *job, struct ana_lane *lane, bool all);
/* range.c: begins a pass over the events of a selection, unless it is under way already.  Returns the share that it has
 * read, -1 when out of memory. */
double ana_time_range_select(struct ana_job *job, const struct ana_selection *selection);
/* range.c: ends the pass over a selection, if there is one, and frees its sums. */
void ana_time_range_release(struct ana_job *job);

/* count.c: stores and adds up a wait of a GPU for another rank's, in a collective of this communicator. */
void ana_add_device_wait(struct ana_job *job, const struct ana_wait_span *span, uint64_t comm_identity);

/* Whether all that the pass finds is of the whole run. */
static inline bool ana_window_is_all(const struct ana_job *job)
{
    return ana_job_analysis(job)->window.begin_ns == INT64_MIN && ana_job_analysis(job)->window.end_ns == INT64_MAX;
}
/* window.c: whether a selection is the window of ana_job_set_window, so that everything known of a whole run is known
 * of it. */
bool ana_is_window(const struct ana_job *job, const struct ana_selection *selection);
/* Whether path, prices and iterations are known of a selection: all ranks of the whole run, or of that window. */
bool ana_is_followed(const struct ana_job *job, const struct ana_selection *selection);

/* window.c: from when to when the main pass knows what a rank did; empty while it knows nothing. */
struct ana_span ana_known_time(const struct ana_job *job, size_t index);
/* Returns the end of the range's sums in job time: they have all events that ended before. */
int64_t ana_time_range_until(const struct ana_job *job);
