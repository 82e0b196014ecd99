/* Segments: work of threads between two places that call, time inside local calls, and their cost to other ranks. */
#include "tui/views/samples.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/view.h"
#include "trace/headline/headline.h"
#include "tui/widgets/plot.h"

#include <string.h>

static uint64_t identify_segment(const void *data, const void *row)
{
    (void)data;
    return ((const struct ana_segment_stat *)row)->identity;
}

static void show_words(const void *data, const void *row, struct tui_value *out)
{
    (void)data;
    ana_segment_words(row, out->text, sizeof out->text);
}

static void show_rank(const void *data, const void *row, struct tui_value *out)
{
    tui_app_rank_name(data, ((const struct ana_segment_stat *)row)->worst_index, out->text, sizeof out->text);
}

/* One bar a rank, or a group of ranks: from the shortest median of all to the longest. */
static void show_by_rank(const void *data, const void *row, struct tui_value *out)
{
    enum { CELLS = 8 };
    const struct tui_app *app = data;
    const double *by_rank = ((const struct ana_segment_stat *)row)->by_rank_ns;
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
    {TUI_METRIC(SEGMENT_COSTS), 6, TUI_FIRST_SORT, tui_show_loss},
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
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(summary.segments, summary.segment_count),
                                           .identity = identify_segment};

static void draw_segments(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    tui_table_draw(&app->table[TUI_VIEW_SEGMENTS], grid, (struct tui_rect){rect.x, rect.y, rect.w, rect.h - 2});
    struct tui_rect line = {rect.x, rect.y + rect.h - 2, rect.w, 2};
    const struct ana_segment_stat *segment = tui_table_chosen(&app->table[TUI_VIEW_SEGMENTS]);
    char words[256], why[160];
    if (segment) {
        ana_segment_words(segment, words, sizeof words);
        ana_reason_words(ana_segment_reason(segment, ana_job_info(app->job).ranks), why, sizeof why);
        tui_putf(grid, line, 1, 0, TUI_STYLE_NORMAL, "%s%s%s", words, why[0] ? "  " : "", why);
        const bool samples = tui_view_samples_may_open(app, segment);
        tui_putf(grid, line, 1, 1, TUI_STYLE_NORMAL, SAY_LONGEST_RANK_AT, TUI_RANK_NAME(app, segment->longest_index),
                 ANA_SPOKEN((double)segment->longest_ns), ANA_SPOKEN((double)segment->longest_at_ns),
                 samples ? SAY_ENTER_SAMPLES_OF : " (Enter)", samples ? TUI_RANK_NAME(app, segment->worst_index) : "");
        return;
    }
    tui_put(grid, line, 1, 0, TUI_STYLE_DIM, SAY_NO_TWO_CALLS);
}

/* Samples the rank that takes longest, while it runs here; else shows the longest one in the timeline, with as much
 * before and after it. */
static int act_on_segment(struct tui_app *app, enum tui_action action)
{
    const struct ana_segment_stat *segment = tui_table_chosen(&app->table[TUI_VIEW_SEGMENTS]);
    if (action == TUI_ACTION_SEGMENTS)
        return tui_app_switch(app, app->summary.region_count ? TUI_VIEW_REGIONS : TUI_VIEW_CALLS);
    if ((action != TUI_ACTION_DEEPER && action != TUI_ACTION_INSPECT) || !segment)
        return TUI_UNHANDLED;
    if (action == TUI_ACTION_DEEPER) {
        const int sampled = tui_view_samples_open(app, segment);
        if (sampled != TUI_UNHANDLED)
            return sampled;
    }
    int64_t at = segment->longest_at_ns, length = segment->longest_ns;
    tui_app_choose_rank(app, segment->longest_index);
    tui_app_set_range(app, at - length, at + 2 * length);
    app->cursor_ns = at;
    app->cursor_at_end = false;
    return tui_app_open(app, action == TUI_ACTION_DEEPER ? TUI_VIEW_TIMELINE : TUI_VIEW_INSPECT);
}

const struct tui_view tui_view_segments = {
    .table = &spec,
    .draw = draw_segments,
    .act = act_on_segment,
};
