#include "trace/job/parts.h"
#include "trace/job/pass.h"

#define ENOUGH     4u /* workers: with fewer the others have enough to do */
#define PARTS_MOST 2u /* one part is read three times as fast as what is in it is found */

struct ana_job_files ana_job_files(struct ana_job *job)
{
    return (struct ana_job_files){job->pass.file, job->count, job->clock};
}

bool ana_job_read_by(struct ana_job *job, const struct ana_part_source *source)
{
    if (ana_anyone_alive(job) || !job->pass.merge)
        return job->pass.merge != NULL;
    job->parts = *source;
    return ana_analysis_again(job);
}

bool ana_job_read_by_threads(struct ana_job *job)
{
    unsigned parts = job->workers < ENOUGH ? 0 : job->workers < 2 * ENOUGH ? 1 : PARTS_MOST;
    if (!parts || ana_anyone_alive(job) || !job->pass.merge)
        return job->pass.merge != NULL;
    ana_readers_free(job->readers);
    job->readers = ana_readers_new(job->pass.file, job->count, job->clock, parts);
    struct ana_part_source source = job->readers ? ana_readers_source(job->readers) : (struct ana_part_source){0};
    return job->readers && ana_job_read_by(job, &source);
}
