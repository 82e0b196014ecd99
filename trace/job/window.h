/* The part of a job that is looked at: a selection of time, ranks, communicator, call and call site, as it is typed and
 * shown.  Nothing here computes; ana_summarize (job.h) does. */
#pragma once

#include "trace/job/job.h"

/* Restricts everything that is followed from event to event (costs, critical path, prices, iterations, waits,
 * messages) to the time from begin_ns to end_ns, in job time: summaries of just this time have them, like a whole
 * run's.  Events before it are read, too, and later ones until nothing of the window waits for them.  Call it before
 * ana_job_advance, or the analysis begins anew.  INT64_MIN and INT64_MAX: no limit.  False: out of memory. */
bool ana_job_set_window(struct ana_job *job, int64_t begin_ns, int64_t end_ns);

/* Whether a selection has a filter. */
static inline bool ana_has_filter(const struct ana_selection *selection)
{
    return selection->comm || selection->call || selection->site;
}

/* Whether a selection is of all time. */
static inline bool ana_of_all_time(const struct ana_selection *selection)
{
    return selection->begin_ns <= 0 && selection->end_ns == INT64_MAX;
}

/* Reads a moment, "3.25" seconds or "1:02:03.5", not negative, in ns.  False: it is none. */
bool ana_moment_of_text(const char *text, int64_t *ns);

/* Reads ranks, "3", "0-3,7" or "w1:3" of a spawned world, into `ranks`: a byte for each rank index, which the caller
 * has zeroed.  False, with a line in `error`: the text is none, or the job has no such rank. */
bool ana_ranks_of_text(const struct ana_job *job, const char *text, uint8_t *ranks, char *error, size_t size);

/* The identity of a communicator by its name: "WORLD", "MPI_COMM_WORLD", "ring", "#2" as a summary has called it, or
 * the path of a file.
 * 0: there is none. */
uint64_t ana_comm_of_text(const struct ana_job *job, const char *text);

/* The hash of a call by its name: "MPI_Send", "send", "ncclAllReduce".  0: no call is named so. */
uint64_t ana_call_of_text(const struct ana_job *job, const char *text);

/* Writes a selection: "3 s to 3.5 s, ranks 0-3"; "" for all. */
void ana_selection_words(const struct ana_job *job, const struct ana_selection *selection, char *out, size_t size);
/* Whether a rank index is selected; NULL selects all. */
static inline bool ana_selected(const uint8_t *ranks, size_t index)
{
    return !ranks || ranks[index];
}
