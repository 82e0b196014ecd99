#include "tui/commands/part.h"
#include "trace/job/window.h"

#include <stdio.h>

const char *tui_part_wrong(const struct tui_part *wanted)
{
    int64_t from = 0, to = INT64_MAX;
    if (wanted->from && !ana_moment_of_text(wanted->from, &from))
        return "--from takes seconds since the job began";
    if (wanted->to && !ana_moment_of_text(wanted->to, &to))
        return "--to takes seconds since the job began";
    return to <= from ? "--to must be later than --from" : NULL;
}

bool tui_part_select(const struct ana_job *job, const struct tui_part *wanted, struct ana_selection *part,
                     uint8_t *ranks, char *error, size_t error_size)
{
    if (wanted->from)
        ana_moment_of_text(wanted->from, &part->begin_ns);
    if (wanted->to)
        ana_moment_of_text(wanted->to, &part->end_ns);
    if (part->begin_ns >= ana_job_info(job).elapsed_ns) {
        snprintf(error, error_size, "the job had ended by then: it took %.9g s",
                 (double)ana_job_info(job).elapsed_ns / 1e9);
        return false;
    }
    part->ranks = wanted->ranks ? ranks : NULL;
    return !wanted->ranks || ana_ranks_of_text(job, wanted->ranks, ranks, error, error_size);
}
