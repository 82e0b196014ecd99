/* Job-wide numbers of calls, by their names. */
#include "trace/job/job_impl.h"
#include "trace/util/hash.h"
#include "trace/util/grow.h"
#include <stdlib.h>
#include <string.h>

uint32_t ana_call_number(struct ana_job *job, const struct trc_call *call)
{
    uint32_t *known = ana_map_find(&job->call_by_address, (uintptr_t)call, 0, 0);
    if (known)
        return *known;
    if (strcmp(call->name, job->call[0].name) == 0)
        return 0; /* all calls without a name are one call */
    uint64_t hash = ana_hash_text(call->name);
    uint32_t *number;
    for (uint64_t probe = 0;; probe++) {
        number = ana_map_add(&job->call_by_name, hash, probe, 0);
        if (!number)
            return 0;
        if (*number == 0 || strcmp(job->call[*number].name, call->name) == 0)
            break;
    }
    if (*number == 0) {
        if (!ana_grow_alone(&job->call, job->calls, sizeof *job->call))
            return 0;
        *number = (uint32_t)job->calls;
        job->call[job->calls++] = (struct ana_call_name){call->name, call->opclass};
    }
    uint32_t n = *number;
    if ((known = ana_map_add(&job->call_by_address, (uintptr_t)call, 0, 0)))
        *known = n;
    return n;
}

uint32_t ana_call_number_of(const struct ana_job *job, size_t index, uint32_t id)
{
    const struct trc_file *file = job->process[index].rank.file;
    const uint32_t *known = ana_map_find(&job->call_by_address, (uintptr_t)trc_call(file, id), 0, 0);
    return known ? *known : 0;
}

void ana_number_calls(struct ana_job *job, struct ana_process *p)
{
    const struct trc_file *file = p->rank.file;
    for (; p->numbered < trc_calls(file); p->numbered++)
        ana_call_number(job, trc_call(file, trc_call_id(file, p->numbered)));
}
