/* The chooser of columns: a list over the table of the view that is shown. */
#pragma once

#include "tui/app/app.h"

/* Opens it for the view that is shown, which has to have a table. */
void tui_chooser_open(struct tui_app *app);

/* Handles a key while it is open.  Returns bits of enum tui_reaction. */
int tui_chooser_key(struct tui_app *app, int key);

/* Draws it into the body of the screen. */
void tui_chooser_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);
