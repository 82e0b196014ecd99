/* Slowest parts of the time in view: segments between calls, late senders and messages, the slowest first. */
#ifndef TUI_SLOWEST_H
#define TUI_SLOWEST_H

#include "tui/app/app.h"

struct slow_instant {
    int64_t at_ns, ns; /* begin in job time, and length */
    size_t index;      /* index of the rank */
    char words[160];
};

/* Lists at most `max` of the slowest; returns their number. */
size_t tui_slowest(const struct tui_app *app, struct slow_instant *out, size_t max);

/* Last place of the cursor in that list. */
struct slow_place {
    unsigned of; /* the summary that it was of */
    int at;      /* from 1; 0: nowhere */
};

/* Draws the slowest as a list, the one of `place` as under the cursor. */
void tui_slowest_draw(const struct tui_app *app, const struct slow_place *place, struct tui_grid *grid,
                      struct tui_rect rect);

/* Puts the cursor on the next (step 1) or last (-1) of the slowest, and describes it. */
void tui_slowest_go(struct tui_app *app, struct slow_place *place, int step);

#endif
