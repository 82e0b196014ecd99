#include "tui/views/spread.h"
#include "tui/widgets/plot.h"
#include "trace/util/rows.h"
#include "trace/util/sort.h"

#include <stdlib.h>

static const struct ana_metric *const lines[] = {
    TUI_METRIC(RANK_CAUSED),       TUI_METRIC(RANK_WAITED), TUI_METRIC(RANK_LATE), TUI_METRIC(RANK_WALL),
    TUI_METRIC(RANK_MPI),          TUI_METRIC(RANK_QUEUED), TUI_METRIC(RANK_SENT), TUI_METRIC(RANK_RECEIVED),
    TUI_METRIC(RANK_MESSAGES_OUT), TUI_METRIC(RANK_CALLS)};
TRC_ASSERT_ROWS(lines, TUI_SPREAD_LINES - 1);

static void make_line(const struct tui_app *app, const struct ana_metric *metric, double *number,
                      struct tui_spread_line *out)
{
    size_t n = 0;
    *out = (struct tui_spread_line){.least = NAN, .median = NAN, .most = NAN};
    for (size_t i = 0; i < app->summary.rank_count; i++) {
        const struct ana_rank_stat *stat = &app->summary.ranks[i];
        const struct ana_rank_row row = {&app->rank[stat->index], stat};
        double v = ana_metric_number(metric, &row, &app->whole);
        if (isnan(v))
            continue;
        number[n++] = v;
        if (!(out->least <= v))
            out->least = v, out->least_index = stat->index;
        if (!(out->most >= v))
            out->most = v, out->most_index = stat->index;
    }
    for (int i = 0; i < TUI_SPREAD_BINS; i++)
        out->bin[i] = NAN;
    for (size_t i = 0; i < n && out->most > out->least; i++) {
        double *bin = &out->bin[(int)((number[i] - out->least) / (out->most - out->least) * (TUI_SPREAD_BINS - 1))];
        *bin = isnan(*bin) ? 1 : *bin + 1;
    }
    out->median = n ? ana_median(number, n) : NAN;
}

static void make(const struct tui_app *app, struct tui_spread *spread)
{
    double *number = spread->summaries == app->summaries ? NULL : calloc(app->summary.rank_count + 1, sizeof *number);
    for (int i = 0; number && i < TUI_SPREAD_LINES; i++)
        make_line(app, lines[i], number, &spread->line[i]);
    if (number)
        spread->summaries = app->summaries;
    free(number);
}

size_t tui_spread_culprit(const struct tui_app *app, struct tui_spread *spread)
{
    make(app, spread);
    return spread->line->most > 0 ? spread->line->most_index : SIZE_MAX;
}

void tui_spread_draw(const struct tui_app *app, struct tui_spread *spread, struct tui_grid *grid, struct tui_rect rect)
{
    enum { LEAST = 20, MEDIAN = 40, MOST = 51, PLOT = 63, RANK = 9 };
    const int room = rect.w - PLOT - 1, bins = room < 1 ? 0 : room < TUI_SPREAD_BINS ? room : TUI_SPREAD_BINS;
    double bin[TUI_SPREAD_BINS];
    int y = 0;
    make(app, spread);
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    tui_put(grid, rect, 1, 0, TUI_STYLE_HEADER, "OF A RANK");
    tui_put_right(grid, rect, LEAST, 0, TUI_STYLE_HEADER, "LEAST");
    tui_put_right(grid, rect, LEAST + RANK, 0, TUI_STYLE_HEADER, "RANK");
    tui_put_right(grid, rect, MEDIAN, 0, TUI_STYLE_HEADER, "MEDIAN");
    tui_put_right(grid, rect, MOST, 0, TUI_STYLE_HEADER, "MOST");
    tui_put_right(grid, rect, MOST + RANK, 0, TUI_STYLE_HEADER, "RANK");
    tui_put(grid, rect, PLOT, 0, TUI_STYLE_HEADER, "RANKS BY VALUE");
    for (int i = 0; i < TUI_SPREAD_LINES && y + 1 < rect.h; i++) {
        const struct tui_spread_line *line = &spread->line[i];
        const enum ana_unit unit = (enum ana_unit)lines[i]->unit;
        if (isnan(line->most))
            continue;
        tui_put(grid, rect, 1, ++y, TUI_STYLE_LABEL, lines[i]->title);
        tui_put_right(grid, rect, MEDIAN, y, TUI_STYLE_NORMAL, ANA_NUMBER(unit, line->median, true));
        if (line->least == line->most) {
            tui_put(grid, rect, PLOT, y, TUI_STYLE_DIM, "all equal");
            continue;
        }
        tui_put_right(grid, rect, LEAST, y, TUI_STYLE_NORMAL, ANA_NUMBER(unit, line->least, true));
        tui_put_right(grid, rect, LEAST + RANK, y, TUI_STYLE_DIM, TUI_RANK_NAME(app, line->least_index));
        tui_put_right(grid, rect, MOST, y, TUI_STYLE_NORMAL, ANA_NUMBER(unit, line->most, true));
        tui_put_right(grid, rect, MOST + RANK, y, TUI_STYLE_STRONG, TUI_RANK_NAME(app, line->most_index));
        tui_plot_fold(line->bin, TUI_SPREAD_BINS, bin, (size_t)bins);
        tui_plot_spark(grid, rect, PLOT, y, TUI_STYLE_BAR, bin, (size_t)bins, 0);
    }
}
