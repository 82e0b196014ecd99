/* The graphs of the overview: rates over time, with a scale and an axis of time. */
#ifndef TUI_GRAPHS_H
#define TUI_GRAPHS_H

#include "tui/app/app.h"

enum { TUI_GRAPH = 512 }; /* columns at most */

/* Graphs as drawn last, and the summary and range behind them. */
struct graphs {
    unsigned summaries;
    int64_t begin_ns, end_ns;
    int columns;
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

#endif
