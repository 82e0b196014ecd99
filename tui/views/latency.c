/* Latency: how long each call takes, by the size of its message, and how the times are spread. */
#include "tui/widgets/plot.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/jump.h"
#include "tui/app/view.h"
#include "tui/views/overview.h"
#include "tui/views/inspect.h"
#include "trace/util/hash.h"

#include <string.h>

struct own {
    bool messages;         /* messages by size, instead of the call under the cursor */
    struct tui_rect lower; /* place of sizes and histogram */
    struct tui_longest_call longest;
};

TUI_STATE(LATENCY)

/* Init and finalize take long in every job: they are not sorted to the top. */
static void show_time(const void *data, const void *row, struct tui_value *out)
{
    (void)data;
    if (trc_opclass_is(((const struct ana_call_stat *)row)->opclass, TRC_FACT_EDGE)) {
        ana_number(out->text, sizeof out->text, ANA_NS, out->number, true);
        out->number = NAN;
    }
}

static const struct tui_column columns[] = {
    {TUI_METRIC(CALL_NAME), 18, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(CALL_COUNT), 7, 0, NULL},
    {TUI_METRIC(CALL_MIN), 7, 0, NULL},
    {TUI_METRIC(CALL_P50), 7, 0, NULL},
    {TUI_METRIC(CALL_P90), 7, 0, NULL},
    {TUI_METRIC(CALL_P99), 7, 0, NULL},
    {TUI_METRIC(CALL_MAX), 7, 0, NULL},
    {TUI_METRIC(CALL_MEAN), 7, 0, NULL},
    {TUI_METRIC(CALL_TIME), 7, TUI_FIRST_SORT, show_time},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(summary.calls, summary.call_count),
                                           .identity = tui_call_identity};

/* ---- call x size class ------------------------------------------------------------------------------------------ */

enum { LABEL = 8, WIDTH = 8, SIZE_LINES = 6 };

static size_t count_sizes(const struct tui_app *app, const struct ana_call_stat *call)
{
    size_t n = 0;
    for (size_t i = 0; i < app->summary.cell_count; i++)
        n += strcmp(app->summary.cells[i].name, call->name) == 0;
    return n;
}

/* Drawing by size class: a column for each row, a line for each metric. */
struct by_size {
    const char *title;
    const struct ana_metric *const *line;
    int lines;
    struct size_column {
        const void *row;
        int size_class;
        uint64_t weight; /* the heaviest stay if there is not room for all */
    } column[66];
    size_t count;
};

static void add_size(struct by_size *of, const void *row, int size_class, uint64_t weight)
{
    if (of->count < sizeof of->column / sizeof *of->column)
        of->column[of->count++] = (struct size_column){row, size_class, weight};
}

/* Leaves out the columns with the least weight. */
static void drop_sizes(struct by_size *of, size_t room)
{
    while (of->count > room) {
        size_t least = 0;
        for (size_t i = 1; i < of->count; i++)
            if (of->column[i].weight < of->column[least].weight)
                least = i;
        memmove(&of->column[least], &of->column[least + 1], (--of->count - least) * sizeof *of->column);
    }
}

static void draw_by_size(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, struct by_size *of)
{
    size_t all = of->count;
    drop_sizes(of, rect.w > LABEL ? (size_t)(rect.w - LABEL) / WIDTH : 0);
    tui_put(grid, rect, 1, 0, TUI_STYLE_STRONG, of->title);
    if (all > of->count)
        tui_putf(grid, rect, tui_columns(of->title) + 3, 0, TUI_STYLE_DIM, "%zu of %zu sizes", of->count, all);
    tui_fill(grid, (struct tui_rect){rect.x, rect.y + 1, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    tui_put(grid, rect, 1, 1, TUI_STYLE_HEADER, "BYTES");
    for (size_t i = 0; i < of->count; i++)
        tui_put_right(grid, rect, LABEL + (int)(i + 1) * WIDTH, 1, TUI_STYLE_HEADER,
                      ANA_SIZE_CLASS(of->column[i].size_class));
    for (int l = 0; l < of->lines; l++) {
        tui_put(grid, rect, 1, 2 + l, TUI_STYLE_LABEL, of->line[l]->title);
        for (size_t i = 0; i < of->count; i++) {
            double v = ana_metric_number(of->line[l], of->column[i].row, &app->whole);
            tui_put_right(grid, rect, LABEL + (int)(i + 1) * WIDTH, 2 + l, isnan(v) ? TUI_STYLE_DIM : TUI_STYLE_NORMAL,
                          ANA_NUMBER((enum ana_unit)of->line[l]->unit, v, true));
        }
    }
}

static void draw_sizes(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect,
                       const struct ana_call_stat *call)
{
    static const struct ana_metric *const lines[] = {TUI_METRIC(CALL_COUNT), TUI_METRIC(CALL_MIN),
                                                     TUI_METRIC(CALL_P50),   TUI_METRIC(CALL_P90),
                                                     TUI_METRIC(CALL_P99),   TUI_METRIC(CALL_MAX)};
    struct by_size of = {.title = call->name, .line = lines, .lines = sizeof lines / sizeof *lines};
    for (size_t i = 0; i < app->summary.cell_count; i++)
        if (strcmp(app->summary.cells[i].name, call->name) == 0)
            add_size(&of, &app->summary.cells[i], app->summary.cells[i].size_class, app->summary.cells[i].times.count);
    draw_by_size(app, grid, rect, &of);
}

/* Draws messages by size, a line each: the bars compare the rates with the best of all sizes. */
static void draw_message_sizes(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    static const struct {
        const struct ana_metric *metric;
        int width;
    } column[] = {
        {TUI_METRIC(SIZE_CLASS), 8},       {TUI_METRIC(SIZE_MESSAGES), 9},    {TUI_METRIC(SIZE_LATENCY_MIN), 8},
        {TUI_METRIC(SIZE_LATENCY_P50), 8}, {TUI_METRIC(SIZE_LATENCY_P99), 8}, {TUI_METRIC(SIZE_BANDWIDTH), 10},
        {TUI_METRIC(SIZE_BEST), 10},       {TUI_METRIC(SIZE_WAITS), 7},       {TUI_METRIC(SIZE_WAIT_P50), 8},
        {TUI_METRIC(SIZE_WAIT_MAX), 8},
    };
    enum { COLUMNS = sizeof column / sizeof *column, BAR_LEAST = 12 };
    struct by_size of = {0};
    double best = 0;
    for (size_t i = 0; i < app->summary.size_count; i++) {
        const struct ana_size_stat *size = &app->summary.sizes[i];
        add_size(&of, size, size->size_class, size->latency.count);
        best = fmax(best, ana_metric_number(TUI_METRIC(SIZE_BEST), size, &app->whole));
    }
    if (!of.count)
        return; /* the last line says so */
    drop_sizes(&of, rect.h > 2 ? (size_t)rect.h - 2 : 0);
    tui_put(grid, rect, 1, 0, TUI_STYLE_STRONG, SAY_MESSAGES_SEND_BEGUN);
    tui_fill(grid, (struct tui_rect){rect.x, rect.y + 1, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    int x = 0;
    for (int c = 0; c < COLUMNS && x + column[c].width < rect.w; c++) {
        x += column[c].width;
        tui_put_right(grid, rect, x, 1, TUI_STYLE_HEADER, column[c].metric->title);
        for (size_t i = 0; i < of.count; i++) {
            double v = ana_metric_number(column[c].metric, of.column[i].row, &app->whole);
            tui_put_right(grid, rect, x, 2 + (int)i, isnan(v) ? TUI_STYLE_DIM : TUI_STYLE_NORMAL,
                          ANA_NUMBER((enum ana_unit)column[c].metric->unit, v, true));
        }
    }
    int room = rect.w - x - 3;
    for (size_t i = 0; i < of.count && room >= BAR_LEAST; i++) {
        double rate = ana_metric_number(TUI_METRIC(SIZE_BANDWIDTH), of.column[i].row, &app->whole);
        tui_plot_bar(grid, rect, x + 2, 2 + (int)i, room, TUI_STYLE_BAR, best > 0 && rate > 0 ? rate / best : 0);
    }
}

/* The first and the last decade that have calls.  False: none has. */
static bool find_decades(const struct ana_call_stat *call, int *low, int *high)
{
    *low = ANA_DECADES;
    *high = -1;
    for (int i = 0; i < ANA_DECADES; i++)
        if (call->decade[i]) {
            *low = i < *low ? i : *low;
            *high = i;
        }
    return *high >= 0;
}

static void draw_histogram_line(struct tui_grid *grid, struct tui_rect rect, int y, double count, double most)
{
    int width = rect.w - 8 - 7;
    tui_plot_bar(grid, rect, 8, y, width, TUI_STYLE_BAR, count / most);
    if (count > 0 && count / most * width < 0.125)
        tui_put_char(grid, rect, 8, y, TUI_STYLE_BAR, 0x258f); /* few calls are more than none */
    tui_put_right(grid, rect, rect.w - 1, y, count > 0 ? TUI_STYLE_NORMAL : TUI_STYLE_DIM,
                  ANA_NUMBER(ANA_COUNT, count, true));
}

/* Draws how many calls took how long: by decades, whatever the call and the screen.  Where there is no room for all,
 * the shortest ones share a line. */
static void draw_histogram(struct tui_grid *grid, struct tui_rect rect, const struct ana_call_stat *call)
{
    int low, high, space = rect.h - 2;
    tui_put(grid, rect, 0, 0, TUI_STYLE_STRONG, "all sizes");
    tui_put(grid, rect, 10, 0, TUI_STYLE_DIM, SAY_CALLS_BY_DURATION);
    tui_fill(grid, (struct tui_rect){rect.x, rect.y + 1, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    tui_put_right(grid, rect, 7, 1, TUI_STYLE_HEADER, "from");
    tui_put_right(grid, rect, rect.w - 1, 1, TUI_STYLE_HEADER, "CALLS");
    if (space <= 0 || !find_decades(call, &low, &high))
        return;
    int first = high - low < space ? low : high - space + 1;
    double count[ANA_DECADES] = {0}, most = 0, from = 1;
    for (int i = low; i <= high; i++)
        count[i < first ? first : i] += (double)call->decade[i];
    for (int i = first; i <= high; i++)
        most = count[i] > most ? count[i] : most;
    for (int i = 0; i < first; i++)
        from *= 10;
    for (int i = first; i <= high; i++, from *= 10) {
        char label[ANA_TEXT + 1];
        bool shared = i == first && first > low;
        snprintf(label, sizeof label, "%s%s", shared ? "<" : "",
                 ANA_NUMBER(ANA_NS, i ? (shared ? from * 10 : from) : 0, true));
        tui_put_right(grid, rect, 7, 2 + i - first, TUI_STYLE_LABEL, label);
        draw_histogram_line(grid, rect, 2 + i - first, count[i], most);
    }
}

static void draw_messages(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_times *t = &app->summary.message_latency;
    char text[256];
    if (!t->count) {
        tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, app->all_time ? SAY_MESSAGES_NONE_SEEN : SAY_MESSAGES_NONE_WAS);
        return;
    }
    snprintf(text, sizeof text, "%s messages: min %s  p50 %s  p99 %s", ANA_NUMBER(ANA_COUNT, (double)t->count, true),
             ANA_NUMBER(ANA_NS, t->min_ns, true), ANA_NUMBER(ANA_NS, t->p50_ns, true),
             ANA_NUMBER(ANA_NS, t->p99_ns, true));
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_NORMAL, text);
    if (isnan(app->info.clock_error_s))
        snprintf(text, sizeof text, "  \xc2\xb1 unknown");
    else
        snprintf(text, sizeof text, "  \xc2\xb1 %s", ANA_NUMBER(ANA_NS, app->info.clock_error_s * 1e9, true));
    if (x + tui_columns(text) <= rect.w)
        x = tui_put(grid, rect, x, 0, TUI_STYLE_DIM, text);
    if (app->summary.clock_violations) {
        snprintf(text, sizeof text, SAY_ARRIVE_BEFORE_THEY,
                 ANA_NUMBER(ANA_COUNT, (double)app->summary.clock_violations, true));
        if (x + tui_columns(text) <= rect.w)
            tui_put(grid, rect, x, 0, TUI_STYLE_NOTABLE, text);
    }
}

/* Draws in the room that is left the messages by size, then the longest call at the place of this call that has the
 * longest one. */
static void draw_more(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect,
                      const struct ana_call_stat *call)
{
    const int sizes = app->summary.size_count ? (int)app->summary.size_count + 3 : 0;
    const struct ana_site *longest = NULL, *site = app->summary.sites;
    if (rect.h >= sizes && !own(app)->messages) {
        draw_message_sizes(app, grid, rect);
        rect = tui_below(rect, sizes);
    }
    for (const struct ana_site *end = site + app->summary.site_count; site < end; site++)
        if (strcmp(site->call, call->name) == 0 && (!longest || site->times.max_ns > longest->times.max_ns))
            longest = site;
    if (longest && rect.h >= TUI_LONGEST_ROWS && tui_app_ended(app))
        tui_longest_draw(app, longest, &own(app)->longest, grid, rect);
}

static void draw_latency(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_LATENCY];
    int lines = (int)table->count + 1 > 4 ? (int)table->count + 1 : 4;
    struct tui_part parts[] = {{4, lines, 0}, {8, lines < rect.h - 10 ? 0 : 10, 2}, {1, 1, 1}};
    struct tui_rect out[3];
    tui_stack(rect, false, 1, parts, 3, out);
    tui_table_draw(table, grid, out[0]);
    const struct ana_call_stat *call = tui_table_chosen(table);
    own(app)->lower = out[1];
    if (own(app)->messages && out[1].h) {
        draw_message_sizes(app, grid, out[1]);
    } else if (call && out[1].h) {
        /* Histogram stands close to the sizes on a wide screen. */
        enum { SIZES = 70, BARS = 64 };
        int right = rect.w >= 120 ? 48 : 30, left = rect.w - right - 2;
        int want = LABEL + 1 + WIDTH * (int)count_sizes(app, call);
        if (left > SIZES)
            left = want < SIZES ? SIZES : want < left ? want : left;
        right = rect.w - left - 2 < BARS ? rect.w - left - 2 : BARS;
        draw_sizes(app, grid, (struct tui_rect){out[1].x, out[1].y, left, out[1].h}, call);
        draw_histogram(grid, (struct tui_rect){rect.x + left + 2, out[1].y, right, out[1].h}, call);
    }
    int low, high, used = (int)app->summary.size_count;
    if (call && !own(app)->messages)
        used = find_decades(call, &low, &high) && high - low >= SIZE_LINES ? high - low + 1 : SIZE_LINES;
    used += 3; /* title, header, blank */
    if (call && out[1].h > used)
        draw_more(app, grid, tui_below(out[1], used), call);
    if (out[2].h)
        draw_messages(app, grid, out[2]);
}

static int act_on_call(struct tui_app *app, enum tui_action action)
{
    const struct ana_call_stat *call = tui_table_chosen(&app->table[TUI_VIEW_LATENCY]);
    if (action == TUI_ACTION_SIZES) {
        own(app)->messages = !own(app)->messages;
        return TUI_REDRAW;
    }
    if (action == TUI_ACTION_ONLY && call)
        return tui_app_only(app, &app->filter.call, ana_hash_text(call->name));
    if (action != TUI_ACTION_DEEPER || !call)
        return TUI_UNHANDLED;
    tui_app_choose_call(app, call->name);
    return tui_app_open(app, TUI_VIEW_CALLS);
}

/* Click on sizes or bars: shows the places that make the call, or the pairs that exchange messages. */
static int click_lower(struct tui_app *app, int x, int y)
{
    struct tui_rect lower = own(app)->lower;
    if (x < lower.x || y < lower.y || x >= lower.x + lower.w || y >= lower.y + lower.h)
        return TUI_UNHANDLED;
    if (!own(app)->messages)
        return tui_app_step(app, TUI_ACTION_DEEPER);
    return tui_app_open(app, TUI_VIEW_MATRIX);
}

const struct tui_view tui_view_latency = {
    .table = &spec,
    .own_size = sizeof(struct own),
    .shared = tui_call_row,
    .moved = tui_call_follow,
    .draw = draw_latency,
    .act = act_on_call,
    .click = click_lower,
};
