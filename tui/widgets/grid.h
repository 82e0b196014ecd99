/* Cells in memory: what a screen shows before any terminal sees it.  Views write here, terminals compare and emit,
 * tests read it as text.  Every cell is one column wide; characters that are not become '?'. */
#ifndef TUI_GRID_H
#define TUI_GRID_H

#include "tui/widgets/style.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct tui_rect {
    int x, y, w, h; /* columns and rows of the grid */
};

struct tui_cell {
    uint32_t ch; /* code point */
    uint8_t style;
};

struct tui_grid {
    int cols, rows;
    bool ascii; /* everything beyond ASCII is replaced when it is put */
    struct tui_cell *cells;
};

/* Makes the grid cols x rows of blanks; sizes below 1 give an empty grid.  False (and an empty grid) when out of
 * memory. The grid must be zeroed before its first resize. */
bool tui_grid_resize(struct tui_grid *grid, int cols, int rows);
void tui_grid_free(struct tui_grid *grid);
void tui_grid_clear(struct tui_grid *grid);
bool tui_grid_equal(const struct tui_grid *a, const struct tui_grid *b);

/* NULL outside the grid. */
struct tui_cell *tui_grid_at(const struct tui_grid *grid, int x, int y);

/* Writes UTF-8 text at column x, row y of `rect` (relative to it) and returns the column after it.  Text that does not
 * fit in the rectangle ends in an ellipsis; rows outside write nothing. */
int tui_put(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *text);
int tui_putf(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* Right-aligned: the text ends before column x_end. */
void tui_put_right(struct tui_grid *grid, struct tui_rect rect, int x_end, int y, enum tui_style style,
                   const char *text);
/* One character. */
void tui_put_char(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, uint32_t ch);
/* Restyles (and, unless ch is 0, fills) a rectangle. */
void tui_fill(struct tui_grid *grid, struct tui_rect rect, enum tui_style style, uint32_t ch);

/* Columns that a text takes. */
int tui_columns(const char *text);
/* Next code point of *text, which moves on; 0 at the end; invalid bytes give '?'. */
uint32_t tui_decode(const char **text);
/* Bytes of a code point in UTF-8, terminated; returns their number. */
int tui_encode(uint32_t ch, char out[5]);
/* The ASCII stand-in of a code point. */
char tui_ascii(uint32_t ch);

/* The grid as text, one line a row without trailing blanks; with `styles`, followed by the rows as style letters. */
void tui_grid_write(const struct tui_grid *grid, FILE *out, bool styles);

#endif
