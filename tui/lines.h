/* Source lines of call sites, out of the debug information of the program's files where they are still to be had. */
#ifndef TUI_LINES_H
#define TUI_LINES_H

#include <stdint.h>

/* An ana_line_finder: "module+0xoffset" -> "file.c:12", NULL if it cannot be told.  The text lives until the program
 * ends.  `context`: the start of the job (int64_t *, ns since 1970): a file changed since is not the one that ran. */
const char *tui_line_of(void *context, const char *module);

#endif
