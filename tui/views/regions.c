/* Regions: the program's own, as its source names them. */
#include "trace/util/hash.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/view.h"

static uint64_t identify_region(const void *data, const void *row)
{
    (void)data;
    return ana_hash_text(((const struct ana_region_stat *)row)->name);
}

static void show_rank(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_region_stat *region = row;
    if (region->worst_ns >= 0)
        tui_app_rank_name(data, region->worst_index, out->text, sizeof out->text);
}

static void show_left(const void *data, const void *row, struct tui_value *out)
{
    (void)data;
    if (((const struct ana_region_stat *)row)->left)
        out->style = TUI_STYLE_NOTABLE;
}

static const struct tui_column columns[] = {
    {TUI_METRIC(REGION_NAME), 20, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(REGION_TIMES), 6, 0, NULL},
    {TUI_METRIC(REGION_TOTAL), 6, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(REGION_OWN), 6, 0, NULL},
    {TUI_METRIC(REGION_MPI), 6, 0, NULL},
    {TUI_METRIC(REGION_WORST_RANK), 5, TUI_ASCENDING, show_rank},
    {TUI_METRIC(REGION_WORST), 6, 0, NULL},
    {TUI_METRIC(REGION_LONGEST), 7, 0, NULL},
    {TUI_METRIC(REGION_LEFT), 6, 0, show_left},
    {TUI_METRIC(REGION_RANKS), 6, 0, NULL},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(summary.regions, summary.region_count),
                                           .identity = identify_region};

static void draw_regions(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_rect line = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    tui_table_draw(&app->table[TUI_VIEW_REGIONS], grid, (struct tui_rect){rect.x, rect.y, rect.w, rect.h - 1});
    if (!app->summary.region_count)
        tui_put(grid, line, 1, 0, TUI_STYLE_DIM, SAY_THE_PROGRAM_NAMES);
    else if (app->summary.region_unmatched)
        tui_putf(grid, line, 1, 0, TUI_STYLE_NOTABLE, SAY_UNMATCHED_ENDS,
                 (unsigned long long)app->summary.region_unmatched);
}

/* Enter: what threads do between calls in that region. */
static int act_on_region(struct tui_app *app, enum tui_action action)
{
    const struct ana_region_stat *region = tui_table_chosen(&app->table[TUI_VIEW_REGIONS]);
    struct tui_table *segments = &app->table[TUI_VIEW_SEGMENTS];
    if (action == TUI_ACTION_SEGMENTS)
        return tui_app_switch(app, TUI_VIEW_CALLS);
    if (action != TUI_ACTION_DEEPER || !region)
        return TUI_UNHANDLED;
    snprintf(segments->filter, sizeof segments->filter, "%.62s:", region->name);
    return tui_app_open(app, TUI_VIEW_SEGMENTS);
}

const struct tui_view tui_view_regions = {
    .table = &spec,
    .draw = draw_regions,
    .act = act_on_region,
};
