/* Sizes to rectangles.  Pure arithmetic: what does not fit is left out, what is there is never empty, never overlaps
 * and never reaches outside. */
#ifndef TUI_LAYOUT_H
#define TUI_LAYOUT_H

#include "tui/widgets/grid.h"

/* The smallest terminal that the views are made for. */
enum { TUI_MIN_COLS = 60, TUI_MIN_ROWS = 20 };

/* One part of a stack. */
struct tui_part {
    int least;  /* rows (or columns) without which it is left out */
    int most;   /* more than this it does not use; 0: all it can get */
    int weight; /* the lower, the earlier it is left out; 0: only when nothing else is left */
};

/* Cuts `area` along its height (or, with `across`, its width) into n parts in their order, out[i] for parts[i]; a part
 * that is left out has w = h = 0.  `gap` blank rows lie between parts.  Room beyond what all want stays blank. */
void tui_stack(struct tui_rect area, bool across, int gap, const struct tui_part *parts, int n, struct tui_rect *out);

/* The four parts of every screen; body.h = 0 when the terminal is below the minimum.  The headline gets `headline_rows`
 * where the view can spare them, else one. */
struct tui_screen {
    struct tui_rect job, headline, body, keys;
};
struct tui_screen tui_screen_layout(int cols, int rows, int headline_rows);

/* Rectangle of what is left of `area` below its first n rows. */
struct tui_rect tui_below(struct tui_rect area, int n);

#endif
