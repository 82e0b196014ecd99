/* The lines of help, made from the tables of actions, columns, terms and categories: for the screen and the command. */
#pragma once

#include "tui/views/pager.h"
#include "tui/views/views.h"

/* Passes to `line` the keys that work in a view, in lines of at most `width` columns.  TUI_VIEWS: all keys, with the
 * views where they work. */
void tui_help_keys(enum tui_view_id view, int width, tui_line_do *line, void *to);

/* Passes to `line` the commands of the prompt. */
void tui_help_jumps(int width, tui_line_do *line, void *to);

/* Passes to `line` the question that a view answers. */
void tui_help_about(enum tui_view_id view, int width, tui_line_do *line, void *to);

/* Passes to `line` the contents of a view: its columns and its terms, in lines of at most `width` columns. */
void tui_help_view(enum tui_view_id view, int width, tui_line_do *line, void *to);
