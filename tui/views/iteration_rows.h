/* Rows of the Iterations screen: a rank each, or, where not all fit, ranks that stand out and below them nodes, or
 * blocks of ranks. */
#pragma once

#include "tui/app/view.h"

enum { TUI_ITERATION_ROWS = 256 };

/* Shown part of a loop. */
struct tui_iteration_look {
    size_t level;
    uint64_t first, last; /* iterations */
    size_t cells;         /* cells of a row; at most the number of iterations */
    bool whole_time;      /* rows show that; else time outside calls */
};

struct tui_iteration_row {
    size_t first, ranks; /* one of its ranks, an index; how many they are */
    bool stands;         /* the rank takes longer than the others, and has its own row */
};

/* The rank that was longest outside calls in a slow iteration. */
struct tui_iteration_late {
    size_t index;
    float own_ns; /* NAN: unknown of all ranks */
};

/* All 0 at first. */
struct tui_iteration_rows {
    size_t count, cursor, ranks; /* rows; row of the cursor's rank; ranks in all rows and out of view */
    bool folded, by_host;        /* ranks share rows; by node */
    struct tui_iteration_row row[TUI_ITERATION_ROWS];
    struct ana_iteration_cell *cell; /* by row and cell: longest of its ranks; last row: of all ranks; NULL: none yet */
    struct tui_iteration_late late[ANA_SLOWEST]; /* latecomers, indexed by row of the list of slowest iterations */
    /* Look that they were made for: as long as it stays equal, ranks are not read again. */
    struct tui_iteration_look look;
    unsigned summaries; /* made by then */
    size_t most;
    bool unfolded;
};

/* Returns how much longer than usual, in medians of an iteration; NAN: unknown. */
double tui_iteration_excess(const struct ana_loop_level *loop, const struct ana_iteration_cell *cell, bool whole_time);

/* Makes at most `most` rows of the ranks in view, unless they are there, and scrolls so that the cursor's rank is in
 * one.  False: out of memory, or there is none.  Free with tui_iteration_rows_free. */
bool tui_iteration_rows_make(struct tui_app *app, const struct tui_iteration_look *look, size_t most,
                             struct tui_iteration_rows *rows);
/* Frees what the rows own. */
void tui_iteration_rows_free(struct tui_iteration_rows *rows);

/* Returns the cells of a row; of row `count`: the cells of all ranks. */
static inline const struct ana_iteration_cell *tui_iteration_cells(const struct tui_iteration_rows *rows,
                                                                   const struct tui_iteration_look *look, size_t row)
{
    return rows->cell + row * look->cells;
}

/* Writes what a row is called: "3", "n01" of a node, "0.." of a block. */
void tui_iteration_row_name(const struct tui_app *app, const struct tui_iteration_rows *rows, size_t row, char *out,
                            size_t size);
