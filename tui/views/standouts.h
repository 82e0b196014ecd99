/* List of standouts below the timeline of a window.  Only for timeline.c. */
#ifndef TUI_STANDOUTS_H
#define TUI_STANDOUTS_H

#include "tui/app/view.h"

/* Returns how many of `room` lines the list takes beside `ranks` rows; 0: all time is in view, or there is no room.
 * Only with `wanted` does it make ranks share rows. */
int tui_standouts_lines(const struct tui_app *app, int room, size_t ranks, bool wanted);

/* Draws the list; `chosen` is the row under its cursor, -1: the cursor is elsewhere. */
void tui_standouts_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int chosen);

#endif
