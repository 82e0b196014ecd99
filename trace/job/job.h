/* A job: every trace file of one or more folders, seen together and in one time.
 *
 * Job time is nanoseconds (int64_t) since the first rank's file was made, on the clock of that rank's host; clock.h
 * says how the other hosts' clocks are converted to it and how large the error may be.
 *
 * Three depths, cheapest first:
 *   ana_job_refresh   heads, live pages and counters: O(threads), for every redraw of a running job
 *   ana_job_advance   decodes, merges and matches new events for as long as it is given time for
 *   ana_summarize     (trace/summary) everything the screens and the report show, for a selection of time and ranks
 *
 * Pure: no terminal, no output, no global state.  Nothing here may be called in the traced process. */
#pragma once

#include "trace/members/rank.h"

struct ana_job;

/* Called while a job is opened, before each file: how many of the files have been.  Returns false: the others are left
 * out. */
typedef bool ana_opening(void *user, size_t opened, size_t files);

struct ana_members;
/* Files and processes of a job (trace/members/members.h). */
struct ana_members *ana_job_members(const struct ana_job *job) __attribute__((const));

/* Closes a job of ana_job_open (session.h), and frees it with all that it has handed out; NULL is none. */
void ana_job_close(struct ana_job *job);
/* Warning i, one line: files that could not be read, damage in files, other jobs; NULL past the last.  Valid until the
 * next refresh, or ana_job_advance. */
const char *ana_job_warning(const struct ana_job *job, size_t i);

/* Finds source lines, which need the program's debug information; this room does not read it.  Takes a site's module
 * text ("app+0x1234") in a file and returns "app.c:17", or NULL.  The text must outlive the job. */
typedef const char *ana_line_finder(void *context, const struct trc_file *file, const char *module);
/* Sets the function that finds source lines, and its context argument; NULL: lines are unknown. */
void ana_job_set_line_finder(struct ana_job *job, ana_line_finder *finder, void *context);
/* Finds the inlined function that a site is in, or NULL; any if not `named` in the trace. */
typedef const char *ana_name_finder(void *context, const struct trc_file *file, const char *module, bool named);
/* Sets the function that finds names; it gets the context of the finder of lines. */
void ana_job_set_name_finder(struct ana_job *job, ana_name_finder *finder);
/* Reports that new lines are known: the next verdict has them. */
void ana_job_lines_changed(struct ana_job *job);

/* Reads all files again, and looks for new ones in the folders.  Returns true if anything changed.  Once all ranks have
 * ended and nothing changed any more, each look reads some hundred files in turn, and all after a change in one.
 * Files that come late, or learn their rank late, are sorted in: then the indices of ranks may change (info.generation
 * rises) and the analysis of events begins anew. */
bool ana_job_refresh(struct ana_job *job);

/* Somebody watches the job as it runs, look after look, from now on (or no longer).  At first nobody does. */
void ana_job_watch(struct ana_job *job, bool on);
/* Somebody looks at this rank: at the next refresh its file is read, whatever digests say.  An index that the job does
 * not have is nobody's. */
void ana_job_request_rank(struct ana_job *job, size_t index);

/* Analyses events for about `budget_ns` (0: until nothing is left).  Returns the share that is done, 0..1; 1 = all
 * there is now. */
double ana_job_advance(struct ana_job *job, int64_t budget_ns);

/* Sets the number of threads that analyse events, from ana_job_advance: 1, or more: others follow causes and
 * iterations.  The result does not depend on it.  Earlier analysis is forgotten.  False: out of memory. */
bool ana_job_set_workers(struct ana_job *job, unsigned workers);

/* "running" "finished" "aborted" "hung" */
const char *ana_state_name(enum ana_state state);

struct ana_job_info {
    const char *name;  /* name of the folder, without "hpctop-" */
    const char *id;    /* id of this run, by its launcher; "" unknown */
    const char *batch; /* id of the job in the batch system; "" if there is none */
    enum ana_state state;
    size_t ranks;      /* processes with a trace file; also the range of every rank index below */
    size_t world_size; /* number that MPI reports; larger than ranks when files are missing */
    size_t hosts;
    const char *const *host; /* `hosts` names, in order of their first rank */
    const char *command;
    const char *mpi;    /* "Open MPI 4.1.4" */
    int64_t elapsed_ns; /* first file made to last end, or to now while it runs */
    int64_t start_realtime_ns;
    int64_t run_begin_ns;      /* job time at which the first rank had returned from MPI_Init; 0: not known of all */
    uint64_t lost_records;     /* not kept at all */
    uint64_t recycled_records; /* overwritten because of HPCTOP_LIMIT: in the counters, no longer in the events */
    uint64_t unknown_requests; /* requests with unknown start or end: some seem to be under way for ever */
    double clock_error_s;      /* largest residual uncertainty between any two ranks; NAN unknown */
    double overhead_s;         /* the recorder's own time, of the rank that it cost most; NAN unknown */
    double overhead_share;     /* largest share of a rank's own time; NAN unknown */
    int64_t quiet_ns;          /* since any rank last completed a call other than a poll; -1 when not running */
    size_t other_jobs;         /* files of other jobs, given too but left out: then warning 0 names the folders */
    unsigned generation;       /* rises when the indices of ranks change */
};
/* The job as the last refresh saw it.  Strings live until the next refresh. */
struct ana_job_info ana_job_info(const struct ana_job *job);

/* Ranks in the same kind of container: runtime and image are equal.  Both are "" for those in none. */
struct ana_job_container {
    const char *runtime, *image; /* live as long as the job */
    size_t ranks;
};
/* Writes at most `room` kinds of container, in the order of their first ranks.  Returns how many; 0: none. */
size_t ana_job_containers(const struct ana_job *job, struct ana_job_container *out, size_t room);

/* A clock of the job and where it stands against the first: hosts have one each, the ranks on them share it (but for
 * containers with time namespaces).  Values of clock 0 are 0. */
struct ana_job_clock {
    const char *host;  /* host of its first rank; lives as long as the job */
    size_t ranks;      /* ranks that use it */
    double offset_s;   /* CLOCK_MONOTONIC less clock 0's when its first file was made */
    double realtime_s; /* CLOCK_REALTIME less clock 0's: distance of the wall clocks */
    double drift_ppm;  /* excess of its speed over clock 0's */
    double error_s;    /* uncertainty of the two offsets */
    bool fitted;       /* fitted by messages or collectives both ways; else by the wall clocks */
};
/* Returns the number of the job's clocks. */
size_t ana_job_clocks(const struct ana_job *job);
/* Clock i < ana_job_clocks(job). */
struct ana_job_clock ana_job_clock(const struct ana_job *job, size_t i);

/* "run" "wait" "done" "abort" "dead" "off" "?" */
const char *ana_rank_state_name(enum ana_rank_state state);

/* The process with this rank index as the last refresh saw it; valid until the next.  NULL: there is no such index. */
const struct ana_rank *ana_job_rank(const struct ana_job *job, size_t index);
/* Returns the label of a rank (ana_label_of); "?" for an unknown index. */
struct ana_label ana_rank_label(const struct ana_job *job, size_t index);
/* Writes a set of ranks as in a sentence: "rank 3", "ranks 0-4 and 7", "ranks 0, 2 and 12 more"; "" for none. */
void ana_rank_list(const struct ana_job *job, const size_t *index, size_t n, char *out, size_t size);

/* Writes the call that a rank is inside, and its partner: "MPI_Recv from rank 0, tag 7, on rows"; "" for none. */
void ana_inside(const struct ana_job *job, size_t index, char *out, size_t size);
/* Writes the device operation under way longest on a rank: "ncclAllReduce on nccl 5a3c99f0, running"; "" for none. */
void ana_gpu_inside(const struct ana_job *job, size_t index, char *out, size_t size);
/* The state of an operation that is under way: "called" "enqueued" "running". */
const char *ana_gpu_standing(const struct trc_gpu_op *op);

/* The part of a job that is looked at. */
struct ana_selection {
    int64_t begin_ns, end_ns; /* end_ns = INT64_MAX and begin_ns = 0: all time */
    const uint8_t *ranks;     /* one byte a rank index, nonzero = selected; NULL: all */
    /* A filter (0: everything): calls on a communicator by its identity, of one name by ana_hash_text, at one place by
     * ana_site.identity.  What a rank does besides is not known of it then. */
    uint64_t comm, call, site;
};
