/* Imbalance: how far ranks come apart at collectives, who comes last, who waits for whom. */
#include "tui/widgets/plot.h"
#include "tui/app/jump.h"
#include "tui/app/view.h"
#include "trace/util/hash.h"

#include <stdlib.h>
#include <string.h>

static size_t count_collectives(const void *data)
{
    const struct tui_app *app = data;
    return app->has_summary ? app->summary.collective_count : 0;
}

static uint64_t identify_collective(const void *data, size_t row)
{
    const struct ana_collective *c = &((const struct tui_app *)data)->summary.collectives[row];
    return ana_hash_text(c->name) ^ c->comm_identity;
}

static void fill_collective_cell(const void *data, size_t row, const struct tui_column *column, struct tui_value *out)
{
    const struct tui_app *app = data;
    tui_metric(column->metric, &app->summary.collectives[row], &app->whole, out);
}

/* Waiting is unknown where no collective was seen complete. */
static void show_waited(const void *data, size_t row, struct tui_value *out)
{
    if (!((const struct tui_app *)data)->summary.collectives[row].instances)
        out->number = NAN;
}

static void show_lost(const void *data, size_t row, struct tui_value *out)
{
    show_waited(data, row, out);
    if (out->number >= 0.05)
        out->style = TUI_STYLE_NOTABLE;
}

static void show_last(const void *data, size_t row, struct tui_value *out)
{
    const struct tui_app *app = data;
    const struct ana_collective *c = &app->summary.collectives[row];
    char rank[ANA_TEXT];
    if (c->instances)
        snprintf(out->text, sizeof out->text, "%s (%.0f%%)", tui_app_rank_name(app, c->last_index, rank, sizeof rank),
                 c->last_share * 100);
}

static const struct tui_column columns[] = {
    {TUI_METRIC(COLLECTIVE_NAME), 16, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(COLLECTIVE_COMM), 12, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(COLLECTIVE_INSTANCES), 9, 0, NULL},
    {TUI_METRIC(COLLECTIVE_SKEW_P50), 8, 0, NULL},
    {TUI_METRIC(COLLECTIVE_SKEW_P99), 7, 0, NULL},
    {TUI_METRIC(COLLECTIVE_LOST), 6, 0, show_lost},
    {TUI_METRIC(COLLECTIVE_LAST), 11, TUI_ASCENDING, show_last},
    {TUI_METRIC(COLLECTIVE_SKEW_MAX), 7, 0, NULL},
    {TUI_METRIC(COLLECTIVE_WAITED), 7, TUI_FIRST_SORT, show_waited},
    {TUI_METRIC(COLLECTIVE_INCOMPLETE), 10, 0, NULL},
};
static const struct tui_table_spec spec = {.columns = columns,
                                           .column_count = sizeof columns / sizeof *columns,
                                           .rows = count_collectives,
                                           .value = fill_collective_cell,
                                           .identity = identify_collective};

/* The row of the cursor's call: the communicator where the cursor was last, else the one that loses most. */
static uint64_t find_call_row(const struct tui_app *app)
{
    uint64_t first = 0, last = app->table[TUI_VIEW_IMBALANCE].cursor_identity;
    for (size_t i = 0; i < count_collectives(app); i++) {
        if (ana_hash_text(app->summary.collectives[i].name) != app->cursor_call)
            continue;
        if (identify_collective(app, i) == last)
            return last;
        first = first ? first : identify_collective(app, i);
    }
    return first;
}

static void follow_collective(struct tui_app *app, size_t row)
{
    const struct ana_collective *c = &app->summary.collectives[row];
    app->cursor_call = ana_hash_text(c->name);
    if (c->instances)
        tui_app_choose_rank(app, c->last_index);
}

/* ---- who waits for whom ----------------------------------------------------------------------------------------- */

/* The waits of one kind for one rank. */
struct group {
    enum ana_wait_kind kind;
    size_t culprit;
    uint64_t count;
    int64_t lost_ns;
};

static int compare_losses(const void *pa, const void *pb)
{
    const struct group *a = pa, *b = pb;
    return (a->lost_ns < b->lost_ns) - (a->lost_ns > b->lost_ns);
}

/* The waiters of a group as "0-10, 12-15". */
static void name_waiters(const struct tui_app *app, const struct group *g, char *out, size_t size)
{
    const struct ana_summary *s = &app->summary;
    uint8_t *waits = calloc(app->rank_count + 1, 1);
    out[0] = 0;
    if (!waits)
        return;
    for (size_t i = 0; i < s->wait_count; i++)
        if (s->waits[i].kind == g->kind && s->waits[i].culprit == g->culprit && s->waits[i].waiter < app->rank_count)
            waits[s->waits[i].waiter] = 1;
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, SIZE_MAX, false);
    for (size_t i = 0; i < app->rank_count; i++)
        if (waits[i])
            ana_ranges_add(&ranges, ana_rank_id(&app->rank[i]));
    ana_ranges_end(&ranges);
    free(waits);
}

static void draw_waits(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    static const char *const kinds[] = {"late sender", "late receiver", "late in collective"};
    enum { MOST = 256 };
    struct group group[MOST];
    size_t n = 0;
    const struct ana_summary *s = &app->summary;
    for (size_t i = 0; i < s->wait_count; i++) {
        const struct ana_wait *w = &s->waits[i];
        size_t g = 0;
        while (g < n && (group[g].kind != w->kind || group[g].culprit != w->culprit))
            g++;
        if (g == MOST)
            continue;
        if (g == n)
            group[n++] = (struct group){.kind = w->kind, .culprit = w->culprit};
        group[g].count += w->count;
        group[g].lost_ns += w->lost_ns;
    }
    qsort(group, n, sizeof *group, compare_losses);
    char who[256], text[ANA_TEXT], to[64];
    int widest = 0; /* columns of the longest name: the numbers stand close to it on wide screens */
    for (size_t i = 0; i < n && (int)i + 1 < rect.h; i++) {
        name_waiters(app, &group[i], who, sizeof who);
        tui_app_rank_name(app, group[i].culprit, text, sizeof text);
        int wide = tui_columns(who) + tui_columns(text) + 5;
        widest = wide > widest ? wide : widest;
    }
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    enum { NUMBERS = 43, NAMES = 36 };
    int kind = rect.w - 1 - NUMBERS;
    if (kind > NAMES)
        kind = widest < NAMES ? NAMES : widest < kind ? widest : kind;
    int right = kind + NUMBERS;
    tui_put(grid, rect, 1, 0, TUI_STYLE_HEADER, "WHO \xe2\x86\x92 FOR WHOM");
    tui_put(grid, rect, kind, 0, TUI_STYLE_HEADER, "WHY");
    tui_put_right(grid, rect, right - 16, 0, TUI_STYLE_HEADER, "TIMES");
    tui_put_right(grid, rect, right - 8, 0, TUI_STYLE_HEADER, "LOST");
    tui_put_right(grid, rect, right, 0, TUI_STYLE_HEADER, "OF ALL");
    double wall = app->whole.seen_ns;
    for (size_t i = 0; i < n && (int)i + 1 < rect.h; i++) {
        int y = (int)i + 1;
        name_waiters(app, &group[i], who, sizeof who);
        snprintf(to, sizeof to, " \xe2\x86\x92 %s", tui_app_rank_name(app, group[i].culprit, text, sizeof text));
        struct tui_rect left = {rect.x, rect.y, kind - 1 - tui_columns(to), rect.h};
        int x = tui_put(grid, left, 1, y, TUI_STYLE_NORMAL, who);
        tui_put(grid, rect, x, y, TUI_STYLE_STRONG, to);
        tui_put(grid, rect, kind, y, TUI_STYLE_NORMAL, kinds[group[i].kind]);
        tui_put_right(grid, rect, right - 16, y, TUI_STYLE_NORMAL,
                      ana_number(text, sizeof text, ANA_COUNT, (double)group[i].count, true));
        tui_put_right(grid, rect, right - 8, y, TUI_STYLE_NORMAL,
                      ana_number(text, sizeof text, ANA_NS, (double)group[i].lost_ns, true));
        double share = (double)group[i].lost_ns / wall;
        tui_put_right(grid, rect, right, y, share >= 0.05 ? TUI_STYLE_NOTABLE : TUI_STYLE_NORMAL,
                      ana_number(text, sizeof text, ANA_SHARE, share, true));
    }
    if (!n)
        tui_put(grid, rect, 1, 1, TUI_STYLE_DIM,
                app->analysed < 0.9995 ? "nobody seen waiting so far" : "nobody waited for anybody");
}

static void draw_imbalance(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_IMBALANCE];
    int want = (int)table->count + 1 > 3 ? (int)table->count + 1 : 3;
    struct tui_part parts[] = {{3, want, 0}, {4, 0, 2}};
    struct tui_rect out[2];
    tui_stack(rect, false, 1, parts, 2, out);
    tui_table_draw(table, &spec, app, grid, out[0]);
    if (out[1].h)
        draw_waits(app, grid, out[1]);
}

static int act_on_collective(struct tui_app *app, enum tui_action action)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_IMBALANCE]);
    if (action == TUI_ACTION_ONLY && row != SIZE_MAX) {
        tui_app_only(app, &app->filter.comm, app->summary.collectives[row].comm_identity);
        return TUI_REDRAW;
    }
    if (action != TUI_ACTION_DEEPER)
        return TUI_UNHANDLED;
    if (row != SIZE_MAX)
        follow_collective(app, row);
    tui_app_open(app, TUI_VIEW_RANKS);
    return TUI_REDRAW;
}

static const struct tui_term_help terms[] = {
    {"late sender", "a receive (or its Wait) that waited for the send to begin"},
    {"late receiver", "a send that could not complete before its receive was posted"},
    {"late in collective",
     "a collective that could not complete before the last rank came; who has to wait for whom depends "
     "on the operation (all, root, ranks below)"},
    {"LOST, OF ALL", "time lost so, summed over the waiting ranks; the same / time of all ranks"},
    {NULL, NULL}};

const struct tui_view tui_view_imbalance = {
    .title = "Imbalance",
    .about = "Who comes late, and what does it cost the others?  Enter: the rank that comes last most often.",
    .table = &spec,
    .terms = terms,
    .shared = find_call_row,
    .moved = follow_collective,
    .draw = draw_imbalance,
    .act = act_on_collective,
};
