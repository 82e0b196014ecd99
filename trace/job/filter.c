/* Filters: which calls a selection takes. */
#include "trace/job/job_impl.h"
#include "trace/util/hash.h"

uint64_t ana_site_identity(const struct ana_job *job, size_t index, uint32_t call, uint64_t address)
{
    const char *function, *module;
    trc_site(job->process[index].rank.file, address, &function, &module);
    return (module ? ana_hash_text(module) : address) * 31 + call;
}

bool ana_filter_takes(const struct ana_job *job, const struct ana_selection *s, size_t index, uint32_t call,
                      uint64_t comm, uint64_t site)
{
    return (!s->comm || comm == s->comm) && (!s->call || ana_hash_text(job->call[call].name) == s->call) &&
           (!s->site || ana_site_identity(job, index, call, site) == s->site);
}
