/* The containers that the ranks of a job run in. */
#include "trace/job/job_impl.h"
#include <string.h>

static bool same(const struct ana_rank *a, const struct ana_rank *b)
{
    return strcmp(a->runtime, b->runtime) == 0 && strcmp(a->image, b->image) == 0;
}

static bool first_of_its_kind(const struct ana_job *job, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (same(&job->process[i].rank, &job->process[index].rank))
            return false;
    return true;
}

size_t ana_job_containers(const struct ana_job *job, struct ana_job_container *out, size_t room)
{
    size_t kinds = 0, bare = 0;
    for (size_t i = 0; i < job->count; i++)
        bare += !job->process[i].rank.runtime[0];
    if (bare == job->count)
        return 0;
    for (size_t i = 0; i < job->count && kinds < room; i++) {
        const struct ana_rank *r = &job->process[i].rank;
        if (!first_of_its_kind(job, i))
            continue;
        out[kinds] = (struct ana_job_container){.runtime = r->runtime, .image = r->image};
        for (size_t k = i; k < job->count; k++)
            out[kinds].ranks += same(r, &job->process[k].rank);
        kinds++;
    }
    return kinds;
}
