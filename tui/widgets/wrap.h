/* Text in lines of a width. */
#pragma once

#include "tui/widgets/style.h"

/* Receives one line; the text lives no longer than the call. */
typedef void tui_line_do(void *to, enum tui_style style, const char *text);

/* Passes a word and, from column `indent` on, its text to `line`, in as many lines of `width` columns as needed. */
void tui_wrap(const char *word, int indent, const char *text, int width, tui_line_do *line, void *to);
