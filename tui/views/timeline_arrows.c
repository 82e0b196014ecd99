/* Message lines of the timeline, from the row of the sender to the row of the receiver. */
#include "tui/views/timeline.h"

#include <stdlib.h>

enum { KEPT = 1000, APART = 8 /* columns for a line of a pair of ranks */, MARKED = 8 };

bool tui_arrows_read(const struct tui_app *app, struct timeline_arrows *arrows, int columns)
{
    struct ana_selection of = tui_app_selection(app);
    tui_app_range(app, &of.begin_ns, &of.end_ns);
    if (arrows->arrow && arrows->summaries == app->summaries && arrows->begin_ns == of.begin_ns &&
        arrows->end_ns == of.end_ns && arrows->columns == columns)
        return arrows->count > 0;
    if (!arrows->arrow)
        arrows->arrow = calloc(KEPT, sizeof *arrows->arrow);
    *arrows = (struct timeline_arrows){arrows->arrow, 0, 0, app->summaries, columns, of.begin_ns, of.end_ns};
    if (arrows->arrow && columns > APART)
        arrows->count = ana_arrows(app->job, of, (size_t)(columns / APART), KEPT, arrows->arrow, &arrows->all);
    return arrows->count > 0;
}

/* The column of a time; it may be out of view. */
static int column_of(const struct timeline_arrows *arrows, const struct timeline_lanes *lanes, int64_t at_ns)
{
    double x = (double)(at_ns - arrows->begin_ns) / (double)(arrows->end_ns - arrows->begin_ns) * lanes->cells.w;
    return x < -1 ? -1 : x > lanes->cells.w ? lanes->cells.w : (int)floor(x);
}

/* The first line of a row. */
static int line_of(const struct timeline_lanes *lanes, size_t row)
{
    return (int)row * lanes->tall + (row >= lanes->below ? (int)lanes->streams : 0);
}

/* Whether a line shows cells: only the marked line crosses them. */
static bool has_cells(const struct timeline_lanes *lanes, int y)
{
    int streams = (int)lanes->below * lanes->tall;
    if (y >= streams)
        y = y < streams + (int)lanes->streams ? 0 : y - (int)lanes->streams;
    return y % lanes->tall < lanes->bar;
}

/* Draws the line from column x on line y, where it comes from, to column `to`, where it leaves, `down` or up. */
static void draw_step(struct tui_grid *grid, struct tui_rect rect, int y, int x, int to, bool down, bool ends,
                      enum tui_style style)
{
    const uint32_t end = down ? 0x25bc : 0x25b2;
    int step = to > x ? 1 : -1;
    for (int at = x + step; x != to && at != to; at += step)
        tui_put_char(grid, rect, at, y, style, 0x2500);
    if (x != to)
        tui_put_char(grid, rect, x, y, style, down ? (to > x ? 0x2514 : 0x2518) : (to > x ? 0x250c : 0x2510));
    tui_put_char(grid, rect, to, y, style,
                 ends      ? end
                 : x == to ? 0x2502
                 : down    ? (to > x ? 0x2510 : 0x250c)
                           : (to > x ? 0x2518 : 0x2514));
}

static void draw_arrow(const struct tui_app *app, const struct timeline_arrows *arrows, struct tui_grid *grid,
                       const struct timeline_lanes *lanes, const struct ana_arrow *arrow, bool marked)
{
    const size_t from_row = app->tree.row_of[arrow->source], to_row = app->tree.row_of[arrow->destination];
    const bool down = to_row > from_row;
    int x = column_of(arrows, lanes, arrow->sent_ns), to = column_of(arrows, lanes, arrow->received_ns);
    int y = line_of(lanes, from_row) + (down ? lanes->bar : -1);
    int last = line_of(lanes, to_row) + (down ? -1 : lanes->bar), step = down ? 1 : -1;
    int lines = (last - y) * step + 1, before = x;
    for (int i = 1; i <= lines; i++, y += step) {
        int next = x + (int)lround((double)(to - x) * i / lines);
        if (marked || !has_cells(lanes, y))
            draw_step(grid, lanes->cells, y, before, next, down, i == lines,
                      marked ? TUI_STYLE_NOTABLE : TUI_STYLE_AXIS);
        before = next;
    }
}

/* Draws the messages that the cursor's rank sends or receives in the cursor's column. */
static void draw_marked(const struct tui_app *app, const struct timeline_arrows *arrows, struct tui_grid *grid,
                        const struct timeline_lanes *lanes, int at)
{
    struct ana_selection of = tui_app_selection(app);
    struct ana_arrow found[KEPT];
    const double column_ns = (double)(arrows->end_ns - arrows->begin_ns) / lanes->cells.w;
    size_t all, drawn = 0;
    of.begin_ns = arrows->begin_ns + (int64_t)(column_ns * at);
    of.end_ns = of.begin_ns + (int64_t)column_ns + 1;
    size_t n = ana_arrows(app->job, of, 1, KEPT, found, &all);
    for (size_t i = 0; i < n && drawn < MARKED; i++)
        if ((found[i].source == app->cursor_rank && column_of(arrows, lanes, found[i].sent_ns) == at) ||
            (found[i].destination == app->cursor_rank && column_of(arrows, lanes, found[i].received_ns) == at)) {
            draw_arrow(app, arrows, grid, lanes, &found[i], true);
            drawn++;
        }
}

size_t tui_arrows_draw(const struct tui_app *app, const struct timeline_arrows *arrows, struct tui_grid *grid,
                       const struct timeline_lanes *lanes, int at)
{
    size_t room = lanes->bar < lanes->tall ? (size_t)lanes->cells.w : 0;
    size_t drawn = room < arrows->count ? room : arrows->count;
    struct timeline_lanes all = *lanes; /* lines are drawn between streams, too */
    all.cells.h += (int)lanes->streams;
    for (size_t i = drawn; i-- > 0;)
        draw_arrow(app, arrows, grid, &all, &arrows->arrow[i], false);
    draw_marked(app, arrows, grid, &all, at);
    return drawn;
}
