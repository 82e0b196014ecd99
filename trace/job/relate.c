/* What an event tells of others: messages, collectives and waits; and what is added up of it.  At once, or by a queue,
 * so that a thread beside does it: the first thread is what limits all (docs/scale.md). */
#include "trace/job/pass.h"
#include "trace/why/tell.h"

_Static_assert(ANA_PART_HELD >= ANA_QUEUE_MOST + 2 * ANA_SLICE,
               "signatures of all events that are not done with are there");

void ana_relate_other(struct ana_job *job, const struct ana_event *e)
{
    if (ana_is_device(e)) {
        job->upper->device_event(job, job->gpu, e);
        return;
    }
    if (e->call && trc_opclass_category(e->call->opclass) == TRC_CAT_NCCL)
        job->upper->nccl_call(job, job->gpu, e);
    ana_match_event(job->match, e);
}

static void take_items(void *user, const void *items, size_t n)
{
    struct ana_job *job = user;
    const struct ana_onward *item = items;
    for (const struct ana_onward *stop = item + n; item < stop; item++) {
        if (item->kind == ANA_ONWARD_TOLD)
            ana_why_pass_on(&job->pass.why, item);
        else
            ana_relate_event(job, item->kind, &item->event);
    }
}

bool ana_relate_beside(struct ana_job *job)
{
    if (job->pass.why.onward || !job->beside || !ana_merge_in_parts(job->pass.merge))
        return true;
    if (!ana_queue_open(&job->onward, job->beside, sizeof(struct ana_onward), take_items, job))
        return false;
    job->pass.why.onward = &job->onward;
    return true;
}

void ana_relate_sync(struct ana_job *job)
{
    if (job->pass.why.onward)
        ana_queue_drain(job->pass.why.onward);
}

void ana_relate_stop(struct ana_job *job)
{
    ana_queue_close(&job->onward);
    job->pass.why.onward = NULL;
}
