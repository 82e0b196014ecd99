/* What took longest in the time in view: segments between calls, late senders and messages, the slowest first. */
#ifndef TUI_SLOWEST_H
#define TUI_SLOWEST_H

#include "tui/app/app.h"

struct slow_instant {
    int64_t at_ns, ns; /* when it began, in job time, and how long it took */
    size_t index;      /* of the rank */
    char words[160];
};

/* Lists at most `max` of them; returns how many. */
size_t tui_slowest(const struct tui_app *app, struct slow_instant *out, size_t max);

/* Where in that list the cursor was put last. */
struct slow_place {
    unsigned of; /* the summary that it was of */
    int at;      /* from 1; 0: nowhere */
};

/* Draws the first of them as a list, the one of `place` as under the cursor. */
void tui_slowest_draw(const struct tui_app *app, const struct slow_place *place, struct tui_grid *grid,
                      struct tui_rect rect);

/* Puts the cursor on the next (step 1) or last (-1) of them, and says what it is. */
void tui_slowest_go(struct tui_app *app, struct slow_place *place, int step);

#endif
