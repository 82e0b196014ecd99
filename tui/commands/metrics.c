/* hpctop metrics [-o FILE] DIR..: a job's counters as OpenMetrics text. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/commands/whole.h"
#include "tui/output/openmetrics.h"
#include "trace/summary/summary.h"
#include "trace/session/session.h"

#include <errno.h>
#include <string.h>

static int write_file(const struct ana_job *job, const struct ana_summary *summary, const char *path)
{
    struct tui_whole file;
    bool open = tui_whole_open(&file, path);
    if (open)
        tui_openmetrics(job, summary, file.out);
    if (open && tui_whole_close(&file, true))
        return TUI_EXIT_OK;
    return tui_input_error("cannot write %s: %s", path, strerror(errno));
}

int tui_command_metrics(int argc, char **argv)
{
    const char *path = NULL;
    struct ana_summary summary;
    struct ana_job *job;
    const struct tui_argument known[] = {{"output", 'o', TUI_TEXT, &path}, {0}};
    int status = tui_arguments_job(argc, argv, known, &job);
    if (status != TUI_EXIT_OK)
        return status;
    tui_sample_twice(job, 0.6);
    /* Events tell which ranks are late: without them a job that is slow would be healthy. */
    if (ana_summarize_all(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &summary) != TRC_OK) {
        status = tui_input_error("out of memory");
    } else {
        if (path)
            status = write_file(job, &summary, path);
        else
            tui_openmetrics(job, &summary, stdout);
        ana_summary_free(&summary);
    }
    ana_job_close(job);
    return tui_finish(status);
}
