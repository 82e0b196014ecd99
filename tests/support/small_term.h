/* A terminal of 80x24 cells whose user is the test's own: what such terminals have in common.  For one test program
 * each, so everything is here. */
#ifndef TESTS_SMALL_TERM_H
#define TESTS_SMALL_TERM_H

#include "tui/term/term.h"

static void small_term_size(void *data, int *cols, int *rows)
{
    (void)data;
    *cols = 80;
    *rows = 24;
}

static bool small_term_ascii(void *data)
{
    (void)data;
    return true;
}

static void small_term_close(void *data)
{
    (void)data;
}

/* Writes the shown text. */
static inline void small_term_text(const struct tui_grid *grid, char *out, size_t size)
{
    FILE *stream = fmemopen(out, size, "w");
    tui_grid_write(grid, stream, false);
    fclose(stream);
}

#endif
