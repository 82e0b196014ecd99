/* Inspect: one rank at one time: its call, its wait and who caused that, its callers, and the program's lines. */
#include "tui/views/inspect.h"
#include "tui/views/sentences_impl.h"

#include <string.h>

struct own {
    struct tui_pager pager;
    struct tui_moment moment;
};

TUI_STATE(INSPECT)

enum { LINE_COLUMNS = 12 }; /* columns for ":1234" and a margin */

/* Returns the last part of a text that has `room` columns with an ellipsis before it. */
static const char *keep_end(const char *text, int room)
{
    if (tui_columns(text) > room)
        tui_skip(&text, tui_columns(text) - room + 1);
    return text;
}

/* Puts a row into the pager: sentences in as many lines as needed; of the path of a file its end. */
static void put_row(void *user, const char *label, const char *text)
{
    enum { INDENT = 12 };
    struct tui_pager *pager = user;
    int room = pager->rect.w - INDENT - 1;
    char line[1200];
    if (strcmp(label, "source") != 0 && *label) {
        tui_wrap(label, INDENT, text, pager->rect.w, tui_pager_line, pager);
        return;
    }
    const char *from = *label ? keep_end(text, room) : text; /* the line's number stays */
    snprintf(line, sizeof line, " %-*s%s%s", INDENT - 1, label, from > text ? "\xe2\x80\xa6" : "", from);
    tui_pager_line(pager, *text == '>' ? TUI_STYLE_STRONG : TUI_STYLE_NORMAL, line);
}

/* Puts a row unless it is of a wait: an index has the waits of late calls only. */
static void put_row_but_waits(void *user, const char *label, const char *text)
{
    if (strcmp(label, "waited") != 0 && strcmp(label, "meanwhile") != 0)
        put_row(user, label, text);
}

/* Puts the moment of a rank, below a title. */
static void put_moment(struct tui_app *app, size_t index, int64_t at_ns, const char *title, struct tui_moment *moment,
                       tui_inspect_row *row, struct tui_pager *pager)
{
    char line[120];
    tui_inspect(app->job, &app->summary, index, at_ns, moment);
    snprintf(line, sizeof line, title, TUI_RANK_NAME(app, index), (double)at_ns / 1e9);
    tui_pager_line(pager, TUI_STYLE_STRONG, line);
    tui_inspect_rows(app->job, moment, row, pager);
}

static void draw_moment(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct own *o = own(app);
    tui_pager_begin(&o->pager, grid, rect);
    put_moment(app, app->cursor_rank, app->cursor_ns, SAY_RANK_AT, &o->moment, put_row, &o->pager);
    tui_pager_end(&o->pager, SAY_ENTER_WHOM_IT);
}

void tui_longest_draw(struct tui_app *app, const struct ana_site *site, struct tui_longest_call *o,
                      struct tui_grid *grid, struct tui_rect rect)
{
    if (o->site != site->identity || o->summaries != app->summaries) {
        int64_t begin, end;
        tui_app_range(app, &begin, &end);
        o->at_ns = ana_longest(app->job, site, begin, end);
        o->site = site->identity;
        o->summaries = app->summaries;
    }
    tui_pager_begin(&o->pager, grid, rect);
    if (o->at_ns > INT64_MIN)
        put_moment(app, site->index, o->at_ns, SAY_LONGEST_CALL, &o->moment, put_row_but_waits, &o->pager);
    if (o->pager.count > o->pager.page)
        tui_pager_end(&o->pager, SAY_REST_BY_E);
}

static int act_on_moment(struct tui_app *app, enum tui_action action)
{
    const struct tui_moment *m = &own(app)->moment;
    const struct ana_state_wait *wait = &m->state.wait;
    if (action == TUI_ACTION_NEXT_CALL || action == TUI_ACTION_PREVIOUS_CALL) {
        int step = action == TUI_ACTION_NEXT_CALL ? 1 : -1;
        tui_app_goto_time(app, ana_step(app->job, app->cursor_rank, app->cursor_ns, step));
    } else if (action == TUI_ACTION_DEEPER && m->state.waited_ns > 0) {
        tui_app_choose_rank(app, wait->culprit);
        tui_app_goto_time(app, wait->begin_ns + (wait->end_ns - wait->begin_ns) / 2);
    } else if (action == TUI_ACTION_EDIT && m->source.file[0]) {
        const char *from = keep_end(m->source.file, own(app)->pager.rect.w - LINE_COLUMNS);
        snprintf(app->message, sizeof app->message, "%s%.180s:%d", from > m->source.file ? "\xe2\x80\xa6" : "", from,
                 m->source.line);
        app->edit = &m->source;
    } else {
        return tui_pager_act(&own(app)->pager, action);
    }
    own(app)->pager.top = 0;
    return TUI_REDRAW;
}

const struct tui_view tui_view_inspect = {
    .own_size = sizeof(struct own),
    .draw = draw_moment,
    .act = act_on_moment,
};
