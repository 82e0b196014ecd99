/* The longest call of a place, as the Inspect screen shows it, in the room that other screens have left. */
#pragma once

#include "tui/output/inspect.h"
#include "tui/views/pager.h"

enum { TUI_LONGEST_ROWS = 10 }; /* fewer show too little of it */

/* All 0 at first. */
struct tui_longest_call {
    uint64_t site;      /* identity of the place that was looked up; 0: none */
    unsigned summaries; /* made by then */
    int64_t at_ns;      /* INT64_MIN: none was found */
    struct tui_pager pager;
    struct tui_moment moment;
};

/* Draws the longest call of a place, on the rank that spends most time there. */
void tui_longest_draw(struct tui_app *app, const struct ana_site *site, struct tui_longest_call *o,
                      struct tui_grid *grid, struct tui_rect rect);
