/* Turns sizes into rectangles, by arithmetic alone.  Rectangles do not overlap and stay inside their area; a part that
 * does not fit is left out. */
#pragma once

#include "tui/widgets/grid.h"
#include <stddef.h>

/* The smallest terminal that the views are made for, and the least rows for a second line of keys. */
enum { TUI_MIN_COLS = 60, TUI_MIN_ROWS = 20, TUI_KEYS_ROWS = 30 };

/* Space requested by one part of a stack, in rows, or in columns if parts stand side by side. */
struct tui_part {
    int least;  /* minimum; below it the part is left out */
    int most;   /* it uses no more than this; 0: all that it can get */
    int weight; /* the lowest is left out first; 0: only when nothing else is left */
};

/* Cuts `area` into n parts (at most 16) from top to bottom or, with `across`, from left to right: out[i] for
 * parts[i].  A part that is left out has w = h = 0. `gap` blank rows or columns lie between parts; the rest stays
 * blank. */
void tui_stack(struct tui_rect area, bool across, int gap, const struct tui_part *parts, int n, struct tui_rect *out);

/* The parts of every screen; more_keys is empty where it has few rows. */
struct tui_screen {
    struct tui_rect job, headline, body, more_keys, keys;
};

/* Cuts a terminal into the parts of a screen.  The headline has two rows whatever it says, so that the view does not
 * move when it changes; one in TUI_MIN_ROWS.  All are empty (body.h = 0) when the terminal is smaller than
 * TUI_MIN_COLS x TUI_MIN_ROWS. */
struct tui_screen tui_screen_layout(int cols, int rows);

/* The first of `n` rows in view where `shown` fit: as before (`top`), but with the cursor in view and no room left
 * below the last one. */
size_t tui_scroll(size_t cursor, size_t top, size_t shown, size_t n);

/* A place among `n`, `by` further on: at most the first or last. */
size_t tui_step(size_t at, long by, size_t n);

/* The rest of `area` below its first n rows; height 0 if it has no more than n. */
struct tui_rect tui_below(struct tui_rect area, int n);
