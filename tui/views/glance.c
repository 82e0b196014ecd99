#include "tui/views/overview.h"
#include "tui/app/axis.h"
#include "tui/app/view.h"

enum { TABLE = 115, PLACES = 60, LEAST = 6, GAP = 1, MANY = 2000 };

static void draw_places(struct tui_app *app, struct glance *g, struct tui_grid *grid, struct tui_rect rect)
{
    g->sites.spec = app->views[TUI_VIEW_CALLS]->table;
    g->sites.data = app;
    if (g->sites_of != app->summaries || !g->sites.started)
        tui_table_update(&g->sites);
    g->sites_of = app->summaries;
    g->sites.elsewhere = true;
    g->sites.awaited = app->summary.counters_only;
    g->sites.cursor = 0;
    tui_table_draw(&g->sites, grid, rect);
    g->places = rect;
}

/* Returns how many rows it took. */
static int draw_timeline(struct tui_app *app, struct glance *g, struct tui_grid *grid, struct tui_rect rect)
{
    struct timeline_rows *rows = &g->rows;
    int64_t begin, end;
    int left, fit = rect.h - 1;
    tui_timeline_rows(app, rows, (size_t)fit);
    left = tui_timeline_left(rows);
    size_t lines = rows->lines < (size_t)fit ? rows->lines : (size_t)fit;
    struct tui_rect area = {rect.x + left, rect.y + 1, rect.w - left - tui_timeline_right(rows, rect.w), (int)lines};
    if (!lines || area.w < 1 || !tui_timeline_read(app, rows, 0, lines, (size_t)area.w))
        return 0;
    tui_app_range(app, &begin, &end);
    tui_axis_draw(grid, (struct tui_rect){area.x, area.y - 1, area.w, 1}, begin, end);
    tui_timeline_titles(app, rows, grid, area);
    for (size_t i = 0; i < lines; i++)
        tui_timeline_draw(app, rows, grid, area, i, -1, false);
    g->timeline = area;
    return (int)lines + 1;
}

struct tui_rect tui_glance_draw(struct tui_app *app, struct glance *g, struct tui_grid *grid, struct tui_rect rect,
                                size_t rows)
{
    g->timeline = g->places = (struct tui_rect){0};
    int spare = rect.h - (int)(rows < 1000 ? rows : 1000) - 1 - GAP;
    bool slow = app->rank_count > MANY && !tui_app_ended(app); /* read anew each time that the job has moved */
    if (spare >= LEAST && rect.h >= 3 * LEAST && !slow) {
        struct tui_rect below = {rect.x, rect.y + rect.h - spare, rect.w, spare};
        const int used = draw_timeline(app, g, grid, below);
        rect.h -= used ? spare + GAP : 0;
        below = tui_below(below, used + GAP);
        if (used && app->has_summary && app->rank_count >= TUI_SPREAD_RANKS && below.h >= TUI_SPREAD_ROWS) {
            tui_spread_draw(app, &g->spread, grid, below);
            below = tui_below(below, TUI_SPREAD_ROWS + GAP);
        }
        if (used && below.h >= LEAST)
            tui_slowest_draw(app, NULL, grid, below);
    }
    if (rect.w >= TABLE + PLACES) {
        draw_places(app, g, grid, (struct tui_rect){rect.x + TABLE, rect.y, rect.w - TABLE, rect.h});
        rect.w = TABLE - GAP;
    }
    return rect;
}

void tui_glance_free(struct glance *g)
{
    tui_timeline_rows_free(&g->rows);
    tui_table_free(&g->sites);
}
