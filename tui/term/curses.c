/* The real terminal.  The only file that knows ncurses. */
#define NCURSES_WIDECHAR 1
#include "tui/term/term.h"

#include "tui/term/keys.h"
#include "tui/term/out.h"
#include "tui/term/sequence.h"
#include "trace/util/text.h"
#include <ctype.h>
#include <langinfo.h>
#include <ncurses.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

struct terminal {
    SCREEN *screen;
    bool ascii, colour;
    struct tui_grid shown; /* grid sent last */
    attr_t attributes[TUI_STYLES];
    short pair[TUI_STYLES];
    struct tui_event mouse[8]; /* mouse events still to be given out, the newest first */
    int mice;
};

static void start_styles(struct terminal *t, enum tui_colour colour)
{
    t->colour = colour == TUI_COLOUR_AUTO && !(getenv("NO_COLOR") && *getenv("NO_COLOR")) && has_colors() &&
                start_color() == OK;
    bool own = t->colour && use_default_colors() == OK;
    for (int i = 0; i < TUI_STYLES; i++) {
        const struct tui_look *look = tui_style((unsigned)i);
        unsigned a = t->colour ? look->attributes : look->mono;
        bool rich = COLORS >= 256;
        t->attributes[i] =
            (a & TUI_BOLD ? A_BOLD : 0) | (a & TUI_REVERSE ? A_REVERSE : 0) | (a & TUI_UNDERLINE ? A_UNDERLINE : 0);
        int fore = rich ? look->fore256 : look->fore8, back = rich ? look->back256 : look->back8;
        if (!t->colour || (fore < 0 && back < 0) || i + 1 >= COLOR_PAIRS)
            continue;
        if (!own) {
            fore = fore < 0 ? COLOR_WHITE : fore;
            back = back < 0 ? COLOR_BLACK : back;
        }
        bool direct = COLORS > 256; /* colour numbers do not fit into a short */
        if ((direct ? init_extended_pair(i + 1, tui_rgb(fore), tui_rgb(back))
                    : init_pair((short)(i + 1), (short)fore, (short)back)) == OK)
            t->pair[i] = (short)(i + 1);
    }
}

static void measure_curses(void *data, int *cols, int *rows)
{
    (void)data;
    getmaxyx(stdscr, *rows, *cols);
}

static bool is_curses_ascii(void *data)
{
    return ((const struct terminal *)data)->ascii;
}

static void show_curses(void *data, const struct tui_grid *grid, bool repaint)
{
    struct terminal *t = data;
    bool all = repaint || t->shown.cols != grid->cols || t->shown.rows != grid->rows;
    if (all) {
        if (!tui_grid_resize(&t->shown, grid->cols, grid->rows))
            return;
        erase();
        clearok(stdscr, repaint);
    }
    for (int y = 0; y < grid->rows; y++)
        for (int x = 0; x < grid->cols; x++) {
            const struct tui_cell *cell = &grid->cells[y * grid->cols + x];
            struct tui_cell *old = &t->shown.cells[y * grid->cols + x];
            if (!all && cell->ch == old->ch && cell->style == old->style && cell->mark == old->mark)
                continue;
            *old = *cell;
            if (!cell->ch) /* drawn with its left half */
                continue;
            unsigned style = cell->style < TUI_STYLES ? cell->style : TUI_STYLE_NORMAL;
            bool filled = tui_style(style)->attributes & TUI_FILLED && t->pair[style] && COLORS >= 256;
            wchar_t text[3] = {filled ? L' ' : (wchar_t)cell->ch, (wchar_t)cell->mark, 0};
            cchar_t out;
            setcchar(&out, text, t->attributes[style], t->pair[style], NULL);
            mvadd_wch(y, x, &out);
        }
    move(grid->rows - 1, 0); /* a cursor that cannot be hidden disturbs least here */
    refresh();
}

/* The number of a key that is no character; TUI_KEY_NONE for one that has no name here. */
static int map_key(wint_t key)
{
    static const struct {
        wint_t curses;
        int key;
    } map[] = {{KEY_UP, TUI_KEY_UP},           {KEY_DOWN, TUI_KEY_DOWN},        {KEY_LEFT, TUI_KEY_LEFT},
               {KEY_RIGHT, TUI_KEY_RIGHT},     {KEY_SLEFT, TUI_KEY_SHIFT_LEFT}, {KEY_SRIGHT, TUI_KEY_SHIFT_RIGHT},
               {KEY_HOME, TUI_KEY_HOME},       {KEY_END, TUI_KEY_END},          {KEY_PPAGE, TUI_KEY_PAGE_UP},
               {KEY_NPAGE, TUI_KEY_PAGE_DOWN}, {KEY_ENTER, TUI_KEY_ENTER},      {KEY_BACKSPACE, TUI_KEY_BACKSPACE},
               {KEY_DC, TUI_KEY_DELETE}};
    static const struct {
        const char *curses; /* extended terminfo names: their key numbers differ */
        int key;
    } names[] = {{"kLFT5", TUI_KEY_CONTROL_LEFT}, {"kRIT5", TUI_KEY_CONTROL_RIGHT}};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (map[i].curses == key)
            return map[i].key;
    for (int f = 1; f <= 10; f++)
        if (key == (wint_t)KEY_F(f))
            return TUI_KEY_F1 + f - 1;
    const char *name = keyname((int)key);
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i].curses) == 0)
            return names[i].key;
    return TUI_KEY_NONE;
}

static struct tui_event event_of(const MEVENT *mouse)
{
    struct tui_event event = {.kind = TUI_EVENT_NONE, .x = mouse->x, .y = mouse->y};
    if (mouse->bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED)) {
        event.kind = TUI_EVENT_WHEEL;
        event.control = mouse->bstate & BUTTON_CTRL;
        event.key = mouse->bstate & BUTTON4_PRESSED ? -1 : 1;
    } else if (mouse->bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) {
        event.kind = TUI_EVENT_CLICK;
    } else if (mouse->bstate & BUTTON1_RELEASED) {
        event.kind = TUI_EVENT_RELEASE;
    } else if (mouse->bstate & REPORT_MOUSE_POSITION) {
        event.kind = TUI_EVENT_DRAG;
    }
    return event;
}

/* Reads mouse events: events that came together share one KEY_MOUSE, and getmouse gives the newest first. */
static struct tui_event read_mouse(struct terminal *t)
{
    enum { MOST = sizeof t->mouse / sizeof *t->mouse };
    MEVENT mouse;
    while (t->mice < MOST && getmouse(&mouse) == OK)
        t->mouse[t->mice++] = event_of(&mouse);
    return t->mice ? t->mouse[--t->mice] : (struct tui_event){.kind = TUI_EVENT_NONE};
}

/* Returns whether an Esc is a key of its own, or the begin of a sequence that ncurses does not know. */
static int read_escape(void)
{
    enum { PATIENCE_MS = 50 }; /* the parts of a sequence may come one by one */
    struct tui_sequence sequence = {0};
    wint_t next;
    timeout(0); /* ncurses has waited for more already */
    for (int got; (got = get_wch(&next)) != ERR; timeout(PATIENCE_MS)) {
        if (got == KEY_CODE_YES) {
            ungetch((int)next);
            break;
        }
        if (tui_sequence_add(&sequence, next))
            continue;
        if (!sequence.length)
            unget_wch((wchar_t)next);
        break;
    }
    return sequence.length ? tui_sequence_key(&sequence) : TUI_KEY_ESCAPE;
}

static struct tui_event wait_for_curses(void *data, int timeout_ms)
{
    struct terminal *t = data;
    struct tui_event event = {.kind = TUI_EVENT_NONE};
    wint_t key;
    if (t->mice)
        return t->mouse[--t->mice];
    timeout(timeout_ms);
    int got = get_wch(&key);
    if (got == ERR) {
        /* Every read fails at once when the terminal is gone. */
        if (!isatty(STDIN_FILENO))
            event.kind = TUI_EVENT_END;
        return event;
    }
    if (got == KEY_CODE_YES && key == KEY_RESIZE) {
        event.kind = TUI_EVENT_RESIZE;
    } else if (got == KEY_CODE_YES && key == KEY_MOUSE) {
        return read_mouse(t);
    } else {
        event.key = got == KEY_CODE_YES     ? map_key(key)
                    : key == '\r'           ? TUI_KEY_ENTER
                    : key == 8              ? TUI_KEY_BACKSPACE
                    : key == TUI_KEY_ESCAPE ? read_escape()
                                            : (int)key;
        event.kind = event.key == TUI_KEY_NONE ? TUI_EVENT_NONE : TUI_EVENT_KEY;
    }
    return event;
}

/* Makes a terminal of xterm's kind report moves while a button is held, which ncurses does not ask for. */
static void report_moves(bool on)
{
    if (!key_mouse || strncmp(key_mouse, "\033[", 2) != 0)
        return;
    fputs(on ? "\033[?1002h" : "\033[?1002l", tui_out_terminal());
    fflush(tui_out_terminal());
}

static void close_curses(void *data)
{
    struct terminal *t = data;
    report_moves(false);
    endwin();
    delscreen(t->screen);
    tui_grid_free(&t->shown);
    free(t);
}

/* Hands text to the clipboard by OSC 52, which ncurses has no word for. */
static bool copy_curses(void *data, const char *text, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    FILE *out = tui_out_terminal();
    (void)data;
    fputs("\033]52;c;", out);
    for (size_t i = 0; i < size; i += 3) {
        unsigned bits = 0;
        size_t n = size - i < 3 ? size - i : 3;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < n ? (unsigned char)text[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            fputc(k <= n ? digits[bits >> (18 - 6 * k) & 63] : '=', out);
    }
    fputc('\a', out);
    return fflush(out) == 0;
}

/* Links by OSC 8, over the cells that ncurses has drawn, with its cursor and colours left as they were. */
static void link_curses(void *data, const char *text, const char *file, int line)
{
    FILE *out = tui_out_terminal();
    char host[64] = "", clean[512];
    (void)data;
    snprintf(clean, sizeof clean, "%s", text);
    trc_clean_text(clean); /* names of files in a trace may hold control characters */
    gethostname(host, sizeof host - 1);
    fprintf(out, "\0337\033[%d;1H\033[4m\033]8;;file://%s", LINES, host);
    for (const char *at = file; *at; at++)
        fprintf(out, isalnum((unsigned char)*at) || strchr("/._-", *at) ? "%c" : "%%%02X", (unsigned char)*at);
    fprintf(out, "#%d\033\\%s\033]8;;\033\\\0338", line, clean);
    fflush(out);
}

static bool run_curses(void *data, const char *command)
{
    (void)data;
    report_moves(false);
    endwin();
    bool ran = system(command) == 0;
    refresh();
    report_moves(true);
    return ran;
}

static const struct tui_term_ops curses_ops = {measure_curses, is_curses_ascii, wait_for_curses, show_curses,
                                               close_curses,   copy_curses,     run_curses,      link_curses};

/* Opens the terminal as TERM says.  Of a type that is not known here, most often since this machine is not the one that
 * the user sits at, as one that nearly all are like; `note` then says so. */
static SCREEN *open_screen(const char *name, char *note, size_t size)
{
    static const char *const others[] = {"xterm-256color", "xterm", "vt100"};
    SCREEN *screen = newterm(NULL, tui_out_terminal(), stdin);
    bool plain = name && !strstr(name, "256") && !strstr(name, "kitty") && !strstr(name, "direct");
    for (size_t i = plain; !screen && name && *name && i < sizeof others / sizeof *others; i++)
        if ((screen = newterm(others[i], tui_out_terminal(), stdin)))
            snprintf(note, size, "the terminal type %s is not known here: it is used as %s is", name, others[i]);
    return screen;
}

static bool open_curses(struct tui_term *out, enum tui_colour colour, bool ascii, char *error, size_t error_size)
{
    struct terminal *t = calloc(1, sizeof *t);
    if (!t) {
        snprintf(error, error_size, "out of memory");
        return false;
    }
    t->ascii = ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    const char *name = getenv("TERM");
    *error = 0;
    t->screen = open_screen(name, error, error_size);
    if (!t->screen || !cursor_address) {
        if (t->screen) {
            endwin();
            delscreen(t->screen);
        }
        snprintf(error, error_size,
                 "\"%s\" is a terminal that cannot show the screens; set TERM to its type (xterm, vt100)",
                 name ? name : "");
        free(t);
        return false;
    }
    set_escdelay(25);
    cbreak(); /* signals stay on: ncurses restores the terminal on Ctrl-C and Ctrl-Z */
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    curs_set(0);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON1_RELEASED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED | BUTTON_CTRL |
                  REPORT_MOUSE_POSITION,
              NULL);
    report_moves(true);
    start_styles(t, colour);
    *out = (struct tui_term){&curses_ops, t};
    return true;
}

/* ncurses sets the first modes before it handles the signals after which it restores them.  SIGTTIN and SIGTTOU stop a
 * program that begins in the background; blocked, it would change the modes under the shell's hands. */
bool tui_term_curses(struct tui_term *out, enum tui_colour colour, bool ascii, char *error, size_t error_size)
{
    sigset_t late, before;
    sigfillset(&late);
    sigdelset(&late, SIGTTIN);
    sigdelset(&late, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &late, &before);
    bool opened = open_curses(out, colour, ascii, error, error_size);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return opened;
}
