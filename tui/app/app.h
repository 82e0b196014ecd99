/* The state of the screens, and what an action does to it.  No terminal: a script can drive it. */
#ifndef TUI_APP_H
#define TUI_APP_H

#include "tui/app/keymap.h"
#include "tui/widgets/layout.h"
#include "tui/sources/source.h"
#include "tui/widgets/table.h"

enum tui_reaction {
    TUI_REDRAW = 1,
    TUI_QUIT = 2,
    TUI_WRITE = 4,   /* the screen as text to a file */
    TUI_REPAINT = 8, /* the terminal cannot be trusted to show what was drawn */
    TUI_UNHANDLED = 16
};

enum tui_prompt { TUI_PROMPT_NONE, TUI_PROMPT_FIND, TUI_PROMPT_FILTER };

/* Ranks that do the same now. */
struct tui_group {
    enum ana_rank_state state;
    const char *inside; /* call, or NULL */
    size_t count;
};
enum { TUI_GROUPS = 32 }; /* further ones are counted with the last */

struct tui_view;

struct tui_app {
    struct tui_source source;
    const struct tui_view *const *views; /* TUI_VIEWS of them */

    /* What the source said at the last load; kept as it is while frozen. */
    struct ana_job_info info;
    struct ana_rank *rank; /* rank_count of them, owned */
    size_t rank_count;
    struct tui_group group[TUI_GROUPS]; /* the smallest first */
    int group_count;
    unsigned generation; /* info.generation that tags and cursor refer to */
    struct ana_summary summary;
    bool has_summary;
    struct ana_whole whole; /* what its rows are shares of */
    bool stale;             /* the selection has changed since the summary was made */
    enum ana_weight weight;
    char headline[512];
    struct ana_verdict verdict;
    const struct ana_hvd *horovod; /* the source's; never NULL after the first load, 0 sets where there is none */
    struct ana_gpu_look gpu;       /* as of the last summary */
    struct tui_node node;          /* what this machine says of its GPUs; zeros: nothing */
    bool touched;                  /* somebody has pressed a key: views change no more by themselves */
    double analysed;               /* share of the events seen so far */
    bool frozen;

    /* The selection that all views share. */
    bool all_time, follow;
    int64_t begin_ns, end_ns; /* the range of time in view when not all_time */
    uint8_t *tagged;          /* one byte a rank, owned */
    size_t tagged_count;
    char call[64]; /* the call that Enter chose, or empty */

    /* The cursor that all views share. */
    size_t cursor_rank, cursor_peer; /* rank indices; peer: receiver in the matrix */
    bool rank_chosen;                /* by somebody; until then it is the first of the Ranks screen */
    uint64_t rank_group;             /* the group of ranks that the cursor is on instead; 0: none */
    bool unfolded;                   /* Matrix and Timeline show one rank a row though not all fit */
    size_t picture_top;              /* the first row of theirs in view */
    uint64_t cursor_call;            /* ana_hash_text of its name; 0: none yet */
    int64_t cursor_ns;
    int64_t opened_ns;  /* job time when it was first looked at */
    bool cursor_at_end; /* it stays at the end of a running job until it is moved */

    enum tui_view_id view, help_of;
    enum tui_view_id stack[8];
    int depth;
    struct tui_table table[TUI_VIEWS];
    void *own[TUI_VIEWS]; /* private state of the views, owned; only the view itself knows what it is */
    enum tui_prompt prompt;
    char typed[64];
    char message[200]; /* shown in place of the key bar's line until the next key */
};

/* Takes over the source (closed by tui_app_free).  False when out of memory; then the source is still the caller's. */
bool tui_app_init(struct tui_app *app, struct tui_source source, const struct tui_view *const *views);
void tui_app_free(struct tui_app *app);

/* Looks at the source again (unless frozen) and makes the summary of the selection. */
void tui_app_load(struct tui_app *app);
/* Makes the summary anew if the selection has changed since. */
void tui_app_settle(struct tui_app *app);

/* What an action does; returns enum tui_reaction bits. */
int tui_app_step(struct tui_app *app, enum tui_action action);
/* A key: into the open prompt, else its action in this view. */
int tui_app_key(struct tui_app *app, int key);
/* A click (twice: deeper) or a turn of the wheel (-1 up, 1 down) at a cell of the grid. */
int tui_app_click(struct tui_app *app, int x, int y, int cols, int rows);
int tui_app_wheel(struct tui_app *app, int turn);

/* The selection as the analysis wants it. */
struct ana_selection tui_app_selection(const struct tui_app *app);
/* Begin and end of the range of time in view, clipped to the job: never empty. */
void tui_app_range(const struct tui_app *app, int64_t *begin_ns, int64_t *end_ns);
/* Puts a range of time in view (clipped to the job; the whole job becomes all time) and keeps the cursor in it. */
void tui_app_set_range(struct tui_app *app, int64_t begin_ns, int64_t end_ns);

/* Job time up to which the events have been analysed, 0 if none: the last of what can be shown. */
int64_t tui_app_known_end(const struct tui_app *app);
/* Moves a range that follows a running job to that time. */
void tui_app_follow_end(struct tui_app *app);

/* The table of the view in place with the data as they are. */
void tui_app_update_table(struct tui_app *app);
/* The group of a rank; never NULL while there are ranks. */
const struct tui_group *tui_app_group(const struct tui_app *app, size_t index);
/* What the summary says of a rank; NULL if it is not in the selection. */
const struct ana_rank_stat *tui_app_stat(const struct tui_app *app, size_t index);
/* Share of its time that a rank is in MPI: over the last second while it runs and all time is in view and that second
 * has been watched, else over its time between MPI_Init and MPI_Finalize in view; NAN unknown. */
double tui_app_mpi_share(const struct tui_app *app, size_t index);
/* Puts the cursor of all views on a rank. */
void tui_app_choose_rank(struct tui_app *app, size_t index);
/* Chooses a call: the call sites are shown of it alone. */
void tui_app_choose_call(struct tui_app *app, const char *call);

const struct tui_view *tui_app_view(const struct tui_app *app);        /* the one in place */
void tui_app_open(struct tui_app *app, enum tui_view_id view);         /* Esc leads back */
bool tui_app_offers(const struct tui_app *app, enum tui_view_id view); /* false: it would have nothing to say */
bool tui_app_ended(const struct tui_app *app);                         /* the job no longer runs */
/* Name of a rank index: its rank, with its world if it is not the first ("w1:3"). */
const char *tui_app_rank_name(const struct tui_app *app, size_t index, char *out, size_t size);

/* ---- screen.c --------------------------------------------------------------------------------------------------- */

/* Draws the whole screen; any size. */
void tui_app_draw(struct tui_app *app, struct tui_grid *grid);
/* The action of a cell of the key bar. */
enum tui_action tui_key_bar_at(const struct tui_app *app, int cols, int x);

#endif
