/* hpctop export --format F [-o FILE] [--from S] [--to S] [--ranks LIST] DIR..: a trace for other tools. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/commands/part.h"
#include "tui/sources/lines.h"
#include "trace/export/export.h"
#include "trace/session/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Arguments as typed; NULL: not given. */
struct wanted {
    const char *format, *out;
    struct tui_part part;
};

/* Set by an interrupt: nothing of the output is to be left; a second interrupt cannot wait for that. */
static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static void be_interruptible(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Prints the progress, on a terminal.  False: it was interrupted. */
static bool show_progress(void *user, double share)
{
    if (*(const bool *)user)
        fprintf(stderr, "\rexport: %3.0f %%", 100 * share);
    return !interrupted;
}

static int export(const char *const *folders, int n, const struct wanted *wanted)
{
    char error[512], out[4096];
    struct ana_job *job;
    if (tui_open_job(folders, n, &job) != TUI_EXIT_OK)
        return TUI_EXIT_INPUT;
    tui_sample_twice(job, 0.6);
    bool terminal = isatty(STDERR_FILENO);
    struct ana_export ask = {.format = wanted->format, .out = out, .progress = show_progress, .user = &terminal};
    ask.part = (struct ana_selection){.begin_ns = wanted->part.from ? 0 : INT64_MIN, .end_ns = INT64_MAX};
    uint8_t *ranks = calloc(ana_job_info(job).ranks + 1, 1);
    snprintf(error, sizeof error, "out of memory");
    snprintf(out, sizeof out, "%s", wanted->out ? wanted->out : "");
    if (!wanted->out)
        ana_export_default(job, ana_export_format_of(wanted->format), out, sizeof out);
    be_interruptible();
    bool done = ranks && tui_part_select(job, &wanted->part, &ask.part, ranks, error, sizeof error) &&
                ana_export(job, &ask, error, sizeof error);
    if (terminal)
        fprintf(stderr, "\r%14s\r", "");
    free(ranks);
    ana_job_close(job);
    if (!done)
        return tui_input_error("%s", interrupted ? "interrupted: nothing was written" : error);
    puts(out);
    return tui_finish(TUI_EXIT_OK);
}

/* Reports a bad format; returns the exit status. */
static int wrong_format(const char *format)
{
    char names[256] = "";
    const struct ana_export_format *f;
    for (size_t i = 0; (f = ana_export_format(i)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", f->name);
    }
    return format ? tui_usage_error("export", "there is no format %s, but %s", format, names)
                  : tui_usage_error("export", "export needs --format and one of %s", names);
}

int tui_command_export(int argc, char **argv)
{
    struct wanted wanted = {0};
    const struct tui_argument known[] = {
        {"format", 0, TUI_TEXT, &wanted.format},    {"output", 'o', TUI_TEXT, &wanted.out},
        {"from", 0, TUI_TEXT, &wanted.part.from},   {"to", 0, TUI_TEXT, &wanted.part.to},
        {"ranks", 0, TUI_TEXT, &wanted.part.ranks}, {0}};
    int status = tui_arguments(argc, argv, known, NULL);
    const char *wrong = tui_part_wrong(&wanted.part);
    if (status != TUI_EXIT_OK || wrong)
        return wrong && !status ? tui_usage_error("export", "%s", wrong) : status;
    if (!wanted.format || !ana_export_format_of(wanted.format))
        return wrong_format(wanted.format);
    if (optind == argc)
        return tui_usage_error("export", "export needs a trace folder");
    return export((const char *const *)argv + optind, argc - optind, &wanted);
}
