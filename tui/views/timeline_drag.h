/* Dragging over the timeline: what would be selected. */
#ifndef TUI_TIMELINE_DRAG_H
#define TUI_TIMELINE_DRAG_H

#include "tui/app/app.h"

/* The columns of `area` from where the button was pressed, cell x, y of the grid, to column `to_x` of it.  False: it
 * was pressed elsewhere. */
bool tui_drag_columns(struct tui_rect area, int x, int y, int to_x, int *first, int *last);

/* Draws the drag while the mouse is dragged: marks on the axis above `area`, which shows that time, around the range
 * that would be selected, and its length in `foot`.  False: nothing is dragged. */
bool tui_drag_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect area, struct tui_rect foot,
                   int64_t begin_ns, int64_t end_ns);

#endif
