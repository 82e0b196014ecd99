/* Parts of the overview: its graphs, and further parts that a large screen has room for. */
#pragma once

#include "tui/app/app.h"
#include "tui/views/spread.h"
#include "tui/views/timeline.h"

/* The graphs of Overview and Time: rates over time, with a scale and an axis of time. */

enum { TUI_GRAPH = 512 }; /* columns at most */

/* Graphs as drawn last, and the summary and range behind them. */
struct graphs {
    unsigned summaries;
    int64_t begin_ns, end_ns;
    int columns, left; /* columns of a series, and before them; left 0: as wide as names and numbers */
    double series[ANA_SERIES_KINDS][TUI_GRAPH];
    bool moves[ANA_SERIES_KINDS]; /* it goes up and down, and not as one before it: it is high where there is room */
    struct tui_rect drawn;        /* place of the columns, for the mouse */
};

/* Reads them, `columns` wide, unless they are known. */
void tui_graphs_read(const struct tui_app *app, struct graphs *graphs, int columns);

/* Returns how many rows the graphs want in a view of `rows` rows: moving ones are higher if there is room. */
int tui_graphs_rows(const struct graphs *graphs, int rows);

/* Draws them and, in the row below `rect`, the axis. */
void tui_graphs_draw(const struct tui_app *app, struct graphs *graphs, struct tui_grid *grid, struct tui_rect rect);

/* Parts of the overview on a screen that has room for them: the timeline below its calls, places in the program beside
 * them. */

struct glance {
    struct timeline_rows rows;
    struct tui_table sites;
    struct tui_spread spread;
    unsigned sites_of;                /* the summary that they are of */
    struct tui_rect timeline, places; /* places on the screen when last drawn; empty: not drawn */
};

/* Draws the parts that fit beside and below a table of `rows` rows; returns the rectangle left for the table. */
struct tui_rect tui_glance_draw(struct tui_app *app, struct glance *glance, struct tui_grid *grid, struct tui_rect rect,
                                size_t rows);

/* Frees its timeline rows and table. */
void tui_glance_free(struct glance *glance);

/* Returns the identity of a row of calls, a struct ana_call_stat, here and in Latency. */
uint64_t tui_call_identity(const void *data, const void *row);
/* Returns the row of the call that the cursor of all views is on. */
uint64_t tui_call_row(const struct tui_app *app);
/* Moves that cursor to a row. */
void tui_call_follow(struct tui_app *app, const void *row);
