/* Lines of the program around a place, from the file on this machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TUI_SOURCE_AROUND = 3, TUI_SOURCE_WIDTH = 160 };

struct tui_source {
    char file[1024];                                        /* path; "": the line of the place is not known */
    int line;                                               /* number, from 1; 0: not known */
    const char *trouble;                                    /* reason for a missing text; static; NULL: none */
    int first, count;                                       /* number of text[0]; lines in `text` */
    char text[2 * TUI_SOURCE_AROUND + 1][TUI_SOURCE_WIDTH]; /* may be shown (trace/util/text.h) */
};
/* Reads the lines around `place`, "/src/app.c:17"; NULL: not known.  Opens regular files alone, and reads none that
 * was changed after `began_ns`, by the wall clock. */
void tui_source_read(const char *place, int64_t began_ns, struct tui_source *out);
