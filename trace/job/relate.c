/* Relations of an event beside messages, collectives and sums: with GPUs, other worlds and files. */
#include "trace/job/pass.h"

/* Tells a message to another world: the counters know partners of this world only. */
static void tell_sent(struct ana_job *job, const struct ana_event *e)
{
    size_t destination = ana_partner(job, e->index, e->use->comm, e->sig->peer);
    uint32_t pair = ana_pair_place(job, e->index, destination);
    struct ana_told *told = ana_why_tell_found(&job->pass.why, ANA_TOLD_SENT, e->index);
    told->sent.pair = pair;
    told->sent.bytes = ana_event_sent(e->sig);
}

void ana_relate_apart(struct ana_job *job, bool counts, const struct ana_event *e)
{
    if (ana_is_device(e))
        job->upper->device_event(job, job->gpu, e);
    else if (e->use && trc_opclass_category(e->use->call->opclass) == TRC_CAT_NCCL)
        job->upper->nccl_call(job, job->gpu, e);
    if (!counts)
        return;
    if (e->use->is_remote)
        tell_sent(job, e);
    if (e->use->category == TRC_CAT_IO)
        ana_accesses_event(job, &job->pass.accesses, e, INT64_MIN, INT64_MAX);
}
