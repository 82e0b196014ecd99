/* Relations of events, maybe by a thread beside; beside messages, collectives and sums with GPUs, other worlds and
 * files. */
#include "trace/job/pass_impl.h"
#include "trace/why/tell.h"

_Static_assert(ANA_PART_HELD >= ANA_QUEUE_MOST + 2 * ANA_SLICE, "signatures of all queued events are there");

static void relate_onward(void *user, const void *items, size_t n)
{
    struct ana_job *job = user;
    const struct ana_onward *item = items;
    for (const struct ana_onward *stop = item + n; item < stop; item++)
        if (item->kind == ANA_ONWARD_TOLD)
            ana_why_pass_on(&job->analysis.pass.why, &item->told);
        else
            ana_relate_event(job, item->kind, &item->event);
}

bool ana_onward_open(struct ana_job *job)
{
    struct ana_why *why = &job->analysis.pass.why;
    if (why->onward || !job->analysis.beside || !ana_merge_in_parts(job->analysis.pass.merge))
        return true;
    if (!ana_queue_open(&job->onward, job->analysis.beside, sizeof(struct ana_onward), relate_onward, job))
        return false;
    why->onward = &job->onward;
    return true;
}

void ana_onward_close(struct ana_job *job)
{
    ana_queue_close(&job->onward);
    job->analysis.pass.why.onward = NULL;
}

/* Tells a message to another world: the counters know partners of this world only. */
static void tell_sent(struct ana_job *job, const struct ana_event *e)
{
    size_t destination = ana_partner(job, e->index, e->use->comm, e->sig->peer);
    uint32_t pair = ana_pair_place(job, e->index, destination);
    struct ana_told *told = ana_why_tell_found(&job->analysis.pass.why, ANA_TOLD_SENT, e->index);
    told->sent.pair = pair;
    told->sent.bytes = ana_event_sent(e->sig);
}

void ana_relate_apart(struct ana_job *job, bool counts, const struct ana_event *e)
{
    if (ana_is_device(e))
        job->upper.device_event(job, job->analysis.gpu, e);
    else if (e->use && trc_opclass_category(e->use->call->opclass) == TRC_CAT_NCCL)
        job->upper.nccl_call(job, job->analysis.gpu, e);
    if (!counts)
        return;
    if (e->use->is_remote)
        tell_sent(job, e);
    if (e->use->category == TRC_CAT_IO)
        ana_accesses_event(&job->members, &job->analysis.pass.accesses, e, INT64_MIN, INT64_MAX);
}
