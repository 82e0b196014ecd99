/* hpctop [DIR..]: the screens. */
#include "tui/commands/again.h"
#include "tui/commands/arguments.h"
#include "tui/commands/ask.h"
#include "tui/commands/command.h"
#include "tui/app/history.h"
#include "tui/app/loop.h"
#include "tui/app/opening.h"
#include "tui/app/settings.h"
#include "tui/views/views.h"
#include "tui/sources/lines.h"
#include "tui/sources/running.h"
#include "trace/members/bundle.h"
#include "trace/session/session.h"
#include "trace/util/numfmt.h"

#include <errno.h>
#include <langinfo.h>
#include <string.h>
#include <unistd.h>

#define MOST_RUNNING 16u  /* jobs of this machine that are listed */
#define MOST_AGAIN   2048 /* most ranks with enough memory for another reading beside the one shown */

struct options {
    bool ascii, no_colour;
    const char *script;
    int cols, rows;
};

/* Reads keys from a script and prints screens on stdout: for tests. */
static int play_script(struct tui_app *app, const struct options *options)
{
    FILE *script = strcmp(options->script, "-") == 0 ? stdin : fopen(options->script, "r");
    struct tui_term term;
    if (!script)
        return tui_input_error("cannot read %s: %s", options->script, strerror(errno));
    bool ascii = options->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    bool ok = tui_term_script(&term, script, stdout, options->cols, options->rows, ascii);
    if (ok) {
        tui_lines_use(app->job, TUI_LINES_PATIENCE); /* output must not depend on a thread */
        ana_job_advance(app->job, 0);
        tui_app_load(app);
        tui_loop(app, term, false);
        term.ops->close(term.data);
    }
    if (script != stdin)
        fclose(script);
    return ok ? tui_finish(TUI_EXIT_OK) : tui_input_error("out of memory");
}

/* Leaves the terminal that the files were opened with, if there is one. */
static void close_opening(struct tui_opening *opening)
{
    if (opening->term.ops)
        opening->term.ops->close(opening->term.data);
    opening->term.ops = NULL;
    tui_grid_free(&opening->grid);
}

static int show_screens(struct tui_app *app, struct tui_opening *opening)
{
    if (!opening->term.ops &&
        !tui_term_curses(&opening->term, opening->colour, opening->ascii, opening->error, sizeof opening->error))
        return tui_input_error("%s", opening->error);
    size_t n = strlen(app->message);
    if (opening->error[0])
        ana_append(app->message, sizeof app->message, &n, "%s%s", n ? "; " : "", opening->error);
    tui_loop(app, opening->term, true);
    return TUI_EXIT_OK;
}

/* Once a job that is shown has ended: reads it for its index. */
static bool read_again(void *user, const struct ana_job *shown, int64_t budget_ns)
{
    struct tui_again *again = user;
    bool goes_on = again->job || (ana_job_info(shown).ranks <= MOST_AGAIN && tui_again_wanted(shown));
    return goes_on && tui_again_step(again, budget_ns);
}

/* Asks for stacks that the verdict lacks; the answers come with a later look. */
static void ask_for_stacks(void *user, struct ana_job *job)
{
    const struct tui_again *again = user;
    tui_sure_verdict(job, again->folders, (int)again->count, 0);
}

/* Opens the job and shows it. */
static int show_job(const char *const *folders, size_t n, const struct options *options)
{
    struct tui_opening opening = {.folder = folders[0],
                                  .colour = options->no_colour ? TUI_COLOUR_NEVER : TUI_COLOUR_AUTO,
                                  .ascii = options->ascii};
    char error[512];
    struct ana_job *job = NULL;
    struct tui_app app;
    struct tui_settings settings;
    tui_settings_read(&settings);
    tui_theme_use(settings.theme);
    enum trc_status opened = ana_job_open_watched(folders, n, options->script ? NULL : tui_opening_step, &opening, &job,
                                                  error, sizeof error);
    if (opened != TRC_OK || opening.left) {
        close_opening(&opening);
        ana_job_close(opened == TRC_OK ? job : NULL);
        return opening.error[0] ? tui_input_error("%s", opening.error)
               : opening.left   ? TUI_EXIT_OK
                                : tui_input_error("%s", error);
    }
    tui_lines_use(job, 0);
    ana_job_watch(job, !options->script);
    if (!tui_app_init(&app, job, tui_views)) {
        close_opening(&opening);
        ana_job_close(job);
        return tui_input_error("out of memory");
    }
    struct tui_again again = {folders, n, NULL};
    app.aside = read_again;
    app.looked = options->script ? NULL : ask_for_stacks;
    app.aside_user = &again;
    tui_settings_apply(&settings, &app);
    tui_marks_read(&app.marks, folders[0]);
    if (!options->script)
        tui_history_find(app.history_path, sizeof app.history_path);
    tui_history_read(app.history, TUI_PROMPTS, app.history_path);
    int status = options->script ? play_script(&app, options) : show_screens(&app, &opening);
    close_opening(&opening);
    tui_again_leave(&again);
    tui_app_free(&app);
    return status;
}

/* Prints that there is no trace here, and the jobs that run on this machine; returns TUI_EXIT_INPUT. */
static int list_running(void)
{
    struct tui_running_job job[MOST_RUNNING];
    const size_t n = tui_running_find(job, MOST_RUNNING);
    const int status = tui_input_error(
        "there is no trace folder here; start a job with hpctop record -- mpirun .., or name a folder%s",
        n ? "; jobs that run on this machine:" : "");
    for (size_t i = 0; i < n; i++) {
        char age[64];
        ana_clock(age, sizeof age, (int64_t)(job[i].age_s * 1e9));
        fprintf(stderr, "  %u rank%s of %s (pid %d) since %s: ", job[i].ranks, job[i].ranks == 1 ? "" : "s",
                job[i].program, job[i].pid, age);
        if (*job[i].folder)
            fprintf(stderr, "hpctop %s\n", job[i].folder);
        else
            fputs("not recorded\n", stderr);
    }
    return status;
}

int tui_command_view(int argc, char **argv)
{
    struct options options = {.cols = 80, .rows = 24};
    char newest[4096];
    const char *here[1] = {newest}, *size = NULL;
    const struct tui_argument known[] = {{"ascii", 0, TUI_FLAG, &options.ascii},
                                         {"no-colour", 0, TUI_FLAG, &options.no_colour},
                                         {"no-color", 0, TUI_FLAG, &options.no_colour},
                                         {"script", 0, TUI_TEXT, &options.script}, /* for tests */
                                         {"size", 0, TUI_TEXT, &size},             /* size of the script's terminal */
                                         {0}};
    argv[0] = "view";
    int status = tui_arguments(argc, argv, known, NULL);
    if (status != TUI_EXIT_OK)
        return status;
    if (size && sscanf(size, "%dx%d", &options.cols, &options.rows) != 2)
        return tui_usage_error("view", "--size needs COLSxROWS, not %s", size);
    const char *const *folders = (const char *const *)argv + optind;
    size_t n = (size_t)(argc - optind);
    if (n == 0) {
        if (!ana_newest_folder(".", newest, sizeof newest))
            return list_running();
        folders = here;
        n = 1;
    }
    if (!strchr(folders[0], '/') && access(folders[0], F_OK) != 0 && errno == ENOENT)
        return tui_input_error("%s is neither a folder here nor a command (see: hpctop help)", folders[0]);
    if (!options.script && !isatty(STDOUT_FILENO))
        return tui_report(folders, (int)n, false, TUI_HANG_S);
    if (!options.script && !isatty(STDIN_FILENO))
        return tui_input_error("the screens need a terminal on stdin; hpctop report does not");
    return show_job(folders, n, &options);
}
