/* The lines of help, made from the tables of actions, columns, terms and categories: for the screen and the command. */
#ifndef TUI_HELP_H
#define TUI_HELP_H

#include "tui/views/views.h"

/* Takes one line of help; the text lives no longer than the call. */
typedef void tui_help_line(void *to, enum tui_style style, const char *text);

/* Gives `line` a word and, from column `indent` on, its text, in as many lines as needed. */
void tui_help_item(const char *word, int indent, const char *text, int width, tui_help_line *line, void *to);

/* Gives `line` the keys that work in a view, in lines of at most `width` columns.  TUI_VIEWS: all keys, with the views
 * where they work. */
void tui_help_keys(enum tui_view_id view, int width, tui_help_line *line, void *to);

/* Gives `line` what the prompt : understands. */
void tui_help_jumps(int width, tui_help_line *line, void *to);

/* Gives `line` the question that a view answers. */
void tui_help_about(enum tui_view_id view, int width, tui_help_line *line, void *to);

/* Gives `line` what a view shows: its columns and its terms, in lines of at most `width` columns. */
void tui_help_view(enum tui_view_id view, int width, tui_help_line *line, void *to);

#endif
