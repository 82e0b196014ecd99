/* Actions: one handler a row of action.def, views first. */
#include "tui/output/horovod_words.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/chooser.h"
#include "tui/app/history.h"
#include "tui/app/jump.h"
#include "tui/app/palette.h"
#include "tui/app/view.h"
#include "tui/widgets/columns.h"

#include <string.h>

static int show_message(struct tui_app *app, const char *message)
{
    snprintf(app->message, sizeof app->message, "%s", message);
    return TUI_REDRAW;
}

static int open_view(struct tui_app *app, enum tui_action action)
{
    if (action == TUI_ACTION_VIEW_HOROVOD && !tui_app_offers(app, TUI_VIEW_HOROVOD))
        return show_message(app, TUI_HVD_NONE);
    if (action == TUI_ACTION_VIEW_NCCL && !tui_app_offers(app, TUI_VIEW_NCCL))
        return show_message(app, SAY_NO_CALL_OF);
    if (action == TUI_ACTION_VIEW_FILES && !tui_app_offers(app, TUI_VIEW_FILES))
        return show_message(app, SAY_NO_FILE_WAS);
    if (action == TUI_ACTION_VIEW_GPU && !tui_app_offers(app, TUI_VIEW_GPU))
        return show_message(app, SAY_NO_GPU);
    return tui_app_switch(app, (enum tui_view_id)(action - TUI_ACTION_VIEW_OVERVIEW));
}

static int inspect(struct tui_app *app, enum tui_action action)
{
    (void)action;
    return tui_app_open(app, TUI_VIEW_INSPECT);
}

static int open_help(struct tui_app *app, enum tui_action action)
{
    (void)action;
    if (app->view != TUI_VIEW_HELP) {
        app->help_of = app->view;
        memset(app->own[TUI_VIEW_HELP], 0, app->views[TUI_VIEW_HELP]->own_size); /* it begins at its first line */
        tui_app_open(app, TUI_VIEW_HELP);
    }
    return TUI_REDRAW;
}

static int return_reaction(struct tui_app *app, enum tui_action action)
{
    (void)app;
    return action == TUI_ACTION_QUIT         ? TUI_QUIT
           : action == TUI_ACTION_COPY       ? TUI_REDRAW | TUI_COPY
           : action == TUI_ACTION_COPY_TABLE ? TUI_REDRAW | TUI_COPY_TABLE
                                             : TUI_REDRAW | TUI_REPAINT;
}

static int open_prompt(struct tui_app *app, enum tui_action action)
{
    app->prompt = action == TUI_ACTION_FIND   ? TUI_PROMPT_FIND
                  : action == TUI_ACTION_JUMP ? TUI_PROMPT_JUMP
                                              : TUI_PROMPT_FILTER;
    const struct tui_table *table = &app->table[app->view];
    tui_line_begin(&app->line, app->prompt == TUI_PROMPT_FILTER ? table->filter : "");
    return TUI_REDRAW;
}

static int step_back(struct tui_app *app, enum tui_action action)
{
    (void)action;
    struct tui_table *table = &app->table[app->view];
    if (table->filter[0]) {
        table->filter[0] = 0;
        tui_app_update_table(app);
    } else if (tui_app_return(app)) {
        return TUI_REDRAW;
    } else if (app->call[0]) {
        app->call[0] = 0;
        tui_app_update_table(app);
    } else if (tui_app_drop_filter(app)) {
        return TUI_REDRAW;
    } else if (app->tagged_count) {
        return tui_app_step(app, TUI_ACTION_UNTAG);
    } else if (!app->all_time) {
        return tui_app_step(app, TUI_ACTION_ZOOM_ALL);
    } else if (app->analysed < 1 && tui_app_ended(app)) {
        app->halted = !app->halted;
        return show_message(app, app->halted ? SAY_NO_MORE_EVENTS : SAY_READING_GOES_ON);
    }
    return TUI_REDRAW;
}

static int toggle_freeze(struct tui_app *app, enum tui_action action)
{
    (void)action;
    if (tui_app_ended(app) && !app->frozen)
        return show_message(app, SAY_NOTHING_MOVES);
    app->frozen = !app->frozen;
    return TUI_REDRAW;
}

static int zoom_range(struct tui_app *app, enum tui_action action)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    bool in = action == TUI_ACTION_ZOOM_IN;
    int64_t width = end - begin, to = in ? width / 2 : width > INT64_MAX / 4 ? width : width * 2;
    /* Zooming keeps the end in place where a running job is followed, in the timeline the cursor, else the middle. */
    bool at_end = !tui_app_ended(app) && (app->follow || (app->all_time && !app->frozen));
    if (app->view == TUI_VIEW_TIMELINE)
        at_end = at_end && app->cursor_at_end;
    int64_t from = begin + (width - to) / 2;
    if (at_end)
        from = end - to;
    else if (app->view == TUI_VIEW_TIMELINE && width > 0)
        from = app->cursor_ns - (int64_t)((double)(app->cursor_ns - begin) / (double)width * (double)to);
    tui_app_set_range(app, from, from + to);
    app->scrolls = !app->all_time;
    app->follow = at_end && !app->all_time;
    tui_app_follow_end(app);
    return TUI_REDRAW;
}

static int zoom_to_all(struct tui_app *app, enum tui_action action)
{
    (void)action;
    app->scrolls = app->all_time && !app->scrolls;
    tui_app_set_range(app, 0, INT64_MAX);
    return TUI_REDRAW;
}

static int shift_range(struct tui_app *app, enum tui_action action)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    int64_t width = end - begin;
    app->follow = false;
    if (app->all_time) /* goes from all time to its last tenth or its first */
        begin = action == TUI_ACTION_EARLIER ? end - width / 10 : begin, width /= 10;
    else
        begin += action == TUI_ACTION_EARLIER ? -width / 2 : width / 2;
    tui_app_set_range(app, begin, begin + width);
    return TUI_REDRAW;
}

static int toggle_follow(struct tui_app *app, enum tui_action action)
{
    (void)action;
    if (tui_app_ended(app))
        return show_message(app, SAY_NOTHING_TO_FOLLOW);
    if (app->follow) {
        app->follow = false;
        return show_message(app, SAY_THE_WINDOW_STAYS);
    }
    int64_t begin, end, width;
    tui_app_range(app, &begin, &end);
    width = app->all_time && end > 20000000000 ? 10000000000 : app->all_time ? end / 2 : end - begin;
    tui_app_set_range(app, app->info.elapsed_ns - width, app->info.elapsed_ns);
    app->follow = !app->all_time;
    app->cursor_at_end = true;
    tui_app_follow_end(app);
    return show_message(app, SAY_THE_WINDOW_FOLLOWS);
}

static int tag_rank(struct tui_app *app, enum tui_action action)
{
    (void)action;
    if (app->cursor_rank >= app->rank_count)
        return TUI_REDRAW;
    uint8_t *mark = &app->tagged[app->cursor_rank];
    *mark = !*mark;
    app->tagged_count += *mark ? 1 : (size_t)-1;
    app->stale = true;
    return tui_app_step(app, TUI_ACTION_DOWN);
}

static int untag_all(struct tui_app *app, enum tui_action action)
{
    (void)action;
    for (size_t i = 0; i < app->rank_count; i++)
        app->tagged[i] = 0;
    app->stale = app->stale || app->tagged_count;
    app->tagged_count = 0;
    return TUI_REDRAW;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Moves the cursor that all views share to the row under the table's. */
static void follow(struct tui_app *app)
{
    const void *row = tui_table_chosen(&app->table[app->view]);
    if (tui_app_view(app)->moved && row)
        tui_app_view(app)->moved(app, row);
}

static int move_cursor(struct tui_app *app, enum tui_action action)
{
    const struct tui_view *view = tui_app_view(app);
    struct tui_table *table = &app->table[app->view];
    if (!view->table)
        return TUI_REDRAW;
    tui_table_move(table, tui_action_move(action, table->drawn.h > 2 ? table->drawn.h - 2 : 1).lines);
    follow(app);
    return TUI_REDRAW;
}

static int sort_table(struct tui_app *app, enum tui_action action)
{
    const struct tui_table_spec *spec = tui_app_view(app)->table;
    struct tui_table *table = &app->table[app->view];
    if (!spec)
        return TUI_REDRAW;
    if (action == TUI_ACTION_SORT_INVERT)
        tui_table_invert(table);
    else
        tui_table_sort(table, action == TUI_ACTION_SORT_NEXT ? 1 : -1);
    return TUI_REDRAW;
}

static int scroll_columns(struct tui_app *app, enum tui_action action)
{
    const struct tui_table_spec *spec = tui_app_view(app)->table;
    int by = action == TUI_ACTION_LEFT ? -1 : 1;
    if (spec && !tui_columns_scroll(&app->table[app->view], by) && by > 0 && !app->table[app->view].skip)
        return show_message(app, SAY_ALL_COLUMNS_ARE);
    return TUI_REDRAW;
}

static int choose_columns(struct tui_app *app, enum tui_action action)
{
    (void)action;
    tui_chooser_open(app);
    return TUI_REDRAW;
}

static int await_letter(struct tui_app *app, enum tui_action action)
{
    app->letter_for = action;
    return show_message(app, action == TUI_ACTION_MARK ? SAY_MARK_A_LETTER : SAY_TO_THE_MARK);
}

/* The next mark or note behind the cursor, or the first. */
static const struct tui_mark *next_mark(const struct tui_app *app)
{
    const struct tui_marks *marks = &app->marks;
    for (int i = 0; i < marks->count; i++)
        if (marks->mark[i].at_ns > app->cursor_ns)
            return &marks->mark[i];
    return marks->count ? &marks->mark[0] : NULL;
}

static int handle_letter(struct tui_app *app, int key)
{
    bool set = app->letter_for == TUI_ACTION_MARK;
    bool letter = (key >= 'a' && key <= 'z') || (key >= 'A' && key <= 'Z') || (key >= '0' && key <= '9');
    app->letter_for = TUI_ACTION_NONE;
    if (set && letter)
        tui_app_mark(app, (char)key, "");
    if (set || !(letter || key == '\''))
        return TUI_REDRAW;
    const struct tui_mark *mark = letter ? tui_marks_find(&app->marks, (char)key) : next_mark(app);
    if (!mark)
        return show_message(app, letter ? SAY_THERE_IS_NO : SAY_THERE_ARE_NO);
    for (size_t i = 0; i < app->rank_count; i++)
        if (strcmp(TUI_RANK_NAME(app, i), mark->rank) == 0)
            tui_tree_reveal(app, i);
    if (app->view != TUI_VIEW_TIMELINE)
        tui_app_open(app, TUI_VIEW_TIMELINE);
    tui_app_goto_time(app, mark->at_ns);
    return TUI_REDRAW;
}

static int find_next_row(struct tui_app *app, enum tui_action action)
{
    (void)action;
    const struct tui_view *view = tui_app_view(app);
    struct tui_table *table = &app->table[app->view];
    if (!view->table || !table->find[0])
        return show_message(app, SAY_NOTHING_TO_FIND);
    if (!tui_table_find(table, false))
        return show_message(app, "not found");
    follow(app);
    return TUI_REDRAW;
}

typedef int handler(struct tui_app *app, enum tui_action action);
static handler *const handlers[TUI_ACTIONS] = {
#define ACTION(id, label, keys, views, handler, help) [TUI_ACTION_##id] = handler,
#include "tui/app/action.def"
};

int tui_app_step(struct tui_app *app, enum tui_action action)
{
    const struct tui_action_info *info = tui_action_info(action);
    if (!info || !(info->views & 1u << app->view))
        return 0;
    app->touched = true;
    app->choosing = false;
    app->letter_for = TUI_ACTION_NONE;
    const struct tui_view *view = tui_app_view(app);
    struct tui_place from = tui_app_place(app);
    int reaction = view->act ? view->act(app, action) : TUI_UNHANDLED;
    if (reaction == TUI_UNHANDLED)
        reaction = handlers[action] ? handlers[action](app, action) : TUI_REDRAW;
    if (action == TUI_ACTION_DEEPER)
        tui_app_note_jump(app, from);
    return reaction;
}

/* ---- keys and mouse --------------------------------------------------------------------------------------------- */

/* Enters the typed line of a prompt.  Returns as tui_app_step. */
static int close_prompt(struct tui_app *app)
{
    const struct tui_view *view = tui_app_view(app);
    struct tui_table *table = &app->table[app->view];
    enum tui_prompt asked = app->prompt;
    app->prompt = TUI_PROMPT_NONE;
    tui_history_add(&app->history[asked], app->line.text);
    tui_history_store(app->history_path, TUI_PROMPTS, asked, app->line.text);
    if (asked == TUI_PROMPT_JUMP) {
        return tui_app_jump(app, app->line.text);
    } else if (asked == TUI_PROMPT_FIND && view->table) {
        snprintf(table->find, sizeof table->find, "%s", app->line.text);
        tui_app_update_table(app); /* folds no row away while there is a word to find */
        if (table->find[0] && !tui_table_find(table, true))
            show_message(app, "not found");
        else
            follow(app);
    } else if (asked == TUI_PROMPT_FIND && app->line.text[0]) {
        for (size_t i = 0; i < app->rank_count; i++)
            if (strcmp(TUI_RANK_NAME(app, i), app->line.text) == 0) {
                tui_tree_reveal(app, i);
                return TUI_REDRAW;
            }
        show_message(app, SAY_NO_SUCH_RANK);
    }
    return TUI_REDRAW;
}

static int type_key(struct tui_app *app, int key)
{
    char *filter = app->table[app->view].filter;
    if (key == TUI_KEY_ENTER) {
        return close_prompt(app);
    } else if (key == TUI_KEY_TAB && app->prompt == TUI_PROMPT_JUMP) {
        tui_palette_complete(app, &app->line);
    } else if (key == TUI_KEY_ESCAPE) {
        if (app->prompt == TUI_PROMPT_FILTER)
            *filter = 0;
        app->prompt = TUI_PROMPT_NONE;
        tui_app_update_table(app);
    } else if (tui_line_key(&app->line, &app->history[app->prompt], key) && app->prompt == TUI_PROMPT_FILTER) {
        snprintf(filter, sizeof app->table->filter, "%s", app->line.text); /* it works while it is typed, as in htop */
        tui_app_update_table(app);
    }
    return TUI_REDRAW;
}

int tui_app_key(struct tui_app *app, int key)
{
    int reaction = app->message[0] ? TUI_REDRAW : 0;
    app->message[0] = 0;
    if (app->prompt)
        return reaction | type_key(app, key);
    if (app->choosing)
        return reaction | tui_chooser_key(app, key);
    if (app->letter_for)
        return reaction | handle_letter(app, key);
    return reaction | tui_app_step(app, tui_key_action(app->view, key));
}

int tui_app_drag(struct tui_app *app, int x, int y)
{
    bool began = app->dragging;
    (void)y;
    if (!tui_app_view(app)->drag || app->pressed != app->view || app->choosing)
        return 0;
    app->dragging = true;
    if (began && app->drag_x == x)
        return 0;
    app->drag_x = x;
    return TUI_REDRAW;
}

int tui_app_release(struct tui_app *app, int x, int y)
{
    const struct tui_view *view = tui_app_view(app);
    int reaction = TUI_UNHANDLED, held = app->dragging ? TUI_REDRAW : 0;
    app->dragging = false;
    if (view->drag && app->pressed == app->view && x != app->pressed_x)
        reaction = view->drag(app, app->pressed_x, app->pressed_y, x, y);
    return reaction == TUI_UNHANDLED ? held : reaction;
}

int tui_app_wheel(struct tui_app *app, int turn, int x, int y, bool control)
{
    const struct tui_view *view = tui_app_view(app);
    int reaction = 0;
    app->message[0] = 0;
    if (app->choosing)
        return tui_chooser_key(app, turn < 0 ? TUI_KEY_UP : TUI_KEY_DOWN);
    if (control) {
        if (view->point)
            view->point(app, x, y);
        return TUI_REDRAW | tui_app_step(app, turn < 0 ? TUI_ACTION_ZOOM_IN : TUI_ACTION_ZOOM_OUT);
    }
    for (int i = 0; i < 3; i++)
        reaction |= tui_app_step(app, turn < 0 ? TUI_ACTION_UP : TUI_ACTION_DOWN);
    return reaction;
}

int tui_app_click(struct tui_app *app, int x, int y, int cols, int rows)
{
    struct tui_screen screen = tui_screen_layout(cols, rows);
    const struct tui_view *view = tui_app_view(app);
    app->message[0] = 0;
    if (app->choosing) {
        app->choosing = false;
        return TUI_REDRAW;
    }
    app->pressed = app->view;
    app->dragging = false;
    app->pressed_x = x;
    app->pressed_y = y;
    if (screen.keys.h && y == screen.keys.y)
        return TUI_REDRAW | tui_app_step(app, tui_key_bar_at(app, cols, x));
    if (y >= screen.headline.y && y < screen.headline.y + screen.headline.h) { /* the answer leads to its evidence */
        return tui_app_open(app, tui_app_offers(app, TUI_VIEW_VERDICT) ? TUI_VIEW_VERDICT : TUI_VIEW_IMBALANCE);
    }
    if (view->click) {
        int reaction = view->click(app, x, y);
        if (reaction != TUI_UNHANDLED)
            return reaction;
    }
    if (!view->table)
        return TUI_REDRAW;
    struct tui_table *table = &app->table[app->view];
    enum tui_table_click what = tui_table_click(table, x, y);
    if (what == TUI_CLICK_ROW || what == TUI_CLICK_CURSOR)
        follow(app);
    return what == TUI_CLICK_CURSOR ? TUI_REDRAW | tui_app_step(app, TUI_ACTION_DEEPER) : TUI_REDRAW;
}
