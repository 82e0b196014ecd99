/* How a category of time looks: one table for the timeline's cells, its legend and the report of shares. */
#ifndef TUI_PLOT_CATEGORY_H
#define TUI_PLOT_CATEGORY_H

#include "trace/job/job.h"
#include "tui/widgets/grid.h"

/* The categories of trace/format/opclass.h, and behind them time lost waiting for others. */
enum { TUI_CATEGORY_WAITING = TRC_CATEGORIES, TUI_CATEGORIES };

struct tui_category {
    const char *name;
    uint32_t ch; /* reads without colour */
    enum tui_style style;
    const char *help;
};
/* Never NULL. */
const struct tui_category *tui_category(int category);

/* What took most of a timeline cell; -1: nothing is known of it. */
int tui_cell_category(const struct ana_timeline_cell *cell);

#endif
