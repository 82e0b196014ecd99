/* The pass over a part of the events: a time range, a filter. */
#include "trace/job/pass_impl.h"
#include "trace/job/window.h"
#include <stdlib.h>
#include <string.h>

static void process_range_event(struct ana_job *job, struct ana_event *e)
{
    struct ana_time_range *w = &job->range;
    if (!ana_is_counted(job, &w->pass, e)) {
        if (ana_is_device(e))
            job->upper.device_event(job, w->gpu, e);
        if (e->kind >= TRC_RECORD_LOST)
            ana_regions_item(&w->pass.regions, e);
        if (e->kind == TRC_RECORD_LOST)
            ana_why_gap(&w->pass.why, e->index, e->thread);
        return;
    }
    if (w->pass.regions.any)
        ana_pass_region(job, &w->pass, e);
    ana_why_event(&w->pass.why, e, ANA_RUN_STEP);
    if (e->use->is_out)
        return;
    struct ana_run_fact sum[2];
    size_t sums = ana_sums_of(e, sum);
    for (size_t i = 0; w->lane && i < sums; i++)
        w->pass.tally.out_of_memory |=
            !ana_sum_to_lane(&w->lane[e->index], sum[i].kind, &sum[i], sum[i].call.begin_ns, sum[i].call.end_ns);
    if (e->use->category == TRC_CAT_IO)
        ana_accesses_event(&job->members, &w->pass.accesses, e, w->begin_ns, w->end_ns);
    if (e->end_ns >= w->begin_ns && e->end_ns < w->end_ns) {
        for (size_t i = 0; i < sums; i++)
            w->pass.tally.out_of_memory |= !ana_sum_to_site(&w->pass.tally, sum[i].kind, &sum[i], false);
        ana_tally_call(&w->pass.tally, e);
        if (ana_is_send(e)) {
            size_t to = ana_partner(job, e->index, e->use->comm, e->sig->peer);
            ana_tally_sent(&w->pass.tally, ana_tally_pair_place(&w->pass.tally, e->index, to), ana_event_sent(e->sig));
        }
        const struct ana_stored_instance *k = NULL;
        if ((e->sig->flags & TRC_SIG_COLL) && !(e->sig->flags & (TRC_SIG_COMPLETE | TRC_SIG_CONTROL)) && e->use->comm)
            k = ana_store_find(&job->analysis.store, ana_comm_identity(job, e->index, e->use->comm),
                               ana_event_sequence(e));
        if (k && k->arrivals > 1)
            ana_tally_part(&w->pass.tally, e->index, k->last_index == e->index);
    }
    bool begins = e->begin_ns < w->begin_ns && e->end_ns > w->begin_ns;
    bool passes = e->begin_ns < w->end_ns && e->end_ns >= w->end_ns && e->kind != TRC_RECORD_FOLD;
    if (passes && !(e->sig->flags & TRC_SIG_SUB))
        ana_tally_passing(&w->pass.tally, e);
    w->cut += (begins || passes) && !(e->sig->flags & TRC_SIG_SUB);
    if (!(e->sig->flags & TRC_SIG_SUB))
        ana_tally_time(&w->pass.tally, e, w->begin_ns, w->end_ns);
}

void ana_time_range_advance(struct ana_job *job)
{
    struct ana_time_range *w = &job->range;
    struct ana_event *e[ANA_SLICE];
    size_t n = ana_merge_next_few(w->pass.merge, e, ANA_SLICE);
    for (size_t i = 0; i < n; i++)
        process_range_event(job, e[i]);
    w->pass.done = n == 0;
    if (n == 0)
        ana_usage_until(&w->pass.why, ana_earlier(job->members.horizon_ns, w->end_ns));
}

double ana_time_range_share(const struct ana_job *job)
{
    const struct ana_time_range *w = &job->range;
    if (!w->open || w->pass.done)
        return 1;
    int64_t at = ana_merge_position(w->pass.merge);
    int64_t begin = w->begin_ns > job->members.begin_ns ? w->begin_ns : job->members.begin_ns;
    int64_t end = w->end_ns < job->members.end_ns ? w->end_ns : job->members.end_ns;
    double share = at <= begin || end <= begin ? 0 : (double)(at - begin) / (double)(end - begin);
    return share < 0.999 ? share : 0.999;
}

void ana_time_range_release(struct ana_job *job)
{
    struct ana_time_range *range = &job->range;
    ana_pass_close(&range->pass);
    job->upper.devices_free(range->gpu);
    for (size_t i = 0; range->lane && i < job->members.count; i++)
        ana_lane_free(&range->lane[i]);
    free(range->lane);
    free(range->ranks);
    *range = (struct ana_time_range){0};
}

double ana_time_range_select(struct ana_job *job, const struct ana_selection *selection)
{
    struct ana_time_range *w = &job->range;
    const uint8_t *ranks = selection->ranks;
    const struct ana_selection *asked = &w->asked;
    bool same = w->open && asked->begin_ns == selection->begin_ns && asked->end_ns == selection->end_ns &&
                asked->comm == selection->comm && asked->call == selection->call && asked->site == selection->site &&
                !w->ranks == !ranks && (!ranks || memcmp(w->ranks, ranks, job->members.count) == 0);
    if (same)
        return ana_time_range_share(job);
    ana_time_range_release(job);
    if (job->analysis.indexed && selection->begin_ns < job->analysis.kept_since_ns) { /* kept results begin later */
        if (!ana_analysis_again(job))
            return -1;
        job->analysis.index_asked = true;
    }
    w->asked = *selection;
    w->asked.ranks = NULL;
    w->begin_ns = ana_of_all_time(selection) ? INT64_MIN : selection->begin_ns;
    w->end_ns = selection->end_ns;
    if (ana_has_filter(selection) && !(w->lane = calloc(job->members.count + 1, sizeof *w->lane)))
        return -1;
    if (w->lane)
        ana_lanes_start(job, w->lane, false);
    if (ranks && !(w->ranks = malloc(job->members.count)))
        return -1;
    if (ranks)
        memcpy(w->ranks, ranks, job->members.count);
    w->gpu = job->upper.devices_new_range(job->members.count, w->begin_ns, w->end_ns);
    if (!w->gpu || !ana_pass_open(job, &w->pass) || !ana_merge_seek(w->pass.merge, w->begin_ns, w->end_ns, w->ranks))
        return -1;
    w->pass.why.counted = (struct ana_span){w->begin_ns, w->end_ns};
    w->open = true;
    return ana_time_range_share(job);
}
