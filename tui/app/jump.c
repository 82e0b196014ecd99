#include "tui/app/jump.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/palette.h"
#include "trace/job/window.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JUMP(word, example, help) static void jump_to_##word(struct tui_app *app, const char *argument);
#include "tui/app/jump.def"

const struct tui_jump tui_jumps[] = {
#define JUMP(word, example, help) {#word, example, help},
#include "tui/app/jump.def"
    {NULL, NULL, NULL}};

static void (*const handlers[])(struct tui_app *, const char *) = {
#define JUMP(word, example, help) jump_to_##word,
#include "tui/app/jump.def"
};

static void complain(struct tui_app *app, const char *format, const char *what)
{
    snprintf(app->message, sizeof app->message, format, what);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void put_cursor(struct tui_app *app, int64_t at_ns)
{
    app->cursor_ns = at_ns;
    app->cursor_at_end = app->follow = false;
}

static void show_window(struct tui_app *app, int64_t begin_ns, int64_t end_ns)
{
    put_cursor(app, begin_ns);
    tui_app_set_range(app, begin_ns, end_ns);
}

static void jump_to_time(struct tui_app *app, const char *argument)
{
    char from[64];
    int64_t begin_ns = 0, end_ns = app->info.elapsed_ns;
    const char *dash = strchr(argument, '-');
    snprintf(from, sizeof from, "%.*s", dash ? (int)(dash - argument) : (int)strlen(argument), argument);
    bool good = (dash == argument || ana_moment_of_text(from, &begin_ns)) && (!dash || dash[1] || dash > argument);
    if (!good || (dash && dash[1] && !ana_moment_of_text(dash + 1, &end_ns)))
        complain(app, SAY_IS_NO_TIME, argument);
    else if (begin_ns >= app->info.elapsed_ns)
        complain(app, SAY_THE_JOB_HAD, argument);
    else if (dash && end_ns <= begin_ns)
        complain(app, SAY_ENDS_BEFORE_IT, argument);
    else if (dash)
        show_window(app, begin_ns, end_ns);
    else
        tui_app_goto_time(app, begin_ns);
}

static void jump_to_iter(struct tui_app *app, const char *argument)
{
    char *end, count[32];
    int64_t begin_ns, end_ns;
    uint64_t number = strtoull(argument, &end, 10);
    if (*argument < '1' || *argument > '9' || *end) {
        complain(app, SAY_IS_NO_NUMBER, argument);
        return;
    }
    const struct ana_iterations *of = &app->summary.iterations;
    uint64_t there = of->levels ? of->loop[of->level].count : 0;
    snprintf(count, sizeof count, "%llu", (unsigned long long)there);
    if (number > there)
        complain(app, there ? SAY_THERE_ARE_ONLY : SAY_NO_LOOP_WAS, count);
    else if (!ana_iteration_span(app->job, of, of->level, number, number, &begin_ns, &end_ns) || end_ns <= begin_ns)
        complain(app, SAY_ITERATION_NOT_KEPT, "");
    else
        show_window(app, begin_ns, end_ns);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static void jump_to_rank(struct tui_app *app, const char *argument)
{
    char error[160];
    uint8_t *ranks = calloc(app->rank_count + 1, 1);
    if (!ranks)
        complain(app, SAY_NO_MEMORY, "");
    else if (!ana_ranks_of_text(app->job, argument, ranks, error, sizeof error))
        complain(app, "%s", error);
    else {
        memcpy(app->tagged, ranks, app->rank_count);
        app->tagged_count = 0;
        for (size_t i = app->rank_count; i-- > 0;)
            if (ranks[i]) {
                app->tagged_count++;
                tui_app_choose_rank(app, i);
            }
        app->stale = true;
    }
    free(ranks);
}

/* ---- filter ------------------------------------------------------------------------------------------------------ */

/* Sets one part of the filter, and says in words what the filter is. */
static void set_filter(struct tui_app *app, uint64_t *part, uint64_t value)
{
    *part = value;
    app->stale = true;
    ana_selection_words(app->job, &app->filter, app->filter_words, sizeof app->filter_words);
}

bool tui_app_drop_filter(struct tui_app *app)
{
    bool any = ana_has_filter(&app->filter);
    app->filter = (struct ana_selection){.end_ns = INT64_MAX};
    app->filter_words[0] = 0;
    app->stale = app->stale || any;
    return any;
}

int tui_app_only(struct tui_app *app, uint64_t *part, uint64_t value)
{
    set_filter(app, part, *part == value ? 0 : value);
    return TUI_REDRAW;
}

static void jump_to_comm(struct tui_app *app, const char *argument)
{
    uint64_t comm = *argument ? ana_comm_of_text(app->job, argument) : 0;
    if (*argument && !comm)
        complain(app, SAY_THERE_IS_NO_COMMUNICATOR, argument);
    else
        set_filter(app, &app->filter.comm, comm);
}

static void jump_to_call(struct tui_app *app, const char *argument)
{
    uint64_t call = *argument ? ana_call_of_text(app->job, argument) : 0;
    if (*argument && !call)
        complain(app, SAY_THERE_IS_NO_CALL, argument);
    else
        set_filter(app, &app->filter.call, call);
}

static bool is_at(const struct ana_site *site, const char *text)
{
    const char *slash = site->line ? strrchr(site->line, '/') : NULL;
    size_t length = strlen(text);
    return (site->line && (strcmp(site->line, text) == 0 || (slash && strcmp(slash + 1, text) == 0))) ||
           (site->function && strncmp(site->function, text, length) == 0 &&
            (!site->function[length] || site->function[length] == '+'));
}

static void jump_to_site(struct tui_app *app, const char *argument)
{
    const struct ana_site *found = NULL;
    for (size_t i = 0; *argument && i < app->summary.site_count && !found; i++)
        found = is_at(&app->summary.sites[i], argument) ? &app->summary.sites[i] : NULL; /* the one with most time */
    if (*argument && !found)
        complain(app, SAY_NOTHING_IN_VIEW, argument);
    else
        set_filter(app, &app->filter.site, found ? found->identity : 0);
}

static void jump_to_note(struct tui_app *app, const char *argument)
{
    tui_app_mark(app, '-', argument);
}

static void jump_to_save(struct tui_app *app, const char *argument)
{
    snprintf(app->saving, sizeof app->saving, "%s", argument);
    app->save = true;
}

static void jump_to_all(struct tui_app *app, const char *argument)
{
    (void)argument;
    tui_app_drop_filter(app);
    tui_app_step(app, TUI_ACTION_UNTAG);
    tui_app_step(app, TUI_ACTION_ZOOM_ALL);
}

/* ---- the prompt -------------------------------------------------------------------------------------------------- */

int tui_app_jump(struct tui_app *app, const char *typed)
{
    typed += strspn(typed, " ");
    size_t length = strcspn(typed, " ");
    const char *argument = typed + length + strspn(typed + length, " ");
    if ((*typed >= '0' && *typed <= '9') || *typed == '-') {
        jump_to_time(app, typed);
        return TUI_REDRAW;
    }
    for (int i = 1; tui_jumps[i].word && length; i++)
        if (strncasecmp(tui_jumps[i].word, typed, length) == 0) {
            handlers[i](app, argument);
            return TUI_REDRAW;
        }
    enum tui_action action = length && !*argument ? tui_palette_action(app, typed, length) : TUI_ACTION_NONE;
    if (action)
        return tui_app_step(app, action);
    if (length)
        complain(app, SAY_IS_NOT_UNDERSTOOD, typed);
    return TUI_REDRAW;
}
