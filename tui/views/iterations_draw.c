/* Look of the Iterations screen. */
#include "tui/views/iterations.h"
#include "tui/views/sentences_impl.h"
#include "tui/widgets/plot.h"

#include <inttypes.h>
#include <string.h>

enum { BELOW = 2, LIST = 4, SCATTER = 12, LARGE = 40 }; /* lines */

static const struct {
    double from, share; /* excess; shade of tui_plot_shade */
    const char *words;
} steps[] = {{3, 1, "4 x"}, {1, 0.5, "2 x"}, {0.5, 0.2, "+50 %"}, {TUI_ITERATIONS_LEAST, 0.05, "+20 %"}};

static uint32_t shade_of(double excess, enum tui_style *style)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (excess >= steps[i].from)
            return tui_plot_shade(steps[i].share, style);
    const uint32_t usual = tui_plot_shade(excess * 0, style);
    return isnan(excess) ? '?' : usual;
}

/* ---- drawing ---------------------------------------------------------------------------------------------------- */

static void draw_loop(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_iterations *of = &app->summary.iterations;
    const struct ana_loop_level *loop = tui_iterations_loop(app), *inner = loop + 1;
    const bool here = tui_iterations_of(app)->focus == TUI_FOCUS_LOOP;
    const enum tui_style style = tui_begin_line(grid, rect, 0, TUI_STYLE_STRONG, here);
    int x = tui_putf(grid, rect, 1, 0, style, "%s%s iterations%s, median %s",
                     tui_iterations_of(app)->deep ? "inside: " : "", ANA_NUMBER(ANA_COUNT, (double)loop->count, true),
                     app->analysed < 0.9995 ? " so far" : "", ANA_SPOKEN(loop->median_ns));
    if (loop->long_share > 0)
        x = tui_putf(grid, rect, x, 0, style, " (%s: %s)", ANA_NUMBER(ANA_SHARE, loop->long_share, true),
                     ANA_SPOKEN(loop->usual_ns));
    x = tui_putf(grid, rect, x, 0, style, ", to %s %s", loop->end.call, loop->end.place);
    if (tui_iterations_of(app)->look.level + 1 < of->levels)
        tui_putf(grid, rect, x + 2, 0, here ? style : TUI_STYLE_DIM, "(Enter: %s inside)",
                 ANA_NUMBER(ANA_COUNT, (double)inner->count, true));
}

static void draw_axis(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct tui_iterations *o = tui_iterations_of(app);
    char text[ANA_TEXT];
    int free_from = 0;
    tui_put_right(grid, rect, TUI_ITERATIONS_LEFT - 2, 1, TUI_STYLE_LABEL, "rank");
    for (int x = 0; x < o->drawn.w; x++) {
        size_t cell = tui_iterations_cell_at(o, x);
        if (x < free_from || (x && tui_iterations_cell_at(o, x - 1) == cell))
            continue;
        snprintf(text, sizeof text, "%" PRIu64, tui_iterations_first(o, cell));
        if (x + tui_columns(text) > o->drawn.w)
            break;
        free_from = tui_put(grid, rect, TUI_ITERATIONS_LEFT + x, 1, TUI_STYLE_AXIS, text) - TUI_ITERATIONS_LEFT + 6;
    }
}

/* Draws a row of cells; `at`: the cell of the cursor, SIZE_MAX none. */
static void draw_cells(const struct tui_app *app, struct tui_grid *grid, int y, const struct ana_iteration_cell *cells,
                       bool whole, size_t at)
{
    const struct tui_iterations *o = tui_iterations_of(app);
    for (int x = 0; x < o->drawn.w; x++) {
        enum tui_style style;
        size_t cell = tui_iterations_cell_at(o, x);
        uint32_t ch = shade_of(tui_iteration_excess(tui_iterations_loop(app), &cells[cell], whole), &style);
        tui_put_char(grid, (struct tui_rect){o->drawn.x, y, o->drawn.w, 1}, x, 0, cell == at ? TUI_STYLE_CURSOR : style,
                     ch);
    }
}

/* Appends the rank that was longest outside calls in a slow iteration, if that explains half of its excess, or that
 * none was. */
static void append_late(const struct tui_app *app, size_t slow, char *out, size_t size)
{
    const struct ana_loop_level *loop = tui_iterations_loop(app);
    const struct tui_iteration_late *late = &tui_iterations_of(app)->rows.late[slow];
    const double ns = (double)(loop->slow[slow].end_ns - loop->slow[slow].begin_ns);
    const double too_long_ns = ns - ana_iteration_base(loop, ns);
    size_t n = strlen(out);
    if (loop->slow[slow].index != SIZE_MAX || isnan(late->own_ns))
        return;
    if ((double)late->own_ns - loop->own_ns >= too_long_ns / 2)
        ana_append(out, size, &n, SAY_RANK_ABOUT_OUTSIDE, TUI_RANK_NAME(app, late->index),
                   ANA_SPOKEN((double)late->own_ns));
    else
        ana_append(out, size, &n, SAY_INSIDE_CALLS_NO);
}

static void draw_slowest(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_iterations *o = tui_iterations_of(app);
    const struct ana_loop_level *loop = tui_iterations_loop(app);
    char words[400];
    o->list = (struct tui_rect){rect.x, rect.y + 1, rect.w, rect.h - 1};
    tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, tui_iterations_slow(app) ? "SLOWEST ITERATIONS" : "");
    for (size_t i = 0; i < tui_iterations_slow(app) && (int)i < o->list.h; i++) {
        bool here = o->focus == TUI_FOCUS_SLOWEST && i == o->slow;
        ana_iteration_words(app->job, loop, &loop->slow[i], words, sizeof words);
        append_late(app, i, words, sizeof words);
        const enum tui_style style = tui_begin_line(grid, o->list, (int)i, TUI_STYLE_NORMAL, here);
        tui_put(grid, o->list, 1, (int)i, style, words + strlen("iteration "));
    }
}

/* Draws a point for each iteration: its number across, its whole time up, and why it was slow: a rank was long outside
 * calls, by the rule of append_late, or none was. */
static void draw_scatter(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { LEAST = 5, SLOW = 0x25cf, INSIDE = 0xd7, USUAL = 0xb7 };
    const struct tui_iterations *o = tui_iterations_of(app);
    const struct ana_loop_level *loop = tui_iterations_loop(app);
    const struct ana_iteration_cell *all = tui_iteration_cells(&o->rows, &o->look, o->rows.count);
    const struct tui_rect area = {o->drawn.x, rect.y + 1, o->drawn.w, rect.h < SCATTER ? rect.h - 1 : SCATTER - 1};
    double least = NAN, most = NAN;
    for (size_t i = 0; i < o->look.cells; i++) {
        least = fmin(least, (double)all[i].time_ns);
        most = fmax(most, (double)all[i].time_ns);
    }
    if (area.h < LEAST || !tui_iterations_slow(app) || !(most > least))
        return;
    tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, "TIME");
    tui_put(grid, rect, TUI_ITERATIONS_LEFT, 0, TUI_STYLE_DIM, SAY_POINTS_OF_ITERATIONS);
    tui_put_right(grid, rect, TUI_ITERATIONS_LEFT - 2, 1, TUI_STYLE_AXIS, ANA_NUMBER(ANA_NS, most, true));
    tui_put_right(grid, rect, TUI_ITERATIONS_LEFT - 2, area.h, TUI_STYLE_AXIS, ANA_NUMBER(ANA_NS, least, true));
    for (int x = 0; x < area.w; x++) {
        const size_t cell = tui_iterations_cell_at(o, x);
        const double ns = (double)all[cell].time_ns, over = ns - ana_iteration_base(loop, ns);
        if (isnan(ns) || (x && tui_iterations_cell_at(o, x - 1) == cell))
            continue;
        const bool slow = tui_iteration_excess(loop, &all[cell], true) >= TUI_ITERATIONS_LEAST;
        const bool outside = (double)all[cell].own_ns - loop->own_ns >= over / 2;
        tui_put_char(grid, area, x, (int)lround((most - ns) / (most - least) * (area.h - 1)),
                     cell == tui_iterations_cell(o, o->at) ? TUI_STYLE_CURSOR
                     : !slow                               ? TUI_STYLE_NORMAL
                     : outside                             ? TUI_STYLE_NOTABLE
                                                           : TUI_STYLE_TROUBLE,
                     !slow     ? USUAL
                     : outside ? SLOW
                               : INSIDE);
    }
}

/* Describes the iteration under the cursor. */
static void draw_words(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct tui_iterations *o = tui_iterations_of(app);
    const struct tui_iteration_rows *rows = &o->rows;
    const struct ana_loop_level *loop = tui_iterations_loop(app);
    size_t at = tui_iterations_cell(o, o->at);
    uint64_t first = tui_iterations_first(o, at), last = tui_iterations_first(o, at + 1) - 1;
    const struct ana_iteration_cell *all = &tui_iteration_cells(rows, &o->look, rows->count)[at],
                                    *row = &tui_iteration_cells(rows, &o->look, rows->cursor)[at];
    char name[80];
    bool one = !rows->folded || rows->row[rows->cursor].stands;
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_STRONG, "%" PRIu64, first);
    if (last > first)
        x = tui_putf(grid, rect, x, 0, TUI_STYLE_STRONG, "-%" PRIu64, last);
    x = tui_putf(grid, rect, x, 0, TUI_STYLE_STRONG, ": %s%s, %.1f x", last > first ? "at most " : "",
                 ANA_SPOKEN((double)all->time_ns),
                 (double)all->time_ns / ana_iteration_base(loop, (double)all->time_ns));
    tui_iteration_row_name(app, rows, rows->cursor, name, sizeof name);
    x = tui_putf(grid, rect, x, 0, TUI_STYLE_NORMAL, SAY_OUTSIDE_CALLS_USUAL,
                 one             ? "rank "
                 : rows->by_host ? ""
                                 : "ranks ",
                 name, ANA_SPOKEN((double)row->own_ns), ANA_SPOKEN(loop->own_ns));
    if (all->mean_of > 1)
        tui_putf(grid, rect, x, 0, TUI_STYLE_DIM, " (means of %u)", all->mean_of);
}

static void draw_legend(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_NORMAL, "%s (m)  ",
                     tui_iterations_of(app)->look.whole_time ? "whole time" : SAY_TIME_OUTSIDE_CALLS);
    x = tui_put(grid, rect, x, 0, TUI_STYLE_DIM, "? unknown  \xc2\xb7 usual  ");
    for (int i = (int)(sizeof steps / sizeof *steps) - 1; i >= 0; i--) {
        enum tui_style style;
        uint32_t ch = tui_plot_shade(steps[i].share, &style);
        tui_put_char(grid, rect, x, 0, style, ch);
        x = tui_putf(grid, rect, x + 2, 0, TUI_STYLE_NORMAL, "%s  ", steps[i].words);
    }
}

/* Returns how many lines the rows of ranks get: the room that the list can spare. */
static size_t rows_for(const struct tui_app *app, int h)
{
    size_t slow = tui_iterations_slow(app), list = slow < LIST ? slow : LIST;
    size_t room =
        h > TUI_ITERATIONS_ABOVE + BELOW + (int)list + 2 ? (size_t)h - TUI_ITERATIONS_ABOVE - BELOW - list - 2 : 1;
    const bool folded = slow && h >= LARGE && app->rank_count > room; /* the picture of times takes part of it then */
    return folded ? room - SCATTER - 1 : room;
}

/* Draws the rows, and returns below which line they end. */
static int draw_rows(struct tui_app *app, struct tui_grid *grid)
{
    struct tui_iterations *o = tui_iterations_of(app);
    const struct tui_iteration_rows *rows = &o->rows;
    size_t at = tui_iterations_cell(o, o->at);
    char name[80];
    o->drawn.h = (int)rows->count;
    draw_cells(app, grid, o->drawn.y - 1, tui_iteration_cells(rows, &o->look, rows->count), true,
               o->focus == TUI_FOCUS_LOOP ? SIZE_MAX : at);
    for (size_t i = 0; i < rows->count; i++) {
        bool here = o->focus != TUI_FOCUS_LOOP && i == rows->cursor;
        struct tui_rect label = {o->drawn.x - TUI_ITERATIONS_LEFT, o->drawn.y + (int)i, TUI_ITERATIONS_LEFT, 1};
        tui_iteration_row_name(app, rows, i, name, sizeof name);
        if (here)
            tui_fill(grid, (struct tui_rect){label.x, label.y, TUI_ITERATIONS_LEFT - 1, 1}, TUI_STYLE_CURSOR, ' ');
        tui_put_right(grid, label, TUI_ITERATIONS_LEFT - 2, 0,
                      here                  ? TUI_STYLE_CURSOR
                      : rows->row[i].stands ? TUI_STYLE_NOTABLE
                                            : TUI_STYLE_AXIS,
                      name);
        draw_cells(app, grid, label.y, tui_iteration_cells(rows, &o->look, i), o->look.whole_time,
                   here ? at : SIZE_MAX);
    }
    return TUI_ITERATIONS_ABOVE + (int)rows->count;
}

void tui_iterations_draw(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_iterations *o = tui_iterations_of(app);
    if (!tui_iteration_rows_make(app, &o->look, rows_for(app, rect.h), &o->rows))
        return;
    draw_loop(app, grid, rect);
    draw_axis(app, grid, rect);
    tui_put_right(grid, rect, TUI_ITERATIONS_LEFT - 2, 2, TUI_STYLE_LABEL, "longest");
    int used = draw_rows(app, grid) + 1;
    draw_slowest(app, grid, (struct tui_rect){rect.x, rect.y + used, rect.w, rect.h - used - BELOW});
    used += 2 + (int)tui_iterations_slow(app);
    draw_scatter(app, grid, (struct tui_rect){rect.x, rect.y + used, rect.w, rect.h - used - BELOW - 1});
    draw_words(app, grid, (struct tui_rect){rect.x, rect.y + rect.h - 2, rect.w, 1});
    draw_legend(app, grid, (struct tui_rect){rect.x, rect.y + rect.h - 1, rect.w, 1});
}
