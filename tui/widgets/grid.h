/* A grid of cells in memory: the contents of a screen, before a terminal gets it.  Views write it, terminals compare
 * it with their screen, tests read it as text.  A character of two columns (Chinese, Japanese, Korean) has two cells; a
 * combining mark joins the cell before; a character on whose width terminals do not agree becomes '?'.  No function
 * locks: a grid belongs to one thread. */
#pragma once

#include "tui/widgets/style.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tui_rect {
    int x, y, w, h; /* columns and rows of the grid */
};

struct tui_cell {
    uint32_t ch; /* code point; 0: right half of the character before */
    uint8_t style;
    uint32_t mark; /* combining mark on it; 0: none */
};

struct tui_grid {
    int cols, rows;
    bool ascii; /* characters beyond ASCII are replaced when they are put */
    struct tui_cell *cells;
};

/* Makes the grid cols x rows cells, all blank; a size below 1 gives an empty grid.  The grid owns its cells until
 * tui_grid_free; zero it before the first call.  False, and an empty grid, when out of memory. */
bool tui_grid_resize(struct tui_grid *grid, int cols, int rows);

/* Frees the cells and leaves an empty grid, which may be resized again. */
void tui_grid_free(struct tui_grid *grid);

/* Makes every cell a blank in the normal style. */
void tui_grid_clear(struct tui_grid *grid);

/* The cell in column x of row y, both counted from 0; it belongs to the grid.  NULL outside the grid. */
struct tui_cell *tui_grid_at(const struct tui_grid *grid, int x, int y);

/* Writes UTF-8 text at column x, row y of `rect` and returns the column behind it.  Text that is too long for the
 * rectangle ends in an ellipsis.  Rows outside the rectangle stay as they are. */
int tui_put(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *text);

/* Formats as printf does, at most 1023 bytes, and writes the text as tui_put does. */
int tui_putf(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Writes text that ends before column x_end; text that is too long begins at column 0. */
void tui_put_right(struct tui_grid *grid, struct tui_rect rect, int x_end, int y, enum tui_style style,
                   const char *text);

/* Writes the character with code point ch into as many cells as it takes, and returns their number: a mark takes none.
 * Outside the rectangle, and in its last column if it takes two, it writes nothing. */
int tui_put_char(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, uint32_t ch);

/* Sets the style of all cells of a rectangle and, unless ch is 0, that character. */
void tui_fill(struct tui_grid *grid, struct tui_rect rect, enum tui_style style, uint32_t ch);
/* Begins line y of a list, which has the cursor if `chosen`: fills it then, and marks it by '>'.  Returns the style of
 * its text: TUI_STYLE_CURSOR, or else `style`. */
enum tui_style tui_begin_line(struct tui_grid *grid, struct tui_rect rect, int y, enum tui_style style, bool chosen);

/* The number of columns that UTF-8 text takes. */
int tui_columns(const char *text);
/* Moves *text on by as many characters as take `columns`; returns the columns that they take, one more if the last one
 * takes two. */
int tui_skip(const char **text, int columns);

/* Returns the code point at *text and moves *text behind it; '?' for an invalid byte, 0 at the end. */
uint32_t tui_decode(const char **text);

/* Writes a code point as UTF-8 with a terminating 0; returns the number of bytes before that. */
int tui_encode(uint32_t ch, char out[5]);

/* The ASCII character that stands for a code point where a terminal knows no other; '?' if there is none. */
char tui_ascii(uint32_t ch);

/* Writes the grid as UTF-8, a line for each row, without trailing blanks.  With `styles` the rows follow once more, as
 * the letters of their styles (style.def). */
void tui_grid_write(const struct tui_grid *grid, FILE *out, bool styles);

/* Copies the cells of a rectangle one line high, `down` lines further down. */
void tui_repeat(struct tui_grid *grid, struct tui_rect line, int down);
