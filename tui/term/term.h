/* A terminal takes cells and gives keys.  curses.c is a real one; script.c plays a script, for tests. */
#pragma once

#include "tui/widgets/grid.h"

enum tui_event_kind {
    TUI_EVENT_NONE, /* nothing came in time */
    TUI_EVENT_KEY,
    TUI_EVENT_CLICK,   /* a button was pressed */
    TUI_EVENT_DRAG,    /* the mouse has moved with it, */
    TUI_EVENT_RELEASE, /* the button was let go */
    TUI_EVENT_WHEEL,   /* key: -1 up, 1 down */
    TUI_EVENT_RESIZE,
    TUI_EVENT_END /* the terminal is gone, or its script has ended */
};

struct tui_event {
    enum tui_event_kind kind;
    int key;      /* enum tui_key or a code point */
    int x, y;     /* a cell, where the mouse was */
    bool control; /* wheel: Ctrl was held */
};

struct tui_term_ops {
    void (*size)(void *data, int *cols, int *rows); /* in cells */
    bool (*ascii)(void *data);                      /* it shows no other characters than ASCII */
    /* The next event, waited for at most timeout_ms milliseconds; 0: without waiting. */
    struct tui_event (*wait)(void *data, int timeout_ms);
    /* Shows the grid.  Only cells that changed are sent; with `repaint`, all. */
    void (*show)(void *data, const struct tui_grid *grid, bool repaint);
    void (*close)(void *data);                               /* leaves the terminal as it was, and frees data */
    bool (*copy)(void *data, const char *text, size_t size); /* copies to its clipboard; NULL, false: it has none */
    /* Leaves the terminal to a command of the shell until that ends.  NULL, false: it cannot. */
    bool (*run)(void *data, const char *command);
    /* Makes `text`, which the last row begins with, a link to a line of a file, until other cells are shown there.
     * NULL: it cannot. */
    void (*link)(void *data, const char *text, const char *file, int line);
};

struct tui_term {
    const struct tui_term_ops *ops;
    void *data;
};

enum tui_colour { TUI_COLOUR_AUTO, TUI_COLOUR_NEVER };

/* Opens the terminal on stdin and stdout until out->ops->close.  False, with a line in `error`, when it cannot
 * show screens or memory is out.  Else `error` is empty, or a line for the user: its type is not known, another is
 * used. */
bool tui_term_curses(struct tui_term *out, enum tui_colour colour, bool ascii, char *error, size_t error_size);

/* Makes a terminal of cols x rows that plays `script` and writes the screens that it asks for to `screens`.  Both
 * streams stay the caller's.  False when out of memory.  One command a line:
 *   size COLSxROWS      key NAME ...     text WORDS...     click X Y     drag X Y X Y
 *   hold X Y X Y (a drag before the button is let go)     wheel up|down     zoom up|down X Y (the wheel with Ctrl)
 *   screen [styles]     tick
 * Blank lines and lines that begin with # are skipped; the end of the script ends the session. */
bool tui_term_script(struct tui_term *out, FILE *script, FILE *screens, int cols, int rows, bool ascii);
