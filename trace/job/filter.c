/* Filters: the calls that match a selection. */
#include "trace/job/window.h"
#include "trace/job/job_impl.h"
#include "trace/job/site_words.h"
#include "trace/util/hash.h"
#include <string.h>

const char *ana_site_line(const struct ana_job *job, size_t index, const char *module)
{
    bool asks = job->line_finder && module;
    return asks ? job->line_finder(job->line_context, job->members.process[index].rank.file, module) : NULL;
}

const char *ana_site_function(const struct ana_job *job, size_t index, const char *module, const char *function)
{
    bool asks = job->name_finder && module, named = function && !ana_is_near(function);
    const char *found =
        asks ? job->name_finder(job->line_context, job->members.process[index].rank.file, module, named) : NULL;
    return found ? found : function;
}

uint64_t ana_site_name(const struct ana_job *job, size_t index, uint64_t address, bool by_line)
{
    const char *function, *module;
    trc_site(job->members.process[index].rank.file, address, &function, &module);
    const char *line = by_line ? ana_site_line(job, index, module) : NULL, *plus = line ? strrchr(module, '+') : NULL;
    if (!line)
        return module ? ana_hash_text(module) : trc_site_address(job->members.process[index].rank.file, address);
    return ana_hash_text(line) * 31 + ana_hash(module, plus ? (size_t)(plus - module) : strlen(module));
}

uint64_t ana_site_identity(const struct ana_job *job, size_t index, uint32_t call, uint64_t address)
{
    return ana_site_name(job, index, address, true) * 31 + call;
}

/* Whether a call is at a place, which may have been chosen when its line was not known yet. */
static bool is_at(const struct ana_job *job, uint64_t identity, size_t index, uint32_t call, uint64_t address)
{
    return ana_site_name(job, index, address, false) * 31 + call == identity ||
           ana_site_identity(job, index, call, address) == identity;
}

bool ana_filter_matches(const struct ana_job *job, const struct ana_selection *s, size_t index, uint32_t call,
                        uint64_t comm, uint64_t site)
{
    return (!s->comm || comm == s->comm) && (!s->call || ana_hash_text(job->members.call[call].name) == s->call) &&
           (!s->site || is_at(job, s->site, index, call, site));
}

bool ana_filter_matches_open(const struct ana_job *job, const struct ana_selection *selection, size_t index)
{
    const struct ana_rank *rank = &job->members.process[index].rank;
    const struct trc_sig *sig = rank->inside_sig;
    if (!ana_has_filter(selection))
        return true;
    return sig && ana_filter_matches(job, selection, index, ana_call_number_of(&job->members, index, sig->call),
                                     ana_comm_identity(job, index, trc_comm(rank->file, sig->comm)), sig->site);
}
