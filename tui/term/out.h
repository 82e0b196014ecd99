/* The one way out for text: whatever hpctop prints, nothing but text gets to the terminal and into JSON. */
#ifndef TUI_OUT_H
#define TUI_OUT_H

#include <stdio.h>

/* From now on stdout and stderr put out characters that may be shown (trace/util/text.h), tabs and newlines; any other
 * byte is a '?', and so is every character beyond ASCII on a terminal whose locale is not UTF-8.  Once, before anything
 * is printed. */
void tui_out_guard(void);

/* The stdout that was there before: for ncurses alone, which sends what a terminal is to do. */
FILE *tui_out_terminal(void);

#endif
