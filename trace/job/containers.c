/* The containers that the ranks of a job run in. */
#include "trace/job/analysis.h"
#include <string.h>

static bool same(const struct ana_rank *a, const struct ana_rank *b)
{
    return strcmp(a->runtime, b->runtime) == 0 && strcmp(a->image, b->image) == 0;
}

static bool first_of_its_kind(const struct ana_job *job, size_t index)
{
    const struct ana_members *members = ana_job_members(job);
    for (size_t i = 0; i < index; i++)
        if (same(&members->process[i].rank, &members->process[index].rank))
            return false;
    return true;
}

size_t ana_job_containers(const struct ana_job *job, struct ana_job_container *out, size_t room)
{
    const struct ana_members *members = ana_job_members(job);
    size_t kinds = 0, bare = 0;
    for (size_t i = 0; i < members->count; i++)
        bare += !members->process[i].rank.runtime[0];
    if (bare == members->count)
        return 0;
    for (size_t i = 0; i < members->count && kinds < room; i++) {
        const struct ana_rank *r = &members->process[i].rank;
        if (!first_of_its_kind(job, i))
            continue;
        out[kinds] = (struct ana_job_container){.runtime = r->runtime, .image = r->image};
        for (size_t k = i; k < members->count; k++)
            out[kinds].ranks += same(r, &members->process[k].rank);
        kinds++;
    }
    return kinds;
}
