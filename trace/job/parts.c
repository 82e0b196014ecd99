#include "trace/job/parts.h"
#include "trace/job/pass_impl.h"

/* workers; fewer are busy with the rest, and a thread reads only in the pass for the clocks */
#define ENOUGH 4u

struct ana_job_files ana_job_files(struct ana_job *job)
{
    return (struct ana_job_files){job->analysis.pass.file, job->members.count, job->members.clock};
}

/* Whether its events can still be read by others: it has ended, and nobody has read any. */
static bool is_open(const struct ana_job *job)
{
    return job->analysis.pass.merge && !job->analysis.index_asked && !ana_members_alive(&job->members);
}

static bool read_by(struct ana_job *job, const struct ana_part_source *source, bool only_bounds)
{
    job->parts = *source;
    job->only_bounds_in_parts = only_bounds;
    return ana_pass_in_parts(job, &job->analysis.pass) && ana_pipeline_open(job) &&
           (!job->bounds_pass.merge || ana_pass_in_parts(job, &job->bounds_pass));
}

bool ana_job_read_by(struct ana_job *job, const struct ana_part_source *source)
{
    return !is_open(job) || read_by(job, source, false);
}

bool ana_job_read_by_threads(struct ana_job *job)
{
    bool few = job->workers < ENOUGH;
    if (job->workers < 2 || (few && job->clocks < 2) || !is_open(job) || job->readers)
        return true;
    /* One thread reads faster than the first cuts events into segments; in the pass for the clocks that one has next to
     * nothing to do. */
    unsigned parts = few ? job->workers : 1;
    job->readers = ana_readers_new(job->analysis.pass.file, job->members.count, job->members.clock, parts);
    struct ana_part_source source = job->readers ? ana_readers_source(job->readers) : (struct ana_part_source){0};
    return job->readers && read_by(job, &source, few);
}
