/* Marks and notes in the picture of the timeline. */
#ifndef TUI_TIMELINE_MARKS_H
#define TUI_TIMELINE_MARKS_H

#include "tui/app/app.h"

/* Writes the letters of the marks over the axis, whose columns are begin to end; notes as stars. */
void tui_timeline_marks(const struct tui_app *app, struct tui_grid *grid, struct tui_rect axis, int64_t begin,
                        int64_t end);

/* Writes the mark in the cursor's column, of `columns`, into a line; returns the column behind it. */
int tui_timeline_note(const struct tui_app *app, struct tui_grid *grid, struct tui_rect line, int columns);

#endif
