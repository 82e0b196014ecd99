/* Segments: work of threads outside MPI between two places that call, and its cost to other ranks. */
#include "tui/app/view.h"
#include "tui/widgets/plot.h"

#include <stdlib.h>
#include <string.h>

static size_t count_segments(const void *data)
{
    const struct tui_app *app = data;
    return app->has_summary ? app->summary.segment_count : 0;
}

static const struct ana_segment_stat *get_segment(const void *data, size_t row)
{
    return &((const struct tui_app *)data)->summary.segments[row];
}

static uint64_t identify_segment(const void *data, size_t row)
{
    const struct ana_segment_stat *segment = get_segment(data, row);
    return segment->identity;
}

static void fill_segment_cell(const void *data, size_t row, const struct tui_column *column, struct tui_value *out)
{
    if (column->metric->value) /* else `show` alone knows */
        tui_metric(column->metric, get_segment(data, row), &((const struct tui_app *)data)->whole, out);
}

static void show_words(const void *data, size_t row, struct tui_value *out)
{
    ana_segment_words(get_segment(data, row), out->text, sizeof out->text);
}

static void show_cost(const void *data, size_t row, struct tui_value *out)
{
    (void)data, (void)row;
    if (out->number >= 0.05)
        out->style = TUI_STYLE_NOTABLE;
}

static void show_rank(const void *data, size_t row, struct tui_value *out)
{
    char rank[ANA_TEXT];
    snprintf(out->text, sizeof out->text, "%s",
             tui_app_rank_name(data, get_segment(data, row)->worst_index, rank, sizeof rank));
}

/* One bar a rank, or a group of ranks: from the shortest median of all to the longest. */
static void show_by_rank(const void *data, size_t row, struct tui_value *out)
{
    enum { CELLS = 8 };
    const struct tui_app *app = data;
    const double *by_rank = get_segment(data, row)->by_rank_ns;
    double folded[CELLS], least = INFINITY, most = tui_plot_max(by_rank, app->rank_count);
    size_t cells = app->rank_count < CELLS ? app->rank_count : CELLS;
    for (size_t i = 0; i < app->rank_count; i++)
        least = fmin(least, by_rank[i]);
    tui_plot_fold(by_rank, app->rank_count, folded, cells);
    out->text[0] = 0;
    for (size_t i = 0; i < cells; i++) {
        double share = most > 1.05 * least ? (folded[i] - least) / (most - least) : folded[i] * 0;
        uint32_t block = tui_plot_block(share);
        char bytes[8];
        bytes[tui_encode(block, bytes)] = 0;
        strcat(out->text, bytes);
    }
}

static const struct tui_column columns[] = {
    {TUI_OWN("OUTSIDE MPI, FROM -> TO", ANA_UNIT_TEXT,
             "the two calls between which a thread does something else, and their places in the program"),
     34, TUI_ASCENDING | TUI_STRETCH, show_words},
    {TUI_METRIC(SEGMENT_TIMES), 6, 0, NULL},
    {TUI_METRIC(SEGMENT_MEDIAN), 6, 0, NULL},
    {TUI_METRIC(SEGMENT_WORST_RANK), 5, TUI_ASCENDING, show_rank},
    {TUI_METRIC(SEGMENT_WORST), 6, 0, NULL},
    {TUI_METRIC(SEGMENT_COSTS), 6, TUI_FIRST_SORT, show_cost},
    {TUI_OWN("BY RANK", ANA_UNIT_TEXT,
             "the medians of all ranks, from the shortest to the longest; of more than 8 ranks "
             "the longest of neighbours"),
     8, TUI_ASCENDING, show_by_rank},
    {TUI_METRIC(SEGMENT_EXCESS), 7, 0, NULL},
    {TUI_METRIC(SEGMENT_P99), 6, 0, NULL},
    {TUI_METRIC(SEGMENT_LONGEST), 7, 0, NULL},
    {TUI_METRIC(SEGMENT_RANKS), 6, 0, NULL},
    {TUI_METRIC(SEGMENT_TOTAL), 6, 0, NULL},
};
static const struct tui_table_spec spec = {.columns = columns,
                                           .column_count = sizeof columns / sizeof *columns,
                                           .rows = count_segments,
                                           .value = fill_segment_cell,
                                           .identity = identify_segment};

/* The segment under the cursor; NULL: there is none. */
static const struct ana_segment_stat *find_chosen(const struct tui_app *app)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_SEGMENTS]);
    return row < count_segments(app) ? get_segment(app, row) : NULL;
}

static void draw_segments(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    tui_table_draw(&app->table[TUI_VIEW_SEGMENTS], &spec, app, grid,
                   (struct tui_rect){rect.x, rect.y, rect.w, rect.h - 1});
    struct tui_rect line = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    const struct ana_segment_stat *segment = find_chosen(app);
    char words[256], why[160], rank[ANA_TEXT], longest[ANA_TEXT], at[ANA_TEXT];
    if (segment) {
        ana_segment_words(segment, words, sizeof words);
        ana_reason_words(ana_segment_reason(segment, ana_job_info(app->job).ranks), why, sizeof why);
        tui_putf(grid, line, 1, 0, TUI_STYLE_NORMAL, "%s%s%s  longest: rank %s, %s at %s (Enter)", words,
                 why[0] ? "  " : "", why, tui_app_rank_name(app, segment->longest_index, rank, sizeof rank),
                 ana_spoken(longest, sizeof longest, (double)segment->longest_ns),
                 ana_spoken(at, sizeof at, (double)segment->longest_at_ns));
        return;
    }
    tui_put(grid, line, 1, 0, TUI_STYLE_DIM, "no two calls of a thread so far (Tab: calls)");
}

/* Shows the longest one in the timeline, with as much before and after it. */
static int act_on_segment(struct tui_app *app, enum tui_action action)
{
    const struct ana_segment_stat *segment = find_chosen(app);
    if (action == TUI_ACTION_SEGMENTS) {
        tui_app_switch(app, app->summary.region_count ? TUI_VIEW_REGIONS : TUI_VIEW_CALLS);
        return TUI_REDRAW;
    }
    if (action != TUI_ACTION_DEEPER || !segment)
        return TUI_UNHANDLED;
    int64_t at = segment->longest_at_ns, length = segment->longest_ns;
    tui_app_choose_rank(app, segment->longest_index);
    tui_app_set_range(app, at - length, at + 2 * length);
    app->cursor_ns = at;
    app->cursor_at_end = false;
    tui_app_open(app, TUI_VIEW_TIMELINE);
    return TUI_REDRAW;
}

const struct tui_view tui_view_segments = {
    .title = "Between calls",
    .about =
        "What do threads do outside MPI between two calls, which rank takes longer than the others, and how long do "
        "others wait because of it?  Enter: the longest in the timeline.  Tab: the program's own regions, or the "
        "places that call.",
    .table = &spec,
    .draw = draw_segments,
    .act = act_on_segment,
};
