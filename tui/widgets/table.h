/* Rows and columns: sorting, scrolling, searching, filtering and drawing, once for all views.  A view says how many
 * rows there are and what stands in a cell; the table does the rest. */
#ifndef TUI_TABLE_H
#define TUI_TABLE_H

#include "trace/metric/metric.h"
#include "tui/widgets/grid.h"

enum { TUI_TABLE_COLUMNS = 24 }; /* no table has more */

enum tui_column_flags {
    TUI_ASCENDING = 1, /* the natural order: small (or A) first */
    TUI_STRETCH = 2,   /* shares what is left of the line after all columns are in */
    TUI_FIRST_SORT = 4 /* sorted by at first; none: the order of the rows as they come */
};

struct tui_value;
struct tui_column {
    const struct ana_metric *metric; /* title, unit, help */
    int width;                       /* columns of the terminal; text is left, numbers are right aligned */
    unsigned flags;
    /* What the view makes of the metric's value, or in place of it; may be NULL. */
    void (*show)(const void *data, size_t row, struct tui_value *out);
};
#define TUI_METRIC(id) &ana_metrics[ANA_METRIC_##id]
/* A column of one view alone. */
#define TUI_OWN(title_, unit_, help_)                                                                                  \
    &(const struct ana_metric)                                                                                         \
    {                                                                                                                  \
        .title = title_, .unit = unit_, .help = help_                                                                  \
    }

struct tui_value {
    double number; /* sorted by, and shown in the column's unit where text is empty; NAN: unknown */
    char text[128];
    enum tui_style style;
    bool each; /* every cell of the text has its own style, in `styles` */
    uint8_t styles[128];
};

struct tui_table_spec {
    const struct tui_column *columns;
    int column_count;
    size_t (*rows)(const void *data);
    /* What stands in a cell, before its column's `show`; `out` comes as {NAN, "", NORMAL}. */
    void (*value)(const void *data, size_t row, const struct tui_column *column, struct tui_value *out);
    uint64_t (*identity)(const void *data, size_t row); /* what the cursor stays on when rows move */
    bool (*tagged)(const void *data, size_t row);       /* may be NULL */
    bool (*hidden)(const void *data, size_t row);       /* folded away; may be NULL */
};

/* A metric of a row as what stands in its cell. */
void tui_metric(const struct ana_metric *metric, const void *row, const struct ana_whole *whole, struct tui_value *out);

struct tui_table {
    int sort; /* column; -1 none */
    bool inverted, started;
    char filter[64], find[64];
    size_t cursor, top, count; /* positions in `order` */
    uint64_t cursor_identity;
    bool has_cursor; /* it was put on a row; until then it is on the first, whichever that is */
    uint32_t *order; /* `count` rows of the view, owned */
    size_t room;
    int want[TUI_TABLE_COLUMNS]; /* longest text in view, of columns that stretch */
    struct tui_rect drawn;       /* where it was last drawn, its title line included: for the mouse */
};

void tui_table_free(struct tui_table *table);

/* Takes in new data, filter or sort order; a cursor that was put on a row stays on it where that is still
 * there, else it is on the first. */
void tui_table_update(struct tui_table *table, const struct tui_table_spec *spec, const void *data);

/* Row of the view under the cursor; SIZE_MAX when there is none. */
size_t tui_table_row(const struct tui_table *table);
void tui_table_move(struct tui_table *table, const struct tui_table_spec *spec, const void *data, long delta);
/* Puts the cursor on the row of an identity; false if it is not shown. */
bool tui_table_go(struct tui_table *table, const struct tui_table_spec *spec, const void *data, uint64_t identity);
/* Steps the sort column, skipping back to the natural order of the new one. */
void tui_table_sort(struct tui_table *table, const struct tui_table_spec *spec, const void *data, int step);
void tui_table_invert(struct tui_table *table, const struct tui_table_spec *spec, const void *data);
/* Next row (from the one after the cursor, or from the cursor with `here`) that contains table->find; false if none. */
bool tui_table_find(struct tui_table *table, const struct tui_table_spec *spec, const void *data, bool here);

enum tui_table_click { TUI_CLICK_NOTHING, TUI_CLICK_ROW, TUI_CLICK_CURSOR, TUI_CLICK_TITLE };
/* A click at a cell of the grid: moves the cursor, or sorts by the title. */
enum tui_table_click tui_table_click(struct tui_table *table, const struct tui_table_spec *spec, const void *data,
                                     int x, int y);

void tui_table_draw(struct tui_table *table, const struct tui_table_spec *spec, const void *data, struct tui_grid *grid,
                    struct tui_rect rect);

/* Text of one cell as it is drawn. */
void tui_table_text(const struct tui_table_spec *spec, const void *data, size_t row, int column, struct tui_value *out);

#endif
