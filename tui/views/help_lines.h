/* Help, all of it printed from the tables: actions, columns, terms, categories.  The screen and the command line show
 * the same lines. */
#ifndef TUI_HELP_H
#define TUI_HELP_H

#include "tui/views/views.h"

/* Takes one line; it lives no longer than the call. */
typedef void tui_help_line(void *to, enum tui_style style, const char *text);

/* Keys that work in a view; TUI_VIEWS: all keys, with where they work. */
void tui_help_keys(enum tui_view_id view, int width, tui_help_line *line, void *to);
/* What a view shows: its question, columns and terms with their formulas. */
void tui_help_view(enum tui_view_id view, int width, tui_help_line *line, void *to);

#endif
