/* Call sites and call paths in words. */
#include "trace/job/site_words.h"
#include "trace/job/job_impl.h"
#include "trace/util/cxx_name.h"
#include "trace/util/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool ana_is_near(const char *function)
{
    return strstr(function, " near ");
}

void ana_place_words(const struct ana_place_names *of, char *out, size_t size)
{
    bool named = of->function && !ana_is_near(of->function);
    int name = named ? (int)trc_cxx_length(of->function) : 0;
    if (of->line)
        snprintf(out, size, "%s%s%.*s", of->line, name ? " in " : "", name, name ? of->function : "");
    else if (of->function)
        snprintf(out, size, "%s", of->function);
    else if (of->module && of->module[0])
        snprintf(out, size, "%s", trc_base_name(of->module));
    else
        snprintf(out, size, "0x%" PRIx64, of->address);
}

void ana_caller_words(const struct ana_job *job, size_t index, uint64_t site, char *out, size_t size)
{
    const struct trc_file *file = job->members.process[index].rank.file;
    struct ana_place_names names = {.address = trc_site_address(file, site)};
    trc_site(file, site, &names.function, &names.module);
    names.line = ana_site_line(job, index, names.module);
    names.function = ana_site_function(job, index, names.module, names.function);
    ana_place_words(&names, out, size);
}

void ana_path_words(const struct ana_job *job, size_t index, const struct trc_path *path, char *out, size_t size)
{
    size_t at = 0;
    *out = 0;
    for (uint32_t i = 0; path && i < path->n && at < size; i++) {
        char words[ANA_CALLER];
        ana_caller_words(job, index, path->site[i], words, sizeof words);
        int n = snprintf(out + at, size - at, "%s%s", i ? " < " : "", words);
        at += n > 0 ? (size_t)n : 0;
    }
    if (path && path->end != TRC_PATH_WHOLE && at < size)
        snprintf(out + at, size - at, " < ..");
}
