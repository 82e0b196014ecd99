/* Spread of numbers over the ranks, drawn in the room that one row of many equal ranks leaves. */
#pragma once

#include "tui/app/view.h"

/* Lines; rows with the titles; ranks that are too many to look at one by one. */
enum { TUI_SPREAD_LINES = 10, TUI_SPREAD_ROWS = TUI_SPREAD_LINES + 1, TUI_SPREAD_RANKS = 16, TUI_SPREAD_BINS = 60 };

/* All 0 at first. */
struct tui_spread {
    unsigned summaries; /* made by then */
    struct tui_spread_line {
        double least, median, most;     /* NAN: unknown of all ranks */
        size_t least_index, most_index; /* rank indices of both */
        double bin[TUI_SPREAD_BINS];    /* ranks by number, from least to most; NAN: none */
    } line[TUI_SPREAD_LINES];
};

/* Returns the rank that others waited for most; SIZE_MAX: they waited for none. */
size_t tui_spread_culprit(const struct tui_app *app, struct tui_spread *spread);

/* Draws a line for each known number: least, median and most with their ranks, and how many ranks lie between. */
void tui_spread_draw(const struct tui_app *app, struct tui_spread *spread, struct tui_grid *grid, struct tui_rect rect);
