/* The prompt ":": goes to a time, ranks, an iteration, and sets what all screens are of. */
#pragma once

#include "tui/app/app.h"

struct tui_jump {
    const char *word, *example, *help;
};

/* The rows of the table; a word of NULL ends them. */
extern const struct tui_jump tui_jumps[];

/* Does the command that was typed after ":", or the action of that word.  An impossible one changes nothing, and
 * app->message says why.  Returns as tui_app_step. */
int tui_app_jump(struct tui_app *app, const char *typed);

/* Shows only what belongs to a communicator, call or call site (`part` is of app->filter) in all screens; if that is so
 * already, everything again.  Returns TUI_REDRAW. */
int tui_app_only(struct tui_app *app, uint64_t *part, uint64_t value);

/* Drops the filter of communicator, call and call site.  False: there was none. */
bool tui_app_drop_filter(struct tui_app *app);
