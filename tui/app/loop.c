#include "tui/app/loop.h"
#include "tui/app/save.h"
#include "trace/util/now.h"
#include "tui/sources/lines.h"

/* A running job is read every TICK_MS, or as rarely as it takes to use one SHARE-th of a processor, but at least every
 * MOST_MS.  At least BREATH_MS are left to draw and to take keys. */
enum {
    TICK_MS = 400,
    MOST_MS = 1500,
    SHARE = 50,
    BREATH_MS = 50,
    ADVANCE_NS = 100000000,
    PROGRESS_NS = 400000000,
    ALL = 0
};

struct loop {
    struct tui_app *app;
    struct tui_term term;
    struct tui_grid grid;
    double done; /* share of the events that have been read */
    bool stuck;  /* further events can only be read after the next refresh */
    bool opened; /* the files were, just now */
    bool redraw, repaint;
    const struct tui_source *linked;     /* place that the message names, to be shown as a link */
    enum { NOTHING, READ, SUM_UP } left; /* work left of the last look */
    bool moved;                          /* it found something new */
    int64_t began_ms, before_ns;         /* begin of the look, and the processor time used by then */
    bool rests;                          /* nothing is left to do aside */
    int64_t drawing_ns;                  /* processor time of the last drawing */
    int64_t drawn_ns;                    /* time of the last drawing */
};

static void draw_screen(struct loop *l)
{
    int cols, rows;
    int64_t before_ns = ana_used_ns();
    l->term.ops->size(l->term.data, &cols, &rows);
    if ((cols != l->grid.cols || rows != l->grid.rows) && !tui_grid_resize(&l->grid, cols, rows))
        return;
    tui_app_draw(l->app, &l->grid);
    l->term.ops->show(l->term.data, &l->grid, l->repaint);
    if (l->linked && l->term.ops->link && l->app->message[0])
        l->term.ops->link(l->term.data, l->app->message, l->linked->file, l->linked->line);
    l->linked = NULL;
    l->redraw = l->repaint = false;
    l->drawing_ns = ana_used_ns() - before_ns;
    l->drawn_ns = ana_now_ns();
}

/* Reads events of a new selection, all or for budget_ns, and sums it up again.  Only a selection that was asked
 * for once is read. */
static void read_events(struct loop *l, int64_t budget_ns)
{
    struct tui_app *app = l->app;
    if (app->analysed >= 1 || app->halted)
        return;
    l->done = ana_job_advance(app->job, budget_ns);
    app->stale = app->stale || l->done > app->analysed;
    tui_app_settle(app);
}

/* Reads events that came since the last look. */
static void read_on(struct loop *l, int64_t budget_ns)
{
    const struct tui_app *app = l->app;
    if ((!app->frozen || l->done < 1) && !app->halted)
        l->done = ana_job_advance(app->job, budget_ns);
    l->left = SUM_UP;
}

static void sum_up(struct loop *l, int64_t budget_ns)
{
    struct tui_app *app = l->app;
    if (l->moved || (!tui_app_ended(app) && !app->frozen) || app->analysed < l->done || l->done < 1) {
        tui_app_load(app);
        if (!app->summary.exact)
            read_events(l, budget_ns);
        l->redraw = true;
    }
    l->left = NOTHING;
}

/* Looks at the files.  False: the ranks are others now, and nothing is shown until they were summed up. */
static bool look(struct loop *l)
{
    struct tui_app *app = l->app;
    bool lines = !app->frozen && tui_lines_changed(); /* before the refresh, whose verdict then has them */
    /* The files of a job that has ended stay as they are while their events are read for the first time. */
    bool still = (l->opened || (l->done > 0 && l->done < 1)) && tui_app_ended(app);
    l->opened = false;
    if (lines)
        ana_job_lines_changed(app->job);
    if (!app->rank_group)
        ana_job_request_rank(app->job, app->cursor_rank);
    l->moved = !app->frozen && ((!still && ana_job_refresh(app->job)) || lines);
    l->left = READ;
    if (app->looked && !app->frozen && !tui_app_ended(app))
        app->looked(app->aside_user, app->job);
    return !l->moved || tui_app_update(app);
}

/* Looks at the files, and does all that is left then. */
static void refresh_job(struct loop *l, int64_t budget_ns)
{
    look(l);
    read_on(l, budget_ns);
    sum_up(l, budget_ns);
}

static void settle_selection(struct loop *l, int64_t budget_ns)
{
    tui_app_settle(l->app);
    read_events(l, budget_ns);
    l->redraw = true;
}

static void handle_event(struct loop *l, const struct tui_event *event, int *reaction)
{
    int cols = l->grid.cols, rows = l->grid.rows;
    *reaction = 0;
    if (event->kind == TUI_EVENT_KEY)
        *reaction = tui_app_key(l->app, event->key);
    else if (event->kind == TUI_EVENT_CLICK)
        *reaction = tui_app_click(l->app, event->x, event->y, cols, rows);
    else if (event->kind == TUI_EVENT_DRAG)
        *reaction = tui_app_drag(l->app, event->x, event->y);
    else if (event->kind == TUI_EVENT_RELEASE)
        *reaction = tui_app_release(l->app, event->x, event->y);
    else if (event->kind == TUI_EVENT_WHEEL)
        *reaction = tui_app_wheel(l->app, event->key, event->x, event->y, event->control);
    else if (event->kind == TUI_EVENT_RESIZE)
        *reaction = TUI_REDRAW, l->app->message[0] = 0;
    else if (event->kind == TUI_EVENT_END)
        *reaction = TUI_QUIT;
    if (*reaction & (TUI_COPY | TUI_COPY_TABLE))
        tui_save_copy(l->app, &l->term, &l->grid, *reaction & TUI_COPY_TABLE);
    if (l->app->save) {
        l->app->save = false;
        tui_app_draw(l->app, &l->grid); /* drawn without the prompt */
        tui_save_file(l->app, &l->grid, l->app->saving);
    }
    if (l->app->edit && tui_save_edit(&l->term, l->app->edit))
        *reaction |= TUI_REPAINT;
    else if (l->app->edit)
        l->linked = l->app->edit;
    l->app->edit = NULL;
    if (l->app->frozen && l->left != NOTHING) /* a frozen screen shows all of one look */
        sum_up(l, ADVANCE_NS);
    l->redraw |= *reaction != 0;
    l->repaint |= (*reaction & TUI_REPAINT) != 0;
}

/* Returns when the next look is due, in ms, once nothing is left to do of the last. */
static int64_t next_look(const struct loop *l)
{
    int64_t rest = (ana_used_ns() - l->before_ns + l->drawing_ns) / 1000000 * SHARE;
    int64_t least = l->app->refresh_ms ? l->app->refresh_ms : TICK_MS, most = least > MOST_MS ? least : MOST_MS;
    rest = rest < least ? least : rest > most ? most : rest;
    int64_t due = l->app->frozen ? INT64_MAX : ana_job_due(l->app->job) / 1000000;
    int64_t next = due < l->began_ms + rest ? due : l->began_ms + rest, soonest = ana_now_ns() / 1000000 + BREATH_MS;
    return next > soonest ? next : soonest;
}

/* Begins a look.  The remaining work is done piece by piece: keys are taken in between. */
static void tick(struct loop *l)
{
    l->began_ms = ana_now_ns() / 1000000;
    l->before_ns = ana_used_ns();
    l->stuck = false;
    if (!look(l)) {
        read_on(l, ADVANCE_NS);
        sum_up(l, ADVANCE_NS);
    }
}

/* Whether something can be done aside now. */
static bool has_time(const struct loop *l)
{
    const struct tui_app *app = l->app;
    return app->aside && !l->rests && !app->stale && !app->halted && l->done >= 1 && tui_app_ended(app);
}

void tui_loop(struct tui_app *app, struct tui_term term, bool live)
{
    struct loop l = {.app = app, .term = term, .done = app->analysed, .redraw = true, .opened = live};
    int64_t next = ana_now_ns() / 1000000 + TICK_MS;
    int reaction = 0;
    l.grid.ascii = term.ops->ascii(term.data);
    if (live) /* shows the state known already, before anything more is read */
        draw_screen(&l);
    while (!(reaction & TUI_QUIT)) {
        int64_t now = ana_now_ns() / 1000000;
        if (live && !l.left && now >= next) {
            tick(&l);
            next = next_look(&l);
        }
        if (!live && app->stale)
            settle_selection(&l, ALL);
        if (l.redraw)
            draw_screen(&l);
        /* Keys come first, then the rest of a look, the numbers of a new selection, and events that were not read. */
        int64_t rest = next - ana_now_ns() / 1000000;
        bool busy = live && (l.left || app->stale || (l.done < 1 && !l.stuck && !app->halted) || has_time(&l));
        struct tui_event event = term.ops->wait(term.data, busy || rest < 0 ? 0 : (int)rest);
        if (event.kind != TUI_EVENT_NONE) {
            handle_event(&l, &event, &reaction);
        } else if (!live) {
            refresh_job(&l, ALL);
        } else if (l.left == READ) {
            read_on(&l, ADVANCE_NS);
        } else if (l.left == SUM_UP) {
            sum_up(&l, ADVANCE_NS);
            next = next_look(&l);
        } else if (app->stale) {
            settle_selection(&l, ADVANCE_NS);
        } else if (l.done < 1 && !app->halted) {
            double before = l.done;
            l.done = ana_job_advance(app->job, ADVANCE_NS);
            l.stuck = l.done <= before;
            app->stale = l.done >= 1;
            app->read = l.done;
            l.redraw =
                ana_now_ns() - l.drawn_ns > PROGRESS_NS; /* the figures stay, but the user sees that it goes on */
        } else if (has_time(&l)) {
            l.rests = !app->aside(app->aside_user, app->job, ADVANCE_NS);
        }
    }
    tui_grid_free(&l.grid);
}
