/* hpctop report [--all|--table NAME [--csv]|--json [--brief]|--html] [-o FILE] [--from S] [--to S] [--ranks LIST]
 * [--comm NAME] [--call NAME] [--hang SECONDS] [-j N] DIR..: a page for a ticket, or the same numbers for scripts. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/commands/part.h"
#include "tui/commands/whole.h"
#include "tui/sources/node.h"
#include "tui/output/report_json.h"

#include "tui/sources/lines.h"
#include "trace/job/parts.h"
#include "trace/summary/summary.h"
#include "trace/job/window.h"
#include "trace/report/report.h"
#include "trace/session/session.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "tui/output/page.h"
#include <errno.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "trace/job/site_words.h"
#include "tui/launch/record.h"
#include <unistd.h>

/* ---- files with names of functions that have none here --------------------------------------------------------- */

enum { PLACES = 12, FILES = 4, PATH_WIDTH = 1100 }; /* places that are looked at: a report's; files that are named */

/* Finds the package that owns a file here, by dpkg or rpm. */
static bool find_package(const char *path, char *out, size_t size)
{
    char program[4096];
    bool dpkg = tui_find_program("dpkg-query", program, sizeof program);
    if (!dpkg && !tui_find_program("rpm", program, sizeof program))
        return false;
    bool found = tui_ask(dpkg ? (const char *const[]){program, "-S", path, NULL}
                              : (const char *const[]){program, "-qf", "--qf", "%{NAME}\\n", path, NULL},
                         out, size) == 0;
    if (!found && dpkg && strncmp(path, "/usr/lib", 8) == 0) /* packages may name /lib, which may be a link */
        found = tui_ask((const char *const[]){program, "-S", path + 4, NULL}, out, size) == 0;
    size_t n = strcspn(out, ":,\n");
    if (!found || n == 0 || n + sizeof "-debuginfo" > size || memchr(out, ' ', n))
        return false;
    bool libc = n == 5 && strncmp(out, "libc6", 5) == 0; /* the only one with a package of the old kind */
    strcpy(out + n, libc ? "-dbg" : dpkg ? "-dbgsym" : "-debuginfo");
    return true;
}

/* Prints what would give names in a file. */
static void print_file(const struct trc_file *file, const char *path, FILE *out)
{
    char package[512], key[PATH_WIDTH + 16];
    const char *slash = strrchr(path, '/');
    snprintf(key, sizeof key, "build-id %s", path);
    const char *id = trc_fact(file, key);
    if (access(path, F_OK) == 0 && find_package(path, package, sizeof package))
        fprintf(out, "  %s: package %s\n", slash + 1, package);
    else if (id && strlen(id) > 2)
        fprintf(out, "  %s: what was stripped from it, as\n  /usr/lib/debug/.build-id/%.2s/%s.debug\n", slash + 1, id,
                id + 2);
    else
        fprintf(out, "  %s: the same file, not stripped\n", slash + 1);
}

/* Prints the files whose functions have no names in the first places of a summary, and what would give names: the
 * package of debug information that the package manager here has for the file, or the path of a file by its build id.
 * Prints nothing if all have names.  Runs the package manager; asks no server.  Main thread. */
static void print_unnamed(const struct ana_job *job, const struct ana_summary *summary, FILE *out)
{
    char files[FILES][PATH_WIDTH];
    size_t n = 0;
    for (size_t i = 0; i < summary->site_count && i < PLACES && n < FILES; i++) {
        const struct ana_site *site = &summary->sites[i];
        const char *plus = site->module ? strrchr(site->module, '+') : NULL;
        bool named = site->line || (site->function && !ana_is_near(site->function));
        if (named || !plus || site->module[0] != '/' || plus - site->module >= PATH_WIDTH)
            continue;
        snprintf(files[n], PATH_WIDTH, "%.*s", (int)(plus - site->module), site->module);
        size_t same = 0;
        while (strcmp(files[same], files[n]) != 0)
            same++;
        if (same < n)
            continue;
        if (n++ == 0)
            fprintf(out, "\nWHAT WOULD NAME THE FUNCTIONS of these files\n");
        print_file(ana_job_rank(job, site->index)->file, files[n - 1], out);
    }
    if (n)
        fprintf(out, "  or HPCTOP_DEBUGINFOD=1, with servers in DEBUGINFOD_URLS\n");
}

/* Requested part of the job, as typed; NULL: all. */
struct wanted {
    bool json, brief, html, all, csv;
    const char *folder; /* the first one */
    const char *table;  /* name of the only table; NULL: a page */
    const char *output; /* NULL: stdout */
    double hang_s;
    unsigned workers; /* 0: a second one where there are two cores */
    struct tui_part part;
    const char *comm, *call;
};

/* Finds the communicator and the call that were asked for.  False, with a line in `error`: there are none. */
static bool select_calls(struct ana_job *job, const struct wanted *wanted, struct ana_selection *part, char *error,
                         size_t size)
{
    struct ana_summary whole;
    if (wanted->comm && wanted->comm[0] == '#') { /* a number that the report of the whole run gives */
        ana_job_advance(job, 0);
        if (ana_summarize(job, *part, &whole) == TRC_OK)
            ana_summary_free(&whole);
    }
    part->comm = wanted->comm ? ana_comm_of_text(job, wanted->comm) : 0;
    part->call = wanted->call ? ana_call_of_text(job, wanted->call) : 0;
    if (wanted->comm && !part->comm)
        snprintf(error, size, "there is no communicator %.60s in this trace", wanted->comm);
    else if (wanted->call && !part->call)
        snprintf(error, size, "there is no call named %.60s", wanted->call);
    else
        return true;
    return false;
}

/* Reads the requested part.  False, with a line in `error`: the job does not have it. */
static bool select_part(struct ana_job *job, const struct wanted *wanted, struct ana_selection *part, uint8_t *ranks,
                        char *error, size_t size)
{
    *part = (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX};
    if (!select_calls(job, wanted, part, error, size))
        return false;
    if (!tui_part_select(job, &wanted->part, part, ranks, error, size))
        return false;
    if (ana_of_all_time(part) || ana_job_set_window(job, part->begin_ns, part->end_ns))
        return true;
    snprintf(error, size, "out of memory");
    return false;
}

/* Prints the report of a part of the job; false: out of memory. */
static bool print_part(struct ana_job *job, const struct ana_selection *part, const struct wanted *wanted, FILE *out)
{
    bool json = wanted->json, done = true;
    struct ana_summary summary;
    if (ana_summarize_all(job, *part, &summary) != TRC_OK)
        return false;
    char *text = !json           ? NULL
                 : wanted->brief ? tui_brief_json(job, &summary, wanted->folder)
                                 : tui_report_json(job, &summary);
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (wanted->html) {
        const struct ana_verdict *verdict = ana_of_all_time(part) ? ana_job_verdict(job) : NULL;
        char healthy[512];
        ana_headline(job, &summary, NULL, healthy, sizeof healthy);
        done = tui_page_write(job, &summary, verdict, healthy, NULL, out);
    } else if (json) {
        done = text && fprintf(out, "%s\n", text) >= 0;
    } else if (wanted->table) {
        ana_report_table(job, &summary, wanted->table, wanted->csv, utf8, out);
    } else if (!wanted->all) {
        ana_report_brief(job, &summary, utf8, out);
    } else {
        ana_report_text(job, &summary, utf8, out);
        print_unnamed(job, &summary, out);
        tui_node_report(job, utf8, out);
    }
    ana_summary_free(&summary);
    free(text);
    return done;
}

/* Prints it to where it was asked for: a file is there whole or not at all.  Returns the exit status. */
static int print_to(struct ana_job *job, const struct ana_selection *part, const struct wanted *wanted)
{
    struct tui_whole file;
    if (!wanted->output)
        return print_part(job, part, wanted, stdout) ? tui_finish(TUI_EXIT_OK) : tui_input_error("out of memory");
    if (tui_whole_open(&file, wanted->output) && tui_whole_close(&file, print_part(job, part, wanted, file.out)))
        return TUI_EXIT_OK;
    return tui_input_error("cannot write %s: %s", wanted->output, strerror(errno));
}

static int report(const char *const *folders, int n, const struct wanted *wanted)
{
    char error[512];
    struct ana_job *job;
    if (tui_open_job(folders, n, &job) != TUI_EXIT_OK)
        return TUI_EXIT_INPUT;
    ana_job_set_hang(job, wanted->hang_s);
    bool set = !wanted->workers || ana_job_set_workers(job, wanted->workers);
    snprintf(error, sizeof error, "out of memory");
    tui_node_sample(job, &(struct tui_node){0}); /* begins to ask, so that the answers come meanwhile */
    tui_sample_twice(job, 1);
    struct ana_selection part;
    uint8_t *ranks = calloc(ana_job_info(job).ranks + 1, 1);
    bool known =
        set && ana_job_read_by_threads(job) && ranks && select_part(job, wanted, &part, ranks, error, sizeof error);
    int status = known ? print_to(job, &part, wanted) : tui_input_error("%s", error);
    free(ranks);
    ana_job_close(job);
    return status;
}

int tui_report(const char *const *folders, int n, bool json, double hang_s)
{
    return report(folders, n, &(struct wanted){.json = json, .hang_s = hang_s});
}

/* Returns whether there is a table of this name, with `csv` one of rows; else `error` says which there are. */
static bool is_table(const char *name, bool csv, char *error, size_t size)
{
    int at = snprintf(error, size, "there is no table %.40s%s; tables:", name, csv ? " as CSV" : "");
    const char *table;
    for (size_t i = 0; (table = ana_report_table_name(i, csv)); i++) {
        if (strcmp(table, name) == 0)
            return true;
        at += snprintf(error + at, size - (size_t)at, "%s%s", *table ? " " : "", table);
    }
    return false;
}

int tui_command_report(int argc, char **argv)
{
    char error[400];
    struct wanted wanted = {.hang_s = TUI_HANG_S};
    const struct tui_argument known[] = {{"json", 0, TUI_FLAG, &wanted.json},
                                         {"brief", 0, TUI_FLAG, &wanted.brief},
                                         {"hang", 0, TUI_SECONDS, &wanted.hang_s},
                                         {"from", 0, TUI_TEXT, &wanted.part.from},
                                         {"to", 0, TUI_TEXT, &wanted.part.to},
                                         {"ranks", 0, TUI_TEXT, &wanted.part.ranks},
                                         {"comm", 0, TUI_TEXT, &wanted.comm},
                                         {"call", 0, TUI_TEXT, &wanted.call},
                                         {"workers", 'j', TUI_WORKERS, &wanted.workers},
                                         {"html", 0, TUI_FLAG, &wanted.html},
                                         {"all", 0, TUI_FLAG, &wanted.all},
                                         {"table", 0, TUI_TEXT, &wanted.table},
                                         {"csv", 0, TUI_FLAG, &wanted.csv},
                                         {"output", 'o', TUI_TEXT, &wanted.output},
                                         {0}};
    int status = tui_arguments(argc, argv, known, NULL);
    const char *wrong = wanted.json + wanted.html + wanted.all + !!wanted.table > 1
                            ? "--all, --table, --json and --html are different reports"
                        : wanted.brief && !wanted.json ? "--brief shortens --json; the text is short without it"
                        : wanted.csv && !wanted.table  ? "--csv needs --table"
                                                       : tui_part_wrong(&wanted.part);
    if (!wrong && wanted.table && !is_table(wanted.table, wanted.csv, error, sizeof error))
        wrong = error;
    if (status != TUI_EXIT_OK || wrong)
        return wrong && !status ? tui_usage_error("report", "%s", wrong) : status;
    if (optind == argc)
        return tui_usage_error("report", "report needs a trace folder");
    wanted.folder = argv[optind];
    return report((const char *const *)argv + optind, argc - optind, &wanted);
}
