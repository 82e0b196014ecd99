/* Ranks: what each does now, since when, how fast, how late. */
#include "tui/views/spread.h"
#include "tui/views/sentences_impl.h"
#include "trace/util/rows.h"

#include <string.h>

/* A cell of a group of many, which takes long to make. */
struct made {
    uint64_t identity;
    const struct ana_metric *metric;
    struct tui_value value;
};
enum { RANK, HOST, STATE, NOW = 6, NOW_LAST = 9 }; /* columns by number; NOW .. are of the last second */
enum {
    MANY = 64,  /* more ranks are rows of groups */
    FEW = 15,   /* rows that fit on every screen */
    MADE = 1024 /* cells that are kept */
};

struct own {
    struct made made[MADE];
    unsigned made_of; /* version of the tree */
    struct tui_spread spread;
};

TUI_STATE(RANKS)

/* A filter or a search is for single ranks. */
static void update_rows(struct tui_app *app)
{
    const struct tui_table *table = &app->table[TUI_VIEW_RANKS];
    tui_tree_update(app, table->filter[0] || table->find[0] ? TUI_BY_RANK : app->rows_by, MANY, false);
}

static uint64_t identify_row(const void *data, const void *row)
{
    (void)data;
    return ((const struct tui_row *)row)->identity;
}

static size_t find_parent(const void *data, const void *row)
{
    uint32_t parent = ((const struct tui_row *)row)->parent;
    (void)data;
    return parent == UINT32_MAX ? SIZE_MAX : parent;
}

/* Ranks of the headline are among the first rows, if not all can be seen. */
static bool is_pinned(const void *data, const void *row)
{
    const struct tui_app *app = data;
    int drawn = app->table[TUI_VIEW_RANKS].drawn.h, page = drawn ? drawn - 1 : FEW;
    return ((const struct tui_row *)row)->pinned && (int)app->tree.rows > page;
}

static bool is_tagged(const void *data, const void *row)
{
    const struct tui_row *of = row;
    for (size_t i = 0; i < of->count; i++)
        if (!((const struct tui_app *)data)->tagged[of->member[i]])
            return false;
    return true;
}

static void tag_group(struct tui_app *app, const struct tui_row *of)
{
    uint8_t mark = !is_tagged(app, of);
    for (size_t i = 0; i < of->count; i++) {
        app->tagged_count += (size_t)mark - app->tagged[of->member[i]];
        app->tagged[of->member[i]] = mark;
    }
    app->stale = true;
}

static void show_rank(const struct tui_app *app, size_t row, struct tui_value *out)
{
    out->number = app->rank[row].world * 1e7 + app->rank[row].rank;
    tui_app_rank_name(app, row, out->text, sizeof out->text);
}

static void show_state(const struct tui_app *app, size_t row, struct tui_value *out)
{
    static const enum tui_style style[] = {TUI_STYLE_FINE,    TUI_STYLE_NORMAL, TUI_STYLE_DIM,    TUI_STYLE_TROUBLE,
                                           TUI_STYLE_TROUBLE, TUI_STYLE_DIM,    TUI_STYLE_NOTABLE};
    TRC_ASSERT_ROWS(style, ANA_RANK_UNKNOWN);
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
    const struct ana_rank *rank = &app->rank[index];
    const struct ana_rank_row row = {rank, rank->counted ? tui_app_stat(app, index) : NULL}; /* else unknown, not 0 */
    tui_metric(metric, &row, &app->whole, out);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (shown[i].metric == metric)
            shown[i].show(app, index, out);
}

/* Makes a cell of a group: what its ranks have in common, or the mean of their numbers; of CAUSED the sum, as in the
 * timeline: what the group costs the others. */
static void make_group_cell(const struct tui_app *app, const struct tui_row *row, const struct ana_metric *metric,
                            struct tui_value *out)
{
    double sum = 0;
    size_t known = 0;
    bool same = true;
    char text[sizeof out->text] = "";
    for (size_t i = 0; i < row->count; i++) {
        struct tui_value of = {.number = NAN};
        fill_rank_cell(app, row->member[i], metric, &of);
        same = same && (!text[0] || strcmp(text, of.text) == 0);
        if (!text[0])
            memcpy(text, of.text, sizeof text);
        out->style = i == 0 || out->style == of.style ? of.style : TUI_STYLE_NORMAL;
        sum += isnan(of.number) ? 0 : of.number;
        known += !isnan(of.number);
    }
    if (metric->unit == ANA_UNIT_TEXT)
        snprintf(out->text, sizeof out->text, "%s", same ? text : "\xe2\x80\x93");
    else if (metric != TUI_METRIC(RANK_PID))
        out->number = !known ? NAN : metric == TUI_METRIC(RANK_CAUSED) ? sum : sum / (double)known;
    if (metric == TUI_METRIC(RANK_STATE))
        out->number = known ? sum / (double)known : NAN;
}

static void fill_group_cell(const struct tui_app *app, const struct tui_row *row, const struct ana_metric *metric,
                            struct tui_value *out)
{
    if (metric == TUI_METRIC(RANK_NUMBER)) {
        out->number = app->rank[*row->member].world * 1e7 + app->rank[*row->member].rank;
        tui_tree_name(app, row, out->text, sizeof out->text);
        return;
    }
    if (metric == TUI_METRIC(RANK_HOST)) {
        tui_tree_place(app, row, out->text, sizeof out->text);
        return;
    }
    if (own(app)->made_of != app->tree.version) {
        memset(own(app)->made, 0, sizeof own(app)->made);
        own(app)->made_of = app->tree.version;
    }
    struct made *made = &own(app)->made[(row->identity ^ (uintptr_t)metric / sizeof *metric) % MADE];
    if (made->identity != row->identity || made->metric != metric) {
        *made = (struct made){row->identity, metric, {.number = NAN}};
        make_group_cell(app, row, metric, &made->value);
    }
    *out = made->value;
}

static void fill_cell(const void *data, const void *row, const struct tui_column *column, struct tui_value *out)
{
    const struct tui_app *app = data;
    const struct tui_row *of = row;
    if (!of->is_rank)
        fill_group_cell(app, of, column->metric, out);
    else
        fill_rank_cell(app, *of->member, column->metric, out);
    if (column->metric == TUI_METRIC(RANK_NUMBER) && of->odd && app->tree.rows < app->rank_count)
        out->style = TUI_STYLE_NOTABLE;
}

static const struct tui_column columns[] = {
    [RANK] = {TUI_METRIC(RANK_NUMBER), 5, TUI_ASCENDING | TUI_STRETCH, NULL},
    [HOST] = {TUI_METRIC(RANK_HOST), 7, TUI_ASCENDING | TUI_STRETCH, NULL},
    [STATE] = {TUI_METRIC(RANK_STATE), 5, TUI_ASCENDING, NULL},
    {TUI_METRIC(RANK_INSIDE), 13, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(RANK_SINCE), 6, 0, NULL},
    {TUI_METRIC(RANK_LATE), 6, 0, NULL},
    [NOW] = {TUI_METRIC(RANK_MPI_NOW), 6, 0, NULL},
    {TUI_METRIC(RANK_SENT_NOW), 7, 0, NULL},
    {TUI_METRIC(RANK_RECEIVED_NOW), 7, 0, NULL},
    [NOW_LAST] = {TUI_METRIC(RANK_CALLS_NOW), 7, 0, NULL},
    {TUI_METRIC(RANK_MPI_SHARE), 6, 0, NULL},
    {TUI_METRIC(RANK_SENT_RATE), 7, 0, NULL},
    {TUI_METRIC(RANK_RECEIVED_RATE), 7, 0, NULL},
    {TUI_METRIC(RANK_CALL_RATE), 7, 0, NULL},
    {TUI_METRIC(RANK_WAITED), 7, 0, NULL},
    {TUI_METRIC(RANK_CAUSED), 7, 0, NULL},
    {TUI_METRIC(RANK_QUEUED), 6, 0, NULL},
    {TUI_METRIC(RANK_MESSAGES_OUT), 7, 0, NULL},
    {TUI_METRIC(RANK_MESSAGES_IN), 7, 0, NULL},
    {TUI_METRIC(RANK_PID), 8, TUI_ASCENDING, NULL},
};
/* Whether a column is of the last second, and no rank was watched for one, or a window is in view. */
static bool is_hidden(const void *data, int column)
{
    const struct tui_app *app = data;
    size_t i = 0;
    if (column < NOW || column > NOW_LAST)
        return false;
    while (app->all_time && i < app->rank_count && isnan(app->rank[i].calls_per_s))
        i++;
    return !app->all_time || i == app->rank_count;
}

static const struct tui_table_spec spec = {
    TUI_COLUMNS(columns), TUI_ROWS(tree.row, tree.rows), .value = fill_cell,  .identity = identify_row,
    .tagged = is_tagged,  .parent = find_parent,         .pinned = is_pinned, .hidden = is_hidden};

/* Ranks that stand out come first if there are many, which is the order of the rows. */
static int choose_sort(const struct tui_app *app)
{
    return app->rank_count > MANY ? -1 : RANK;
}

static uint64_t find_cursor_row(const struct tui_app *app)
{
    if (!app->rank_group && !app->rank_chosen)
        return 0;
    size_t row = tui_tree_cursor(app);
    return row < app->tree.rows ? app->tree.row[row].identity : 0;
}

static void follow_row(struct tui_app *app, const void *row)
{
    tui_tree_choose(app, row);
}

/* Draws a rank in words: the arguments of the call that it is in; or its group. */
static void draw_row_words(const struct tui_app *app, const struct tui_row *row, struct tui_grid *grid,
                           struct tui_rect rect)
{
    if (!row)
        return;
    if (!row->is_rank) {
        char place[80];
        tui_putf(grid, rect, 1, 0, TUI_STYLE_NORMAL, SAY_RANKS_OF_GROUP, row->count,
                 tui_tree_place(app, row, place, sizeof place),
                 app->tree.by == TUI_BY_BEHAVIOUR ? SAY_THAT_BEHAVE_ALIKE : "", row->open ? "folds" : "unfolds",
                 app->tree.by == TUI_BY_BEHAVIOUR ? "node" : "rank");
        return;
    }
    size_t index = *row->member;
    const struct ana_rank *r = &app->rank[index];
    char since[ANA_TEXT] = "", call[256] = "";
    if (r->inside)
        ana_inside(app->job, index, call, sizeof call);
    else
        ana_gpu_inside(app->job, index, call, sizeof call);
    if (*call)
        ana_spoken(since, sizeof since, (double)(r->inside ? r->inside_ns : r->gpu_ns));
    else
        snprintf(call, sizeof call, "%s", r->state == ANA_RANK_RUN ? "outside MPI" : ana_rank_state_name(r->state));
    tui_putf(grid, rect, 1, 0, TUI_STYLE_NORMAL, SAY_RANK_PID_ON, TUI_RANK_NAME(app, index), r->pid,
             r->host ? r->host : "?", r->inside ? "in " : "", call, *since ? " for " : "", since);
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

static void draw_rank_detail(const struct tui_app *app, size_t index, struct tui_grid *grid, struct tui_rect rect)
{
    enum { LINES = 40 };
    static char line[LINES][ANA_DETAIL_LINE];
    size_t n = ana_rank_detail(app->job, index, line, LINES);
    for (size_t i = 0; i < n && (int)i < rect.h; i++)
        tui_put(grid, rect, 1, (int)i, line[i][0] == ' ' ? TUI_STYLE_NORMAL : TUI_STYLE_STRONG, line[i]);
}

static void draw_ranks(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_RANKS];
    struct tui_rect body = {rect.x, rect.y, rect.w, rect.h - 1};
    if (!app->tree.rows)
        return;
    const struct tui_row *row = tui_table_chosen(table);
    if (!app->rank_chosen && !app->rank_group && row) /* nobody has chosen a rank: take the first */
        app->cursor_rank = *row->member;
    if ((int)app->rank_count > body.h - 1 && app->group_count > 1) {
        draw_groups(app, grid, body);
        body = tui_below(body, 1);
    }
    enum { LARGE = 40, LEAST = 8 };
    int spare = body.h - (int)table->count - 2;
    struct tui_rect below = {body.x, body.y + body.h - spare, body.w, spare};
    size_t index = row && row->is_rank ? app->cursor_rank : SIZE_MAX;
    if (app->has_summary && app->tree.rows < app->rank_count && spare >= TUI_SPREAD_ROWS) {
        tui_spread_draw(app, &own(app)->spread, grid, below);
        below = tui_below(below, TUI_SPREAD_ROWS + 1);
        index = index == SIZE_MAX ? tui_spread_culprit(app, &own(app)->spread) : index;
        body.h -= spare;
    }
    if (index != SIZE_MAX && rect.h >= LARGE && below.h >= LEAST) { /* last calls of that rank */
        draw_rank_detail(app, index, grid, below);
        body.h = below.y - 1 < body.y + body.h ? below.y - 1 - body.y : body.h;
    }
    tui_table_draw(table, grid, body);
    draw_row_words(app, row, grid, (struct tui_rect){rect.x, rect.y + rect.h - 1, rect.w, 1});
}

static int act_on_row(struct tui_app *app, enum tui_action action)
{
    if (action == TUI_ACTION_ROWS) {
        app->rows_by = app->tree.by % TUI_BY_RANK + 1;
        app->table[TUI_VIEW_RANKS].sort = app->rows_by == TUI_BY_RANK ? RANK : -1;
        tui_app_update_table(app);
        return TUI_REDRAW;
    }
    const struct tui_row *row = tui_table_chosen(&app->table[TUI_VIEW_RANKS]);
    if ((action != TUI_ACTION_DEEPER && action != TUI_ACTION_TAG) || !row)
        return TUI_UNHANDLED;
    follow_row(app, row);
    bool group = !row->is_rank;
    if (action == TUI_ACTION_TAG && !group)
        return TUI_UNHANDLED;
    if (action == TUI_ACTION_TAG)
        return tag_group(app, row), tui_app_step(app, TUI_ACTION_DOWN);
    if (group) {
        tui_tree_toggle(app, row);
        tui_app_update_table(app);
        return TUI_REDRAW;
    }
    return tui_app_open(app, TUI_VIEW_TIMELINE);
}

const struct tui_view tui_view_ranks = {
    .own_size = sizeof(struct own),
    .table = &spec,
    .sort = choose_sort,
    .update = update_rows,
    .shared = find_cursor_row,
    .moved = follow_row,
    .draw = draw_ranks,
    .act = act_on_row,
};
