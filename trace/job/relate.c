/* Relations of events, maybe by another thread; beside messages, collectives and sums with GPUs, other worlds and
 * files. */
#include "trace/job/pass_impl.h"
#include "trace/why/emit.h"

_Static_assert(ANA_PART_HELD >= ANA_QUEUE_MOST + 2 * ANA_SLICE, "signatures of all queued events are there");

static void relate_items(void *user, const void *items, size_t n)
{
    struct ana_job *job = user;
    const struct ana_pipeline_item *item = items;
    for (const struct ana_pipeline_item *stop = item + n; item < stop; item++)
        if (item->kind == ANA_PIPELINE_FACT)
            ana_why_pass_on(&job->analysis.pass.why, &item->fact);
        else if (item->kind == ANA_PIPELINE_SLICE)
            ana_count_late(job);
        else
            ana_relate_event(job, item->kind, &item->event);
}

bool ana_pipeline_open(struct ana_job *job)
{
    struct ana_why *why = &job->analysis.pass.why;
    if (why->pipeline || !job->analysis.thread_pool || !ana_merge_in_parts(job->analysis.pass.merge))
        return true;
    if (!ana_queue_open(&job->pipeline, job->analysis.thread_pool, sizeof(struct ana_pipeline_item), relate_items, job))
        return false;
    why->pipeline = &job->pipeline;
    return true;
}

void ana_pipeline_close(struct ana_job *job)
{
    ana_queue_close(&job->pipeline);
    job->analysis.pass.why.pipeline = NULL;
}

/* Emits a message to another world: the counters know partners of this world only. */
static void emit_sent(struct ana_job *job, const struct ana_event *e)
{
    size_t destination = ana_partner(job, e->index, e->use->comm, e->sig->peer);
    uint32_t pair = ana_tally_pair_place(&job->analysis.pass.tally, e->index, destination);
    struct ana_run_fact *fact = ana_why_emit_found(&job->analysis.pass.why, ANA_RUN_SENT, e->index);
    fact->sent.pair = pair;
    fact->sent.bytes = ana_event_sent(e->sig);
}

void ana_relate_rare(struct ana_job *job, bool counts, const struct ana_event *e)
{
    if (ana_is_device(e))
        job->upper.device_event(job, job->analysis.gpu, e);
    else if (e->use && trc_opclass_category(e->use->call->opclass) == TRC_CAT_NCCL)
        job->upper.nccl_call(job, job->analysis.gpu, e);
    if (!counts)
        return;
    if (e->use->is_remote)
        emit_sent(job, e);
    if (e->use->category == TRC_CAT_IO)
        ana_accesses_event(&job->members, &job->analysis.pass.accesses, e, INT64_MIN, INT64_MAX);
}
