/* The price list of the Why screen. */
#ifndef TUI_VIEW_PRICES_H
#define TUI_VIEW_PRICES_H

#include "tui/app/view.h"

/* Draws what it would save to mend what is on the critical path, the most first.  Returns the rows that it took: 0 where
 * nothing is worth it, or where parts of the run are in view, which have no prices. */
int tui_draw_prices(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);

#endif
