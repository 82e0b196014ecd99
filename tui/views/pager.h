/* Lines of a view that may be more than fit. */
#pragma once

#include "tui/app/view.h"
#include "tui/widgets/wrap.h"

/* Zeros at first. */
struct tui_pager {
    size_t top, count, page; /* first line in view, all lines and lines that fit, of the last drawing */
    struct tui_grid *grid;
    struct tui_rect rect;
};
/* Begins a drawing: the lines follow. */
void tui_pager_begin(struct tui_pager *pager, struct tui_grid *grid, struct tui_rect rect);
/* Receives the next line; `pager` is a struct tui_pager. */
void tui_pager_line(void *pager, enum tui_style style, const char *text);
/* Ends a drawing by its last line: which lines are in view, and `keys`. */
void tui_pager_end(struct tui_pager *pager, const char *keys);
/* Scrolls; returns as tui_view.act. */
int tui_pager_act(struct tui_pager *pager, enum tui_action action);
