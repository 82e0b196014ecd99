/* Overview: rates and efficiencies, the calls that take the time, and which rank the others wait for. */
#include "tui/widgets/plot.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/jump.h"
#include "tui/app/view.h"
#include "tui/views/overview.h"
#include "trace/util/hash.h"

#include <string.h>

struct own {
    struct tui_rect strip, efficiencies; /* places of ranks and efficiencies */
    struct graphs graphs;                /* they take all ranks */
    struct glance glance;                /* further parts that a large screen has room for */
};

TUI_STATE(OVERVIEW)

/* ---- the calls -------------------------------------------------------------------------------------------------- */

uint64_t tui_call_identity(const void *data, const void *row)
{
    (void)data;
    return ana_hash_text(((const struct ana_call_stat *)row)->name);
}

/* Counts the ranks in view that have been in this call for more than a second. */
static size_t count_stuck(const struct tui_app *app, const char *call)
{
    enum { LONG_NS = 1000000000 };
    size_t n = 0;
    for (size_t i = 0; app->all_time && i < app->rank_count; i++) {
        const struct ana_rank *r = &app->rank[i];
        if (!r->inside || r->inside_ns < LONG_NS || (app->tagged_count && !app->tagged[i]) ||
            strcmp(r->inside, call) != 0)
            continue;
        n++;
    }
    return n;
}

static void show_last(const void *data, const void *row, struct tui_value *out)
{
    const struct tui_app *app = data;
    const struct ana_call_stat *call = row;
    size_t stuck = count_stuck(app, call->name);
    if (stuck) {
        snprintf(out->text, sizeof out->text, "%zu inside", stuck);
        out->style = TUI_STYLE_NOTABLE;
    } else if (call->last_index != SIZE_MAX)
        snprintf(out->text, sizeof out->text, "%s (%.0f%%)", TUI_RANK_NAME(app, call->last_index),
                 call->last_share * 100);
}

static const struct tui_column columns[] = {
    {TUI_METRIC(CALL_NAME), 15, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(CALL_RATE), 5, 0, NULL},
    {TUI_METRIC(CALL_SHARE), 5, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(CALL_WAITING), 7, 0, tui_show_loss},
    {TUI_METRIC(CALL_SIZE), 7, 0, NULL},
    {TUI_METRIC(CALL_P50), 6, 0, NULL},
    {TUI_METRIC(CALL_P99), 6, 0, NULL},
    {TUI_METRIC(CALL_MAX), 6, 0, NULL},
    {TUI_METRIC(CALL_LAST), 10, TUI_ASCENDING, show_last},
    {TUI_METRIC(CALL_ENDED), 7, 0, NULL},
    {TUI_METRIC(CALL_SENT), 8, 0, NULL},
    {TUI_METRIC(CALL_RECEIVED), 8, 0, NULL},
    {TUI_METRIC(CALL_MIN), 6, 0, NULL},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(summary.calls, summary.call_count),
                                           .identity = tui_call_identity};

uint64_t tui_call_row(const struct tui_app *app)
{
    return app->cursor_call;
}

void tui_call_follow(struct tui_app *app, const void *row)
{
    app->cursor_call = tui_call_identity(app, row);
}

/* ---- rates and efficiencies ------------------------------------------------------------------------------------- */

static void draw_efficiencies(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_efficiency *e = &app->summary.efficiency;
    const struct {
        const char *label;
        double value;
    } lines[] = {{"parallel eff.", e->parallel},
                 {"load balance", e->load_balance},
                 {"communication", e->communication},
                 {"processor", e->processor}};
    const int factors = isnan(e->processor) ? 3 : 4;
    char text[ANA_TEXT];
    for (int i = 0; i < factors; i++) {
        double v = lines[i].value;
        enum tui_style style = isnan(v)   ? TUI_STYLE_DIM
                               : v >= 0.8 ? TUI_STYLE_FINE
                               : v >= 0.5 ? TUI_STYLE_NOTABLE
                                          : TUI_STYLE_TROUBLE;
        tui_put(grid, rect, 0, i, TUI_STYLE_LABEL, lines[i].label);
        tui_put_right(grid, rect, 20, i, style, ANA_NUMBER(ANA_SHARE, v, true));
        tui_plot_bar(grid, rect, 21, i, rect.w - 22 < 40 ? rect.w - 22 : 40, style, v);
    }
    char lost[ANA_TEXT], line[160];
    ana_number(text, sizeof text, ANA_SHARE, app->info.overhead_share, true);
    ana_number(lost, sizeof lost, ANA_COUNT, (double)app->info.lost_records, true);
    snprintf(line, sizeof line, SAY_HPCTOP_COSTS_LOST, text, lost);
    if (tui_columns(line) > rect.w)
        snprintf(line, sizeof line, SAY_COSTS_LOST_RECORDS, text, lost);
    if (app->info.recycled_records && rect.w > 50)
        snprintf(line + strlen(line), sizeof line - strlen(line), ", %s overwritten",
                 ANA_NUMBER(ANA_COUNT, (double)app->info.recycled_records, true));
    if (app->info.unknown_requests && rect.w > 70)
        snprintf(line + strlen(line), sizeof line - strlen(line), SAY_REQUESTS_NOT_FOLLOWED,
                 ANA_NUMBER(ANA_COUNT, (double)app->info.unknown_requests, true));
    tui_put(grid, rect, 0, factors,
            app->info.lost_records || app->info.unknown_requests ? TUI_STYLE_NOTABLE : TUI_STYLE_DIM, line);
}

/* ---- the ranks -------------------------------------------------------------------------------------------------- */

enum { STRIP = 8 };

/* Draws a cell for each rank or block of ranks: the time that others lost waiting for it. */
static void draw_strip(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_summary *s = &app->summary;
    enum { MOST = 512 };
    double folded[MOST];
    size_t room = rect.w - STRIP - 1 < MOST ? (size_t)(rect.w - STRIP - 1) : MOST, n = app->rank_count;
    size_t cells = n < room ? n : room, worst = SIZE_MAX;
    double most = 0;
    own(app)->strip = (struct tui_rect){rect.x + STRIP, rect.y, (int)cells, 1};
    for (size_t i = 0; i < cells; i++)
        folded[i] = NAN;
    for (size_t i = 0; cells && i < s->rank_count; i++) {
        double caused = ana_known(s->ranks[i].caused_ns), *cell = &folded[s->ranks[i].index * cells / n];
        if (s->ranks[i].index >= n || isnan(caused))
            continue;
        if (!(*cell >= caused))
            *cell = caused;
        if (caused > most) {
            most = caused;
            worst = s->ranks[i].index;
        }
    }
    tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, "RANKS");
    for (size_t i = 0; i < cells; i++)
        tui_put_char(grid, rect, STRIP + (int)i, 0,
                     most > 0 && folded[i] >= most / 2 ? TUI_STYLE_NOTABLE : TUI_STYLE_RECEIVED,
                     tui_plot_block(most > 0 ? folded[i] / most : folded[i]));
    int x = STRIP + (int)cells + 2, y = 0;
    if (x + 44 > rect.w)
        x = STRIP, y = 1;
    if (worst == SIZE_MAX)
        tui_put(grid, rect, x, y, TUI_STYLE_DIM, SAY_TIME_THAT_OTHERS);
    else
        tui_putf(grid, rect, x, y, TUI_STYLE_NORMAL, SAY_OTHERS_LOST_WAITING, ANA_NUMBER(ANA_NS, most, true),
                 TUI_RANK_NAME(app, worst));
}

/* ---- the account of time ---------------------------------------------------------------------------------------- */

/* Draws the accounts of time in one line, the largest first, as many as have room. */
static void draw_accounts(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_account *account = &app->summary.account;
    bool drawn[ANA_ACCOUNTS] = {false};
    int x = STRIP;
    tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, "TIME");
    for (int n = 0; n < ANA_ACCOUNTS; n++) {
        enum ana_account_id largest = ANA_ACCOUNTS;
        for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++)
            if (!drawn[id] && (largest == ANA_ACCOUNTS || account->ns[id] > account->ns[largest]))
                largest = id;
        char text[64];
        drawn[largest] = true;
        snprintf(text, sizeof text, "%s %s", ana_account_key(largest),
                 ANA_NUMBER(ANA_SHARE, ana_account_share(account, largest), true));
        if (ana_account_share(account, largest) < 0.001 || x + tui_columns(text) > rect.w)
            break;
        tui_put(grid, rect, x, 0, TUI_STYLE_NORMAL, text);
        x += tui_columns(text) + 2;
    }
}

static void draw_overview(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const char *warning = ana_job_warning(app->job, 0);
    int right = rect.w > 120 ? 50 : rect.w >= 76 ? 36 : 28;
    struct graphs *graphs = &own(app)->graphs;
    tui_graphs_read(app, graphs, rect.w - right - 2);
    const bool accounts = app->has_summary && app->summary.has_accounts && ana_account_total(&app->summary.account) > 0;
    struct tui_part parts[] = {
        {4, tui_graphs_rows(graphs, rect.h), 3}, {5, 0, 0}, {accounts ? 3 : 2, accounts ? 3 : 2, 2}, {1, 1, 1}};
    struct tui_rect out[4];
    if (rect.h > 17)
        rect = tui_below(rect, 1);
    tui_stack(rect, false, 1, parts, warning ? 4 : 3, out);
    if (out[0].h) {
        tui_graphs_draw(app, graphs, grid, (struct tui_rect){out[0].x, out[0].y, rect.w - right - 2, out[0].h});
        own(app)->efficiencies = (struct tui_rect){out[0].x + rect.w - right, out[0].y, right, 3};
        draw_efficiencies(app, grid, (struct tui_rect){out[0].x + rect.w - right, out[0].y, right, out[0].h + 1});
    }
    struct tui_table *table = &app->table[TUI_VIEW_OVERVIEW];
    tui_table_draw(table, grid, tui_glance_draw(app, &own(app)->glance, grid, out[1], table->count));
    if (accounts && out[2].h) {
        draw_accounts(app, grid, out[2]);
        out[2] = tui_below(out[2], 1);
    }
    if (out[2].h)
        draw_strip(app, grid, out[2]);
    if (warning && out[3].h)
        tui_putf(grid, out[3], 1, 0, TUI_STYLE_NOTABLE, "warning: %s%s", warning,
                 ana_job_warning(app->job, 1) ? SAY_AND_MORE_HPCTOP : "");
}

static int act_on_call(struct tui_app *app, enum tui_action action)
{
    const struct ana_call_stat *call = tui_table_chosen(&app->table[TUI_VIEW_OVERVIEW]);
    if (action == TUI_ACTION_ONLY && call)
        return tui_app_only(app, &app->filter.call, ana_hash_text(call->name));
    if (action != TUI_ACTION_DEEPER || !call)
        return TUI_UNHANDLED;
    app->cursor_call = ana_hash_text(call->name);
    if (call->last_index != SIZE_MAX) {
        tui_app_choose_rank(app, call->last_index);
        tui_app_open(app, TUI_VIEW_IMBALANCE);
    } else {
        tui_app_choose_call(app, call->name);
        tui_app_open(app, TUI_VIEW_CALLS);
    }
    return TUI_REDRAW;
}

static bool is_in(struct tui_rect rect, int x, int y)
{
    return x >= rect.x && x < rect.x + rect.w && y >= rect.y && y < rect.y + rect.h;
}

/* Returns the job time of a column of the pictures over time. */
static int64_t time_at(const struct tui_app *app, struct tui_rect rect, double column)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    return begin + (int64_t)((column - rect.x) / rect.w * (double)(end - begin));
}

/* Opens the timeline at the time of a column. */
static int open_timeline(struct tui_app *app, struct tui_rect rect, int x)
{
    app->cursor_ns = time_at(app, rect, x + 0.5);
    app->cursor_at_end = app->follow = false;
    return tui_app_open(app, TUI_VIEW_TIMELINE);
}

/* Click on a picture over time leads to that time, on an efficiency to the waiting ranks, on a place to the place, on
 * the strip to that rank. */
static int click_overview(struct tui_app *app, int x, int y)
{
    struct own *o = own(app);
    if (is_in(o->graphs.drawn, x, y))
        return open_timeline(app, o->graphs.drawn, x);
    if (is_in(o->glance.timeline, x, y)) {
        size_t row = tui_timeline_row(&o->glance.rows, (size_t)(y - o->glance.timeline.y));
        if (row < app->tree.rows)
            tui_tree_choose(app, &app->tree.row[row]);
        return open_timeline(app, o->glance.timeline, x);
    }
    if (is_in(o->efficiencies, x, y))
        return tui_app_open(app, TUI_VIEW_IMBALANCE);
    if (is_in(o->glance.places, x, y)) {
        tui_app_open(app, TUI_VIEW_CALLS);
        size_t at = o->glance.sites.top + (size_t)(y - o->glance.places.y);
        if (at > 0 && at <= o->glance.sites.count && app->view == TUI_VIEW_CALLS) {
            struct tui_table *sites = &app->table[TUI_VIEW_CALLS];
            const void *site = tui_table_at(sites, o->glance.sites.order[at - 1]);
            if (site)
                tui_table_goto(sites, sites->spec->identity(app, site));
        }
        return TUI_REDRAW;
    }
    if (y != own(app)->strip.y || x < own(app)->strip.x || x >= own(app)->strip.x + own(app)->strip.w)
        return TUI_UNHANDLED;
    tui_app_choose_rank(app, (size_t)(x - own(app)->strip.x) * app->rank_count / (size_t)own(app)->strip.w);
    return tui_app_open(app, TUI_VIEW_RANKS);
}

static void point_graphs(struct tui_app *app, int x, int y)
{
    if (is_in(own(app)->graphs.drawn, x, y))
        app->cursor_ns = time_at(app, own(app)->graphs.drawn, x + 0.5);
}

static void drop_own(void *data)
{
    tui_glance_free(&((struct own *)data)->glance);
}

const struct tui_view tui_view_overview = {
    .own_size = sizeof(struct own),
    .drop = drop_own,
    .table = &spec,
    .shared = tui_call_row,
    .moved = tui_call_follow,
    .draw = draw_overview,
    .act = act_on_call,
    .click = click_overview,
    .point = point_graphs,
};
