/* The way through the events: merge, match, and sums.  It goes in slices, since a screen must not wait. */
#include "trace/job/job_impl.h"
#include "trace/job/window.h"
#include "trace/util/now.h"
#include <stdlib.h>
#include <string.h>

#define SLICE         512     /* at most so many events between two readings of the clock */
#define LANE_WIDTH_NS 65536   /* finest bucket of the timeline while the job is short */
#define LANE_BUCKETS  16384   /* of one rank, when there are few */
#define LANES_BUCKETS 1048576 /* of all ranks, about */
#define REFIT_NS      10000000000

/* ---- one event -------------------------------------------------------------------------------------------------- */

static bool is_device(const struct ana_event *e)
{
    return e->call && trc_opclass_is_device(e->call->opclass);
}

static bool is_send(const struct ana_event *e)
{
    return (e->sig->flags & TRC_SIG_P2P_OUT) && !(e->sig->flags & TRC_SIG_COMPLETE);
}

/* Looks up what events of one signature share.  Nested calls do not count (the outer call has their time), nor do
 * losses and what ran on a GPU. */
static void look_up(struct ana_job *job, struct ana_pass *pass, const struct ana_event *e)
{
    struct ana_use *use = e->use;
    use->kind = e->sig->flags & TRC_SIG_NESTED || is_device(e) ? ANA_USE_LEFT_OUT : ANA_USE_COUNTS;
    if (use->kind == ANA_USE_COUNTS) {
        uint32_t call = ana_call_number_of(job, e->index, e->sig->call);
        ana_tally_use(&pass->tally, e, call);
        ana_why_use(&pass->why, e, call, job->process[e->index].rank.file);
        if (pass == &job->pass)
            ana_iter_use(&job->iter, &pass->why, e);
        else
            use->is_out = !ana_filter_takes(job, &job->range.asked, e->index, call,
                                            ana_comm_identity(job, e->index, e->comm), e->sig->site);
    }
    use->is_nccl = trc_opclass_category(e->call->opclass) == TRC_CAT_NCCL;
    use->is_remote = e->sig->peer <= TRC_PEER_REMOTE && is_send(e);
}

/* Whether an event counts: its times are within reason. */
static inline bool is_counted(struct ana_job *job, struct ana_pass *pass, const struct ana_event *e)
{
    bool sane = e->begin_ns >= -ANA_TIME_LIMIT && e->end_ns <= ANA_TIME_LIMIT && e->begin_ns <= e->end_ns;
    if (!sane || !e->use)
        return false;
    if (e->use->kind == ANA_USE_NEW)
        look_up(job, pass, e);
    return e->use->kind == ANA_USE_COUNTS;
}

/* Adds the time and bytes of an event to its rank's lane. */
static inline void add_to_lane(struct ana_lane *lane, const struct ana_event *e)
{
    const struct ana_use *use = e->use;
    int64_t begin = use->is_sub ? e->end_ns : e->begin_ns, busy = e->end_ns - begin;
    uint64_t sent = use->sent, received = use->received, calls = !use->is_sub;
    if (e->kind == TRC_RECORD_FOLD) {
        busy = e->busy_ns;
        calls = ana_event_calls(e);
        sent *= e->count;
        received *= e->count;
    }
    struct ana_bucket *bucket = ana_lane_hot(lane, begin, e->end_ns);
    if (bucket) {
        bucket->ns[use->category] = ana_plus(bucket->ns[use->category], busy);
        bucket->calls += calls;
        bucket->sent += sent;
        bucket->received += received;
        return;
    }
    if (!use->is_sub)
        ana_lane_spend(lane, begin, e->end_ns, busy, use->category);
    if (!use->is_sub || sent || received)
        ana_lane_count(lane, e->end_ns, calls, sent, received);
}

/* Takes an event that is not of the program's own time: nested, on a GPU, a loss, or with times beyond reason. */
static void take_other(struct ana_job *job, const struct ana_event *e)
{
    if (e->kind >= TRC_RECORD_LOST)
        ana_regions_item(&job->pass.regions, e);
    if (is_device(e)) {
        job->upper->device_event(job, job->gpu, e);
        return;
    }
    if (e->call && trc_opclass_category(e->call->opclass) == TRC_CAT_NCCL)
        job->upper->nccl_call(job, job->gpu, e);
    if (e->kind == TRC_RECORD_LOST)
        ana_why_gap(&job->pass.why, e->index, e->thread);
    ana_match_event(job->match, e);
}

/* Follows an event that does not lie in the window as a whole, or is one of many in a window that has a begin. */
static void follow_part(struct ana_job *job, const struct ana_event *e)
{
    struct ana_span window = job->window;
    if (e->end_ns >= window.begin_ns && e->end_ns <= window.end_ns)
        ana_iter_event(&job->iter, &job->pass.why, e);
    if (e->begin_ns < window.begin_ns || e->end_ns > window.end_ns) {
        ana_why_at_edge(&job->pass.why, e, window.begin_ns, window.end_ns);
        return;
    }
    ana_why_enter(&job->pass.why, e->index, e->thread);
    ana_why_event(&job->pass.why, e);
}

/* What becomes of events one after the other: segments, steps, iterations. */
static inline void follow_event(struct ana_job *job, const struct ana_event *e)
{
    if (__builtin_expect(job->window.begin_ns != INT64_MIN || job->window.end_ns != INT64_MAX, 0)) {
        follow_part(job, e);
        return;
    }
    ana_iter_event(&job->iter, &job->pass.why, e);
    ana_why_event(&job->pass.why, e);
}

static inline void take_event(struct ana_job *job, const struct ana_event *e)
{
    if (!is_counted(job, &job->pass, e)) {
        take_other(job, e);
        return;
    }
    if (__builtin_expect(job->pass.regions.any, 0))
        ana_why_region(&job->pass.why, e, ana_regions_call(&job->pass.regions, e));
    follow_event(job, e); /* before the waits in it are found */
    if (e->use->is_nccl)
        job->upper->nccl_call(job, job->gpu, e);
    ana_match_event(job->match, e);
    if (e->use->is_remote) /* the counters know partners of this world only */
        ana_tally_pair(&job->pass.tally, e->index, ana_partner(job, e->index, e->comm, e->sig->peer),
                       ana_event_sent(e->sig));
    ana_tally_event(&job->pass.tally, e);
    if (__builtin_expect(e->use->category == TRC_CAT_IO, 0))
        ana_accesses_event(job, &job->pass.accesses, e, INT64_MIN, INT64_MAX);
    add_to_lane(&job->lane[e->index], e);
}

static void take_range_event(struct ana_job *job, const struct ana_event *e)
{
    struct ana_time_range *w = &job->range;
    if (!is_counted(job, &w->pass, e)) {
        if (is_device(e))
            job->upper->device_event(job, w->gpu, e);
        if (e->kind >= TRC_RECORD_LOST)
            ana_regions_item(&w->pass.regions, e);
        if (e->kind == TRC_RECORD_LOST)
            ana_why_gap(&w->pass.why, e->index, e->thread);
        return;
    }
    if (w->pass.regions.any)
        ana_why_region(&w->pass.why, e, ana_regions_call(&w->pass.regions, e));
    ana_why_event(&w->pass.why, e);
    if (e->use->is_out)
        return;
    if (e->use->category == TRC_CAT_IO)
        ana_accesses_event(job, &w->pass.accesses, e, w->begin_ns, w->end_ns);
    if (e->end_ns >= w->begin_ns && e->end_ns < w->end_ns) {
        ana_tally_event(&w->pass.tally, e);
        ana_tally_call(&w->pass.tally, e);
        if (is_send(e))
            ana_tally_pair(&w->pass.tally, e->index, ana_partner(job, e->index, e->comm, e->sig->peer),
                           ana_event_sent(e->sig));
        const struct ana_kept_instance *k = NULL;
        if ((e->sig->flags & TRC_SIG_COLL) && !(e->sig->flags & (TRC_SIG_COMPLETE | TRC_SIG_CONTROL)) && e->comm)
            k = ana_store_find(&job->store, ana_comm_identity(job, e->index, e->comm), e->sequence);
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

/* ---- passes ----------------------------------------------------------------------------------------------------- */

static void feed_message(void *user, const struct ana_message *message)
{
    ana_clock_add_message(user, message);
}
static void feed_instance(void *user, const struct ana_instance *instance)
{
    ana_clock_add_instance(user, instance);
}

static void pass_close(struct ana_pass *pass)
{
    ana_merge_close(pass->merge);
    ana_tally_free(&pass->tally);
    ana_why_free(&pass->why);
    ana_regions_free(&pass->regions);
    ana_accesses_free(&pass->accesses);
    free(pass->file);
    *pass = (struct ana_pass){0};
}

/* Before the clocks are fitted nobody knows how far the files are complete: the bounds pass takes no file for live. */
static void say_who_lives(const struct ana_job *job, struct ana_pass *pass)
{
    for (size_t i = 0; pass->merge && i < job->count; i++)
        ana_merge_set_live(pass->merge, i, job->process[i].alive && pass != &job->bounds_pass);
}

static bool pass_open(struct ana_job *job, struct ana_pass *pass)
{
    *pass = (struct ana_pass){.file = calloc(job->count + 1, sizeof *pass->file)};
    ana_accesses_init(&pass->accesses);
    if (pass->file && ana_tally_init(&pass->tally, job->count) &&
        ana_why_init(&pass->why, job->count, pass == &job->pass) &&
        ana_regions_init(&pass->regions, pass->file, job->count,
                         pass == &job->range.pass ? job->range.begin_ns : INT64_MIN)) {
        for (size_t i = 0; i < job->count; i++)
            pass->file[i] = job->process[i].rank.file;
        pass->merge = ana_merge_open(pass->file, job->count, job->clock);
    }
    say_who_lives(job, pass);
    return pass->merge != NULL;
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

static void set_ranks(const struct ana_job *job, struct ana_match *match)
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
        };
        ana_match_set_rank(match, i, &rank);
    }
}

static size_t lane_buckets(size_t ranks)
{
    size_t n = LANE_BUCKETS;
    while (n > 256 && n * ranks > LANES_BUCKETS)
        n /= 2;
    return n;
}

static void start_lanes(struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        uint64_t start = trc_head(job->process[i].rank.file)->start.ticks;
        ana_lane_init(&job->lane[i], ana_clock_job_time(job->clock, i, start), LANE_WIDTH_NS, lane_buckets(job->count));
    }
}

bool ana_analysis_start(struct ana_job *job)
{
    job->flushed = false;
    job->clocks = ana_clock_domains(job->clock);
    job->lane = calloc(job->count, sizeof *job->lane);
    job->clip = ana_wait_clip_new();
    job->match = ana_match_new(
        (struct ana_match_sink){job, ana_take_message, ana_take_instance, ana_take_joined, ana_take_need});
    job->gpu = job->upper->devices_new(job->count);
    if (!job->lane || !job->gpu || !job->clip || !job->match || !ana_store_init(&job->store, job->count) ||
        !ana_iter_init(&job->iter, job->count) || !pass_open(job, &job->pass))
        return false;
    for (size_t i = 0; i < job->count; i++)
        job->process[i].recycled = trc_head(job->process[i].rank.file)->recycled_chunks > 0;
    look_for_bridges(job);
    set_ranks(job, job->match);
    start_lanes(job);
    if (job->clocks < 2)
        return true;
    struct ana_match_sink feed = {job->clock, feed_message, feed_instance, NULL, NULL};
    job->bounds_match = ana_match_new(feed);
    set_ranks(job, job->bounds_match);
    return job->bounds_match && pass_open(job, &job->bounds_pass);
}

static void stop_bounds_pass(struct ana_job *job)
{
    pass_close(&job->bounds_pass);
    ana_match_free(job->bounds_match);
    job->bounds_match = NULL;
}

static void close_range(const struct ana_job *job, struct ana_time_range *range)
{
    pass_close(&range->pass);
    job->upper->devices_free(range->gpu);
    free(range->ranks);
    *range = (struct ana_time_range){0};
}

void ana_analysis_stop(struct ana_job *job)
{
    stop_bounds_pass(job);
    close_range(job, &job->range);
    pass_close(&job->pass);
    ana_match_free(job->match);
    job->upper->devices_free(job->gpu);
    job->gpu = NULL;
    ana_bridges_free(job->bridges);
    job->bridges = NULL;
    ana_wait_clip_free(job->clip);
    ana_store_free(&job->store);
    ana_iter_free(&job->iter);
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

static void pass_refresh(struct ana_job *job, struct ana_pass *pass)
{
    if (!pass->merge)
        return;
    say_who_lives(job, pass);
    ana_merge_refresh(pass->merge);
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
    set_ranks(job, job->match);
    set_ranks(job, job->bounds_match);
    pass_refresh(job, &job->bounds_pass);
    pass_refresh(job, &job->pass);
    pass_refresh(job, &job->range.pass);
}

/* Does a slice of the bounds pass.  At its end the clock is fitted, and the main pass begins. */
static void advance_bounds(struct ana_job *job)
{
    const struct ana_event *e[SLICE];
    size_t n = ana_merge_next_few(job->bounds_pass.merge, e, SLICE);
    for (size_t i = 0; i < n; i++)
        ana_match_event(job->bounds_match, e[i]);
    if (n)
        return;
    ana_match_flush(job->bounds_match);
    stop_bounds_pass(job);
    ana_clock_fit(job->clock, INT64_MIN);
    ana_job_refresh_state(job);
    start_lanes(job);
    ana_merge_refresh(job->pass.merge);
}

static bool anyone_alive(const struct ana_job *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (job->process[i].alive)
            return true;
    return false;
}

static void advance_main(struct ana_job *job)
{
    const struct ana_event *e[SLICE];
    size_t n = ana_merge_next_few(job->pass.merge, e, SLICE);
    for (size_t i = 0; i < n; i++)
        take_event(job, e[i]);
    ana_why_settle(&job->pass.why, ana_merge_position(job->pass.merge), n == 0);
    if (n)
        return;
    job->pass.done = true;
    if (!anyone_alive(job) && !job->flushed) {
        ana_match_flush(job->match);
        ana_why_settle(&job->pass.why, INT64_MAX, true);
        job->flushed = true;
    } else if (job->clocks > 1 && ana_now_ns() >= job->next_fit_ns) {
        ana_clock_fit(job->clock, ana_merge_position(job->pass.merge));
        ana_merge_refresh(job->pass.merge);
        job->next_fit_ns = ana_now_ns() + REFIT_NS;
    }
}

static void advance_range(struct ana_job *job)
{
    const struct ana_event *e[SLICE];
    size_t n = ana_merge_next_few(job->range.pass.merge, e, SLICE);
    for (size_t i = 0; i < n; i++)
        take_range_event(job, e[i]);
    job->range.pass.done = n == 0;
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

static double range_share(const struct ana_job *job)
{
    const struct ana_time_range *w = &job->range;
    if (!w->open || w->pass.done)
        return 1;
    int64_t at = ana_merge_position(w->pass.merge);
    int64_t begin = w->begin_ns > job->begin_ns ? w->begin_ns : job->begin_ns;
    int64_t end = w->end_ns < job->end_ns ? w->end_ns : job->end_ns;
    double share = at <= begin || end <= begin ? 0 : (double)(at - begin) / (double)(end - begin);
    return share < 0.999 ? share : 0.999;
}

double ana_job_advance(struct ana_job *job, int64_t budget_ns)
{
    int64_t stop = budget_ns > 0 ? ana_now_ns() + budget_ns : INT64_MAX;
    if (!job->pass.merge)
        return 1;
    do {
        if (job->bounds_pass.merge)
            advance_bounds(job);
        else if (!job->pass.done)
            advance_main(job);
        else if (job->range.open && !job->range.pass.done)
            advance_range(job);
        else
            break;
    } while (ana_now_ns() < stop);
    double whole = ana_analysis_share(job), range = range_share(job);
    return whole < range ? whole : range;
}

void ana_time_range_release(struct ana_job *job)
{
    close_range(job, &job->range);
}

double ana_time_range_select(struct ana_job *job, const struct ana_selection *selection)
{
    struct ana_time_range *w = &job->range;
    const uint8_t *ranks = selection->ranks;
    const struct ana_selection *asked = &w->asked;
    bool same = w->open && asked->begin_ns == selection->begin_ns && asked->end_ns == selection->end_ns &&
                asked->comm == selection->comm && asked->call == selection->call && asked->site == selection->site &&
                !w->ranks == !ranks && (!ranks || memcmp(w->ranks, ranks, job->count) == 0);
    if (same)
        return range_share(job);
    close_range(job, w);
    w->asked = *selection;
    w->asked.ranks = NULL;
    w->begin_ns = ana_of_all_time(selection) ? INT64_MIN : selection->begin_ns;
    w->end_ns = selection->end_ns;
    if (ranks && !(w->ranks = malloc(job->count)))
        return -1;
    if (ranks)
        memcpy(w->ranks, ranks, job->count);
    w->gpu = job->upper->devices_new_range(job->count, w->begin_ns, w->end_ns);
    if (!w->gpu || !pass_open(job, &w->pass) || !ana_merge_seek(w->pass.merge, w->begin_ns, w->end_ns, w->ranks))
        return -1;
    w->open = true;
    return range_share(job);
}
