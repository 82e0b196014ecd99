/* What a view is.  A view fills cells from the app's data; it knows no terminal and computes no metric. */
#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include "tui/app/app.h"

/* A word on the screen and what it means, with its formula. */
struct tui_term_help {
    const char *word;
    const char *help;
};

struct tui_view {
    const char *title;
    const char *about;                      /* the question that it answers, for the help */
    const struct tui_table_spec *table;     /* its rows, with a struct tui_app as data; NULL: it has none */
    int (*sort)(const struct tui_app *app); /* column sorted by at first; NULL: the table's own */
    const struct tui_term_help *terms;      /* ended by a NULL word; NULL: none */
    /* The cursor that the table shares with other views: its row's identity (0: none yet), and what a move sets. */
    uint64_t (*shared)(const struct tui_app *app);
    void (*moved)(struct tui_app *app, size_t row);
    size_t own_size; /* of its private state, app->own[id], which is zeros at first */
    void (*draw)(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);
    /* The view's own answer to an action, as enum tui_reaction; TUI_UNHANDLED lets the app go on.  NULL: none. */
    int (*act)(struct tui_app *app, enum tui_action action);
    /* A click at a cell of the grid, the same; tables need none. */
    int (*click)(struct tui_app *app, int x, int y);
};

#endif
