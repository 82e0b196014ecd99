#include "trace/index/load.h"
#include "trace/index/archive.h"
#include "trace/gpu/device_archive.h"

#define MEMORY 1000u /* bytes for each byte of an index, at most */

struct load {
    struct ana_job *job;
    FILE *file;
    uint64_t begin[ANA_PARTS_OF_INDEX + 1];
    struct ana_budget budget; /* shared by all parts */
    bool loaded[ANA_PARTS_OF_INDEX];
};

static bool load_part(struct load *l, enum ana_part_of_index part)
{
    struct ana_archive archive;
    struct ana_job_archive k = ana_job_archive_of(l->job, &archive);
    ana_archive_load(&archive, l->file, l->begin[part], &l->budget);
    if (!archive.failed)
        ana_job_archive_part(&k, part);
    return l->loaded[part] = ana_archive_end(&archive);
}

static void load_beside(void *user, size_t i)
{
    load_part(user, ANA_PART_LATEST - (enum ana_part_of_index)i);
}

static bool load_all(struct load *l)
{
    struct ana_job *job = l->job;
    const struct ana_analysis *analysis = ana_job_analysis(job);
    if (!ana_archive_find(l->file, l->begin, ANA_PARTS_OF_INDEX) || !load_part(l, ANA_PART_CLOCK))
        return false;
    ana_job_refresh_state(job); /* state and timelines by the fitted clocks */
    ana_lanes_start(job, analysis->lane, true);
    if (!load_part(l, ANA_PART_WHY))
        return false;
    ana_thread_pool_run(analysis->thread_pool, ANA_PARTS_OF_INDEX - ANA_PART_WHY - 1, load_beside, l);
    for (size_t part = 0; part < ANA_PARTS_OF_INDEX; part++)
        if (!l->loaded[part])
            return false;
    return ana_store_find_sites(job);
}

bool ana_index_load(struct ana_job *job, FILE *file, uint64_t at, uint64_t size)
{
    struct ana_members *members = ana_job_members(job);
    struct ana_analysis *analysis = ana_job_analysis(job);
    struct load l = {.job = job, .file = file, .begin[0] = at};
    ana_budget_set(&l.budget, size, MEMORY);
    if (!load_all(&l)) {
        ana_clock_again(members->clock);
        ana_job_refresh_state(job);
        ana_analysis_again(job);
        return false;
    }
    ana_devices_name(job);
    ana_time_range_release(job); /* it was begun when nothing else was known */
    ana_bounds_pass_stop(job);
    analysis->indexed = analysis->pass.done = analysis->flushed = true;
    members->revision++;
    return true;
}
