/* Ranks: what each does now, since when, how fast, how late. */
#include "tui/app/view.h"
#include "tui/app/words.h"
#include "trace/util/hash.h"

#include <string.h>

struct own {
    uint64_t open[8]; /* groups that are unfolded, by identity */
};

static struct own *own(const struct tui_app *app)
{
    return app->own[TUI_VIEW_RANKS];
}

enum { RANK, HOST, STATE }; /* columns by number */
enum { MANY = 64 };         /* with more ranks, groups are shown first */

/* Whether ranks that do the same are one row.  So it is with many ranks sorted by state, unless a filter or a search
 * is for single ranks.  The rows of groups come behind those of ranks. */
static bool is_grouped(const struct tui_app *app)
{
    const struct tui_table *table = &app->table[TUI_VIEW_RANKS];
    return app->rank_count > MANY && table->sort == STATE && !table->inverted && !table->filter[0] && !table->find[0];
}

static size_t count_rows(const void *data)
{
    const struct tui_app *app = data;
    return app->rank_count + (is_grouped(app) ? (size_t)app->group_count : 0);
}

/* The group that a row shows; NULL: it shows a rank. */
static const struct tui_group *find_group(const struct tui_app *app, size_t row)
{
    return row < app->rank_count ? NULL : &app->group[row - app->rank_count];
}

static uint64_t identify_group(const struct tui_group *g)
{
    return (ana_hash_text(g->inside) * 31 + g->state) | 1ull << 63;
}

static uint64_t identify_row(const void *data, size_t row)
{
    const struct tui_group *g = find_group(data, row);
    return g ? identify_group(g) : row + 1;
}

static bool is_open(const struct tui_app *app, const struct tui_group *g)
{
    for (size_t i = 0; i < sizeof own(app)->open / sizeof *own(app)->open; i++)
        if (own(app)->open[i] == identify_group(g))
            return true;
    return false;
}

static void toggle_group(struct tui_app *app, const struct tui_group *g)
{
    enum { ROOM = sizeof own(app)->open / sizeof *own(app)->open };
    bool opened = is_open(app, g);
    for (size_t i = 0; i < ROOM; i++)
        if (own(app)->open[i] == identify_group(g))
            own(app)->open[i] = 0;
    if (!opened) { /* it replaces the group that was opened first */
        memmove(own(app)->open + 1, own(app)->open, (ROOM - 1) * sizeof *own(app)->open);
        own(app)->open[0] = identify_group(g);
    }
    tui_app_update_table(app);
}

/* A rank is hidden in its folded group; a group of one rank is hidden itself. */
static bool is_hidden(const void *data, size_t row)
{
    const struct tui_app *app = data;
    const struct tui_group *g = find_group(app, row);
    if (!is_grouped(app))
        return false;
    return g ? g->count == 1 : tui_app_group(app, row)->count > 1 && !is_open(app, tui_app_group(app, row));
}

/* The next rank of a row from `index` on; rank_count if there is none. */
static size_t find_rank(const struct tui_app *app, size_t row, size_t index)
{
    const struct tui_group *g = find_group(app, row);
    if (!g)
        return index <= row ? row : app->rank_count;
    while (index < app->rank_count && tui_app_group(app, index) != g)
        index++;
    return index;
}

static bool is_tagged(const void *data, size_t row)
{
    const struct tui_app *app = data;
    for (size_t i = find_rank(app, row, 0); i < app->rank_count; i = find_rank(app, row, i + 1))
        if (!app->tagged[i])
            return false;
    return true;
}

static void tag_group(struct tui_app *app, size_t row)
{
    uint8_t mark = !is_tagged(app, row);
    for (size_t i = find_rank(app, row, 0); i < app->rank_count; i = find_rank(app, row, i + 1)) {
        app->tagged_count += (size_t)mark - app->tagged[i];
        app->tagged[i] = mark;
    }
    app->stale = true;
}

/* A rank and its rates: over the range in view or, with all time in view, over the last second or all of its time. */
static struct ana_rank_row make_rank_row(const struct tui_app *app, size_t index)
{
    const struct ana_rank *r = &app->rank[index];
    const struct ana_rank_stat *stat = tui_app_stat(app, index);
    double seconds = app->whole.seconds;
    if (!r->counted) /* its file is cut off: the numbers are unknown, not 0 */
        return (struct ana_rank_row){r, NULL, NAN, NAN, NAN, NAN, NAN, NAN};
    if (app->all_time)
        return (struct ana_rank_row){r,
                                     stat,
                                     tui_app_mpi_share(app, index),
                                     r->sent_per_s,
                                     r->received_per_s,
                                     r->calls_per_s,
                                     (double)r->sent_messages,
                                     (double)r->received_messages};
    if (!stat || isnan(seconds) || stat->wall_ns <= 0)
        return (struct ana_rank_row){r, stat, NAN, NAN, NAN, NAN, NAN, NAN};
    return (struct ana_rank_row){r,
                                 stat,
                                 (double)stat->mpi_ns / (double)stat->wall_ns,
                                 (double)stat->sent / seconds,
                                 (double)stat->received / seconds,
                                 (double)stat->calls / seconds,
                                 (double)stat->sent_messages,
                                 (double)stat->received_messages};
}

static void show_rank(const struct tui_app *app, size_t row, struct tui_value *out)
{
    out->number = app->rank[row].world * 1e7 + app->rank[row].rank;
    tui_app_rank_name(app, row, out->text, sizeof out->text);
}

static void show_state(const struct tui_app *app, size_t row, struct tui_value *out)
{
    static const enum tui_style style[] = {TUI_STYLE_FINE,    TUI_STYLE_NORMAL,  TUI_STYLE_DIM,
                                           TUI_STYLE_TROUBLE, TUI_STYLE_TROUBLE, TUI_STYLE_NOTABLE};
    enum ana_rank_state state = app->rank[row].state;
    out->number = 2 * (double)(tui_app_group(app, row) - app->group) + 1;
    out->style = style[state <= ANA_RANK_UNKNOWN ? state : ANA_RANK_UNKNOWN];
}

static void show_inside(const struct tui_app *app, size_t row, struct tui_value *out)
{
    if (!app->rank[row].inside && !app->rank[row].gpu_op) {
        snprintf(out->text, sizeof out->text, "\xe2\x80\x93");
        out->style = TUI_STYLE_DIM;
    }
}

/* A rank that often comes last is marked only after ten collectives and among more than two ranks. */
static void show_late(const struct tui_app *app, size_t row, struct tui_value *out)
{
    if (out->number > 0.5 && app->rank_count > 2 && tui_app_stat(app, row)->collectives >= 10)
        out->style = TUI_STYLE_NOTABLE;
}

static void show_pid(const struct tui_app *app, size_t row, struct tui_value *out)
{
    snprintf(out->text, sizeof out->text, "%u", app->rank[row].pid);
}

static void fill_rank_cell(const struct tui_app *app, size_t index, const struct ana_metric *metric,
                           struct tui_value *out)
{
    static const struct {
        const struct ana_metric *metric;
        void (*show)(const struct tui_app *app, size_t row, struct tui_value *out);
    } shown[] = {{TUI_METRIC(RANK_NUMBER), show_rank},
                 {TUI_METRIC(RANK_STATE), show_state},
                 {TUI_METRIC(RANK_INSIDE), show_inside},
                 {TUI_METRIC(RANK_LATE), show_late},
                 {TUI_METRIC(RANK_PID), show_pid}};
    struct ana_rank_row row = make_rank_row(app, index);
    tui_metric(metric, &row, &app->whole, out);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (shown[i].metric == metric)
            shown[i].show(app, index, out);
}

/* Fills in a cell of a group: what its ranks have in common, or the mean of their numbers. */
static void fill_group_cell(const struct tui_app *app, size_t row, const struct ana_metric *metric,
                            struct tui_value *out)
{
    const struct tui_group *g = find_group(app, row);
    double sum = 0;
    size_t known = 0;
    bool same = true;
    char text[sizeof out->text] = "";
    for (size_t i = find_rank(app, row, 0); i < app->rank_count; i = find_rank(app, row, i + 1)) {
        struct tui_value of = {.number = NAN};
        fill_rank_cell(app, i, metric, &of);
        same = same && (!text[0] || strcmp(text, of.text) == 0);
        snprintf(text, sizeof text, "%s", of.text);
        out->style = of.style;
        sum += isnan(of.number) ? 0 : of.number;
        known += !isnan(of.number);
    }
    if (metric->unit == ANA_UNIT_TEXT)
        snprintf(out->text, sizeof out->text, "%s", same ? text : "\xe2\x80\x93");
    else if (metric != TUI_METRIC(RANK_PID))
        out->number = known ? sum / (double)known : NAN;
    if (metric == TUI_METRIC(RANK_NUMBER))
        snprintf(out->text, sizeof out->text, "%c%zu", is_open(app, g) ? '-' : '+', g->count);
    if (metric == TUI_METRIC(RANK_STATE))
        out->number = 2 * (double)(g - app->group);
}

static void fill_cell(const void *data, size_t row, const struct tui_column *column, struct tui_value *out)
{
    if (find_group(data, row))
        fill_group_cell(data, row, column->metric, out);
    else
        fill_rank_cell(data, row, column->metric, out);
}

static const struct tui_column columns[] = {
    [RANK] = {TUI_METRIC(RANK_NUMBER), 5, TUI_ASCENDING, NULL},
    [HOST] = {TUI_METRIC(RANK_HOST), 6, TUI_ASCENDING | TUI_STRETCH, NULL},
    [STATE] = {TUI_METRIC(RANK_STATE), 5, TUI_ASCENDING, NULL},
    {TUI_METRIC(RANK_INSIDE), 13, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(RANK_SINCE), 7, 0, NULL},
    {TUI_METRIC(RANK_MPI_NOW), 6, 0, NULL},
    {TUI_METRIC(RANK_SENT_RATE), 7, 0, NULL},
    {TUI_METRIC(RANK_RECEIVED_RATE), 7, 0, NULL},
    {TUI_METRIC(RANK_CALL_RATE), 7, 0, NULL},
    {TUI_METRIC(RANK_LATE), 6, 0, NULL},
    {TUI_METRIC(RANK_WAITED), 7, 0, NULL},
    {TUI_METRIC(RANK_CAUSED), 7, 0, NULL},
    {TUI_METRIC(RANK_MESSAGES_OUT), 7, 0, NULL},
    {TUI_METRIC(RANK_MESSAGES_IN), 7, 0, NULL},
    {TUI_METRIC(RANK_PID), 8, TUI_ASCENDING, NULL},
};
static const struct tui_table_spec spec = {.columns = columns,
                                           .column_count = sizeof columns / sizeof *columns,
                                           .rows = count_rows,
                                           .value = fill_cell,
                                           .identity = identify_row,
                                           .tagged = is_tagged,
                                           .hidden = is_hidden};

/* Many ranks are sorted by state at first, so that the smallest groups come first. */
static int choose_sort(const struct tui_app *app)
{
    return app->rank_count > MANY ? STATE : RANK;
}

static uint64_t find_cursor_row(const struct tui_app *app)
{
    if (app->rank_group || !app->rank_chosen)
        return app->rank_group;
    if (app->cursor_rank < app->rank_count && is_hidden(app, app->cursor_rank))
        return identify_group(tui_app_group(app, app->cursor_rank));
    return app->cursor_rank + 1;
}

static void follow_row(struct tui_app *app, size_t row)
{
    tui_app_choose_rank(app, find_rank(app, row, 0));
    if (find_group(app, row))
        app->rank_group = identify_row(app, row);
}

/* Draws a rank in words: the arguments of the call that it is in; or its group. */
static void draw_row_words(const struct tui_app *app, size_t index, struct tui_grid *grid, struct tui_rect rect)
{
    if (index == SIZE_MAX)
        return;
    const struct tui_group *g = find_group(app, index);
    if (g) {
        tui_putf(grid, rect, 1, 0, TUI_STYLE_NORMAL, "%zu ranks: %s%s%s; Enter %s them", g->count,
                 ana_rank_state_name(g->state), g->inside ? " in " : "", g->inside ? g->inside : "",
                 is_open(app, g) ? "folds" : "unfolds");
        return;
    }
    const struct ana_rank *r = &app->rank[index];
    char name[ANA_TEXT], since[ANA_TEXT], text[256];
    size_t n =
        (size_t)snprintf(text, sizeof text, "rank %s, pid %u on %s: ", tui_app_rank_name(app, index, name, sizeof name),
                         r->pid, r->host ? r->host : "?");
    if (!r->inside && r->gpu_op) {
        const struct trc_comm *comm = trc_comm(r->file, r->gpu_op->comm);
        snprintf(text + n, sizeof text - n, "%s%s%s, %s for %s", trc_call(r->file, r->gpu_op->call)->name,
                 comm && comm->name ? " on " : "", comm && comm->name ? comm->name : "", ana_gpu_standing(r->gpu_op),
                 ana_spoken(since, sizeof since, (double)r->gpu_ns));
    } else if (!r->inside) {
        snprintf(text + n, sizeof text - n, "%s",
                 r->state == ANA_RANK_RUN ? "outside MPI" : ana_rank_state_name(r->state));
    } else {
        ana_append(text, sizeof text, &n, "in %s for %s", r->inside,
                   ana_spoken(since, sizeof since, (double)r->inside_ns));
        if (r->inside_sig)
            tui_words_partners(r->inside_sig, text, sizeof text, &n);
    }
    tui_put(grid, rect, 1, 0, TUI_STYLE_NORMAL, text);
}

/* Draws how many ranks do what, the smallest groups first, where not all ranks fit. */
static void draw_groups(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    int x = 1;
    for (int i = 0; i < app->group_count; i++) {
        const struct tui_group *g = &app->group[i];
        char text[128];
        snprintf(text, sizeof text, "%zu %s%s%s", g->count, ana_rank_state_name(g->state), g->inside ? " " : "",
                 g->inside ? g->inside : "");
        if (x + tui_columns(text) > rect.w) {
            tui_put(grid, rect, x, 0, TUI_STYLE_DIM, "\xe2\x80\xa6");
            return;
        }
        bool bad = g->state == ANA_RANK_ABORTED || g->state == ANA_RANK_DEAD;
        x = tui_put(grid, rect, x, 0, bad ? TUI_STYLE_TROUBLE : TUI_STYLE_STRONG, text) + 3;
    }
}

static void draw_ranks(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_RANKS];
    struct tui_rect body = {rect.x, rect.y, rect.w, rect.h - 1};
    size_t row = tui_table_row(table);
    if (!app->rank_chosen && !app->rank_group && row != SIZE_MAX) /* nobody has chosen a rank: take the first */
        app->cursor_rank = find_rank(app, row, 0);
    if ((int)app->rank_count > body.h - 1 && !is_grouped(app)) {
        draw_groups(app, grid, body);
        body = tui_below(body, 1);
    }
    tui_table_draw(table, &spec, app, grid, body);
    draw_row_words(app, row, grid, (struct tui_rect){rect.x, rect.y + rect.h - 1, rect.w, 1});
}

static int act_on_row(struct tui_app *app, enum tui_action action)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_RANKS]);
    if ((action != TUI_ACTION_DEEPER && action != TUI_ACTION_TAG) || row == SIZE_MAX)
        return TUI_UNHANDLED;
    follow_row(app, row);
    if (action == TUI_ACTION_TAG && !find_group(app, row))
        return TUI_UNHANDLED;
    if (action == TUI_ACTION_TAG)
        return tag_group(app, row), tui_app_step(app, TUI_ACTION_DOWN);
    if (find_group(app, row))
        return toggle_group(app, find_group(app, row)), TUI_REDRAW;
    tui_app_open(app, TUI_VIEW_TIMELINE);
    return TUI_REDRAW;
}

const struct tui_view tui_view_ranks = {
    .title = "Ranks",
    .own_size = sizeof(struct own),
    .about = "What does each rank do now, since when, how much does it move, and who is late?  Enter: its timeline, or "
             "the ranks of a group.",
    .table = &spec,
    .sort = choose_sort,
    .shared = find_cursor_row,
    .moved = follow_row,
    .draw = draw_ranks,
    .act = act_on_row,
};
