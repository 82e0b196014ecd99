/* Iterations: ranks down, iterations of a loop across, and below them the longest iterations. */
#include "tui/views/iterations.h"
#include "tui/views/sentences_impl.h"

#include <limits.h>

size_t tui_iterations_slow(const struct tui_app *app)
{
    const struct ana_loop_level *loop = tui_iterations_loop(app);
    size_t n = 0;
    while (n < loop->slow_count &&
           (double)(loop->slow[n].end_ns - loop->slow[n].begin_ns) >= (1 + TUI_ITERATIONS_LEAST) * loop->median_ns)
        n++;
    return n;
}

/* ---- iterations in view ------------------------------------------------------------------------------------------ */

/* The iterations in the range of time, as the cursor's rank has them; of another where it has none. */
static void find_in_range(struct tui_app *app)
{
    struct tui_iterations *o = tui_iterations_of(app);
    const struct ana_iterations *of = &app->summary.iterations;
    int64_t half = (int64_t)(tui_iterations_loop(app)->median_ns / 2);
    for (size_t i = 0; i < app->rank_count; i++) {
        size_t index = (app->cursor_rank + i) % app->rank_count;
        uint64_t first = ana_iteration_at(app->job, of, o->look.level, index, app->begin_ns + half);
        if (!first)
            continue;
        o->look.first = first;
        o->look.last = ana_iteration_at(app->job, of, o->look.level, index, app->end_ns - half);
        return;
    }
}

static void choose_range(struct tui_app *app, size_t columns)
{
    struct tui_iterations *o = tui_iterations_of(app);
    uint64_t count = tui_iterations_loop(app)->count;
    o->look.first = 1;
    o->look.last = count;
    if (!app->all_time)
        find_in_range(app);
    else if (!o->all && !tui_app_ended(app) && count > columns)
        o->look.first = count - columns + 1;
    if (o->look.last < o->look.first)
        o->look.last = o->look.first;
    o->look.cells = o->look.last - o->look.first + 1 < columns ? (size_t)(o->look.last - o->look.first + 1) : columns;
    uint64_t at = o->chosen                  ? o->chosen
                  : tui_iterations_slow(app) ? tui_iterations_loop(app)->slow[0].number
                                             : o->look.first;
    if (!o->chosen && !tui_app_ended(app) && o->look.last == count)
        at = count;
    o->at = at < o->look.first ? o->look.first : at > o->look.last ? o->look.last : at;
}

/* The level that is shown; levels come and go while a job runs. */
static void choose_level(struct tui_app *app)
{
    struct tui_iterations *o = tui_iterations_of(app);
    const struct ana_iterations *of = &app->summary.iterations;
    size_t inside = of->levels ? of->levels - 1 - of->level : 0;
    o->deep = o->deep < inside ? o->deep : inside;
    o->look.level = of->level + o->deep;
}

/* Returns from the timeline of one iteration to the range in view before. */
static void restore_range(struct tui_app *app)
{
    struct tui_iterations *o = tui_iterations_of(app);
    bool same = !app->all_time && app->begin_ns == o->went_begin_ns && app->end_ns == o->went_end_ns;
    if (o->went && same)
        tui_app_set_range(app, o->was_all ? 0 : o->was_begin_ns, o->was_all ? INT64_MAX / 2 : o->was_end_ns);
    o->went = false;
}

static void draw_iterations(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_iterations *o = tui_iterations_of(app);
    if (!app->summary.iterations.levels || rect.w < TUI_ITERATIONS_LEFT + 2) {
        tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, SAY_NO_LOOP_THAT);
        return;
    }
    choose_level(app);
    o->drawn = (struct tui_rect){rect.x + TUI_ITERATIONS_LEFT, rect.y + TUI_ITERATIONS_ABOVE,
                                 rect.w - TUI_ITERATIONS_LEFT - 1, 0};
    choose_range(app, (size_t)o->drawn.w);
    tui_iterations_draw(app, grid, rect);
}

/* ---- actions ---------------------------------------------------------------------------------------------------- */

/* Shows iterations in all views. */
static void show_range(struct tui_app *app, uint64_t first, uint64_t last)
{
    int64_t begin, end;
    if (ana_iteration_span(app->job, &app->summary.iterations, tui_iterations_of(app)->look.level, first, last, &begin,
                           &end))
        tui_app_set_range(app, begin, end);
}

/* Shows iterations in the timeline, a little more before and after them. */
static int show_in_timeline(struct tui_app *app, uint64_t first, uint64_t last)
{
    struct tui_iterations *o = tui_iterations_of(app);
    int64_t begin, end;
    if (!ana_iteration_span(app->job, &app->summary.iterations, o->look.level, first, last, &begin, &end))
        return TUI_REDRAW;
    o->was_all = app->all_time;
    o->was_begin_ns = app->begin_ns;
    o->was_end_ns = app->end_ns;
    tui_app_set_range(app, begin - (end - begin) / 8, end + (end - begin) / 8);
    o->went = true;
    o->went_begin_ns = app->begin_ns;
    o->went_end_ns = app->end_ns;
    app->cursor_ns = begin + (end - begin) / 2;
    app->cursor_at_end = app->follow = false;
    return tui_app_open(app, TUI_VIEW_TIMELINE);
}

/* Shows one of the list; its slow rank is known. */
static int show_slow(struct tui_app *app, const struct ana_slow_iteration *slow)
{
    int reaction = show_in_timeline(app, slow->number, slow->number);
    if (slow->index != SIZE_MAX)
        tui_app_choose_rank(app, slow->index);
    app->cursor_ns = (slow->begin_ns + slow->end_ns) / 2;
    return reaction;
}

void tui_iterations_show(struct tui_app *app, const struct ana_slow_iteration *slow)
{
    tui_iterations_of(app)->deep = 0;
    choose_level(app);
    show_slow(app, slow);
}

static int zoom_in(struct tui_app *app)
{
    struct tui_iterations *o = tui_iterations_of(app);
    const struct ana_loop_level *loop = tui_iterations_loop(app);
    if (o->focus == TUI_FOCUS_LOOP) {
        o->deep += o->look.level + 1 < app->summary.iterations.levels;
        o->chosen = 0;
        return TUI_REDRAW;
    }
    if (o->focus == TUI_FOCUS_SLOWEST && o->slow < tui_iterations_slow(app))
        return show_slow(app, &loop->slow[o->slow]);
    if (o->rows.folded && o->rows.cursor < o->rows.count && !o->rows.row[o->rows.cursor].stands) {
        app->unfolded = true;
        return TUI_REDRAW;
    }
    return show_in_timeline(app, tui_iterations_first(o, tui_iterations_cell(o, o->at)),
                            tui_iterations_first(o, tui_iterations_cell(o, o->at) + 1) - 1);
}

static int zoom_out(struct tui_app *app)
{
    struct tui_iterations *o = tui_iterations_of(app);
    if (app->unfolded)
        app->unfolded = false;
    else if (o->deep)
        o->deep--, o->chosen = 0;
    else
        return TUI_UNHANDLED;
    return TUI_REDRAW;
}

/* Follows the cursor to a row of the list: its iteration, and the slow rank in it. */
static void follow_slow(struct tui_app *app)
{
    const struct ana_slow_iteration *slow = &tui_iterations_loop(app)->slow[tui_iterations_of(app)->slow];
    tui_iterations_of(app)->at = tui_iterations_of(app)->chosen = slow->number;
    if (slow->index != SIZE_MAX)
        tui_app_choose_rank(app, slow->index);
}

/* Moves the cursor by rows of ranks.  False: it would leave them. */
static bool move_ranks(struct tui_app *app, long lines)
{
    struct tui_iterations *o = tui_iterations_of(app);
    const struct tui_iteration_rows *rows = &o->rows;
    const size_t n = rows->folded ? rows->count : tui_app_shown(app),
                 at = rows->folded ? rows->cursor : tui_app_shown_position(app, app->cursor_rank),
                 to = tui_step(at, lines, n);
    if (to == at)
        return false;
    tui_app_choose_rank(app, rows->folded ? rows->row[to].first : tui_app_shown_rank(app, to));
    return true;
}

/* Moves from the loop's line over the rows of ranks to the list, and back. */
static int move_rows(struct tui_app *app, long lines)
{
    struct tui_iterations *o = tui_iterations_of(app);
    size_t slow = tui_iterations_slow(app), shown = (size_t)(o->list.h > 0 ? o->list.h : 0);
    slow = slow < shown ? slow : shown;
    if (o->focus == TUI_FOCUS_LOOP && lines > 0) {
        o->focus = TUI_FOCUS_MAP;
    } else if (o->focus == TUI_FOCUS_SLOWEST) {
        long to = (long)o->slow + lines;
        o->focus = to < 0 ? TUI_FOCUS_MAP : TUI_FOCUS_SLOWEST;
        o->slow = to < 0 ? 0 : to < (long)slow ? (size_t)to : slow ? slow - 1 : 0;
    } else if (!move_ranks(app, lines)) {
        o->focus = lines < 0 ? TUI_FOCUS_LOOP : slow ? TUI_FOCUS_SLOWEST : TUI_FOCUS_MAP;
        o->slow = 0;
    }
    if (o->focus == TUI_FOCUS_SLOWEST)
        follow_slow(app);
    return TUI_REDRAW;
}

static int move_cells(struct tui_app *app, long cells)
{
    struct tui_iterations *o = tui_iterations_of(app);
    o->at = o->chosen = tui_iterations_first(o, tui_step(tui_iterations_cell(o, o->at), cells, o->look.cells));
    o->focus = o->focus == TUI_FOCUS_LOOP ? TUI_FOCUS_MAP : o->focus;
    return TUI_REDRAW;
}

/* Half as many iterations, or twice, around the cursor; of a running job all in place of the last. */
static int zoom(struct tui_app *app, bool in)
{
    struct tui_iterations *o = tui_iterations_of(app);
    uint64_t count = tui_iterations_loop(app)->count, n = o->look.last - o->look.first + 1, to = in ? n / 2 : n * 2;
    if (app->all_time && !tui_app_ended(app) && o->all != !in) {
        o->all = !in;
        return TUI_REDRAW;
    }
    to = to < 1 ? 1 : to > count ? count : to;
    uint64_t first = o->at > to / 2 ? o->at - to / 2 : 1;
    first = first + to > count + 1 ? count - to + 1 : first;
    if (to == count)
        return tui_app_set_range(app, 0, INT64_MAX / 2), TUI_REDRAW;
    show_range(app, first, first + to - 1);
    return TUI_REDRAW;
}

static int act_on_iterations(struct tui_app *app, enum tui_action action)
{
    struct tui_iterations *o = tui_iterations_of(app);
    if (!app->summary.iterations.levels || !o->look.cells)
        return TUI_UNHANDLED;
    const struct tui_move move = tui_action_move(action, o->drawn.h > 1 ? o->drawn.h : 1);
    switch (action) {
    case TUI_ACTION_FIRST:
    case TUI_ACTION_LAST:
        return move_cells(app, move.lines);
    case TUI_ACTION_ZOOM_IN:
    case TUI_ACTION_ZOOM_OUT:
        return zoom(app, action == TUI_ACTION_ZOOM_IN);
    case TUI_ACTION_MEASURE:
        o->look.whole_time = !o->look.whole_time;
        return TUI_REDRAW;
    case TUI_ACTION_DEEPER:
        return zoom_in(app);
    case TUI_ACTION_INSPECT:
        zoom_in(app);
        return app->view == TUI_VIEW_TIMELINE ? TUI_UNHANDLED : TUI_REDRAW;
    case TUI_ACTION_BACK:
        return zoom_out(app);
    default:
        return move.lines ? move_rows(app, move.lines) : move.columns ? move_cells(app, move.columns) : TUI_UNHANDLED;
    }
}

static int click_iterations(struct tui_app *app, int x, int y)
{
    struct tui_iterations *o = tui_iterations_of(app);
    if (y == o->drawn.y - TUI_ITERATIONS_ABOVE && o->look.cells) {
        o->focus = TUI_FOCUS_LOOP;
        return TUI_REDRAW;
    }
    int row = y - o->list.y;
    if (row >= 0 && row < o->list.h && (size_t)row < tui_iterations_slow(app)) {
        bool again = o->focus == TUI_FOCUS_SLOWEST && o->slow == (size_t)row;
        o->focus = TUI_FOCUS_SLOWEST;
        o->slow = (size_t)row;
        follow_slow(app);
        return again ? zoom_in(app) : TUI_REDRAW;
    }
    x -= o->drawn.x;
    y -= o->drawn.y;
    if (!o->look.cells || x < 0 || y < 0 || x >= o->drawn.w || y >= o->drawn.h)
        return TUI_UNHANDLED;
    o->focus = TUI_FOCUS_MAP;
    o->at = o->chosen = tui_iterations_first(o, tui_iterations_cell_at(o, x));
    tui_app_choose_rank(app, o->rows.row[y].first);
    return TUI_REDRAW;
}

static void drop_iterations(void *own)
{
    tui_iteration_rows_free(&((struct tui_iterations *)own)->rows);
}

const struct tui_view tui_view_iterations = {
    .own_size = sizeof(struct tui_iterations),
    .drop = drop_iterations,
    .shown = restore_range,
    .draw = draw_iterations,
    .act = act_on_iterations,
    .click = click_iterations,
};
