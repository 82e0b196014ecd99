/* The palette of the prompt ":": lines that begin with the typed text. */
#pragma once

#include "tui/app/app.h"

enum { TUI_OFFERS = 64 };

/* A line that may be typed, and an explanation of it, static or of the app's summary. */
struct tui_offer {
    char text[TUI_LINE];
    const char *help;
};

/* Lists the commands, screens and actions that begin with `typed`; behind the word of a command with names, the calls,
 * communicators or places of the summary that begin with the rest.  Returns their number. */
size_t tui_palette_list(const struct tui_app *app, const char *typed, struct tui_offer out[TUI_OFFERS]);

/* Extends the typed line by as much as all offers share, or else to the first offer.  False: there is none. */
bool tui_palette_complete(const struct tui_app *app, struct tui_line *line);

/* Writes the word of an action: "zoom-in", "timeline". */
void tui_palette_word(enum tui_action action, char *out, size_t size);

/* Finds the action of the present view by its word, which may be cut short: "zoom-in", "timeline", "q".
 * TUI_ACTION_NONE: there is none. */
enum tui_action tui_palette_action(const struct tui_app *app, const char *word, size_t length);

/* Draws the offers in the last rows of `rect`, above the prompt. */
void tui_palette_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);
