/* hpctop metrics [-o FILE] DIR..: a job's counters as OpenMetrics text. */
#include "tui/commands/command.h"
#include "tui/commands/nearest.h"
#include "tui/commands/whole.h"
#include "tui/output/openmetrics.h"
#include "trace/job/sum_up.h"
#include "trace/session/session.h"

#include <errno.h>
#include <getopt.h>
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

static int print_metrics(const char *const *folders, int n, const char *path)
{
    char error[512];
    struct ana_job *job;
    struct ana_summary summary;
    if (ana_job_open(folders, (size_t)n, &job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    tui_sample_twice(job, 0.6);
    int status = TUI_EXIT_OK; /* events tell which ranks are late: without them a job that is slow would be healthy */
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

int tui_command_metrics(int argc, char **argv)
{
    static const struct option names[] = {{"output", required_argument, NULL, 'o'}, {0}};
    const char *path = NULL;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "o:", names, NULL)) != -1) {
        if (option != 'o')
            return tui_unknown_option("metrics", argv[optind - 1]);
        path = optarg;
    }
    if (optind == argc)
        return tui_usage_error("metrics", "metrics needs a trace folder");
    return print_metrics((const char *const *)argv + optind, argc - optind, path);
}
