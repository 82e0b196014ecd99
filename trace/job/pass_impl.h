/* Shared by the passes over all and over a part of the events; for advance.c, pass.c and range.c. */
#pragma once

#include "trace/job/job_impl.h"

#define ANA_SLICE 512 /* events between two readings of the clock, at most */

/* Opens a pass over all files of the job.  False: out of memory; close it then, too. */
bool ana_pass_open(struct ana_job *job, struct ana_pass *pass);
/* Makes a pass that has processed no event yet be read by the readers of job->parts.  False: out of memory, it is as
 * before. */
bool ana_pass_in_parts(struct ana_job *job, struct ana_pass *pass);
/* Closes a pass and frees its sums. */
void ana_pass_close(struct ana_pass *pass);
/* Sets in a pass which files may still grow. */
void ana_pass_live(const struct ana_job *job, struct ana_pass *pass);
/* Looks up what events of one signature share.  Nested calls do not count (the outer call has their time), nor do
 * losses and what ran on a GPU. */
void ana_pass_look_up(struct ana_job *job, struct ana_pass *pass, const struct ana_event *event);
/* Notes the regions around an event that counts: of its segment, and of its site's sum. */
void ana_pass_region(struct ana_job *job, struct ana_pass *pass, const struct ana_event *event);

/* advance.c: passes to a match the known facts about all ranks. */
void ana_match_ranks(const struct ana_job *job, struct ana_match *match);

/* follow.c: processes events of the main pass, in their order: does the work that depends on earlier events of their
 * threads; then hands them on.  All that ended before `reached_ns` have been processed before. */
void ana_follow_events(struct ana_job *job, struct ana_event *const *events, size_t n, int64_t reached_ns);

/* relate.c: makes another thread relate the events, if there are enough and if what events point to lives long enough:
 * where they are read in parts.  False: out of memory. */
bool ana_pipeline_open(struct ana_job *job);
/* relate.c: ends that; queued events may be lost. */
void ana_pipeline_close(struct ana_job *job);
/* relate.c: adds the facts of an event beside its messages, collectives and sums; `counts`: it is of the program's own
 * time. */
void ana_relate_rare(struct ana_job *job, bool counts, const struct ana_event *event);

/* range.c: does a slice of the pass over a part of the events. */
void ana_time_range_advance(struct ana_job *job);
/* range.c: the share of it that is done; 1 without such a pass. */
double ana_time_range_share(const struct ana_job *job);

/* Whether an event ran on a GPU. */
static inline bool ana_is_device(const struct ana_event *e)
{
    return e->use && trc_opclass_is_device(e->use->call->opclass);
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

/* Finds the relations of an event to others; after its segment. */
static inline void ana_relate_event(struct ana_job *job, enum ana_pipeline_kind kind, const struct ana_event *e)
{
    bool counts = kind == ANA_PIPELINE_EVENT;
    if (__builtin_expect(!counts || !e->use->is_plain, 0))
        ana_relate_rare(job, counts, e);
    if (counts || !ana_is_device(e))
        ana_match_event(job->analysis.match, e);
}
