/* Drawing of time categories: one table for the timeline's cells, its legend and the help. */
#pragma once

#include "trace/timeline/over_time.h"
#include "tui/widgets/grid.h"

/* The categories of trace/format/opclass.h and, behind them, time that a rank lost waiting for others. */
enum { TUI_CATEGORY_WAITING = TRC_CATEGORIES, TUI_CATEGORIES };

struct tui_category {
    const char *name;
    uint32_t ch; /* can be told from the others without colour */
    enum tui_style style;
    const char *help;
};
/* The row of a category; the row of other MPI calls for an unknown number.  Static, never NULL. */
const struct tui_category *tui_category(int category);

/* The category that took most of a timeline cell; -1 when nothing is known of its time. */
int tui_cell_category(const struct ana_timeline_cell *cell);
