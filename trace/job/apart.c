#include "trace/job/apart.h"
#include "trace/job/pass.h"
#include <stdlib.h>

bool ana_apart_make(struct ana_job *job, struct ana_job *apart)
{
    *apart = *job;
    apart->iter = (struct ana_iter){0};
    apart->store = (struct ana_store){0};
    apart->pass.tally = (struct ana_tally){0};
    apart->pass.why = (struct ana_why){0};
    apart->pass.regions = (struct ana_regions){0};
    ana_accesses_init(&apart->pass.accesses);
    apart->lane = calloc(job->count, sizeof *apart->lane);
    apart->gpu = job->upper->devices_new(job->count);
    apart->match = ana_match_new(ana_job_sink(job));
    if (!apart->lane || !apart->gpu || !apart->match || !ana_store_init(&apart->store, job->count) ||
        !ana_iter_init(&apart->iter, job->count) || !ana_tally_init(&apart->pass.tally, job->count) ||
        !ana_why_init(&apart->pass.why, job->count, true, NULL) ||
        !ana_regions_init(&apart->pass.regions, job->pass.file, job->count, INT64_MIN))
        return false;
    ana_why_read_usage(&apart->pass.why, job->pass.file, job->clock);
    ana_lanes_start(job, apart->lane, true);
    ana_match_ranks(job, apart->match);
    return true;
}

/* Puts what one knows from events into the other.  Queues stay: threads look at them where they are. */
static void put(struct ana_job *to, const struct ana_job *from)
{
    to->iter.rank = from->iter.rank;
    to->iter.marks = from->iter.marks;
    to->iter.kinds = from->iter.kinds;
    to->lane = to->sums.lane = from->lane;
    to->gpu = from->gpu;
    to->match = from->match;
    to->store = from->store;
    to->kept_since_ns = from->kept_since_ns;
    to->pass.tally = from->pass.tally;
    to->pass.why = from->pass.why;
    to->pass.regions = from->pass.regions;
    to->pass.accesses = from->pass.accesses;
}

void ana_apart_swap(struct ana_job *job, struct ana_job *apart)
{
    struct ana_job before = *job;
    put(job, apart);
    put(apart, &before);
}

void ana_apart_free(struct ana_job *apart)
{
    ana_accesses_free(&apart->pass.accesses);
    ana_regions_free(&apart->pass.regions);
    ana_why_free(&apart->pass.why);
    ana_tally_free(&apart->pass.tally);
    ana_iter_free(&apart->iter);
    ana_store_free(&apart->store);
    ana_match_free(apart->match);
    apart->upper->devices_free(apart->gpu);
    for (size_t i = 0; apart->lane && i < apart->count; i++)
        ana_lane_free(&apart->lane[i]);
    free(apart->lane);
}
