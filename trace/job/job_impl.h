/* Shared by the files of the job (job.c, process.c, advance.c, summary*.c, state_at.c); not for other files. */
#ifndef ANA_JOB_IMPL_H
#define ANA_JOB_IMPL_H

#include "trace/relations/bridge.h"
#include "trace/job/accesses.h"
#include "trace/job/bundle.h"
#include "trace/job/comms.h"
#include "trace/relations/clock.h"
#include "trace/job/job.h"
#include "trace/util/hash_map.h"
#include "trace/relations/match.h"
#include "trace/relations/merge.h"
#include "trace/relations/readers.h"
#include "trace/job/process.h"
#include "trace/job/site_words.h"
#include "trace/job/state_at.h"
#include "trace/job/store.h"
#include "trace/job/sums.h"
#include "trace/job/tally.h"
#include "trace/job/timeline.h"
#include "trace/job/upper.h"
#include "trace/job/window.h"
#include "trace/relations/waits.h"
#include "trace/util/spans.h"
#include "trace/iter/iter.h"
#include "trace/why/regions.h"
#include "trace/why/why.h"

#define ANA_HUNG_NS 30000000000 /* a running job in which nothing completes for this long hangs */

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
    struct ana_lane *lane;   /* one a rank, of what the filter takes; NULL: there is no filter */
    uint64_t cut;            /* calls that begin before it or end after it */
    bool open;
};

struct ana_call_name {
    const char *name;
    enum trc_opclass opclass;
};

struct ana_judgement; /* verdict_impl.h */

struct ana_job {
    const struct ana_upper *upper;
    struct ana_bundle bundle;
    struct ana_process *process;
    size_t count;
    char **warning;
    size_t warnings;

    char name[128];
    char mpi[256];
    const char **host;
    size_t hosts;
    size_t world_size;
    size_t left_out;                   /* files of an earlier run */
    size_t other_jobs;                 /* files of other jobs, in other folders than this one's */
    size_t shown_folder, other_folder; /* one of this job, one of the others: into bundle.folder */
    unsigned generation;
    enum ana_state state;
    int64_t end_ns;     /* last sign of life */
    int64_t begin_ns;   /* first file made */
    int64_t horizon_ns; /* running job: all files have the events that ended before; INT64_MAX: everything */
    int64_t quiet_ns;
    uint64_t progress;
    int64_t progress_ns; /* job time when it was first seen at this value */

    struct ana_call_name *call; /* calls of all files, by job-wide number */
    size_t calls;
    struct ana_map call_by_name, call_by_address;
    struct ana_map comm_names; /* communicator identity -> const char *, one of `texts` */
    struct ana_map texts;      /* hash and number -> char *; none is freed before the job */

    struct ana_clock *clock;
    size_t clocks;               /* domains of it when the analysis began */
    bool clock_goes_on;          /* it may be fitted again: by messages and collectives that are still found */
    struct ana_pass bounds_pass; /* several hosts: a first pass over the events only gives the clock its bounds */
    struct ana_match *bounds_match;
    bool unread;         /* memory ran out in that pass */
    bool lack_told;      /* a warning tells about gaps in the sums */
    int64_t next_fit_ns; /* next fit in a running job, by the reader's clock */
    int64_t reached_ns;  /* common progress of all events, as causes were last told */
    unsigned unsettled;  /* events since then */
    struct ana_pass pass;
    struct ana_queue onward; /* events to a thread that relates them (onward.h); of size 0: it is done at once */
    struct ana_match *match;
    struct ana_bridges *bridges; /* communicators between worlds; NULL: none */
    struct ana_iter iter;        /* iterations of the pass over all events */
    bool flushed;                /* the match was told that nothing more comes */
    bool at_rest;                /* it has ended, and the last look at all of it found nothing new */
    bool index_asked, indexed;   /* presence of an index was asked; results are from it */
    bool no_index;               /* nobody wants one */
    int64_t kept_since_ns;       /* index only: messages, waits and collectives that ended later are all in it */
    uint64_t index_of; /* identity of the files when their events began to be read (trace/index); 0: they grew */
    uint64_t records;  /* number in all files */
    struct ana_wait_clip *clip;
    struct ana_wait_span *span; /* room for one instance's */
    size_t spans;
    struct ana_lane *lane;   /* one a rank */
    struct ana_sums sums;    /* sums of the pass over all events */
    struct ana_devices *gpu; /* device.c */
    struct ana_store store;
    struct ana_time_range range;
    unsigned workers;              /* threads that analyse events, this one among them */
    struct ana_beside *beside;     /* the others; NULL: there are none */
    struct ana_part_source parts;  /* reader of all events; without parts: this process reads them as it needs them */
    bool only_bounds_in_parts;     /* ... only in the pass for the clocks */
    struct ana_readers *readers;   /* threads that are that; NULL: there are none */
    struct ana_span window;        /* all that costs, path, iterations and the store are of; ana_job_set_window */
    struct ana_hvd_state *horovod; /* horovod.c */
    unsigned refreshes;            /* ana_job_refresh so far */
    int64_t read_ns;               /* CLOCK_MONOTONIC when the last refresh began to read; 0: none has */
    ana_line_finder *line_finder;
    ana_name_finder *name_finder;
    void *line_context;
    struct ana_judgement *judgement; /* state of the verdict; not NULL once the job is open */
    unsigned revision;               /* rises whenever something changes that the verdict rests on */
};

/* members.c */
/* Names the job after its folder. */
void ana_members_name(struct ana_job *job);
/* Takes in files that came, and ranks that became known, since the last call.  True if the processes are others now. */
bool ana_members_refresh(struct ana_job *job);
/* Frees the processes and everything found from them. */
void ana_members_forget(struct ana_job *job);

/* call_names.c */
/* Gives calls of a process's file that are new their job-wide numbers. */
void ana_number_calls(struct ana_job *job, struct ana_process *process);
/* The job-wide number of a call.  Never fails: number 0 is for calls that there was no memory for. */
uint32_t ana_call_number(struct ana_job *job, const struct trc_call *call);
/* The job-wide number of a call by its id in the file of rank `index`; 0: none. */
uint32_t ana_call_number_of(const struct ana_job *job, size_t index, uint32_t id);

/* job.c */
/* Collects anew what ana_job_warning tells. */
void ana_collect_warnings(struct ana_job *job);
/* Brings all processes and the state of the job up to date, after a refresh of the files or a new fit of the clock.
 * True if somebody may be alive, or was found to have ended: then the same files may give another verdict. */
bool ana_job_refresh_state(struct ana_job *job);
/* Opens a job, as ana_job_open describes, with these floors above it; `upper` must outlive the job. */
enum trc_status ana_job_open_with(const struct ana_upper *upper, const struct ana_opener *opener,
                                  const char *const *folders, size_t n, struct ana_job **out, char *error,
                                  size_t error_size);

/* inside.c */
/* Writes one sentence about the rank that has been inside a call for seconds, and far longer than usual, while nothing
 * of it moves.  False: there is none. */
bool ana_say_longest_inside(const struct ana_job *job, char *out, size_t size);
/* Returns the time to look whether a wait that has just begun is worth a word, by CLOCK_MONOTONIC in ns; INT64_MAX: no
 * rank waits that long. */
int64_t ana_inside_due(const struct ana_job *job);

/* take.c: the sink for a match of all events: it stores and adds up the relations. */
struct ana_match_sink ana_job_sink(struct ana_job *job);
/* take.c: place of the sum of a pair of the pass over all events, + 1; 0: unknown, or out of memory. */
uint32_t ana_pair_place(struct ana_job *job, size_t source, size_t destination);

/* advance.c */
/* Starts the analysis of events anew, for the processes as they are now.  False: out of memory. */
bool ana_analysis_start(struct ana_job *job);
/* Forgets the analysis so far, and starts anew.  False: out of memory. */
bool ana_analysis_again(struct ana_job *job);
/* Frees all that the analysis has found; before the processes change. */
void ana_analysis_stop(struct ana_job *job);
/* Takes up new records, after the files were refreshed. */
void ana_analysis_refresh(struct ana_job *job);
/* The share of the records that the main pass has read, 0..1. */
double ana_analysis_share(const struct ana_job *job);
/* Whether no event is read yet of a trace that has events. */
bool ana_analysis_ahead(const struct ana_job *job);
/* range.c: begins a pass over the events of a selection, unless it is under way already.  Returns the share that it has
 * read, -1 when out of memory. */
double ana_time_range_select(struct ana_job *job, const struct ana_selection *selection);
/* range.c: ends the pass over a selection, if there is one, and frees its sums. */
void ana_time_range_release(struct ana_job *job);

/* filter.c: a number for what a place in a process is called: by its source line where that is known and if `by_line`,
 * by module and offset, or else its address. */
uint64_t ana_site_name(const struct ana_job *job, size_t index, uint64_t address, bool by_line);
/* filter.c: the identity of a place that calls, of that name, by line; `call` is job-wide. */
uint64_t ana_site_identity(const struct ana_job *job, size_t index, uint32_t call, uint64_t address);
/* filter.c: whether the filter of a selection takes a call of rank `index`; `call` is job-wide, `comm` the identity of
 * its communicator. */
bool ana_filter_takes(const struct ana_job *job, const struct ana_selection *selection, size_t index, uint32_t call,
                      uint64_t comm, uint64_t site);
/* Whether all that the pass finds is of the whole run. */
static inline bool ana_window_is_all(const struct ana_job *job)
{
    return job->window.begin_ns == INT64_MIN && job->window.end_ns == INT64_MAX;
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

/* summary_counters.c: fills ranks, calls, cells and pairs for the whole run.  False: out of memory. */
bool ana_summary_counters(struct ana_job *job, struct ana_summary *s);
/* summary_range.c: fills all of a summary from the events of the range.  False: out of memory. */
bool ana_summary_time_range(struct ana_job *job, struct ana_summary *s);
/* summary_events.c: fills what only events tell: waits, collectives, sites, latencies.  False: out of memory. */
bool ana_summary_relations(struct ana_job *job, struct ana_summary *s, const struct ana_tally *relations,
                           const struct ana_tally *events);
/* Whether a thread only serves requests of others, by its time in calls: it is another than the main one, and waits for
 * messages in nearly all of `all_ns`.  Its calls are no time of the rank. */
static inline bool ana_only_serves(size_t thread, const int64_t category_ns[TRC_CATEGORIES], int64_t all_ns)
{
    const int64_t ns = ana_plus(category_ns[TRC_CAT_P2P], category_ns[TRC_CAT_WAIT]);
    return thread != ANA_MAIN_THREAD && (double)ns >= 0.95 * (double)all_ns;
}
/* summary_events.c: whether all waits of a selection's time are known. */
bool ana_knows_waits(const struct ana_job *job, const struct ana_summary *s);
struct ana_taken; /* taken.h */
/* summary_range.c: finds what the filter of a selection takes; free out->of_place.  False: out of memory. */
bool ana_taken_find(const struct ana_job *job, const struct ana_selection *selection, struct ana_taken *out);
/* summary_standouts.c: fills the standouts of a part of the run.  False: out of memory. */
bool ana_summary_standouts(const struct ana_job *job, struct ana_summary *s, const struct ana_taken *taken);
/* summary_segments.c: fills the segments.  False: out of memory. */
bool ana_summary_segments(struct ana_job *job, struct ana_summary *s, const struct ana_pass *pass);
/* Returns the identity of a segment, made from two places (+ 1) and its region's name: equal to the one in the
 * summary's rows; 0: none. */
uint64_t ana_segment_identity(const struct ana_job *job, const struct ana_why *why, uint32_t from, uint32_t to,
                              const char *region);
/* summary_usage.c: says of each row why its worst rank takes longer; `row_of`: the row of each segment, UINT32_MAX:
 * none.  False: out of memory. */
bool ana_summary_usage(struct ana_summary *s, const struct ana_why *why, const uint32_t *row_of);
/* summary_usage.c: the reason why a time of a rank took longer than the others of its segment, `number`, + 1; the time
 * ended at end_ns.  Empty if nothing was counted in it. */
struct ana_reason ana_reason_once(const struct ana_why *why, size_t index, int64_t end_ns, uint32_t number);
struct ana_path_sums;
/* summary_prices.c: finds the whole path of a pass with causes, to be freed by the caller, and what each shadow
 * (ANA_SHADOWS) saves.  False: out of memory. */
bool ana_path_of_pass(const struct ana_job *job, const struct ana_pass *pass, int64_t begin_ns, int64_t end_ns,
                      struct ana_path_sums *sums, int64_t *saves);
/* summary_usage.c: adds the networks of the hosts.  False: out of memory. */
bool ana_summary_networks(const struct ana_job *job, struct ana_summary *s, const struct ana_why *why);
/* summary_segments.c: writes what a place (number of trace/why, + 1) is called; 0 leaves it empty. */
void ana_segment_end_of(const struct ana_job *job, const struct ana_why *why, uint32_t place,
                        struct ana_segment_end *out);
/* summary_segments.c: joins places that were called before their names were known with places called later, and if
 * `by_line` the places of one source line, since an inlined function has several: fills, for each place, the first of
 * its name, + 1.  False: out of memory. */
bool ana_places_join(const struct ana_job *job, const struct ana_why *why, bool by_line, uint32_t *place);
/* summary_collectives.c: fills the collectives.  False: out of memory. */
bool ana_summary_collectives(struct ana_job *job, struct ana_summary *s, const struct ana_tally *relations);
/* summary_sites.c: fills the places that call.  False: out of memory. */
bool ana_summary_sites(struct ana_job *job, struct ana_summary *s, const struct ana_tally *events);
/* summary_iterations.c: fills the iterations of a summary, and has the last ones kept.  False: out of memory. */
bool ana_summary_iterations(struct ana_job *job, struct ana_summary *s);
/* Position of a rank's iterations of a loop. */
struct ana_iteration_mark {
    uint32_t mark;    /* mark of trace/iter, + 1; 0: the rank does not come to their end */
    int64_t begin_ns; /* begin of the first one */
};
/* summary_prices.c: fills the critical path, the prices and their input to the efficiencies; a summary of the whole run
 * has its ranks by then.  False: out of memory. */
bool ana_summary_prices(const struct ana_job *job, struct ana_summary *s, struct ana_pass *pass);
/* summary_segments.c: frees them. */
void ana_summary_segments_free(struct ana_summary *s);
/* summary_accesses.c: fills the files.  False: out of memory. */
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
/* Whether the filter of a selection takes the call that a rank is inside. */
bool ana_takes_open(const struct ana_job *job, const struct ana_selection *selection, size_t index);
/* Adds the time in the call that the rank is still inside, as far as it is selected, to its categories, and fills
 * wall_ns, mpi_ns and category_ns[TRC_CAT_COMPUTE] from category_ns. */
void ana_summary_rank_time(const struct ana_job *job, const struct ana_summary *s, struct ana_rank_stat *stat);

#endif
