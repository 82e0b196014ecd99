/* A view fills cells from the app's data.  It knows no terminal and computes no metric. */
#pragma once

#include "tui/app/app.h"
#include <stddef.h>

/* Words of a view, by enum tui_view_id; the question that it answers, for the help. */
extern const struct tui_view_words {
    const char *title, *about;
} tui_view_words[];

/* Words on the screens of all views, and their meanings or how they are computed; the last word is NULL. */
extern const struct tui_term_help {
    enum tui_view_id view;
    const char *word, *help;
} tui_terms[];

struct tui_view {
    const struct tui_table_spec *table;     /* table over a struct tui_app; NULL: the view has no table */
    int (*sort)(const struct tui_app *app); /* the column sorted by at first; NULL: as the table says */
    /* For a cursor that all views share: `shared` gives the identity of its row (0: none yet), `moved` sets it. */
    uint64_t (*shared)(const struct tui_app *app);
    void (*moved)(struct tui_app *app, const void *row);
    void (*update)(struct tui_app *app); /* before its table is: brings what that shows up to date; may be NULL */
    void (*shown)(struct tui_app *app);  /* Esc has led back to it; may be NULL */
    size_t own_size;                     /* bytes of its private state app->own[id], all 0 at first */
    void (*drop)(void *own);             /* frees what that state points to; may be NULL */
    void (*draw)(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);
    /* Does an action; returns enum tui_reaction, where TUI_UNHANDLED leaves it to the app.  May be NULL. */
    int (*act)(struct tui_app *app, enum tui_action action);
    /* Handles a click at a cell of the grid; returns as `act`.  Tables do not need it.  May be NULL. */
    int (*click)(struct tui_app *app, int x, int y);
    /* Puts the cursor in time on a cell of the grid, if it is one of a time.  May be NULL. */
    void (*point)(struct tui_app *app, int x, int y);
    /* Handles a drag from a cell of the grid to another; returns as `act`.  May be NULL. */
    int (*drag)(struct tui_app *app, int x, int y, int to_x, int to_y);
};

/* A function own() that returns a view's private state, a struct own. */
#define TUI_STATE(id)                                                                                                  \
    static struct own *own(const struct tui_app *app)                                                                  \
    {                                                                                                                  \
        return app->own[TUI_VIEW_##id];                                                                                \
    }

/* The rows of a table: an array of the app. */
#define TUI_ROWS(rows_, count_)                                                                                        \
    .array = offsetof(struct tui_app, rows_), .count = offsetof(struct tui_app, count_),                               \
    .size = sizeof *((struct tui_app *)0)->rows_, .whole = offsetof(struct tui_app, whole)

/* Marks a cell's share of time where it is large; for tui_column.show. */
void tui_show_loss(const void *app, const void *row, struct tui_value *out);
