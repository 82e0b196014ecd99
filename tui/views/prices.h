/* The price list of the Why screen. */
#pragma once

#include "tui/app/view.h"

/* Draws the time that it would save to mend each cost on the critical path, the most first, and the slowest iteration.
 * `chosen`: the line with the cursor, from 1; 0 none.  Returns the rows that it took: 0 if nothing is worth it, or if
 * parts of the run are in view, which have no prices. */
int tui_draw_prices(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int chosen);
/* Returns how many lines can be chosen. */
int tui_price_lines(const struct tui_app *app);
/* Opens what a line tells of, counted from 1: the segment, the call's places, the iteration in the timeline. */
void tui_price_open(struct tui_app *app, int line);
