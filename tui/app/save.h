/* Picture of the screen, for other programs: a file, or the terminal's clipboard. */
#pragma once

#include "tui/app/app.h"
#include "tui/term/term.h"

/* Writes the grid, which shows the app, to a new file, in the form that its name ends in: .svg, .html, .csv and .json
 * (the table), else text.  An empty name: hpctop-screen-N.txt, the first that does not exist.  app->message says what
 * became of it. */
void tui_save_file(struct tui_app *app, const struct tui_grid *grid, const char *name);

/* Writes the table of the view that is shown, all of its rows and the columns that the user wants: times in seconds,
 * sizes in bytes, shares of 1, an unknown value empty or null.  False: the view has no table. */
bool tui_save_table(struct tui_app *app, FILE *out, bool json);

/* Hands text to the clipboard; app->message says that, or why not. */
void tui_save_copy(struct tui_app *app, const struct tui_term *term, const struct tui_grid *grid, bool table);

/* Runs the user's editor on a line of a program.  False: there is none, or terminal or file do not allow it. */
bool tui_save_edit(const struct tui_term *term, const struct tui_source *source);
