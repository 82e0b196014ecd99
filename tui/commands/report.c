/* hpctop report [--json] [--hang SECONDS] DIR..: a page for a ticket, or the same numbers for scripts. */
#include "tui/commands/command.h"
#include "tui/sources/node.h"
#include "tui/output/report_json.h"

#include "tui/sources/lines.h"
#include "trace/report/report.h"
#include "trace/session/session.h"
#include "trace/verdict/verdict.h"
#include <getopt.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

int tui_report(const char *const *folders, int n, bool json, double hang_s)
{
    char error[512];
    struct ana_job *job;
    if (ana_job_open(folders, (size_t)n, &job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    tui_lines_use(job, TUI_LINES_PATIENCE);
    ana_job_set_hang(job, hang_s);
    tui_node_sample(job, &(struct tui_node){0}); /* begins to ask, so that the answers come meanwhile */
    tui_sample_twice(job, 1);
    struct ana_summary summary;
    ana_job_advance(job, 0);
    enum trc_status status = ana_summarize(job, (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX}, &summary);
    char *text = status == TRC_OK && json ? tui_report_json(job, &summary) : NULL;
    bool done = status == TRC_OK && (text || !json);
    if (text)
        fputs(text, stdout);
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (done && !text) {
        ana_report_text(job, &summary, utf8, stdout);
        tui_node_report(job, utf8, stdout);
    }
    free(text);
    if (status == TRC_OK)
        ana_summary_free(&summary);
    ana_job_close(job);
    return done ? tui_finish(TUI_EXIT_OK) : tui_input_error("out of memory");
}

int tui_command_report(int argc, char **argv)
{
    static const struct option names[] = {
        {"json", no_argument, NULL, 'j'}, {"hang", required_argument, NULL, 'h'}, {0}};
    bool json = false;
    double hang_s = TUI_HANG_S;
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 'h' && !tui_parse_seconds(optarg, &hang_s))
            return tui_usage_error("report", "%s is not a number of seconds", optarg);
        else if (option != 'h')
            return tui_usage_error("report", "unknown option %s", argv[optind - 1]);
    }
    if (optind == argc)
        return tui_usage_error("report", "report needs a trace folder");
    return tui_report((const char *const *)argv + optind, argc - optind, json, hang_s);
}
