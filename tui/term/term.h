/* A terminal: takes cells, gives keys.  term_curses.c is a real one, term_script.c plays a script for tests. */
#ifndef TUI_TERM_H
#define TUI_TERM_H

#include "tui/widgets/grid.h"

enum tui_event_kind {
    TUI_EVENT_NONE, /* the time is over */
    TUI_EVENT_KEY,
    TUI_EVENT_CLICK,
    TUI_EVENT_WHEEL, /* key: -1 up, 1 down */
    TUI_EVENT_RESIZE,
    TUI_EVENT_END /* nobody is there any more */
};

struct tui_event {
    enum tui_event_kind kind;
    int key;  /* enum tui_key or a code point */
    int x, y; /* of the mouse: a cell */
};

struct tui_term_ops {
    void (*size)(void *data, int *cols, int *rows);
    bool (*ascii)(void *data); /* can show ASCII alone */
    /* Waits for at most `timeout_ms` (0: looks only). */
    struct tui_event (*wait)(void *data, int timeout_ms);
    /* Shows the grid; with `repaint`, whatever the terminal is believed to show already. */
    void (*show)(void *data, const struct tui_grid *grid, bool repaint);
    void (*close)(void *data); /* the terminal is as it was before */
};

struct tui_term {
    const struct tui_term_ops *ops;
    void *data;
};

enum tui_colour { TUI_COLOUR_AUTO, TUI_COLOUR_NEVER };

/* Takes over the terminal on stdin and stdout.  False, with one line in `error`, when it cannot be used. */
bool tui_term_curses(struct tui_term *out, enum tui_colour colour, bool ascii, char *error, size_t error_size);

/* Plays `script`; what it asks to see goes to `out`.  One command a line:
 *   size COLSxROWS      key NAME ...     text WORDS...     click X Y     wheel up|down     screen [styles]     tick
 * Blank lines and those that begin with # are skipped; the script's end is the end of the session.  Both streams stay
 * the caller's. */
bool tui_term_script(struct tui_term *out, FILE *script, FILE *screens, int cols, int rows, bool ascii);

#endif
