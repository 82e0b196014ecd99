/* The state of the screens, and what keys and clicks do to it.  It knows no terminal, so that a script can drive it.
 * All of it belongs to one thread. */
#pragma once

#include "tui/app/keymap.h"
#include "tui/widgets/layout.h"
#include "trace/gpu/device.h"
#include "trace/horovod/horovod.h"
#include "trace/headline/headline.h"
#include "trace/verdict/verdict.h"
#include "tui/app/marks.h"
#include "tui/app/prompt.h"
#include "tui/app/tree.h"
#include "tui/sources/node.h"
#include "tui/sources/source.h"
#include "tui/widgets/table.h"

enum tui_reaction {
    TUI_REDRAW = 1,
    TUI_QUIT = 2,
    TUI_COPY = 4,       /* copy the screen to the clipboard */
    TUI_REPAINT = 8,    /* send all cells: the terminal may show something else */
    TUI_UNHANDLED = 16, /* answer of a view: the app itself acts */
    TUI_COPY_TABLE = 32 /* copy the table */
};

enum tui_prompt { TUI_PROMPT_NONE, TUI_PROMPT_FIND, TUI_PROMPT_FILTER, TUI_PROMPT_JUMP, TUI_PROMPTS };

/* Place that Esc leads back to. */
struct tui_place {
    enum tui_view_id view;
    bool window; /* the way from there changed the time in view: */
    bool all_time, follow;
    int64_t begin_ns, end_ns, cursor_ns;
};

/* The ranks that are in the same state and the same call. */
struct tui_group {
    enum ana_rank_state state;
    const char *inside; /* call that they are in, or NULL */
    size_t count;
};
enum { TUI_GROUPS = 32 }; /* the last one also counts the ranks of further groups */

struct tui_view;

struct tui_app {
    struct ana_job *job;                 /* owned: closed by tui_app_free */
    const struct tui_view *const *views; /* all TUI_VIEWS views */

    /* The data of the last load; a frozen screen keeps them. */
    struct ana_job_info info;
    struct ana_rank *rank; /* rank_count ranks, owned */
    size_t rank_count;
    struct tui_group group[TUI_GROUPS]; /* smallest first */
    int group_count;
    unsigned generation; /* the info.generation that tags and cursor belong to */
    struct ana_summary summary;
    bool has_summary;
    unsigned summaries;     /* made so far */
    struct ana_whole whole; /* totals for shares */
    bool stale;             /* the summary is older than the selection */
    enum ana_weight weight;
    char headline[512];
    const struct ana_verdict *verdict; /* held: the one that the headline tells; NULL only before the first load */
    const struct ana_hvd *horovod;     /* the job's; not NULL after the first load; 0 sets: no Horovod */
    struct ana_gpu_summary gpu;        /* made with the summary */
    const struct ana_diff *diff;       /* the run before compared with this one; the caller's; NULL: none */
    struct tui_node node;              /* the GPUs of this machine; zeros: unknown */
    bool touched;                      /* a key was pressed: views no longer change by themselves */
    double analysed;                   /* share of the events that the summary has */
    double read;                       /* share of the events that have been read since */
    bool frozen;
    bool halted; /* no further events are read */
    /* Work for idle time, while a job that has ended is shown: a piece of about `budget_ns`; false: no more is left.
     * NULL: there is none. */
    bool (*aside)(void *user, const struct ana_job *job, int64_t budget_ns);
    void (*looked)(void *user, struct ana_job *job); /* called after each look at a job that runs; NULL: nothing is */
    void *aside_user;

    /* The selection, the same for all views. */
    bool all_time, follow;
    bool scrolls;             /* all_time: the timeline of a running job shows its last minute */
    int64_t begin_ns, end_ns; /* the range of time in view when not all_time */
    uint8_t *tagged;          /* one byte a rank, owned */
    size_t tagged_count;
    char call[64];               /* the call chosen with Enter, or empty */
    struct ana_selection filter; /* communicator, call and call site; of all time and ranks */
    char filter_words[160];      /* words for the filter, or empty */

    /* The cursor, the same for all views. */
    size_t cursor_rank, cursor_peer; /* rank indices; peer: the receiver, in the matrix */
    bool rank_chosen;                /* user chose it; until then it is the first of the Ranks screen */
    uint64_t rank_group;             /* identity of the group of ranks under the cursor; 0: it is on a rank */
    struct tui_tree tree;            /* Ranks and Timeline: rows of ranks */
    enum tui_rows_by rows_by;        /* user's choice of rows */
    bool unfolded;                   /* Matrix shows one rank a row, even if not all fit */
    size_t picture_top;              /* first row in view of Matrix and Timeline */
    uint64_t cursor_call;            /* ana_hash_text of its name; 0: none yet */
    int64_t cursor_ns;
    bool cursor_at_end; /* cursor_ns follows the end of a running job until it is moved */

    enum tui_view_id view, help_of;
    struct tui_place stack[8];
    int depth;
    struct tui_table table[TUI_VIEWS];
    void *own[TUI_VIEWS];       /* private states of the views; owned */
    int pressed_x, pressed_y;   /* the cell where the mouse's button was pressed last, */
    enum tui_view_id pressed;   /* view of that cell */
    bool dragging;              /* it is held, and the mouse is at */
    int drag_x;                 /* this column */
    struct tui_marks marks;     /* marks of the timeline */
    enum tui_action letter_for; /* the next key is its letter; TUI_ACTION_NONE: it is a key */
    bool choosing;              /* the chooser of columns is open */
    int chosen_line;            /* its cursor */
    int refresh_ms;             /* user's choice; 0: as often as it costs little */
    enum tui_prompt prompt;
    struct tui_line line; /* typed line */
    struct tui_history history[TUI_PROMPTS];
    char history_path[1024];       /* file of the history; "": none */
    const struct tui_source *edit; /* lines to be edited next, of the view; NULL: none */
    bool save;                     /* next drawing is written to a file */
    char saving[64];               /* name of the file; empty: the next that is free */
    char message[200];             /* shown in place of the key bar until the next key */
};

/* Makes the app of a job and its TUI_VIEWS views and loads it.  The app owns the job and closes it in
 * tui_app_free.  False when out of memory: the job stays the caller's. */
bool tui_app_init(struct tui_app *app, struct ana_job *job, const struct tui_view *const *views);

/* Frees what the app owns, closes its job and zeroes it. */
void tui_app_free(struct tui_app *app);

/* Copies what the last refresh of the job saw; the summary stays as it is.  False: the ranks have other indices than in
 * the summary, and nothing may be shown before tui_app_load. */
bool tui_app_update(struct tui_app *app);
/* Copies what the last refresh of the job saw, unless frozen, and sums up the selection.  Out of memory: the old
 * numbers stay, and a message says so. */
void tui_app_load(struct tui_app *app);

/* Sums up the selection if it has changed since it was last summed up. */
void tui_app_settle(struct tui_app *app);

/* Does an action in the view that is shown.  Returns bits of enum tui_reaction; 0 if it has no meaning there. */
int tui_app_step(struct tui_app *app, enum tui_action action);

/* Handles a key (enum tui_key or a code point): into the open prompt, else as an action.  Returns as tui_app_step. */
int tui_app_key(struct tui_app *app, int key);

/* Handles a click at cell x, y of a screen of cols x rows; on the row of the cursor it acts as Enter.  Returns as
 * tui_app_step. */
int tui_app_click(struct tui_app *app, int x, int y, int cols, int rows);

/* Handles a step of a drag: the button is held, and the mouse is at cell x, y.  Returns as tui_app_step. */
int tui_app_drag(struct tui_app *app, int x, int y);
/* Handles the end of a drag: the button was let go at cell x, y.  Returns as tui_app_step. */
int tui_app_release(struct tui_app *app, int x, int y);

/* Handles a turn of the wheel at cell x, y: three rows up (turn < 0) or down or, with Ctrl, a shorter or longer window
 * around the time there.  Returns as tui_app_step. */
int tui_app_wheel(struct tui_app *app, int turn, int x, int y, bool control);

/* The selection of time and ranks as the analysis takes it.  Its list of ranks belongs to the app. */
struct ana_selection tui_app_selection(const struct tui_app *app);

#define TUI_SCROLLED_NS 60000000000LL
/* Returns whether the timeline shows the last minute: the job runs, and no window is selected. */
bool tui_app_scrolls(const struct tui_app *app);

/* Begin and end of the time in view, in ns of job time: all of the job or a part of it, and never empty.  The timeline
 * leaves out MPI_Init where it shows all. */
void tui_app_range(const struct tui_app *app, int64_t *begin_ns, int64_t *end_ns);

/* Shows another range of time, moved and cut so that it lies in the job, at least a microsecond long.  The length of
 * the job or more selects all time.  The cursor stays in the range. */
void tui_app_set_range(struct tui_app *app, int64_t begin_ns, int64_t end_ns);

/* Returns the job time in ns up to which events have been read: the screens end there.  0: none was read. */
int64_t tui_app_known_end(const struct tui_app *app);

/* Moves the range to the end of the known time, if it follows a running job. */
void tui_app_follow_end(struct tui_app *app);

/* Updates the table of the view that is shown from the data, and its cursor from the cursor of all views. */
void tui_app_update_table(struct tui_app *app);

/* The group of a rank; it belongs to the app.  There has to be a rank with that index. */
const struct tui_group *tui_app_group(const struct tui_app *app, size_t index);

/* The summary's row of a rank; it belongs to the app.  NULL if the rank is not selected. */
const struct ana_rank_stat *tui_app_stat(const struct tui_app *app, size_t index);

/* Returns how many ranks the pictures show: all, or the tagged ones. */
size_t tui_app_shown(const struct tui_app *app);

/* The index of the i-th rank that they show. */
size_t tui_app_shown_rank(const struct tui_app *app, size_t i);

/* Returns the place of a rank among the shown ranks; if it is not shown, the place of the next. */
size_t tui_app_shown_position(const struct tui_app *app, size_t index);

/* Puts the cursor of all views on a rank. */
void tui_app_choose_rank(struct tui_app *app, size_t index);

/* Chooses a call by its name: the Calls screen then shows the call sites of that call alone. */
void tui_app_choose_call(struct tui_app *app, const char *call);

/* The view that is shown. */
const struct tui_view *tui_app_view(const struct tui_app *app);

/* Opens another view: Esc leads back.  Returns TUI_REDRAW. */
int tui_app_open(struct tui_app *app, enum tui_view_id view);

/* Shows another view in place of this one: Esc leads to where it would have led from this one.  Returns TUI_REDRAW. */
int tui_app_switch(struct tui_app *app, enum tui_view_id view);

/* The place that is shown, for tui_app_return. */
struct tui_place tui_app_place(const struct tui_app *app);

/* After Enter: if it changed the time in view, Esc undoes that, too.  `from` is the place before. */
void tui_app_note_jump(struct tui_app *app, struct tui_place from);

/* Returns to where Enter was pressed.  False: from nowhere. */
bool tui_app_return(struct tui_app *app);

/* Puts the cursor of all views on a time; the range follows when it is not there. */
void tui_app_goto_time(struct tui_app *app, int64_t at_ns);

/* Sets a mark of the cursor's rank and time ('-': a note alone), and says so. */
void tui_app_mark(struct tui_app *app, char letter, const char *note);

/* Whether a view has something to show in this job. */
bool tui_app_offers(const struct tui_app *app, enum tui_view_id view);

/* Whether the job has ended, in whatever way. */
bool tui_app_ended(const struct tui_app *app);

/* Writes the name of a rank into `out` and returns it: its number, with its world if that is not the first ("w1:3"). */
const char *tui_app_rank_name(const struct tui_app *app, size_t index, char *out, size_t size);
/* Name of tui_app_rank_name as an expression, in memory of the enclosing block. */
#define TUI_RANK_NAME(app, index) tui_app_rank_name(app, index, (char[ANA_TEXT]){""}, ANA_TEXT)

/* ---- screen.c --------------------------------------------------------------------------------------------------- */

/* Draws the whole screen into a grid of any size. */
void tui_app_draw(struct tui_app *app, struct tui_grid *grid);

/* Returns the action that the key bar shows in column x of `cols`; TUI_ACTION_NONE between two actions. */
enum tui_action tui_key_bar_at(const struct tui_app *app, int cols, int x);
