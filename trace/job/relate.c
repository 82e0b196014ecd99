/* What an event tells beside messages, collectives and sums: of GPUs, other worlds and files. */
#include "trace/job/pass.h"

void ana_relate_apart(struct ana_job *job, bool counts, const struct ana_event *e)
{
    if (ana_is_device(e))
        job->upper->device_event(job, job->gpu, e);
    else if (e->use && trc_opclass_category(e->use->call->opclass) == TRC_CAT_NCCL)
        job->upper->nccl_call(job, job->gpu, e);
    if (!counts)
        return;
    if (e->use->is_remote) /* the counters know partners of this world only */
        ana_tally_pair(&job->pass.tally, e->index, ana_partner(job, e->index, e->use->comm, e->sig->peer),
                       ana_event_sent(e->sig));
    if (e->use->category == TRC_CAT_IO)
        ana_accesses_event(job, &job->pass.accesses, e, INT64_MIN, INT64_MAX);
}
