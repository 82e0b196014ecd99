/* hpctop diff [--json] [--fail-over PERCENT] A B: two runs, or parts of runs, side by side. */
#include "tui/commands/arguments.h"
#include "tui/commands/command.h"
#include "tui/output/json.h"
#include "tui/sources/lines.h"
#include "trace/job/window.h"
#include "trace/report/report.h"
#include "trace/session/session.h"
#include "tui/app/loop.h"
#include "tui/views/views.h"
#include "trace/util/rows.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    bool json, text;
    double fail_over; /* a share; INFINITY: never */
};

/* Parses "5%" or "5" as 0.05.  False: it is none. */
static bool parse_percent(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end) / 100;
    return *text && (!*end || strcmp(end, "%") == 0) && *out >= 0 && *out < 1e6;
}

/* A run as it was typed: a folder, or a part of its contents. */
struct run {
    char folder[4096];
    struct ana_selection part;
};

/* "10s" or "1:02:03.5" before `end`, in ns. */
static bool parse_moment(const char *text, const char *end, int64_t *ns)
{
    char moment[64];
    size_t n = (size_t)(end - text);
    n -= n && text[n - 1] == 's';
    if (n >= sizeof moment)
        return false;
    memcpy(moment, text, n);
    moment[n] = 0;
    return ana_moment_of_text(moment, ns);
}

/* Reads "DIR" or "DIR@10s-20s".  False: it is neither. */
static bool parse_run(const char *text, struct run *run)
{
    const char *at = strrchr(text, '@'), *dash = at ? strchr(at, '-') : NULL;
    run->part = (struct ana_selection){.begin_ns = 0, .end_ns = INT64_MAX};
    if (!at || access(text, F_OK) == 0)
        at = text + strlen(text);
    else if (!dash || !parse_moment(at + 1, dash, &run->part.begin_ns) ||
             !parse_moment(dash + 1, dash + strlen(dash), &run->part.end_ns) || run->part.end_ns <= run->part.begin_ns)
        return false;
    snprintf(run->folder, sizeof run->folder, "%.*s", (int)(at - text), text);
    return true;
}

static const char *scaling_name(enum ana_scaling scaling)
{
    static const char *const names[] = {
        [ANA_SCALING_NONE] = NULL, [ANA_SCALING_STRONG] = "strong", [ANA_SCALING_WEAK] = "weak"};
    TRC_ASSERT_ROWS(names, ANA_SCALING_WEAK);
    return names[scaling];
}

static void add_run(cJSON *root, const char *key, const struct ana_diff_run *run)
{
    cJSON *object = cJSON_AddObjectToObject(root, key);
    tui_json_text(object, "name", run->name);
    tui_json_text(object, "part", *run->part ? run->part : NULL);
    tui_json_integer(object, "ranks", run->ranks);
    tui_json_integer(object, "iterations", run->iterations);
    tui_json_ns(object, "elapsed_s", run->elapsed_ns);
    tui_json_real(object, "iteration_s", run->iteration_ns / 1e9);
    tui_json_real(object, "outside_s", run->outside_ns / 1e9);
    tui_json_real(object, "computation_s", run->computation_ns / 1e9);
    tui_json_real(object, "queued", run->queued);
}

static void add_times(cJSON *object, const int64_t ns[2])
{
    tui_json_ns(object, "before_s", ns[0]);
    tui_json_ns(object, "after_s", ns[1]);
}

static void add_place(cJSON *object, const char *call, const char *place, const char *of)
{
    cJSON *end = cJSON_AddObjectToObject(object, of);
    tui_json_text(end, "call", call);
    tui_json_text(end, "place", place);
}

/* Adds a segment, or null. */
static void add_segment(cJSON *root, const char *key, const struct ana_diff_segment *segment, bool has_rank)
{
    if (!segment->to.call) {
        cJSON_AddNullToObject(root, key);
        return;
    }
    cJSON *object = cJSON_AddObjectToObject(root, key);
    if (has_rank)
        tui_json_integer(object, "rank", (uint64_t)segment->rank.rank);
    tui_json_text(object, "kind", segment->inside ? "inside" : "between");
    tui_json_text(object, "region", *segment->region ? segment->region : NULL);
    add_place(object, segment->from.call, segment->from.place, "from");
    add_place(object, segment->to.call, segment->to.place, "to");
    add_times(object, segment->ns);
}

static void add_accounts(cJSON *root, const struct ana_diff_accounts *accounts)
{
    if (!accounts->known)
        return;
    cJSON *list = cJSON_AddArrayToObject(root, "accounts"), *places = cJSON_AddArrayToObject(root, "places");
    for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++) {
        const int64_t ns[2] = {accounts->run[0].ns[id], accounts->run[1].ns[id]};
        if (!ns[0] && !ns[1])
            continue;
        cJSON *one = tui_json_item(list);
        tui_json_text(one, "account", ana_account_key(id));
        add_times(one, ns);
    }
    for (size_t i = 0; i < accounts->places; i++) {
        const struct ana_diff_place *place = &accounts->place[i];
        cJSON *one = tui_json_item(places);
        tui_json_text(one, "account", ana_account_key(place->id));
        tui_json_text(one, "call", place->at.call);
        tui_json_text(one, "place", place->at.place);
        add_times(one, place->ns);
    }
    add_segment(root, "longer", &accounts->longer, false);
    add_segment(root, "culprit", &accounts->culprit, true);
}

static void add_ranks(cJSON *object, const void *row, const struct ana_whole *whole)
{
    const struct ana_diff_finding *f = row;
    cJSON *ranks = cJSON_AddArrayToObject(object, "ranks");
    (void)whole;
    for (size_t r = 0; r < f->ranks; r++)
        cJSON_AddItemToArray(ranks, cJSON_CreateNumber(f->rank[r].rank));
}

static void print_json(const struct ana_diff *diff)
{
    cJSON *root = tui_json_document();
    add_run(root, "before", &diff->run[0]);
    add_run(root, "after", &diff->run[1]);
    char words[600];
    ana_diff_answer(diff, words, sizeof words);
    tui_json_text(root, "answer", ana_diff_answer_keys[diff->answer]);
    tui_json_text(root, "words", words);
    tui_json_text(root, "measure", diff->measure == ANA_DIFF_OUTSIDE ? "outside_calls" : "iteration");
    tui_json_real(root, "change", diff->change);
    tui_json_real(root, "confidence", diff->change_confidence);
    tui_json_real(root, "detectable", isinf(diff->detectable) ? NAN : diff->detectable);
    ana_diff_account(diff, words, sizeof words);
    tui_json_text(root, "largest", *words ? words : NULL);
    add_accounts(root, &diff->accounts);
    tui_json_integer(root, "compared", diff->compared);
    tui_json_text(root, "scaling", scaling_name(diff->scaling));
    if (diff->scaling != ANA_SCALING_NONE) {
        tui_json_real(root, "computation_scaling", diff->computation_scaling);
        tui_json_real(root, "speedup", diff->speedup);
        tui_json_real(root, "efficiency", diff->efficiency);
    }
    static const struct ana_whole whole;
    tui_json_rows_more(root, "findings", ANA_KIND_CHANGE, diff->finding, sizeof *diff->finding, diff->findings, &whole,
                       add_ranks);
    tui_json_print(root);
}

/* Returns the exit status of a gate (--fail-over). */
static int gate_status(const struct ana_diff *diff, const struct options *options)
{
    if (isinf(options->fail_over))
        return TUI_EXIT_OK;
    if (diff->answer == ANA_DIFF_SLOWER)
        return diff->change > options->fail_over ? TUI_EXIT_TROUBLE : TUI_EXIT_OK;
    const bool found = diff->detectable <= options->fail_over; /* a slowdown of that size would have been found */
    return diff->answer == ANA_DIFF_FASTER || found ? TUI_EXIT_OK : TUI_EXIT_NOT_KNOWN;
}

/* Shows the screens of the second job, with what changed first.  The app closes the job, and *job becomes NULL.  False:
 * there is no terminal for it. */
static bool show_screens(struct ana_job **job, const struct ana_diff *diff)
{
    char error[256];
    struct tui_app app;
    struct tui_term term;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !tui_app_init(&app, *job, tui_views))
        return false;
    *job = NULL;
    app.diff = diff;
    app.touched = true; /* the first view is this one, whatever is the matter */
    tui_app_open(&app, TUI_VIEW_DIFF);
    bool shown = tui_term_curses(&term, TUI_COLOUR_AUTO, false, error, sizeof error);
    if (shown) {
        tui_loop(&app, term, true);
        term.ops->close(term.data);
    } else {
        ana_diff_text(diff, app.job, false, stdout);
    }
    tui_app_free(&app);
    return true;
}

static int print_diff(struct ana_job *job[2], const struct run run[2], const struct options *options)
{
    const struct ana_selection part[2] = {run[0].part, run[1].part};
    struct ana_diff diff;
    bool ok = ana_diff_jobs(job, part, &diff);
    if (ok && options->json)
        print_json(&diff);
    else if (ok && (options->text || !show_screens(&job[1], &diff)))
        ana_diff_text(&diff, job[1], strcmp(nl_langinfo(CODESET), "UTF-8") == 0, stdout);
    int status = ok ? gate_status(&diff, options) : TUI_EXIT_OK;
    ana_diff_free(&diff);
    return ok ? tui_finish(status) : tui_input_error("out of memory");
}

/* Opens a run and reads its events.  TUI_EXIT_OK, or the exit status after an error message. */
static int open_run(const struct run *run, struct ana_job **job)
{
    char error[512];
    const char *folder = run->folder;
    if (ana_job_open(&folder, 1, job, error, sizeof error) != TRC_OK)
        return tui_input_error("%s", error);
    double elapsed_s = (double)ana_job_info(*job).elapsed_ns / 1e9;
    if ((double)run->part.begin_ns / 1e9 >= elapsed_s)
        return tui_input_error("%s had ended by then: it took %.9g s", folder, elapsed_s);
    tui_lines_use(*job, TUI_LINES_PATIENCE);
    if (!ana_of_all_time(&run->part) && !ana_job_set_window(*job, run->part.begin_ns, run->part.end_ns))
        return tui_input_error("out of memory");
    ana_job_advance(*job, 0);
    return TUI_EXIT_OK;
}

int tui_command_diff(int argc, char **argv)
{
    struct options options = {.fail_over = INFINITY};
    struct ana_job *job[2] = {NULL, NULL};
    struct run run[2];
    const char *percent = NULL;
    const struct tui_argument known[] = {{"json", 0, TUI_FLAG, &options.json},
                                         {"text", 0, TUI_FLAG, &options.text},
                                         {"fail-over", 0, TUI_TEXT, &percent},
                                         {0}};
    int status = tui_arguments(argc, argv, known, NULL);
    if (status != TUI_EXIT_OK)
        return status;
    if (percent && !parse_percent(percent, &options.fail_over))
        return tui_usage_error("diff", "%s is not a percentage", percent);
    options.text |= percent != NULL; /* a script asks */
    if (argc - optind != 2)
        return tui_usage_error("diff", "diff needs two trace folders");
    for (int side = 0; side < 2; side++)
        if (!parse_run(argv[optind + side], &run[side]))
            return tui_usage_error("diff", "%s: there is no such folder, and a part is DIR@FROM-TO",
                                   argv[optind + side]);
    for (int side = 0; side < 2 && status == TUI_EXIT_OK; side++)
        status = open_run(&run[side], &job[side]);
    if (status == TUI_EXIT_OK)
        status = print_diff(job, run, &options);
    ana_job_close(job[1]);
    ana_job_close(job[0]);
    return status;
}
