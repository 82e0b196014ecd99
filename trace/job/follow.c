/* Follows events one after the other: segments, steps, iterations; and hands them on to the finder of relations. */
#include "trace/job/pass_impl.h"
#include "trace/why/emit.h"

#define SETTLE 64u /* events */

/* Processes an event that is not of the program's own time: nested, on a GPU, a loss, or with times beyond reason. */
static void follow_other(struct ana_job *job, const struct ana_event *e)
{
    if (e->kind >= TRC_RECORD_LOST)
        ana_regions_item(&job->analysis.pass.regions, e);
    if (e->kind == TRC_RECORD_LOST)
        ana_why_gap(&job->analysis.pass.why, e->index, e->thread);
}

/* Follows an event that does not lie in the window as a whole, or is one of many in a window that has a begin.  Returns
 * whether it is one of the iterations there. */
static bool follow_part(struct ana_job *job, struct ana_event *e)
{
    struct ana_span window = job->analysis.window;
    struct ana_why_gap gap = {0};
    if (e->begin_ns < window.begin_ns || e->end_ns > window.end_ns) {
        ana_why_at_edge(&job->analysis.pass.why, e, window.begin_ns, window.end_ns);
    } else {
        ana_why_enter(&job->analysis.pass.why, e->index, e->thread);
        gap = ana_why_event(&job->analysis.pass.why, e, ANA_RUN_STEP);
    }
    bool ends = e->end_ns >= window.begin_ns && e->end_ns <= window.end_ns;
    if (ends)
        ana_iter_gap(&job->analysis.iter, e, gap);
    return ends;
}

/* Follows one event: segments, steps, iterations, sums. */
static void follow_event(struct ana_job *job, struct ana_event *e)
{
    bool ends = true;
    if (!ana_window_is_all(job)) {
        ends = follow_part(job, e);
        if (e->end_ns < job->analysis.window.begin_ns || e->begin_ns > job->analysis.window.end_ns)
            return; /* no sum of the window has a part of it */
    } else {
        ana_iter_gap(&job->analysis.iter, e, ana_why_event(&job->analysis.pass.why, e, ANA_RUN_CALL));
        if (e->step && !e->use->is_sub)
            return; /* it is emitted */
    }
    ana_sums_emit(&job->analysis.pass.why, e);
    if (ends)
        ana_iter_emit(&job->analysis.pass.why, e);
}

/* Passes over a plain call outside the window, but for the first one after it: only its messages and collectives may be
 * of interest.  False: it is another event. */
static inline bool pass_over(const struct ana_job *job, struct ana_event *e, struct ana_why_thread *thread)
{
    const struct ana_span window = job->analysis.window;
    bool before = e->end_ns < window.begin_ns, ends_it = thread->place && thread->end_ns < window.end_ns;
    if (!before && (e->begin_ns <= window.end_ns || (e->use->is_sub ? thread->step != 0 : ends_it)))
        return false;
    e->step = thread->step = 0;
    if (before && !e->use->is_sub)
        ana_why_left(thread, window.begin_ns, e->use->place);
    return true;
}

/* Processes an event: follows it from the one before it in its thread at once, the rest at once or by the queue. */
static __attribute__((noinline)) void process_event(struct ana_job *job, struct ana_event *e)
{
    enum ana_pipeline_kind kind = ANA_PIPELINE_EVENT;
    if (ana_is_counted(job, &job->analysis.pass, e)) {
        if (__builtin_expect(job->analysis.pass.regions.any, 0))
            ana_pass_region(job, &job->analysis.pass, e);
        follow_event(job, e); /* before the waits in it are found */
    } else {
        kind = ANA_PIPELINE_OTHER;
        follow_other(job, e);
    }
    if (job->analysis.pass.why.pipeline)
        ana_pipeline_room(job->analysis.pass.why.pipeline, kind)->event = *e;
    else
        ana_relate_event(job, kind, e);
}

/* Processes a usual event of the whole run, or one outside the window, and hands it on by this queue.  False: it is
 * another. */
static inline __attribute__((always_inline)) bool process_plain(struct ana_job *job, struct ana_event *e, bool all,
                                                                struct ana_queue *pipeline)
{
    const struct ana_use *use = e->use;
    const struct ana_why_rank *rank = &job->analysis.pass.why.rank[e->index];
    if (e->kind != TRC_RECORD_EVENT || !use->is_plain || e->thread >= rank->threads || !ana_is_sane(e))
        return false;
    struct ana_why_thread *thread = &rank->thread[e->thread];
    if (!all) {
        if (!pass_over(job, e, thread))
            return false;
    } else if (!use->is_sub) {
        ana_iter_gap(&job->analysis.iter, e,
                     ana_why_call_of(&job->analysis.pass.why, e, thread, ANA_RUN_CALL, pipeline));
    } else {
        e->step = thread->step;
        if (!ana_sums_nothing(e))
            ana_why_emit_bytes(&job->analysis.pass.why, e, pipeline);
    }
    if (pipeline)
        ana_pipeline_room(pipeline, ANA_PIPELINE_EVENT)->event = *e;
    else
        ana_match_event(job->analysis.match, e);
    return true;
}

/* Processes events one after the other. */
static inline __attribute__((always_inline)) void process_each(struct ana_job *job, struct ana_event *const *e,
                                                               size_t n, struct ana_queue *pipeline)
{
    const bool all = ana_window_is_all(job);
    bool regions = job->analysis.pass.regions.any;
    for (struct ana_event *const *stop = e + n; e < stop; e++)
        if (__builtin_expect(regions || !process_plain(job, *e, all, pipeline), 0)) {
            process_event(job, *e);
            regions = job->analysis.pass.regions.any;
        }
}

/* Begins a slice: counts the waits of earlier ones, and emits the progress after SETTLE events at least. */
static void begin_slice(struct ana_job *job, int64_t reached_ns)
{
    struct ana_why *why = &job->analysis.pass.why;
    job->reached_ns = reached_ns;
    if (why->pipeline)
        ana_pipeline_room(why->pipeline, ANA_PIPELINE_SLICE);
    else
        ana_count_late(job);
    if (job->unsettled < SETTLE)
        return;
    ana_why_settle(why, reached_ns, false);
    job->unsettled = 0;
}

void ana_follow_events(struct ana_job *job, struct ana_event *const *e, size_t n, int64_t reached_ns)
{
    if (reached_ns > job->reached_ns)
        begin_slice(job, reached_ns);
    job->unsettled += (unsigned)n;
    if (job->analysis.pass.why.pipeline)
        process_each(job, e, n, job->analysis.pass.why.pipeline);
    else
        process_each(job, e, n, NULL);
}
