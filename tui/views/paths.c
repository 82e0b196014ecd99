/* Call paths: where in the program the time goes, as a tree from the outermost callers on. */
#include "tui/app/view.h"
#include "tui/widgets/plot.h"
#include "trace/summary/paths.h"
#include "trace/util/sort.h"

#include <stdlib.h>
#include <string.h>

enum fold { FOLD_AS_TIME, FOLD_OPEN, FOLD_CLOSED }; /* FOLD_AS_TIME: a node with much time is open */

struct own {
    struct ana_paths paths;
    unsigned made_of;    /* summary that they are of */
    struct ana_map fold; /* enum fold by identity */
    uint32_t *row;       /* numbers of the nodes in view, parents before children */
    size_t rows;
    int64_t whole_ns; /* time of all paths */
};

TUI_STATE(PATHS)

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool is_open(const struct own *o, const struct ana_path_node *node)
{
    const double much = 0.1;
    const uint8_t *fold = ana_map_find(&o->fold, node->identity, 0, 0);
    return fold && *fold ? *fold == FOLD_OPEN : (double)node->time_ns >= much * (double)o->whole_ns;
}

static void set_fold(struct own *o, const struct ana_path_node *node, bool open)
{
    uint8_t *fold = ana_map_add(&o->fold, node->identity, 0, 0);
    if (fold)
        *fold = open ? FOLD_OPEN : FOLD_CLOSED;
}

/* A filter or a search is for all nodes. */
static void update_rows(struct tui_app *app)
{
    struct own *o = own(app);
    const struct tui_table *table = &app->table[TUI_VIEW_PATHS];
    const bool all = table->filter[0] || table->find[0];
    if (!o->fold.value_size)
        ana_map_init(&o->fold, sizeof(uint8_t));
    if (!o->paths.node || o->made_of != app->summaries) {
        ana_paths_free(&o->paths);
        ana_paths_make(app->job, &app->summary, &o->paths);
        o->made_of = app->summaries;
        free(o->row);
        o->row = malloc((o->paths.count + 1) * sizeof *o->row);
        o->whole_ns = 0;
        for (size_t i = 0; i < o->paths.count; i++)
            o->whole_ns += o->paths.node[i].level ? 0 : o->paths.node[i].time_ns;
    }
    bool *open = calloc(o->paths.count + 1, sizeof *open); /* it and all above are */
    o->rows = 0;
    for (size_t i = 0; open && o->row && i < o->paths.count; i++) {
        const struct ana_path_node *node = &o->paths.node[i];
        const bool shown = !node->level || open[node->parent];
        open[i] = shown && (all || is_open(o, node));
        if (shown)
            o->row[o->rows++] = (uint32_t)i;
    }
    free(open);
}

static size_t count_rows(const void *data)
{
    return own(data)->rows;
}

static const void *get_row(const void *data, size_t i)
{
    const struct own *o = own(data);
    return i < o->rows ? &o->paths.node[o->row[i]] : NULL;
}

static uint64_t identify_row(const void *data, const void *row)
{
    (void)data;
    return ((const struct ana_path_node *)row)->identity;
}

static size_t find_parent(const void *data, const void *row)
{
    const struct own *o = own(data);
    const uint32_t parent = ((const struct ana_path_node *)row)->parent;
    size_t at = ANA_FIRST(i, o->rows, o->row[i] < parent);
    return at < o->rows && o->row[at] == parent ? at : SIZE_MAX;
}

static void show_name(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_path_node *node = row;
    snprintf(out->text, sizeof out->text, "%*s%s %s", (int)(2 * node->level % 60), "",
             !node->has_parts           ? " "
             : is_open(own(data), node) ? "\xe2\x96\xbc"
                                        : "\xe2\x96\xb6",
             node->name);
    out->style = node->is_region ? TUI_STYLE_LABEL : TUI_STYLE_NORMAL;
}

static const struct tui_column columns[] = {
    {TUI_OWN("CALL PATH", ANA_UNIT_TEXT,
             "regions of the program, in them functions from the outermost caller that was recorded on, and calls"),
     34, TUI_ASCENDING | TUI_STRETCH, show_name},
    {TUI_METRIC(PATH_TIME), 6, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(PATH_SHARE), 6, 0, NULL},
    {TUI_METRIC(PATH_WAITING), 7, 0, tui_show_loss},
    {TUI_METRIC(PATH_CALLS), 6, 0, NULL},
    {TUI_METRIC(PATH_SENT), 7, 0, NULL},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns),     .rows = count_rows,
                                           .row = get_row,           .whole = offsetof(struct tui_app, whole),
                                           .identity = identify_row, .parent = find_parent};

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* The measure of the column sorted by, with its title and unit; time for the others. */
static enum ana_path_measure measure_of(const struct tui_table *table, const struct ana_metric **metric)
{
    static const enum ana_metric_id ids[ANA_PATH_MEASURES] = {[ANA_PATH_TIME] = ANA_METRIC_PATH_TIME,
                                                              [ANA_PATH_WAITING] = ANA_METRIC_PATH_WAITING,
                                                              [ANA_PATH_CALLS] = ANA_METRIC_PATH_CALLS,
                                                              [ANA_PATH_SENT] = ANA_METRIC_PATH_SENT};
    enum ana_path_measure measure = ANA_PATH_SENT;
    while (measure > ANA_PATH_TIME && (table->sort < 0 || columns[table->sort].metric != &ana_metrics[ids[measure]]))
        measure--;
    *metric = &ana_metrics[ids[measure]];
    return measure;
}

/* Draws how a node's measure spreads over the ranks. */
static void draw_spread(const struct tui_app *app, struct tui_grid *grid, struct tui_rect line, size_t node)
{
    const struct ana_metric *metric;
    const enum ana_path_measure measure = measure_of(&app->table[TUI_VIEW_PATHS], &metric);
    const size_t cells = app->rank_count < (size_t)line.w / 3 ? app->rank_count : (size_t)line.w / 3;
    double *by_rank = malloc((app->rank_count + cells + 1) * sizeof *by_rank);
    size_t most = SIZE_MAX, least = SIZE_MAX, ranks = 0;
    if (!by_rank)
        return;
    ana_path_by_rank(&app->summary, &own(app)->paths, node, measure, by_rank, app->rank_count);
    for (size_t i = 0; i < app->rank_count; i++) {
        if (isnan(by_rank[i]))
            continue;
        most = most == SIZE_MAX || by_rank[i] > by_rank[most] ? i : most;
        least = least == SIZE_MAX || by_rank[i] < by_rank[least] ? i : least;
        ranks++;
    }
    const enum ana_unit unit = measure == ANA_PATH_WAITING ? ANA_NS : (enum ana_unit)metric->unit;
    tui_plot_fold(by_rank, app->rank_count, by_rank + app->rank_count, cells);
    int x = tui_putf(grid, line, 1, 0, TUI_STYLE_LABEL, "%s BY RANK ", metric->title);
    tui_plot_spark(grid, line, x, 0, TUI_STYLE_RATE, by_rank + app->rank_count, cells, 0);
    if (ranks)
        tui_putf(grid, line, x + (int)cells + 2, 0, TUI_STYLE_NORMAL, "rank %s %s .. rank %s %s%s",
                 TUI_RANK_NAME(app, least), ANA_NUMBER(unit, by_rank[least], true), TUI_RANK_NAME(app, most),
                 ANA_NUMBER(unit, by_rank[most], true), ranks < app->rank_count ? ", others: none" : "");
    free(by_rank);
}

/* Writes the names from the top to a node. */
static void write_path(const struct ana_paths *paths, size_t node, char *out, size_t size)
{
    const struct ana_path_node *at = &paths->node[node];
    size_t n = 0;
    out[0] = 0;
    if (at->level) {
        write_path(paths, at->parent, out, size);
        n = strlen(out);
    }
    snprintf(out + n, size - n, "%s%s", at->level ? " > " : "", at->name);
}

static void draw_paths(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { BELOW = 2 };
    const struct ana_path_node *node = tui_table_chosen(&app->table[TUI_VIEW_PATHS]);
    struct tui_rect line = {rect.x, rect.y + rect.h - BELOW, rect.w, 1};
    char path[1024];
    tui_table_draw(&app->table[TUI_VIEW_PATHS], grid, (struct tui_rect){rect.x, rect.y, rect.w, rect.h - BELOW});
    if (!node)
        return;
    draw_spread(app, grid, line, (size_t)(node - own(app)->paths.node));
    write_path(&own(app)->paths, (size_t)(node - own(app)->paths.node), path, sizeof path);
    const int cut = tui_columns(path) - (rect.w - 3); /* cuts the begin: the end has the place */
    const char *from = path;
    tui_skip(&from, cut);
    line.y++;
    tui_putf(grid, line, 1, 0, TUI_STYLE_NORMAL, "%s%s", cut > 0 ? "\xe2\x80\xa6" : "", from);
}

/* ---- actions ----------------------------------------------------------------------------------------------------- */

/* Unfolds a node with all below it, or folds it. */
static void unfold_all(struct own *o, const struct ana_path_node *node)
{
    const bool open = !is_open(o, node);
    const size_t top = (size_t)(node - o->paths.node);
    for (size_t i = top; i < o->paths.count; i++) {
        size_t at = i;
        while (at != UINT32_MAX && at > top)
            at = o->paths.node[at].parent;
        if (at == top)
            set_fold(o, &o->paths.node[i], open);
    }
}

static int act_on_paths(struct tui_app *app, enum tui_action action)
{
    struct own *o = own(app);
    const struct ana_path_node *node = tui_table_chosen(&app->table[TUI_VIEW_PATHS]);
    if (action == TUI_ACTION_SEGMENTS)
        return tui_app_switch(app, TUI_VIEW_SEGMENTS);
    if (action == TUI_ACTION_TREE)
        return tui_app_switch(app, TUI_VIEW_CALLS);
    if (!node || (action != TUI_ACTION_DEEPER && action != TUI_ACTION_UNFOLD))
        return TUI_UNHANDLED;
    if (!node->has_parts) {
        tui_app_choose_rank(app, node->index);
        return tui_app_open(app, TUI_VIEW_TIMELINE);
    }
    if (action == TUI_ACTION_UNFOLD)
        unfold_all(o, node);
    else
        set_fold(o, node, !is_open(o, node));
    tui_app_update_table(app);
    return TUI_REDRAW;
}

static void drop_own(void *data)
{
    struct own *o = data;
    ana_paths_free(&o->paths);
    ana_map_free(&o->fold);
    free(o->row);
}

const struct tui_view tui_view_paths = {
    .table = &spec,
    .own_size = sizeof(struct own),
    .drop = drop_own,
    .update = update_rows,
    .draw = draw_paths,
    .act = act_on_paths,
};
