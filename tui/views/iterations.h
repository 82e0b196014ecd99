/* Declarations that the files of the Iterations screen share: its state, and its picture. */
#pragma once

#include "tui/views/iteration_rows.h"

/* Columns left of the cells; lines above the rows of ranks. */
enum { TUI_ITERATIONS_LEFT = 10, TUI_ITERATIONS_ABOVE = 3 };

#define TUI_ITERATIONS_LEAST 0.2 /* share of the median that an iteration takes longer: less is usual */

enum tui_iterations_focus { TUI_FOCUS_MAP, TUI_FOCUS_LOOP, TUI_FOCUS_SLOWEST };

struct tui_iterations {
    enum tui_iterations_focus focus;
    struct tui_iteration_look look;
    bool all;            /* shows all iterations of a running job; else the last */
    size_t deep;         /* levels of the shown loop inside the loop of the iterations */
    uint64_t at, chosen; /* the iteration under the cursor; by the user, 0: none yet */
    size_t slow;         /* row of the list under the cursor */
    struct tui_rect drawn, list;
    struct tui_iteration_rows rows; /* drawn rows */
    /* The range of time before Enter showed one iteration, and that one's. */
    bool went, was_all;
    int64_t was_begin_ns, was_end_ns, went_begin_ns, went_end_ns;
};

/* The state of the screen. */
static inline struct tui_iterations *tui_iterations_of(const struct tui_app *app)
{
    return app->own[TUI_VIEW_ITERATIONS];
}
/* The loop that is shown. */
static inline const struct ana_loop_level *tui_iterations_loop(const struct tui_app *app)
{
    return &app->summary.iterations.loop[tui_iterations_of(app)->look.level];
}
/* The cell that is drawn at a column of the picture. */
static inline size_t tui_iterations_cell_at(const struct tui_iterations *o, int x)
{
    return (size_t)x * o->look.cells / (size_t)(o->drawn.w > 0 ? o->drawn.w : 1);
}
/* The cell that an iteration is in. */
static inline size_t tui_iterations_cell(const struct tui_iterations *o, uint64_t iteration)
{
    return (size_t)((iteration - o->look.first) * o->look.cells / (o->look.last - o->look.first + 1));
}
/* Returns the first iteration of a cell; for the cell behind the last: the iteration behind the last. */
static inline uint64_t tui_iterations_first(const struct tui_iterations *o, size_t cell)
{
    uint64_t n = o->look.last - o->look.first + 1;
    return o->look.first + (n * cell + o->look.cells - 1) / o->look.cells;
}
/* Returns how many of the slowest iterations stand out at all. */
size_t tui_iterations_slow(const struct tui_app *app);

/* Shows one of the slowest iterations of the outermost loop in the timeline, at the time that took longest in it. */
void tui_iterations_show(struct tui_app *app, const struct ana_slow_iteration *slow);

/* Draws loop, cells, list and legend for the state in view; the state gets their places and contents. */
void tui_iterations_draw(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect);
