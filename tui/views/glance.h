/* Parts of the overview on a screen that has room for them: the timeline below its calls, places in the program beside
 * them. */
#ifndef TUI_GLANCE_H
#define TUI_GLANCE_H

#include "tui/views/timeline_rows.h"

struct glance {
    struct timeline_rows rows;
    struct tui_table sites;
    unsigned sites_of;                /* the summary that they are of */
    struct tui_rect timeline, places; /* places on the screen when last drawn; empty: not drawn */
};

/* Draws the parts that fit beside and below a table of `rows` rows; returns the rectangle left for the table. */
struct tui_rect tui_glance_draw(struct tui_app *app, struct glance *glance, struct tui_grid *grid, struct tui_rect rect,
                                size_t rows);

/* Frees its timeline rows and table. */
void tui_glance_free(struct glance *glance);

#endif
