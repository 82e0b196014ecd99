/* What the pass over all events and that over a part of them share; for advance.c, pass.c and range.c. */
#ifndef ANA_PASS_H
#define ANA_PASS_H

#include "trace/job/job_impl.h"

#define ANA_SLICE 512 /* at most so many events between two readings of the clock */

/* Opens a pass over all files of the job.  False: out of memory; close it then, too. */
bool ana_pass_open(struct ana_job *job, struct ana_pass *pass);
/* Has a pass of which no event was taken read by those that job->parts says.  False: out of memory, it is as before. */
bool ana_pass_in_parts(struct ana_job *job, struct ana_pass *pass);
/* Closes a pass and frees its sums. */
void ana_pass_close(struct ana_pass *pass);
/* Tells a pass which files may still grow. */
void ana_pass_live(const struct ana_job *job, struct ana_pass *pass);
/* Looks up what events of one signature share.  Nested calls do not count (the outer call has their time), nor do
 * losses and what ran on a GPU. */
void ana_pass_look_up(struct ana_job *job, struct ana_pass *pass, const struct ana_event *event);
/* Makes empty lanes for all ranks, for all of their events or maybe for a part of them. */
void ana_lanes_start(const struct ana_job *job, struct ana_lane *lane, bool all);

/* advance.c: tells a match what is known of all ranks. */
void ana_match_ranks(const struct ana_job *job, struct ana_match *match);
/* advance.c: ends that pass, wherever it is. */
void ana_bounds_pass_stop(struct ana_job *job);
/* advance.c: does what is left of the pass that gives the clocks of several hosts their bounds. */
void ana_clocks_settle(struct ana_job *job);
/* advance.c: whether any process may still write. */
bool ana_anyone_alive(const struct ana_job *job);

/* relate.c */
/* Finds what an event tells of others that is not of the program's own time. */
void ana_relate_other(struct ana_job *job, const struct ana_event *event);
/* From now on leaves that to a thread beside, if there is one and if what events point to lives long enough: where they
 * are read in parts.  False: out of memory. */
bool ana_relate_beside(struct ana_job *job);
/* Returns once that is done of all events so far. */
void ana_relate_sync(struct ana_job *job);
/* Ends that; what is under way may be lost. */
void ana_relate_stop(struct ana_job *job);

/* range.c: does a slice of the pass over a part of the events. */
void ana_time_range_advance(struct ana_job *job);
/* range.c: the share of it that is done; 1 without such a pass. */
double ana_time_range_share(const struct ana_job *job);

/* Whether an event ran on a GPU. */
static inline bool ana_is_device(const struct ana_event *e)
{
    return e->call && trc_opclass_is_device(e->call->opclass);
}

/* Whether an event sends a message. */
static inline bool ana_is_send(const struct ana_event *e)
{
    return (e->sig->flags & TRC_SIG_P2P_OUT) && !(e->sig->flags & TRC_SIG_COMPLETE);
}

/* Whether its times are within reason. */
static inline bool ana_is_sane(const struct ana_event *e)
{
    uint64_t begin = (uint64_t)e->begin_ns + ANA_TIME_LIMIT, end = (uint64_t)e->end_ns + ANA_TIME_LIMIT;
    return begin <= end && end <= 2 * (uint64_t)ANA_TIME_LIMIT;
}

/* Whether an event counts: its times are within reason. */
static inline bool ana_is_counted(struct ana_job *job, struct ana_pass *pass, const struct ana_event *e)
{
    if (!ana_is_sane(e) || !e->use)
        return false;
    if (e->use->kind == ANA_USE_NEW)
        ana_pass_look_up(job, pass, e);
    return e->use->kind == ANA_USE_COUNTS;
}

/* Finds what an event tells of others, and adds it up; after its segment was. */
static inline void ana_relate_event(struct ana_job *job, enum ana_onward_kind kind, const struct ana_event *e)
{
    if (__builtin_expect(kind != ANA_ONWARD_EVENT, 0)) {
        ana_relate_other(job, e);
        return;
    }
    if (e->use->is_nccl)
        job->upper->nccl_call(job, job->gpu, e);
    ana_match_event(job->match, e);
    if (e->use->is_remote) /* the counters know partners of this world only */
        ana_tally_pair(&job->pass.tally, e->index, ana_partner(job, e->index, e->comm, e->sig->peer),
                       ana_event_sent(e->sig));
    ana_sums_event(&job->sums, e);
    if (__builtin_expect(e->use->category == TRC_CAT_IO, 0))
        ana_accesses_event(job, &job->pass.accesses, e, INT64_MIN, INT64_MAX);
}

#endif
