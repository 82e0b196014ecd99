/* What the overview shows where a screen has room for it: the timeline below its calls, places in the program beside
 * them. */
#ifndef TUI_GLANCE_H
#define TUI_GLANCE_H

#include "tui/views/timeline_rows.h"

struct glance {
    struct timeline_rows rows;
    struct tui_table sites;
    unsigned sites_of;                /* the summary that they are of */
    struct tui_rect timeline, places; /* where they were drawn last; empty: they were not */
};

/* Draws what fits beside and below a table of so many rows; returns the rectangle that is left for that. */
struct tui_rect tui_glance_draw(struct tui_app *app, struct glance *glance, struct tui_grid *grid, struct tui_rect rect,
                                size_t rows);

/* Frees what it has. */
void tui_glance_free(struct glance *glance);

#endif
