/* Parts of the timeline: its rows, marks, drags, and lists below it. */
#pragma once

#include "tui/app/app.h"
#include "trace/timeline/arrows.h"
#include "trace/timeline/state_at.h"
#include "tui/widgets/plot_category.h"
#include "tui/app/view.h"

/* The rows of the timeline: a rank each or, of many, rows of the tree of ranks with shares of time as shades. */

enum tui_heat { TUI_HEAT_AUTO, TUI_HEAT_WAITING, TUI_HEAT_MPI, TUI_HEAT_CATEGORY, TUI_HEATS };

/* Key of the cells that were read last. */
struct timeline_key {
    unsigned version, summaries;
    int64_t begin_ns, end_ns;
    size_t top, lines, columns;
    bool filtered;
};

struct timeline_rows {
    enum tui_heat heat;             /* shades that the user wants */
    bool many;                      /* some row is not just a rank, or not all ranks can be seen */
    size_t lines;                   /* all: rows of the tree, and one for the most of the rest */
    size_t most;                    /* line for the most of the rest; SIZE_MAX: none */
    struct ana_timeline_cell *cell; /* cells of the lines in view, `columns` each */
    struct timeline_key key;
    enum tui_heat wall; /* computing takes most of every cell, and yet there is more: what this more is */
};

/* Brings the rows up to date; up to `fit` ranks are rows of their own unless the user wants something else. */
void tui_timeline_rows(struct tui_app *app, struct timeline_rows *rows, size_t fit);

/* Columns left of the cells. */
int tui_timeline_left(const struct timeline_rows *rows);

/* Returns the columns right of the cells, in a view of `width` columns. */
int tui_timeline_right(const struct timeline_rows *rows, int width);

/* The row of the tree that a line shows. */
size_t tui_timeline_row(const struct timeline_rows *rows, size_t line);

/* The line of a row of the tree. */
size_t tui_timeline_line(const struct timeline_rows *rows, size_t row);

/* Reads the cells of `visible` lines from `top` on, unless they are there already.  False: out of memory. */
bool tui_timeline_read(struct tui_app *app, struct timeline_rows *rows, size_t top, size_t visible, size_t columns);

/* Draws a line in row y of `area`, with its texts beside it; column `at` is the cursor's, if it is `here`.  Returns the
 * categories that it shows, a bit each. */
unsigned tui_timeline_draw(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                           struct tui_rect area, size_t i, int at, bool here);

/* Draws the whole run as one line, the mean of all ranks or of some of many, with brackets around the time in view.
 * Returns the categories that it shows, a bit each. */
unsigned tui_timeline_strip(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                            struct tui_rect rect);

/* Draws the titles of the texts left and right of the cells. */
void tui_timeline_titles(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                         struct tui_rect area);

/* Draws what shades mean; returns the column behind that. */
int tui_timeline_shades(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                        struct tui_rect rect);

/* Shades something else: waiting, MPI, or what took most of a cell. */
void tui_timeline_next(const struct tui_app *app, struct timeline_rows *rows);

/* Writes what a row of several ranks does at a column, in words. */
void tui_timeline_words(const struct tui_app *app, const struct timeline_rows *rows, size_t line, int column,
                        char *first, size_t first_size, char *second, size_t second_size);

/* Frees the rows' memory. */
void tui_timeline_rows_free(struct timeline_rows *rows);

/* Message lines between rows, where each row is a rank. */

struct timeline_arrows {
    struct ana_arrow *arrow; /* `count` messages of the time in view, the slowest first */
    size_t count, all;       /* all: also the ones that have no line */
    unsigned summaries;      /* key of the last reading: summary, columns, time */
    int columns;
    int64_t begin_ns, end_ns;
};

/* Place of the rows on the screen. */
struct timeline_lanes {
    struct tui_rect cells;
    int tall, bar;         /* lines of a row, and lines with cells; messages are drawn in the others */
    size_t streams, below; /* lines of streams, and behind which row they stand */
};

/* Reads messages of the time in view, spread over `columns`, unless they are there already.  False: there are
 * none. */
bool tui_arrows_read(const struct tui_app *app, struct timeline_arrows *arrows, int columns);

/* Draws a line for each, the slowest if there are many, and marks what the cursor's rank sends and receives in column
 * `at`.  Returns the number of lines that are not marked. */
size_t tui_arrows_draw(const struct tui_app *app, const struct timeline_arrows *arrows, struct tui_grid *grid,
                       const struct timeline_lanes *lanes, int at);

/* Bands of the cursor's rank. */

/* Returns the number of its streams. */
size_t tui_timeline_streams(const struct tui_app *app);

/* Draws as many streams as `rect` has lines; idle time stays blank.  Returns the categories, a bit each. */
unsigned tui_timeline_draw_streams(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);

/* Draws its iterations and its regions, where they are not too many for the columns of `rect`, with titles left of it.
 * Returns the number of lines, the height of `rect` at most. */
int tui_timeline_bands(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);

/* Marks and notes in the picture of the timeline. */

/* Writes the letters of the marks over the axis, whose columns are begin to end; notes as stars. */
void tui_timeline_marks(const struct tui_app *app, struct tui_grid *grid, struct tui_rect axis, int64_t begin,
                        int64_t end);

/* Writes the mark in the cursor's column, of `columns`, into a line; returns the column behind it. */
int tui_timeline_note(const struct tui_app *app, struct tui_grid *grid, struct tui_rect line, int columns);

/* Dragging over the timeline: what would be selected. */

/* The columns of `area` from where the button was pressed, cell x, y of the grid, to column `to_x` of it.  False: it
 * was pressed elsewhere. */
bool tui_drag_columns(struct tui_rect area, int x, int y, int to_x, int *first, int *last);

/* Draws the drag while the mouse is dragged: marks on the axis above `area`, which shows that time, around the range
 * that would be selected, and its length in `foot`.  False: nothing is dragged. */
bool tui_drag_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect area, struct tui_rect foot,
                   int64_t begin_ns, int64_t end_ns);

/* Slowest parts of the time in view: segments between calls, late senders and messages, the slowest first. */

/* Last place of the cursor in that list. */
struct slow_place {
    unsigned of; /* the summary that it was of */
    int at;      /* from 1; 0: nowhere */
};

/* Draws the slowest as a list, the one of `place` as under the cursor.  Returns the rows drawn. */
int tui_slowest_draw(const struct tui_app *app, const struct slow_place *place, struct tui_grid *grid,
                     struct tui_rect rect);

/* Puts the cursor on the next (step 1) or last (-1) of the slowest, and describes it. */
void tui_slowest_show(struct tui_app *app, struct slow_place *place, int step);

/* List of outliers below the timeline of a window.  Only for timeline.c. */

/* Returns how many of `room` lines the list takes beside `ranks` rows; 0: all time is in view, or there is no room.
 * Only with `wanted` does it make ranks share rows. */
int tui_outliers_lines(const struct tui_app *app, int room, size_t ranks, bool wanted);

/* Draws the list; `chosen` is the row under its cursor, -1: the cursor is elsewhere. */
void tui_outliers_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int chosen);
