/* A table on the screen: sorts, scrolls, searches, filters and draws its rows, once for all views.  A view gives the
 * number of rows and the contents of each cell.  The view's functions get `data`; one thread alone uses a table. */
#pragma once

#include "trace/metric/metric.h"
#include "tui/widgets/grid.h"

enum { TUI_TABLE_COLUMNS = 24 }; /* no table has more */

enum tui_column_flags {
    TUI_ASCENDING = 1, /* first order is from small (or A) to large */
    TUI_STRETCH = 2,   /* it grows into the room that is left beside all columns */
    TUI_FIRST_SORT = 4 /* the table is sorted by it at first; by no column: the order of the rows */
};

struct tui_value;
struct tui_column {
    const struct ana_metric *metric; /* title, unit, help */
    int width;                       /* columns of the terminal; text is left, numbers are right aligned */
    unsigned flags;                  /* enum tui_column_flags */
    /* Changes what the cell shows of its metric for a row, or fills it in without one; may be NULL. */
    void (*show)(const void *data, const void *row, struct tui_value *out);
};
#define TUI_METRIC(id) &ana_metrics[ANA_METRIC_##id]
/* A column that is no metric but belongs to one view. */
#define TUI_OWN(title_, unit_, help_)                                                                                  \
    &(const struct ana_metric)                                                                                         \
    {                                                                                                                  \
        .title = title_, .unit = unit_, .help = help_                                                                  \
    }

struct tui_value {
    double number; /* sort key; shown in the column's unit if text is empty; NAN: unknown */
    char text[128];
    enum tui_style style;
    bool each; /* each character of the text has its own style, in `styles` */
    uint8_t styles[128];
};

struct tui_table_spec {
    const struct tui_column *columns;
    int column_count;
    size_t whole; /* offset of a struct ana_whole in the data, for shares */
    /* Offsets of a pointer to the rows and of their number in the data, and the bytes of a row; or functions. */
    size_t array, count, size;
    size_t (*rows)(const void *data);
    const void *(*row)(const void *data, size_t i);
    /* Fills a cell in, in place of its metric; `out` comes as {NAN, "", NORMAL}.  May be NULL. */
    void (*value)(const void *data, const void *row, const struct tui_column *column, struct tui_value *out);
    /* The cursor follows a row by its identity when rows move: the hash of the text that a pointer at the offset `name`
     * of the row is to; or a function. */
    size_t name;
    uint64_t (*identity)(const void *data, const void *row);
    bool (*tagged)(const void *data, const void *row); /* may be NULL: no row is tagged */
    /* Trees only: the row above, a smaller number; SIZE_MAX: none.  Only siblings are sorted.  May be NULL. */
    size_t (*parent)(const void *data, const void *row);
    const char *empty;                                 /* said where there is no row; NULL: "nothing to show" */
    bool (*pinned)(const void *data, const void *row); /* it comes first, whatever is sorted by; may be NULL */
    bool (*hidden)(const void *data, int column); /* it is shown only if the user chose it; NULL: no column is hidden */
};

/* The columns of a table, for its spec. */
#define TUI_COLUMNS(list) .columns = list, .column_count = sizeof(list) / sizeof *(list)

/* Fills a cell in from a row's metric: its words, or its number.  `row` and `whole` are as the metric wants them. */
void tui_metric(const struct ana_metric *metric, const void *row, const struct ana_whole *whole, struct tui_value *out);

struct tui_table {
    const struct tui_table_spec *spec; /* the caller's, and so is the data that it is over */
    const void *data;
    int sort; /* column; -1 none */
    bool inverted, started;
    char filter[64], find[64];
    size_t cursor, top, count; /* positions in `order` */
    uint64_t cursor_identity;
    bool has_cursor; /* somebody has put it on a row; until then it stays on the first row */
    bool elsewhere;  /* the cursor is below the table: no row shows it */
    bool awaited;    /* rows are made of events, and no event is read yet */
    uint32_t *order; /* shown rows of the view in their order, `count` rows; owned */
    size_t room;
    int want[TUI_TABLE_COLUMNS];       /* columns that the longest text in view takes, for columns that stretch */
    uint8_t wanted[TUI_TABLE_COLUMNS]; /* columns that the user chose (widgets/columns.h), in order */
    int wanted_count;                  /* 0: all, as the view has them */
    int skip;                          /* number of columns behind the first that are scrolled out of view */
    struct tui_rect drawn;             /* area drawn last, titles included: for the mouse */
};

/* Frees what the table owns and zeroes it. */
void tui_table_free(struct tui_table *table);

/* Orders the rows anew, after data, filter or sort column have changed.  A cursor that was put on a row follows it; if
 * the row is gone, the cursor stays at its place.  Out of memory: rows that do not fit are not shown. */
void tui_table_update(struct tui_table *table);

/* The number of the row under the cursor; SIZE_MAX when the table is empty. */
size_t tui_table_row(const struct tui_table *table);
/* Returns row i of the data. */
const void *tui_table_at(const struct tui_table *table, size_t i);
/* Returns the row under the cursor; NULL: there is none any more. */
const void *tui_table_chosen(const struct tui_table *table);

/* Moves the cursor by `delta` rows, at most to the first or last. */
void tui_table_move(struct tui_table *table, long delta);

/* Puts the cursor on the row with that identity; false if it is not shown. */
bool tui_table_goto(struct tui_table *table, uint64_t identity);

/* Sorts by the column that is `step` columns further, in that column's first order, and scrolls it into view. */
void tui_table_sort(struct tui_table *table, int step);

/* Turns the order round. */
void tui_table_invert(struct tui_table *table);

/* Puts the cursor on the next row that contains table->find; with `here` the row under the cursor counts, too.  The
 * search goes on at the top.  False, and the cursor stays, if no row contains it. */
bool tui_table_find(struct tui_table *table, bool here);

/* Target of a click: nothing, a row, the row that had the cursor already, a title. */
enum tui_table_click { TUI_CLICK_NOTHING, TUI_CLICK_ROW, TUI_CLICK_CURSOR, TUI_CLICK_TITLE };

/* Handles a click at a cell of the grid: on a row it moves the cursor there, on a title it sorts by that column. */
enum tui_table_click tui_table_click(struct tui_table *table, int x, int y);

/* Draws titles and rows into `rect` and scrolls so that the cursor is in view. */
void tui_table_draw(struct tui_table *table, struct tui_grid *grid, struct tui_rect rect);

/* Fills `out` with the contents of one cell, its text included. */
void tui_table_text(const struct tui_table *table, size_t row, int column, struct tui_value *out);
