/* The way through the events: merge, match, and sums.  It goes in slices, since a screen must not wait. */
#include "trace/relations/bridge.h"
#include "trace/job/open_call.h"
#include "trace/job/pass_impl.h"
#include "trace/job/walk.h"
#include "trace/util/now.h"
#include "trace/util/pages.h"
#include "trace/why/emit.h"
#include <malloc.h>
#include <stdlib.h>

#define REFIT_NS  10000000000
#define OVER_FEW  4096u /* events between two checks whether the window is over: at least this number, */
#define OVER_PART 8u    /* divisor of the number of events so far, which is added */
#define BESIDE                                                                                                         \
    7u /* threads that have something to do: relations, causes, iterations, sums, and parts of the delay paths */

/* ---- passes ----------------------------------------------------------------------------------------------------- */

static void feed_message(void *user, const struct ana_message *message)
{
    ana_clock_add_message(user, message);
}
static void feed_instance(void *user, const struct ana_instance *instance)
{
    ana_clock_add_instance(user, instance);
}

/* Finds the communicators between worlds again: more may be defined now. */
static void look_for_bridges(struct ana_job *job)
{
    ana_match_set_bridges(job->analysis.match, NULL);
    ana_match_set_bridges(job->bounds_match, NULL);
    ana_bridges_free(job->members.bridges);
    job->members.bridges = NULL;
    bool several =
        job->members.count && job->members.process[job->members.count - 1].rank.world; /* they are sorted by world */
    struct ana_bridge_rank *rank = several ? calloc(job->members.count, sizeof *rank) : NULL;
    for (size_t i = 0; rank && i < job->members.count; i++)
        rank[i] = (struct ana_bridge_rank){job->members.process[i].rank.file, job->members.process[i].rank.world};
    if (rank)
        job->members.bridges = ana_bridges_make(rank, job->members.count, job->members.clock);
    free(rank);
}

void ana_match_ranks(const struct ana_job *job, struct ana_match *match)
{
    ana_match_set_bridges(match, job->members.bridges);
    for (size_t i = 0; match && i < job->members.count; i++) {
        const struct ana_process *p = &job->members.process[i];
        const struct trc_head *head = trc_head(p->rank.file);
        struct ana_match_rank rank = {
            .world = p->rank.world,
            .rank = p->rank.rank,
            .recycled = p->recycled,
            .lossy = head->lost_records || head->off_times || head->off_since,
            .finalized = head->state == TRC_STATE_FINALIZED,
            .file = p->rank.file,
            .clock = (uint32_t)ana_clock_domain_of(job->members.clock, i),
        };
        ana_match_set_rank(match, i, &rank);
    }
}

bool ana_analysis_start(struct ana_job *job)
{
    job->analysis.flushed = job->analysis.index_asked = job->analysis.indexed = job->analysis.unread = job->lack_told =
        false;
    job->analysis.check_at = 0;
    job->clocks = ana_clock_domains(job->members.clock);
    job->unsettled = 0;
    job->reached_ns = INT64_MIN;
    job->analysis.lane = calloc(job->members.count, sizeof *job->analysis.lane);
    job->clip = ana_wait_clip_new();
    job->analysis.thread_pool = ana_thread_pool_new(job->workers - 1 < BESIDE ? job->workers - 1 : BESIDE);
    job->analysis.match = ana_match_new(ana_job_sink(job));
    job->analysis.gpu = job->upper.devices_new(job->members.count);
    if (!job->analysis.lane || !job->analysis.gpu || !job->clip || !job->analysis.match ||
        !ana_store_init(&job->analysis.store, job->members.count) ||
        !ana_iter_init(&job->analysis.iter, job->members.count) || !ana_pass_open(job, &job->analysis.pass) ||
        !ana_pipeline_open(job))
        return false;
    ana_queue_add_consumer(&job->analysis.pass.why.causes->queue, ana_iter_consume, &job->analysis.iter);
    ana_sums_open(&job->sums, &job->analysis.pass.tally, job->analysis.lane, job->analysis.pass.why.causes);
    for (size_t i = 0; i < job->members.count; i++)
        job->members.process[i].recycled = trc_head(job->members.process[i].rank.file)->recycled_chunks > 0;
    look_for_bridges(job);
    ana_match_ranks(job, job->analysis.match);
    ana_pages_of_heap();
    if (job->clocks < 2)
        return true;
    struct ana_match_sink feed = {
        .user = job->members.clock, .between_clocks = true, .on_message = feed_message, .on_instance = feed_instance};
    job->bounds_match = ana_match_new(feed);
    ana_match_ranks(job, job->bounds_match);
    return job->bounds_match && ana_pass_open(job, &job->bounds_pass);
}

void ana_bounds_pass_stop(struct ana_job *job)
{
    ana_pass_close(&job->bounds_pass);
    ana_match_free(job->bounds_match);
    job->bounds_match = NULL;
}

void ana_analysis_stop(struct ana_job *job)
{
    ana_bounds_pass_stop(job);
    ana_time_range_release(job);
    ana_pipeline_close(job); /* first: its consumer fills the queues below */
    ana_pass_close(&job->analysis.pass);
    ana_match_free(job->analysis.match);
    job->upper.devices_free(job->analysis.gpu);
    job->analysis.gpu = NULL;
    ana_bridges_free(job->members.bridges);
    job->members.bridges = NULL;
    ana_wait_clip_free(job->clip);
    ana_late_waits_free(&job->late);
    ana_store_free(&job->analysis.store);
    ana_iter_free(&job->analysis.iter);
    ana_thread_pool_free(job->analysis.thread_pool);
    job->analysis.thread_pool = NULL;
    for (size_t i = 0; job->analysis.lane && i < job->members.count; i++)
        ana_lane_free(&job->analysis.lane[i]);
    free(job->analysis.lane);
    free(job->span);
    job->analysis.match = NULL;
    job->clip = NULL;
    job->analysis.lane = NULL;
    job->span = NULL;
    job->spans = 0;
}

/* Updates job->clock_is_growing: all bounds of an ended job were found before the clocks were fitted. */
static void update_clock_growth(struct ana_job *job)
{
    job->clock_is_growing = job->clocks > 1 && (job->bounds_pass.merge || ana_members_alive(&job->members));
}

static void pass_refresh(struct ana_job *job, struct ana_pass *pass)
{
    if (!pass->merge)
        return;
    ana_pass_live(job, pass);
    ana_merge_refresh(pass->merge);
    ana_why_usage_refresh(&pass->why);
    pass->done = false;
}

void ana_analysis_refresh(struct ana_job *job)
{
    job->analysis.records = 0;
    for (size_t i = 0; i < job->members.count; i++)
        for (size_t c = 0; c < trc_event_chunks(job->members.process[i].rank.file); c++)
            job->analysis.records += trc_event_chunk(job->members.process[i].rank.file, c).records;
    if (job->analysis.flushed)
        return;
    look_for_bridges(job);
    update_clock_growth(job);
    if (job->analysis.pass.merge &&
        ana_merge_count(job->analysis.pass.merge) == 0) /* now it is known how far the ranks reach */
        ana_lanes_start(job, job->analysis.lane, true);
    ana_match_ranks(job, job->analysis.match);
    ana_match_ranks(job, job->bounds_match);
    pass_refresh(job, &job->bounds_pass);
    pass_refresh(job, &job->analysis.pass);
    pass_refresh(job, &job->range.pass);
}

/* Does a slice of the bounds pass.  At its end the clock is fitted, and the main pass begins. */
static void advance_bounds(struct ana_job *job)
{
    struct ana_event *e[ANA_SLICE];
    size_t n = ana_merge_next_few(job->bounds_pass.merge, e, ANA_SLICE);
    for (size_t i = 0; i < n; i++)
        ana_match_event(job->bounds_match, e[i]);
    if (n)
        return;
    job->analysis.unread = ana_merge_failed(job->bounds_pass.merge);
    ana_match_flush(job->bounds_match);
    ana_bounds_pass_stop(job);
    ana_clock_fit(job->members.clock, INT64_MIN);
    ana_job_refresh_state(job);
    update_clock_growth(job);
    ana_lanes_start(job, job->analysis.lane, true);
    ana_merge_refresh(job->analysis.pass.merge);
}

void ana_clocks_settle(struct ana_job *job)
{
    while (job->bounds_pass.merge)
        advance_bounds(job);
}

/* Whether a rank has ended well, and none of its events that the pass has not read can concern the window: its threads
 * have made a call after it, or none.  A stream's events may be written long after they ended. */
static bool is_past_window(const struct ana_job *job, size_t index)
{
    struct trc_file *file = job->members.process[index].rank.file;
    const struct ana_why_rank *rank = &job->analysis.pass.why.rank[index];
    const int64_t end_ns = job->analysis.window.end_ns;
    if (trc_head(file)->state != TRC_STATE_FINALIZED || trc_gpu_ops(file) > 0)
        return false;
    for (size_t t = 0; t < trc_threads(file); t++) {
        const struct ana_why_thread *thread = t < rank->threads ? &rank->thread[t] : NULL;
        const bool lasts = ana_clock_job_time(job->members.clock, index, trc_thread(file, t)->last_end) >= end_ns;
        if (trc_is_stream(file, t) || (lasts && (!thread || !thread->place || thread->end_ns < end_ns)))
            return false;
    }
    return true;
}

/* Whether no event that the pass has not read can concern the window.  Checked now and then, since it looks at all
 * ranks and channels. */
static bool is_window_over(struct ana_job *job)
{
    struct ana_analysis *analysis = &job->analysis;
    const int64_t end_ns = analysis->window.end_ns;
    const uint64_t count = ana_merge_count(analysis->pass.merge);
    if (end_ns == INT64_MAX || ana_merge_position(analysis->pass.merge) <= end_ns || count < analysis->check_at ||
        ana_members_alive(&job->members))
        return false;
    analysis->check_at = count + count / OVER_PART + OVER_FEW;
    ana_why_sync(&analysis->pass.why);
    for (size_t i = 0; i < job->members.count; i++)
        if (!is_past_window(job, i))
            return false;
    return !ana_match_waits(analysis->match, end_ns);
}

static void advance_main(struct ana_job *job)
{
    struct ana_event *e[ANA_SLICE];
    const bool over = is_window_over(job);
    size_t n = over ? 0 : ana_merge_next_few(job->analysis.pass.merge, e, ANA_SLICE);
    if (n) {
        ana_follow_events(job, e, n, ana_merge_position(job->analysis.pass.merge));
        return;
    }
    bool ends = !ana_members_alive(&job->members) && !job->analysis.flushed;
    ana_why_sync(&job->analysis.pass.why);
    ana_count_late(job);
    ana_why_sync(&job->analysis.pass.why);
    if (ends) { /* first, since the replays that are left take memory */
        ana_merge_rest(job->analysis.pass.merge);
        malloc_trim(0);
    }
    if (!ends) { /* else all is replayed at once, after the last choice of what to take out */
        ana_why_settle(&job->analysis.pass.why, ana_merge_position(job->analysis.pass.merge), true);
        ana_usage_until(&job->analysis.pass.why, job->members.horizon_ns);
    }
    job->analysis.pass.done = true;
    if (ends) {
        ana_why_sync(&job->analysis.pass.why);
        (over ? ana_match_stop : ana_match_flush)(job->analysis.match);
        ana_count_late(job);
        ana_why_settle(&job->analysis.pass.why, INT64_MAX, true);
        ana_close_accounts(job);
        job->analysis.flushed = true;
    } else if (job->clocks > 1 && ana_now_ns() >= job->next_fit_ns) {
        ana_clock_fit(job->members.clock, ana_merge_position(job->analysis.pass.merge));
        ana_merge_refresh(job->analysis.pass.merge);
        job->next_fit_ns = ana_now_ns() + REFIT_NS;
    }
}

bool ana_analysis_again(struct ana_job *job)
{
    ana_analysis_stop(job);
    bool ok = ana_analysis_start(job);
    ana_analysis_refresh(job);
    return ok;
}

bool ana_job_set_workers(struct ana_job *job, unsigned workers)
{
    if (workers == job->workers)
        return true;
    job->workers = workers;
    return !job->analysis.pass.merge || ana_analysis_again(job);
}

double ana_analysis_share(const struct ana_job *job)
{
    if (job->analysis.pass.done)
        return 1;
    const struct ana_merge *merge = job->bounds_pass.merge ? job->bounds_pass.merge : job->analysis.pass.merge;
    if (!merge || job->analysis.records == 0)
        return 0;
    double share = (double)ana_merge_count(merge) / (double)job->analysis.records;
    if (job->clocks > 1)
        share = share / 2 + (job->bounds_pass.merge ? 0 : 0.5);
    return share < 0.999 ? share : 0.999; /* 1 only when it is so */
}

bool ana_analysis_ahead(const struct ana_job *job)
{
    return job->analysis.records > 0 && !job->analysis.pass.done &&
           (!job->analysis.pass.merge || ana_merge_count(job->analysis.pass.merge) == 0);
}

double ana_job_advance(struct ana_job *job, int64_t budget_ns)
{
    int64_t stop = budget_ns > 0 ? ana_now_ns() + budget_ns : INT64_MAX;
    if (!job->analysis.pass.merge)
        return 1;
    if (!job->analysis.index_asked && job->upper.index_find)
        job->upper.index_find(job);
    job->analysis.index_asked = true;
    do {
        ana_pages_of_heap();
        if (job->bounds_pass.merge)
            advance_bounds(job);
        else if (!job->analysis.pass.done)
            advance_main(job);
        else if (job->range.open && !job->range.pass.done)
            ana_time_range_advance(job);
        else
            break;
    } while (stop == INT64_MAX || ana_now_ns() < stop || ana_merge_in_slice(job->analysis.pass.merge));
    ana_why_sync(&job->analysis.pass.why);
    ana_count_late(job);
    ana_why_sync(&job->analysis.pass.why);
    job->analysis.pass.tally.out_of_memory |= job->sums.out_of_memory;
    if (job->analysis.pass.tally.out_of_memory && !job->lack_told) {
        job->lack_told = true;
        ana_collect_warnings(job);
    }
    double whole = ana_analysis_share(job), range = ana_time_range_share(job);
    return whole < range ? whole : range;
}
