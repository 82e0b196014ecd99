/* Guards stdout and stderr: a trace may hold any bytes, but a terminal and JSON get text alone. */
#pragma once

#include <stdio.h>

/* Replaces stdout and stderr by streams that let shown characters (trace/util/text.h), tabs and newlines through.  Any
 * other byte becomes '?', and so does a character beyond ASCII on a terminal whose locale is not UTF-8.
 * Call it once, before anything is printed. */
void tui_out_guard(void);

/* The stdout from before the guard.  Only ncurses uses it, which sends control sequences. */
FILE *tui_out_terminal(void);
