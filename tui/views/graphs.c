#include "tui/views/overview.h"
#include "tui/app/axis.h"
#include "tui/app/view.h"
#include "tui/widgets/plot.h"
#include "trace/summary/rates.h"
#include "trace/util/sort.h"

enum { LEFT = 20 }; /* names, numbers and, at the top of a high one, the scale */

static const struct {
    const char *label;
    enum ana_unit unit;
    enum tui_style style;
    double max;
} kinds[ANA_SERIES_KINDS] = {[ANA_SERIES_SENT] = {"sent", ANA_BYTES_PER_S, TUI_STYLE_SENT, 0},
                             [ANA_SERIES_RECEIVED] = {"recv", ANA_BYTES_PER_S, TUI_STYLE_RECEIVED, 0},
                             [ANA_SERIES_CALLS] = {"calls", ANA_PER_S, TUI_STYLE_RATE, 0},
                             [ANA_SERIES_MPI_SHARE] = {"in MPI", ANA_SHARE, TUI_STYLE_NOTABLE, 1}};

enum { PARTS = 20 };

/* The means of a series' parts: calls that fall between two cells do not count in them.  Returns how many are known. */
static int mean_parts(const double *series, int n, double part[PARTS])
{
    int known = 0;
    for (int p = 0; p < PARTS; p++) {
        double sum = 0;
        int count = 0;
        for (int i = p * n / PARTS; i < (p + 1) * n / PARTS; i++)
            if (!isnan(series[i])) {
                sum += series[i];
                count++;
            }
        if (count)
            part[known++] = sum / count;
    }
    return known;
}

/* Whether a series goes up and down: the middle 8 of 10 of its parts are not near each other. */
static bool is_moving(const double *series, int n)
{
    const double near = 0.25;
    double part[PARTS];
    int known = mean_parts(series, n, part), cut = known / 10;
    ana_sort(part, (size_t)known, sizeof *part, ana_compare_numbers);
    return known > 2 && part[known - 1 - cut] - part[cut] > near * part[known - 1 - cut];
}

/* Whether two series have the same shape, whatever their heights. */
static bool is_alike(const double *a, const double *b, int n)
{
    const double near = 0.1;
    double x[PARTS], y[PARTS], high_x, high_y;
    int known = mean_parts(a, n, x);
    if (known != mean_parts(b, n, y))
        return false;
    high_x = tui_plot_max(x, (size_t)known);
    high_y = tui_plot_max(y, (size_t)known);
    for (int i = 0; i < known; i++)
        if (high_x <= 0 || high_y <= 0 || fabs(x[i] / high_x - y[i] / high_y) > near)
            return false;
    return true;
}

static int left_of(const struct graphs *g)
{
    return g->left ? g->left : LEFT;
}

void tui_graphs_read(const struct tui_app *app, struct graphs *g, int columns)
{
    struct ana_selection selection = tui_app_selection(app);
    int n = columns - left_of(g) < TUI_GRAPH ? columns - left_of(g) : TUI_GRAPH;
    tui_app_range(app, &selection.begin_ns, &selection.end_ns);
    if (n < 4 || (g->columns == n && g->summaries == app->summaries && g->begin_ns == selection.begin_ns &&
                  g->end_ns == selection.end_ns))
        return;
    bool follows = g->columns == n && app->follow;
    ana_series(app->job, selection, (size_t)n, (double *[]){g->series[0], g->series[1], g->series[2], g->series[3]});
    g->columns = n;
    g->summaries = app->summaries;
    g->begin_ns = selection.begin_ns;
    g->end_ns = selection.end_ns;
    for (int i = 0; i < ANA_SERIES_KINDS; i++) { /* moving graphs stay high: rows do not jump in a running job */
        g->moves[i] = is_moving(g->series[i], n) || (follows && g->moves[i]);
        for (int j = 0; j < i && g->moves[i] && !follows; j++) /* the same again is one line */
            g->moves[i] = !g->moves[j] || !is_alike(g->series[j], g->series[i], n);
    }
}

/* Returns the height of a graph that moves, in a view of `rows` rows. */
static int height_of(int rows)
{
    return rows >= 40 ? 5 : rows >= 32 ? 3 : rows >= 26 ? 2 : 1;
}

/* Returns how many rows graph i takes, its distance from the one above it included. */
static int rows_of(const struct graphs *g, int i, int high)
{
    if (high == 1 || !g->moves[i])
        return 1;
    return high + (i > 0);
}

int tui_graphs_rows(const struct graphs *g, int rows)
{
    int want = 0;
    for (int i = 0; i < ANA_SERIES_KINDS; i++)
        want += rows_of(g, i, height_of(rows));
    return want;
}

void tui_graphs_draw(const struct tui_app *app, struct graphs *g, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_rates rates = ana_rates_of(app->job, &app->summary);
    double now[ANA_SERIES_KINDS] = {[ANA_SERIES_SENT] = rates.sent,
                                    [ANA_SERIES_RECEIVED] = rates.received,
                                    [ANA_SERIES_CALLS] = rates.calls,
                                    [ANA_SERIES_MPI_SHARE] = rates.mpi_share};
    char text[ANA_TEXT];
    const int left = left_of(g);
    int n = rect.w - left < g->columns ? rect.w - left : g->columns, high = 5, top = 0;
    while (high > 1 && tui_graphs_rows(g, high == 5 ? 40 : high == 3 ? 32 : 26) > rect.h)
        high = high == 5 ? 3 : high - 1;
    for (int i = 0; i < ANA_SERIES_KINDS; i++) {
        int rows = rows_of(g, i, high), h = rows > 1 ? high : 1, y = top + rows - 1;
        struct tui_rect area = {rect.x + left, rect.y + y - h + 1, n, h};
        double most = kinds[i].max > 0 ? kinds[i].max : tui_plot_max(g->series[i], (size_t)n);
        top += rows;
        tui_putf(grid, rect, 1, y, TUI_STYLE_LABEL, "%s%s", kinds[i].label, rates.now ? " 1s" : "");
        bool some = app->whole.unknown_bytes && i <= ANA_SERIES_RECEIVED;
        now[i] = some && !(now[i] > 0) ? NAN : now[i];
        const struct ana_value value = {.type = ANA_REAL, .real = now[i], .at_least = some && !isnan(now[i])};
        ana_value_text(text, sizeof text, kinds[i].unit, value, true);
        tui_put_right(grid, rect, left - 1, y, isnan(now[i]) ? TUI_STYLE_DIM : TUI_STYLE_STRONG, text);
        if (n < 4)
            continue;
        if (h == 1) {
            tui_plot_spark(grid, area, 0, 0, kinds[i].style, g->series[i], (size_t)n, kinds[i].max);
            continue;
        }
        tui_plot_area(grid, area, kinds[i].style, g->series[i], (size_t)n, kinds[i].max);
        tui_put_right(grid, rect, left - 1, y - h + 1, TUI_STYLE_AXIS, ANA_NUMBER(kinds[i].unit, most, true));
    }
    if (n < 4)
        return;
    g->drawn = (struct tui_rect){rect.x + left, rect.y, n, rect.h};
    tui_axis_draw(grid, (struct tui_rect){rect.x + left, rect.y + top, n, 1}, g->begin_ns, g->end_ns);
}
