#include "trace/job/parts.h"
#include "trace/job/pass.h"

/* With fewer workers the others are busy, and a thread reads only in the pass for the clocks. */
#define ENOUGH 4u

struct ana_job_files ana_job_files(struct ana_job *job)
{
    return (struct ana_job_files){job->pass.file, job->count, job->clock};
}

static bool read_by(struct ana_job *job, const struct ana_part_source *source, bool only_bounds)
{
    job->parts = *source;
    job->only_bounds_in_parts = only_bounds;
    return ana_analysis_again(job);
}

bool ana_job_read_by(struct ana_job *job, const struct ana_part_source *source)
{
    if (ana_anyone_alive(job) || !job->pass.merge)
        return job->pass.merge != NULL;
    return read_by(job, source, false);
}

bool ana_job_read_by_threads(struct ana_job *job)
{
    bool few = job->workers < ENOUGH;
    if (ana_anyone_alive(job) || !job->pass.merge || job->workers < 2 || (few && job->clocks < 2))
        return job->pass.merge != NULL;
    ana_readers_free(job->readers);
    /* One part is read three times as fast as what is in it is found. */
    job->readers = ana_readers_new(job->pass.file, job->count, job->clock, job->workers < 2 * ENOUGH ? 1 : 2);
    struct ana_part_source source = job->readers ? ana_readers_source(job->readers) : (struct ana_part_source){0};
    return job->readers && read_by(job, &source, few);
}
