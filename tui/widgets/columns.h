/* Visible columns of a table, their order and places: as the view has them, as the user chose, and as far as they fit
 * beside each other from the scroll position on. */
#pragma once

#include "tui/widgets/table.h"

/* A column of the table's view in a place: x is counted from the table's left edge. */
struct tui_placed {
    int column, x, width;
};

/* Lists the columns that the user wants, in order; returns how many: at least the first one of the view. */
int tui_columns_wanted(const struct tui_table *table, int list[TUI_TABLE_COLUMNS]);

/* Places the columns that fit into `width`: the first one, and the others from the scroll position on.  Returns their
 * number; *more: some further right do not fit. */
int tui_columns_place(const struct tui_table *table, int width, struct tui_placed out[TUI_TABLE_COLUMNS], bool *more);

/* Scrolls by a number of columns, as far as there are some out of view; false: no further. */
bool tui_columns_scroll(struct tui_table *table, int by);

/* Scrolls so that a column is in view, if it is a wanted one. */
void tui_columns_reveal(struct tui_table *table, int column);

/* The next (step 1) or last (-1) of the wanted columns from `column` on, which may be an unwanted one: round and
 * round. */
int tui_columns_step(const struct tui_table *table, int column, int step);

/* All columns of the view: first those wanted, then the others. */
int tui_columns_all(const struct tui_table *table, int list[TUI_TABLE_COLUMNS]);

/* Whether a column is wanted. */
bool tui_columns_has(const struct tui_table *table, int column);

/* Wants these columns in this order; the first of the view is always first.  0 columns: as the view has them. */
void tui_columns_choose(struct tui_table *table, const int *list, int count);
