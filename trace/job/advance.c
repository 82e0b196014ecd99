/* The way through the events: merge, match, and sums.  It goes in slices, since a screen must not wait. */
#include "trace/job/pass.h"
#include "trace/util/now.h"
#include "trace/why/tell.h"
#include <stdlib.h>

#define REFIT_NS 10000000000
#define SETTLE   64u /* events */
#define BESIDE   6u  /* threads that have something to do: causes, iterations, sums; and parts of the first */

/* ---- one event -------------------------------------------------------------------------------------------------- */

/* Takes an event that is not of the program's own time: nested, on a GPU, a loss, or with times beyond reason. */
static void follow_other(struct ana_job *job, const struct ana_event *e)
{
    if (e->kind >= TRC_RECORD_LOST)
        ana_regions_item(&job->pass.regions, e);
    if (e->kind == TRC_RECORD_LOST)
        ana_why_gap(&job->pass.why, e->index, e->thread);
}

/* Follows an event that does not lie in the window as a whole, or is one of many in a window that has a begin. */
static void follow_part(struct ana_job *job, struct ana_event *e)
{
    struct ana_span window = job->window;
    struct ana_why_gap gap = {0};
    if (e->begin_ns < window.begin_ns || e->end_ns > window.end_ns) {
        ana_why_at_edge(&job->pass.why, e, window.begin_ns, window.end_ns);
    } else {
        ana_why_enter(&job->pass.why, e->index, e->thread);
        gap = ana_why_event(&job->pass.why, e);
    }
    if (e->end_ns >= window.begin_ns && e->end_ns <= window.end_ns)
        ana_iter_event(&job->iter, e, gap);
}

/* Whether all that is found is of the whole run. */
static bool is_of_all(const struct ana_job *job)
{
    return job->window.begin_ns == INT64_MIN && job->window.end_ns == INT64_MAX;
}

/* What becomes of events one after the other: segments, steps, iterations. */
static void follow_event(struct ana_job *job, struct ana_event *e)
{
    if (is_of_all(job))
        ana_iter_event(&job->iter, e, ana_why_event(&job->pass.why, e));
    else
        follow_part(job, e);
}

/* Takes an event: what follows from the one before it in its thread at once, the rest at once or by the queue. */
static __attribute__((noinline)) void take_event(struct ana_job *job, struct ana_event *e)
{
    enum ana_onward_kind kind = ana_is_counted(job, &job->pass, e) ? ANA_ONWARD_EVENT : ANA_ONWARD_OTHER;
    if (kind == ANA_ONWARD_EVENT) {
        if (__builtin_expect(job->pass.regions.any, 0))
            ana_why_region(&job->pass.why, e, ana_regions_call(&job->pass.regions, e));
        follow_event(job, e); /* before the waits in it are found */
    } else {
        follow_other(job, e);
    }
    if (job->pass.why.onward)
        ana_onward_room(job->pass.why.onward, kind)->event = *e;
    else
        ana_relate_event(job, kind, e);
}

/* Whether all events but those of rare kinds may be taken as take_plain does. */
static bool is_usual(const struct ana_job *job)
{
    return is_of_all(job) && !job->pass.regions.any;
}

/* Takes an event as most are; likewise, by this queue.  False: it is another. */
static inline __attribute__((always_inline)) bool take_plain(struct ana_job *job, struct ana_event *e,
                                                             struct ana_queue *onward)
{
    const struct ana_use *use = e->use;
    const struct ana_why_rank *rank = &job->pass.why.rank[e->index];
    if (e->kind != TRC_RECORD_EVENT || !use || !use->is_plain || e->thread >= rank->threads || !ana_is_sane(e))
        return false;
    struct ana_why_thread *thread = &rank->thread[e->thread];
    if (!onward)
        ana_sums_plain(&job->sums, e);
    if (use->is_sub)
        e->step = thread->step;
    else
        ana_iter_call(&job->iter, e, ana_why_call_of(&job->pass.why, e, thread, onward));
    if (onward)
        ana_onward_room(onward, ANA_ONWARD_EVENT)->event = *e;
    else
        ana_match_event(job->match, e);
    return true;
}

/* Takes events one after the other. */
static inline __attribute__((always_inline)) void take_each(struct ana_job *job, struct ana_event *const *e, size_t n,
                                                            struct ana_queue *onward)
{
    bool usual = is_usual(job);
    for (struct ana_event *const *stop = e + n; e < stop; e++) {
        const struct ana_event *next = e + 1 < stop ? e[1] : e[0];
        __builtin_prefetch(next->use); /* it lies apart, and all that follows waits for it */
        if (__builtin_expect(!usual || !take_plain(job, *e, onward), 0)) {
            take_event(job, *e);
            usual = is_usual(job);
        }
    }
}

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
    ana_match_set_bridges(job->match, NULL);
    ana_match_set_bridges(job->bounds_match, NULL);
    ana_bridges_free(job->bridges);
    job->bridges = NULL;
    bool several = job->count && job->process[job->count - 1].rank.world; /* they are sorted by world */
    struct ana_bridge_rank *rank = several ? calloc(job->count, sizeof *rank) : NULL;
    for (size_t i = 0; rank && i < job->count; i++)
        rank[i] = (struct ana_bridge_rank){job->process[i].rank.file, job->process[i].rank.world};
    if (rank)
        job->bridges = ana_bridges_make(rank, job->count, job->clock);
    free(rank);
}

void ana_match_ranks(const struct ana_job *job, struct ana_match *match)
{
    ana_match_set_bridges(match, job->bridges);
    for (size_t i = 0; match && i < job->count; i++) {
        const struct ana_process *p = &job->process[i];
        const struct trc_head *head = trc_head(p->rank.file);
        struct ana_match_rank rank = {
            .world = p->rank.world,
            .rank = p->rank.rank,
            .recycled = p->recycled,
            .lossy = head->lost_records > 0,
            .finalized = head->state == TRC_STATE_FINALIZED,
            .file = p->rank.file,
            .clock = (uint32_t)ana_clock_domain_of(job->clock, i),
        };
        ana_match_set_rank(match, i, &rank);
    }
}

bool ana_analysis_start(struct ana_job *job)
{
    job->flushed = job->index_asked = job->indexed = job->unread = false;
    job->clocks = ana_clock_domains(job->clock);
    job->unsettled = 0;
    job->reached_ns = INT64_MIN;
    job->lane = calloc(job->count, sizeof *job->lane);
    job->clip = ana_wait_clip_new();
    job->beside = ana_beside_new(job->workers - 1 < BESIDE ? job->workers - 1 : BESIDE);
    job->match = ana_match_new((struct ana_match_sink){.user = job,
                                                       .on_message = ana_take_message,
                                                       .on_instance = ana_take_instance,
                                                       .on_joined = ana_take_joined,
                                                       .on_need = ana_take_need});
    job->gpu = job->upper->devices_new(job->count);
    if (!job->lane || !job->gpu || !job->clip || !job->match || !ana_store_init(&job->store, job->count) ||
        !ana_iter_init(&job->iter, job->count, job->beside) || !ana_pass_open(job, &job->pass) ||
        !ana_sums_open(&job->sums, &job->pass.tally, job->lane, job->beside) || !ana_relate_beside(job))
        return false;
    for (size_t i = 0; i < job->count; i++)
        job->process[i].recycled = trc_head(job->process[i].rank.file)->recycled_chunks > 0;
    look_for_bridges(job);
    ana_match_ranks(job, job->match);
    ana_lanes_start(job, job->lane, true);
    if (job->clocks < 2)
        return true;
    struct ana_match_sink feed = {
        .user = job->clock, .between_clocks = true, .on_message = feed_message, .on_instance = feed_instance};
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
    ana_relate_stop(job); /* it fills the others */
    ana_sums_close(&job->sums);
    ana_pass_close(&job->pass);
    ana_match_free(job->match);
    job->upper->devices_free(job->gpu);
    job->gpu = NULL;
    ana_bridges_free(job->bridges);
    job->bridges = NULL;
    ana_wait_clip_free(job->clip);
    ana_store_free(&job->store);
    ana_iter_free(&job->iter);
    ana_beside_free(job->beside);
    job->beside = NULL;
    for (size_t i = 0; job->lane && i < job->count; i++)
        ana_lane_free(&job->lane[i]);
    free(job->lane);
    free(job->span);
    job->match = NULL;
    job->clip = NULL;
    job->lane = NULL;
    job->span = NULL;
    job->spans = 0;
}

/* Of a job that has ended, all bounds were found before the clocks were fitted. */
static void look_whether_clock_goes_on(struct ana_job *job)
{
    job->clock_goes_on = job->clocks > 1 && (job->bounds_pass.merge || ana_anyone_alive(job));
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
    job->records = 0;
    for (size_t i = 0; i < job->count; i++)
        for (size_t c = 0; c < trc_event_chunks(job->process[i].rank.file); c++)
            job->records += trc_event_chunk(job->process[i].rank.file, c).records;
    if (job->flushed)
        return;
    look_for_bridges(job);
    look_whether_clock_goes_on(job);
    ana_match_ranks(job, job->match);
    ana_match_ranks(job, job->bounds_match);
    pass_refresh(job, &job->bounds_pass);
    pass_refresh(job, &job->pass);
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
    job->unread = ana_merge_failed(job->bounds_pass.merge);
    ana_match_flush(job->bounds_match);
    ana_bounds_pass_stop(job);
    ana_clock_fit(job->clock, INT64_MIN);
    ana_job_refresh_state(job);
    look_whether_clock_goes_on(job);
    ana_lanes_start(job, job->lane, true);
    ana_merge_refresh(job->pass.merge);
}

void ana_clocks_settle(struct ana_job *job)
{
    while (job->bounds_pass.merge)
        advance_bounds(job);
}

bool ana_anyone_alive(const struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->process[i].alive)
            return true;
    return false;
}

/* Takes events, and says how far all are after as many of them however they come: what is found depends on when. */
static void take_events(struct ana_job *job, struct ana_event *const *e, size_t n)
{
    for (struct ana_event *const *stop = e + n; e < stop;) {
        size_t left = (size_t)(stop - e), more = SETTLE - job->unsettled;
        more = more < left ? more : left;
        job->unsettled += (unsigned)more;
        if (job->pass.why.onward)
            take_each(job, e, more, job->pass.why.onward);
        else
            take_each(job, e, more, NULL);
        e += more;
        if (job->unsettled < SETTLE)
            return;
        if (e[-1]->end_ns > job->reached_ns)
            job->reached_ns = e[-1]->end_ns;
        ana_why_settle(&job->pass.why, job->reached_ns, false);
        job->unsettled = 0;
    }
}

static void advance_main(struct ana_job *job)
{
    struct ana_event *e[ANA_SLICE];
    size_t n = ana_merge_next_few(job->pass.merge, e, ANA_SLICE);
    take_events(job, e, n);
    if (n)
        return;
    ana_why_settle(&job->pass.why, ana_merge_position(job->pass.merge), true);
    job->pass.done = true;
    if (!ana_anyone_alive(job) && !job->flushed) {
        ana_why_sync(&job->pass.why);
        ana_match_flush(job->match);
        ana_why_settle(&job->pass.why, INT64_MAX, true);
        job->flushed = true;
    } else if (job->clocks > 1 && ana_now_ns() >= job->next_fit_ns) {
        ana_clock_fit(job->clock, ana_merge_position(job->pass.merge));
        ana_merge_refresh(job->pass.merge);
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
    return !job->pass.merge || ana_analysis_again(job);
}

double ana_analysis_share(const struct ana_job *job)
{
    if (job->pass.done)
        return 1;
    const struct ana_merge *merge = job->bounds_pass.merge ? job->bounds_pass.merge : job->pass.merge;
    if (!merge || job->records == 0)
        return 0;
    double share = (double)ana_merge_count(merge) / (double)job->records;
    if (job->clocks > 1)
        share = share / 2 + (job->bounds_pass.merge ? 0 : 0.5);
    return share < 0.999 ? share : 0.999; /* 1 only when it is so */
}

double ana_job_advance(struct ana_job *job, int64_t budget_ns)
{
    int64_t stop = budget_ns > 0 ? ana_now_ns() + budget_ns : INT64_MAX;
    if (!job->pass.merge)
        return 1;
    if (!job->index_asked && job->upper->take_up)
        job->upper->take_up(job);
    job->index_asked = true;
    if (!job->pass.merge) /* memory ran out */
        return 1;
    do {
        if (job->bounds_pass.merge)
            advance_bounds(job);
        else if (!job->pass.done)
            advance_main(job);
        else if (job->range.open && !job->range.pass.done)
            ana_time_range_advance(job);
        else
            break;
    } while (stop == INT64_MAX || ana_now_ns() < stop);
    ana_why_sync(&job->pass.why);
    ana_iter_sync(&job->iter);
    ana_sums_sync(&job->sums);
    double whole = ana_analysis_share(job), range = ana_time_range_share(job);
    return whole < range ? whole : range;
}
