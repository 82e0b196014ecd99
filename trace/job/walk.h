/* One walk over all events of a job in job time, with their messages and collectives: for handing them on
 * (trace/export).  It keeps no more than the merge and the match do, however long the trace is. */
#pragma once

#include "trace/job/job.h"
#include "trace/relations/match.h"

/* Callbacks of a walk; the structs are valid during the call.  An event's thread is in its own `thread`; the steps of a
 * message (send_step, recv_wait_step ...) and of an arrival are the threads of these calls, + 1; 0: unknown. */
struct ana_walk {
    void *user; /* each function below may be NULL */
    /* Events, polls, parts of calls (SUB), losses and regions of the selected ranks, as far as they overlap the
     * selected time.  One thread's come in order of their end; all threads' nearly so.  Nested calls and streams of
     * GPUs, too. */
    void (*event)(void *user, const struct ana_event *event);
    /* Messages and collectives with a selected rank, as far as they overlap the selected time; once both ends, or all
     * members, were seen. */
    void (*message)(void *user, const struct ana_message *message);
    void (*instance)(void *user, const struct ana_instance *instance);
    /* Now and then, with the share that is done.  False ends the walk. */
    bool (*progress)(void *user, double share);
};

/* Fits the clocks of several hosts, once for all, by the events that there are now. */
void ana_clocks_settle(struct ana_job *job);
/* Walks over all events that there are now.  The clocks of several hosts are fitted first.  Of a selection only time
 * and ranks count.  False: out of memory, or ended by `progress`. */
bool ana_job_walk(struct ana_job *job, const struct ana_selection *selection, const struct ana_walk *walk);
