/* Timeline: a row a rank, a cell a piece of time in the colour of what took most of it. */
#include "tui/app/axis.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/words.h"
#include "tui/views/overview.h"
#include "tui/views/timeline.h"
#include "trace/job/window.h"

#include <stdlib.h>

enum {
    ABOVE = 1,
    WORDS = 3,
    LIST = 4 /* least lines of a list */,
    ROOM_FOR_LIST = 6,
    LEAST_FOR_STRIP = 8,
    TALLEST = 3,
    TALLEST_APART = 5
};

struct own {
    struct timeline_rows rows;
    size_t first;           /* line in view */
    struct tui_rect drawn;  /* place of the cells */
    struct slow_place slow; /* place in the list of the slowest */
    size_t streams, behind; /* rows of streams, and behind which row they stand */
    struct timeline_arrows arrows;
    struct graphs graphs;
    int tall, bar; /* lines of the screen that a row takes: more than one where there is room; of cells */
    int below;     /* lines below rows and list: of words, and of the strip of the whole run */
    int list;      /* lines of the list of outliers */
    bool in_list;  /* the cursor is in it */
    int chosen;    /* chosen row of the list */
};

TUI_STATE(TIMELINE)

/* ---- rows ------------------------------------------------------------------------------------------------------- */

/* The line of the cursor. */
static size_t find_line(const struct tui_app *app)
{
    return tui_timeline_line(&own(app)->rows, tui_tree_cursor(app));
}

static const struct tui_row *cursor_row(const struct tui_app *app)
{
    return app->tree.rows ? &app->tree.row[tui_tree_cursor(app)] : NULL;
}

/* Returns the lines that are free for bands below the rows. */
static int count_bands(const struct tui_app *app)
{
    return 1 + (app->summary.region_count > 0);
}

/* Whether messages are drawn: where each row is a rank, in a part of the run, since an index has no messages of all. */
static bool draws_arrows(struct tui_app *app, int columns)
{
    const struct ana_selection of = tui_app_selection(app);
    return !own(app)->rows.many && !ana_of_all_time(&of) &&
           tui_arrows_read(app, &own(app)->arrows, columns - tui_timeline_left(&own(app)->rows) - 1);
}

/* Returns the lines that rows and bands need, at least beside a list in a room of that height. */
static size_t need_lines(struct tui_app *app, struct tui_rect rect, int room)
{
    size_t rows = own(app)->rows.lines, all = rows * (draws_arrows(app, rect.w) ? 2 : 1) + (size_t)count_bands(app);
    return room > LIST + 1 && all < (size_t)(room - LIST - 1) ? all : rows;
}

/* Places the rows; returns how many are in view.  *streams gets the rows below them, for streams of the cursor's
 * rank. */
static size_t place_timeline(struct tui_app *app, struct tui_rect rect, size_t *streams)
{
    struct timeline_rows *rows = &own(app)->rows;
    int below = own(app)->list + own(app)->below, left = tui_timeline_left(rows);
    size_t h = rect.h > ABOVE + below ? (size_t)(rect.h - ABOVE - below) : 0;
    const struct tui_row *row = cursor_row(app);
    *streams = row && row->is_rank ? tui_timeline_streams(app) : 0;
    if (*streams > h / 2)
        *streams = h / 2;
    h -= *streams;
    if (!rows->lines || !h)
        return 0;
    size_t at = find_line(app), visible = rows->lines < h ? rows->lines : h, *top = &own(app)->first;
    *top = tui_scroll(at, *top, visible, rows->lines);
    const size_t spare = (own(app)->list ? 0 : ROOM_FOR_LIST) + (size_t)count_bands(app);
    int tall = h > spare ? (int)((h - spare) / visible) : 1;
    const bool apart = draws_arrows(app, rect.w); /* lines of messages are between them */
    const int most = apart ? TALLEST_APART : TALLEST;
    own(app)->tall = tall < 1 ? 1 : tall > most ? most : tall;
    own(app)->bar = apart ? (own(app)->tall + 1) / 3 + (own(app)->tall < 2) : own(app)->tall;
    own(app)->drawn = (struct tui_rect){rect.x + left, rect.y + ABOVE, rect.w - left - tui_timeline_right(rows, rect.w),
                                        (int)visible * own(app)->tall};
    return visible;
}

/* The cursor is on a rank that is shown; at first on the one that stands out. */
static void settle_cursor(struct tui_app *app)
{
    const struct tui_tree *tree = &app->tree;
    bool shown = app->cursor_rank < app->rank_count && tree->rows && tree->row_of[app->cursor_rank] < tree->rows;
    if (tree->rows && (!shown || (own(app)->rows.many && !app->rank_chosen && !app->rank_group)))
        app->cursor_rank = *tree->row[0].member;
}

/* Selects the last minute that is in view, so that it stays there, with the cursor. */
static void stop_scrolling(struct tui_app *app)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    if (tui_app_scrolls(app))
        tui_app_set_range(app, begin, end);
    app->cursor_at_end = app->follow = false;
}

/* ---- drawing ---------------------------------------------------------------------------------------------------- */

/* Draws the categories that are in view (a bit each), computing and waiting first; returns the column behind them. */
static int draw_legend(struct tui_grid *grid, struct tui_rect rect, int x, unsigned seen)
{
    for (int i = 0; i < TUI_CATEGORIES; i++) {
        int c = i == 0 ? TRC_CAT_COMPUTE : i == 1 ? TUI_CATEGORY_WAITING : i - 1;
        const struct tui_category *category = tui_category(c);
        if (!(seen & 1u << c) || x + tui_columns(category->name) + 2 > rect.w)
            continue;
        tui_put_char(grid, rect, x, 0, category->style, category->ch);
        x = tui_put(grid, rect, x + 2, 0, TUI_STYLE_NORMAL, category->name) + 2;
    }
    return x;
}

static int find_cursor_column(const struct tui_app *app, int64_t begin, int64_t end)
{
    int x = (int)((double)(app->cursor_ns - begin) / (double)(end - begin) * own(app)->drawn.w);
    return x < 0 ? 0 : x >= own(app)->drawn.w ? own(app)->drawn.w - 1 : x;
}

/* Draws the lines about the cell under the cursor. */
static void draw_words(struct tui_app *app, struct tui_grid *grid, struct tui_rect foot, int column)
{
    const struct tui_row *row = cursor_row(app);
    struct ana_state_at state;
    char text[512] = "", second[512] = "";
    if (row->is_rank) {
        tui_words_state(app, &state, text, sizeof text, second, sizeof second);
    } else {
        tui_timeline_words(app, &own(app)->rows, find_line(app), column, text, sizeof text, second, sizeof second);
    }
    tui_put(grid, foot, 1, 0, TUI_STYLE_STRONG, text);
    foot.y++;
    int x = tui_timeline_note(app, grid, foot, own(app)->drawn.w);
    tui_put(grid, foot, x, 0, TUI_STYLE_NORMAL, second);
}

/* Draws the legend of the view: shades of the rows, categories of the rows or of streams below them; else the keys. */
static void draw_foot(const struct tui_app *app, struct tui_grid *grid, struct tui_rect foot, unsigned seen,
                      size_t lines)
{
    const unsigned shaded = 1u << TUI_CATEGORIES;
    char text[80] = "";
    int x = seen & shaded ? tui_timeline_shades(app, &own(app)->rows, grid, foot) + 2 : 1;
    x = draw_legend(grid, foot, x, seen & ~shaded);
    if (lines && lines < own(app)->arrows.all)
        snprintf(text, sizeof text, SAY_LINES_OF_MESSAGES, lines, own(app)->arrows.all);
    else if (seen == shaded)
        snprintf(text, sizeof text, "%s", own(app)->rows.many ? SAY_KEYS_OF_ROWS : "m: shades");
    if (x + tui_columns(text) <= foot.w)
        tui_put_right(grid, foot, foot.w - 1, 0, TUI_STYLE_DIM, text);
}

/* Draws the rows in view, each as high as there is room for; column `at` is the cursor's. */
static unsigned draw_rows(const struct tui_app *app, struct tui_grid *grid, size_t rows, int at)
{
    struct own *o = own(app);
    size_t cursor = find_line(app);
    unsigned seen = 0;
    o->behind = cursor - o->first + 1;
    for (size_t i = 0; i < rows; i++) {
        struct tui_rect area = o->drawn;
        area.y += (int)i * (o->tall - 1) + (i >= o->behind ? (int)o->streams : 0);
        seen |= tui_timeline_draw(app, &o->rows, grid, area, i, at, o->first + i == cursor);
        for (int more = 1; more < o->bar; more++)
            tui_repeat(grid, (struct tui_rect){area.x, area.y + (int)i, area.w, 1}, more);
    }
    return seen;
}

/* Whether the whole run is drawn below the rest, while the job runs and a part of it is in view: where ranks that have
 * a row each keep it. */
static bool has_strip(const struct tui_app *app, struct tui_rect rect)
{
    const size_t room = rect.h > LEAST_FOR_STRIP ? (size_t)rect.h - ABOVE - WORDS : 0;
    return room && room != tui_app_shown(app) && !tui_app_ended(app) && (!app->all_time || tui_app_scrolls(app));
}

/* Draws the rates over time in the lines that rows of many ranks leave, below the same columns; of a job that ended. */
static void draw_graphs(struct tui_app *app, struct tui_grid *grid, struct tui_rect rest)
{
    struct own *o = own(app);
    const int left = tui_timeline_left(&o->rows);
    const struct tui_rect rect = {o->drawn.x - left, rest.y, o->drawn.w + left, rest.h - 1};
    if (!o->rows.many || !tui_app_ended(app))
        return;
    o->graphs.left = left;
    tui_graphs_read(app, &o->graphs, rect.w);
    if (rect.h >= tui_graphs_rows(&o->graphs, 0))
        tui_graphs_draw(app, &o->graphs, grid, rect);
}

static void draw_timeline(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    int64_t begin, end;
    struct own *o = own(app);
    o->below = WORDS + has_strip(app, rect);
    int room = rect.h - ABOVE - o->below;
    tui_timeline_rows(app, &o->rows, room > 0 ? (size_t)room : 0);
    settle_cursor(app);
    tui_app_range(app, &begin, &end);
    app->cursor_ns = app->cursor_ns < begin ? begin : app->cursor_ns;
    o->list = tui_outliers_lines(app, room, need_lines(app, rect, room), o->in_list);
    if (!o->list || o->chosen >= (int)app->summary.outlier_count)
        o->chosen = 0;
    o->in_list = o->in_list && o->list && app->summary.outlier_count;
    size_t streams, rows = place_timeline(app, rect, &streams);
    struct tui_rect foot = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    struct tui_rect list = {rect.x, rect.y + rect.h - o->below - o->list, rect.w, o->list};
    if (o->list)
        tui_outliers_draw(app, grid, list, o->in_list ? o->chosen : -1);
    if (!rows || o->drawn.w < 1 || !tui_timeline_read(app, &o->rows, o->first, rows, (size_t)o->drawn.w))
        return;
    tui_axis_draw(grid, (struct tui_rect){o->drawn.x, rect.y, o->drawn.w, 1}, begin, end);
    tui_timeline_marks(app, grid, (struct tui_rect){o->drawn.x, rect.y, o->drawn.w, 1}, begin, end);
    tui_timeline_titles(app, &o->rows, grid, o->drawn);
    int at = find_cursor_column(app, begin, end);
    o->streams = streams;
    unsigned seen = draw_rows(app, grid, rows, at);
    struct timeline_lanes lanes = {o->drawn, o->tall, o->bar, streams, o->behind};
    seen |= tui_timeline_draw_streams(
        app, grid, (struct tui_rect){o->drawn.x, o->drawn.y + (int)o->behind * o->tall, o->drawn.w, (int)streams});
    size_t lines = draws_arrows(app, rect.w) ? tui_arrows_draw(app, &o->arrows, grid, &lanes, at) : 0;
    struct tui_rect rest = {rect.x, o->drawn.y + o->drawn.h + (int)streams, rect.w, 0};
    rest.h = rect.y + rect.h - o->below - o->list - rest.y;
    struct tui_rect bands = {o->drawn.x, rest.y, o->drawn.w, rest.h - (app->all_time && rest.h > LIST ? LIST + 1 : 0)};
    int used = o->rows.many ? 0 : tui_timeline_bands(app, grid, bands);
    rest = tui_below(rest, used ? used : 1);
    if (app->all_time && seen && --rest.h >= LIST)
        draw_graphs(app, grid, tui_below(rest, tui_slowest_draw(app, &o->slow, grid, rest) + 1));
    if (!seen) /* missing data would look like idle ranks if nothing were said */
        tui_put(grid, o->drawn, 1, 0, TUI_STYLE_DIM,
                app->summary.counters_only                               ? SAY_NOT_READ_YET
                : !tui_app_ended(app) && begin >= tui_app_known_end(app) ? SAY_NOT_ANALYSED_YET
                : app->filter_words[0]                                   ? SAY_NOTHING_OF_WHAT
                                                                         : SAY_NOTHING_WAS_RECORDED);
    if (o->below > WORDS)
        seen |= tui_timeline_strip(app, &o->rows, grid, (struct tui_rect){o->drawn.x, foot.y - WORDS, o->drawn.w, 1});
    draw_foot(app, grid, foot, seen, lines);
    foot.y -= 2;
    if (!tui_drag_draw(app, grid, o->drawn, foot, begin, end))
        draw_words(app, grid, foot, at);
}

/* ---- actions ---------------------------------------------------------------------------------------------------- */

/* Moves the time cursor; the range follows when the cursor leaves it. */
static void move_cursor(struct tui_app *app, int64_t at)
{
    int64_t begin, end;
    if (at < 0)
        at = 0;
    if (at >= app->info.elapsed_ns)
        at = app->info.elapsed_ns > 0 ? app->info.elapsed_ns - 1 : 0;
    stop_scrolling(app);
    tui_app_range(app, &begin, &end);
    app->cursor_ns = at;
    if (at >= begin && at < end)
        return;
    int64_t width = end - begin, edge = width / 8; /* part of the time behind the edge is shown, too */
    begin = at < begin && begin - at < width ? at - edge
            : at >= end && at - end < width  ? at - width + edge
                                             : at - width / 2;
    tui_app_set_range(app, begin, begin + width);
}

static int move_rank(struct tui_app *app, long rows)
{
    if (app->tree.rows)
        tui_tree_choose(app, &app->tree.row[tui_step(tui_tree_cursor(app), rows, app->tree.rows)]);
    return TUI_REDRAW;
}

static int move_time(struct tui_app *app, long cells)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    int64_t cell = (end - begin) / (own(app)->drawn.w > 0 ? own(app)->drawn.w : 1);
    move_cursor(app, app->cursor_ns + cells * (cell > 0 ? cell : 1));
    return TUI_REDRAW;
}

static bool read_state(struct tui_app *app, struct ana_state_at *out)
{
    const struct tui_row *row = cursor_row(app);
    return row && row->is_rank && ana_state_at(app->job, app->cursor_rank, app->cursor_ns, out) && out->call;
}

static int jump_to_other_end(struct tui_app *app)
{
    struct ana_state_at state;
    if (!read_state(app, &state) || !state.has_other_end) {
        snprintf(app->message, sizeof app->message, SAY_NO_MESSAGE_UNDER);
        return TUI_REDRAW;
    }
    tui_tree_reveal(app, state.other_index);
    move_cursor(app, state.other_begin_ns);
    return TUI_REDRAW;
}

/* Enter opens a row of several ranks, or zooms so that the call under the cursor fills the middle of the range; then it
 * inspects the call. */
static int zoom_to_call(struct tui_app *app)
{
    struct ana_state_at state;
    const struct tui_row *row = cursor_row(app);
    if (row && !row->is_rank) {
        tui_tree_toggle(app, row);
    } else if (read_state(app, &state)) {
        int64_t length = state.end_ns - state.begin_ns, begin = app->begin_ns, end = app->end_ns;
        app->cursor_ns = state.begin_ns + length / 2;
        stop_scrolling(app);
        tui_app_set_range(app, state.begin_ns - length, state.end_ns + length);
        if (app->begin_ns == begin && app->end_ns == end) /* it fills the middle already */
            return tui_app_open(app, TUI_VIEW_INSPECT);
    }
    return TUI_REDRAW;
}

/* Acts in the list of outliers.  TUI_UNHANDLED: others handle the action. */
static int act_in_list(struct tui_app *app, enum tui_action action)
{
    struct own *o = own(app);
    const struct ana_summary *s = &app->summary;
    if (action == TUI_ACTION_BACK || action == TUI_ACTION_WINDOW_LIST)
        o->in_list = false;
    else if (action == TUI_ACTION_UP)
        o->chosen -= o->chosen > 0;
    else if (action == TUI_ACTION_DOWN)
        o->chosen += o->chosen + 1 < (int)s->outlier_count;
    else if (action == TUI_ACTION_DEEPER && o->chosen < (int)s->outlier_count) {
        tui_tree_reveal(app, s->outliers[o->chosen].index);
        move_cursor(app, s->outliers[o->chosen].at_ns);
    } else
        return TUI_UNHANDLED;
    return TUI_REDRAW;
}

static int focus_list(struct tui_app *app)
{
    if (app->all_time || !app->summary.outlier_count)
        return jump_to_other_end(app);
    own(app)->in_list = true;
    return TUI_REDRAW;
}

static int act_on_timeline(struct tui_app *app, enum tui_action action)
{
    int done = own(app)->in_list ? act_in_list(app, action) : TUI_UNHANDLED;
    if (done != TUI_UNHANDLED)
        return done;
    long lines = own(app)->tall ? own(app)->drawn.h / own(app)->tall : 1, page = lines > 1 ? lines - 1 : 1;
    const struct tui_move move = tui_action_move(action, page);
    switch (action) {
    case TUI_ACTION_FIRST:
        move_cursor(app, 0);
        return TUI_REDRAW;
    case TUI_ACTION_LAST:
        move_cursor(app, INT64_MAX);
        app->cursor_at_end = !tui_app_ended(app);
        app->follow = app->cursor_at_end && !app->all_time;
        tui_app_follow_end(app);
        return TUI_REDRAW;
    case TUI_ACTION_NEXT_CALL:
    case TUI_ACTION_PREVIOUS_CALL:
        if (app->rank_count)
            move_cursor(app,
                        ana_step(app->job, app->cursor_rank, app->cursor_ns, action == TUI_ACTION_NEXT_CALL ? 1 : -1));
        return TUI_REDRAW;
    case TUI_ACTION_SLOWEST:
    case TUI_ACTION_SLOWEST_BACK:
        tui_slowest_show(app, &own(app)->slow, action == TUI_ACTION_SLOWEST ? 1 : -1);
        return TUI_REDRAW;
    case TUI_ACTION_OTHER_END:
        return jump_to_other_end(app);
    case TUI_ACTION_WINDOW_LIST:
        return focus_list(app);
    case TUI_ACTION_DEEPER:
        return zoom_to_call(app);
    case TUI_ACTION_ROWS:
        app->rows_by = app->tree.by % TUI_BY_RANK + 1;
        return TUI_REDRAW;
    case TUI_ACTION_MEASURE:
        tui_timeline_next(app, &own(app)->rows);
        return TUI_REDRAW;
    case TUI_ACTION_BACK:
        return own(app)->rows.many && tui_tree_close(app) ? TUI_REDRAW : TUI_UNHANDLED;
    default:
        return move.lines ? move_rank(app, move.lines) : move.columns ? move_time(app, move.columns) : TUI_UNHANDLED;
    }
}

static int click_timeline(struct tui_app *app, int x, int y)
{
    int64_t begin, end;
    const struct own *o = own(app);
    x -= o->drawn.x;
    y -= o->drawn.y;
    int below = (int)o->behind * o->tall;
    if (y >= below) /* streams stand below the cursor's rank */
        y = y < below + (int)o->streams ? below - 1 : y - (int)o->streams;
    if (x < 0 || y < 0 || x >= o->drawn.w || y >= o->drawn.h || !app->tree.rows)
        return TUI_UNHANDLED;
    tui_app_range(app, &begin, &end);
    size_t at = tui_timeline_row(&o->rows, o->first + (size_t)(y / o->tall));
    if (at >= app->tree.rows) /* some were folded away, and nothing was drawn since */
        return TUI_UNHANDLED;
    const struct tui_row *row = &app->tree.row[at];
    if (row == cursor_row(app) && x == find_cursor_column(app, begin, end)) /* the second click opens, as Enter does */
        return tui_app_step(app, TUI_ACTION_DEEPER);
    tui_tree_choose(app, row);
    stop_scrolling(app);
    app->cursor_ns = begin + (int64_t)(((double)x + 0.5) / own(app)->drawn.w * (double)(end - begin));
    return TUI_REDRAW;
}

static void point_timeline(struct tui_app *app, int x, int y)
{
    int64_t begin, end;
    struct tui_rect area = own(app)->drawn;
    (void)y;
    if (x < area.x || x >= area.x + area.w)
        return;
    tui_app_range(app, &begin, &end);
    stop_scrolling(app);
    app->cursor_ns = begin + (int64_t)(((double)(x - area.x) + 0.5) / area.w * (double)(end - begin));
}

/* Dragging along a row selects the time between. */
static int drag_timeline(struct tui_app *app, int x, int y, int to_x, int to_y)
{
    int64_t begin, end;
    struct tui_rect area = own(app)->drawn;
    int first, last;
    (void)to_y;
    if (!tui_drag_columns(area, x, y, to_x, &first, &last))
        return TUI_UNHANDLED;
    tui_app_range(app, &begin, &end);
    double cell = (double)(end - begin) / area.w;
    tui_app_set_range(app, begin + (int64_t)(first * cell), begin + (int64_t)((last + 1) * cell));
    return TUI_REDRAW;
}

static void drop_own(void *data)
{
    struct own *o = data;
    free(o->arrows.arrow);
    tui_timeline_rows_free(&o->rows);
}

const struct tui_view tui_view_timeline = {
    .own_size = sizeof(struct own),
    .drop = drop_own,
    .draw = draw_timeline,
    .act = act_on_timeline,
    .click = click_timeline,
    .drag = drag_timeline,
    .point = point_timeline,
};
