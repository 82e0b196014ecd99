#include "trace/job/pass_impl.h"
#include "trace/relations/slices.h"
#include <stdlib.h>

#define LANE_WIDTH_NS 65536  /* finest bucket of the timeline while the job is short */
#define LANE_BUCKETS  16384  /* buckets of one rank, if there are few ranks */
#define LANES_BUCKETS 524288 /* buckets of all ranks, about */

/* Looks up the sum of an event's site; adding one may move others, so their queued additions are added first. */
static void look_up_site(struct ana_job *job, struct ana_pass *pass, const struct ana_event *e, uint32_t around)
{
    const struct ana_map *sites = &pass->tally.sites;
    const uint64_t call = ana_tally_site_call(e->use->number, around);
    if (pass == &job->analysis.pass && ana_map_is_full(sites) && !ana_map_find(sites, e->index, call, e->sig->site))
        ana_why_sync(&pass->why);
    ana_tally_site(&pass->tally, e, around);
}

void ana_pass_region(struct ana_job *job, struct ana_pass *pass, const struct ana_event *e)
{
    const uint32_t around = ana_regions_around(&pass->regions, e->index, e->thread);
    if (!e->use->site || ana_map_key(&pass->tally.sites, e->use->site - 1)[1] >> 32 != around)
        look_up_site(job, pass, e, around);
    ana_why_region(&pass->why, e, ana_regions_call(&pass->regions, e));
}

void ana_pass_look_up(struct ana_job *job, struct ana_pass *pass, const struct ana_event *e)
{
    struct ana_use *use = e->use;
    use->kind = e->sig->flags & TRC_SIG_NESTED || ana_is_device(e) ? ANA_USE_LEFT_OUT : ANA_USE_COUNTS;
    if (use->kind == ANA_USE_COUNTS) {
        uint32_t call = ana_call_number_of(&job->members, e->index, e->sig->call);
        ana_tally_use(e, call);
        look_up_site(job, pass, e, ana_regions_around(&pass->regions, e->index, e->thread));
        ana_why_use(&pass->why, e, call, job->members.process[e->index].rank.file);
        if (pass == &job->analysis.pass)
            ana_iter_use(&job->analysis.iter, &pass->why, e, job->members.process[e->index].rank.file);
        else
            use->is_out = !ana_filter_matches(job, &job->range.asked, e->index, call,
                                              ana_comm_identity(job, e->index, e->use->comm), e->sig->site);
    }
    bool is_nccl = trc_opclass_category(e->use->call->opclass) == TRC_CAT_NCCL;
    use->is_remote = e->sig->peer <= TRC_PEER_REMOTE && ana_is_send(e);
    use->is_plain =
        use->kind == ANA_USE_COUNTS && !is_nccl && !use->is_remote && !use->is_quiet && use->category != TRC_CAT_IO;
}

void ana_pass_close(struct ana_pass *pass)
{
    ana_merge_close(pass->merge);
    ana_why_free(&pass->why); /* must come first: its queued additions go into the others */
    ana_tally_free(&pass->tally);
    ana_regions_free(&pass->regions);
    ana_accesses_free(&pass->accesses);
    free(pass->file);
    *pass = (struct ana_pass){0};
}

/* Before the clocks are fitted nobody knows how far the files are complete: the bounds pass takes no file for live. */
void ana_pass_live(const struct ana_job *job, struct ana_pass *pass)
{
    for (size_t i = 0; pass->merge && !ana_merge_in_parts(pass->merge) && i < job->members.count; i++)
        ana_merge_set_live(pass->merge, i, job->members.process[i].alive && pass != &job->bounds_pass);
}

/* The merge of a pass, from its first event on; NULL: out of memory. */
static struct ana_merge *open_merge(const struct ana_job *job, const struct ana_pass *pass)
{
    bool in_parts =
        job->parts.parts && pass != &job->range.pass && (pass == &job->bounds_pass || !job->only_bounds_in_parts);
    struct ana_merge *merge = in_parts ? ana_merge_of_parts(&job->parts, pass->file, job->members.count)
                                       : ana_merge_open(pass->file, job->members.count, job->members.clock);
    if (merge && pass == &job->bounds_pass)
        ana_merge_set_filter(merge, (struct ana_filter){job->bounds_match, ana_match_wants});
    if (merge && pass == &job->analysis.pass)
        ana_merge_set_slices(merge, ana_slice_shift(pass->file, job->members.count));
    return merge;
}

bool ana_pass_in_parts(struct ana_job *job, struct ana_pass *pass)
{
    struct ana_merge *merge = open_merge(job, pass);
    if (!merge)
        return false;
    ana_merge_close(pass->merge);
    pass->merge = merge;
    ana_pass_live(job, pass);
    return true;
}

bool ana_pass_open(struct ana_job *job, struct ana_pass *pass)
{
    *pass = (struct ana_pass){.file = calloc(job->members.count + 1, sizeof *pass->file)};
    ana_accesses_init(&pass->accesses);
    if (pass->file && ana_tally_init(&pass->tally, job->members.count) &&
        ana_why_init(&pass->why, job->members.count, pass == &job->analysis.pass, job->analysis.thread_pool) &&
        ana_regions_init(&pass->regions, pass->file, job->members.count,
                         pass == &job->range.pass ? job->range.begin_ns : INT64_MIN)) {
        for (size_t i = 0; i < job->members.count; i++)
            pass->file[i] = job->members.process[i].rank.file;
        pass->merge = open_merge(job, pass);
        if (pass != &job->bounds_pass)
            ana_why_read_usage(&pass->why, pass->file, job->members.clock);
    }
    ana_pass_live(job, pass);
    return pass->merge != NULL;
}

static size_t lane_buckets(size_t ranks)
{
    size_t n = LANE_BUCKETS;
    while (n > 256 && n * ranks > LANES_BUCKETS)
        n /= 2;
    return n;
}

/* Returns the end of a rank's events, according to its chunks. */
static int64_t last_end(const struct ana_job *job, size_t index)
{
    const struct ana_process *p = &job->members.process[index];
    int64_t last_ns = INT64_MIN;
    for (size_t c = 0; c < trc_event_chunks(p->rank.file); c++) {
        int64_t ns = ana_clock_job_time(job->members.clock, index, trc_event_chunk(p->rank.file, c).last_ticks);
        last_ns = ns > last_ns ? ns : last_ns;
    }
    return ana_earlier(last_ns, p->rank.end_ns); /* a damaged file may give any */
}

/* Returns the width of the buckets of a lane up to last_ns. */
static int64_t lane_width(int64_t origin_ns, int64_t last_ns, size_t buckets)
{
    int64_t width_ns = LANE_WIDTH_NS;
    while (last_ns > origin_ns && (uint64_t)last_ns - (uint64_t)origin_ns >= buckets * (uint64_t)width_ns &&
           width_ns < ANA_TIME_LIMIT / (int64_t)buckets)
        width_ns *= 2;
    return width_ns;
}

void ana_lanes_start(const struct ana_job *job, struct ana_lane *lane, bool all)
{
    size_t buckets = lane_buckets(job->members.count);
    for (size_t i = 0; i < job->members.count; i++) {
        uint64_t start = trc_head(job->members.process[i].rank.file)->start.ticks;
        int64_t origin_ns = ana_clock_job_time(job->members.clock, i, start);
        int64_t last_ns = all ? last_end(job, i) : origin_ns;
        ana_lane_init(&lane[i], origin_ns, lane_width(origin_ns, last_ns, buckets), buckets);
        ana_lane_reaches(&lane[i], last_ns);
    }
}
