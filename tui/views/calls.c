/* Calls: where in the program the time goes.  One row a call site. */
#include "tui/app/jump.h"
#include "tui/app/view.h"
#include "tui/views/inspect.h"
#include "trace/job/site_words.h"
#include "trace/timeline/state_at.h"
#include "trace/util/hash.h"
#include "trace/util/text.h"

#include <inttypes.h>
#include <string.h>

struct own {
    struct tui_longest_call longest; /* longest call at the place under the cursor */
};

TUI_STATE(CALLS)

/* Returns the site that a row shows: of the chosen call, or of all. */
static const void *get_site(const void *data, size_t row)
{
    const struct tui_app *app = data;
    const struct ana_site *site = app->summary.sites, *end = site + app->summary.site_count;
    for (; app->call[0] && site < end; site++)
        if (strcmp(site->call, app->call) == 0 && row-- == 0)
            return site;
    return row < app->summary.site_count ? site + row : NULL;
}

static size_t count_sites(const void *data)
{
    const struct tui_app *app = data;
    size_t n = 0;
    for (size_t i = 0; i < app->summary.site_count; i++)
        n += !app->call[0] || strcmp(app->summary.sites[i].call, app->call) == 0;
    return n;
}

static uint64_t identify_site(const void *data, const void *row)
{
    const struct ana_site *site = row;
    const char *place = site->module ? site->module : site->function;
    (void)data;
    return ana_hash_text(site->call) * 31 + (place ? ana_hash_text(place) : site->address);
}

static void show_module(const void *data, const void *row, struct tui_value *out)
{
    const char *module = ((const struct ana_site *)row)->module;
    (void)data;
    snprintf(out->text, sizeof out->text, "%s", module ? trc_base_name(module) : "\xe2\x80\x93");
}

/* The source line where it is known. */
static void show_place(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_site *site = row;
    (void)data;
    if (!site->line)
        ana_place_words(&(struct ana_place_names){NULL, site->function, site->module, site->address}, out->text,
                        sizeof out->text);
}

static const struct tui_column columns[] = {
    {TUI_METRIC(SITE_CALL), 15, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(SITE_PLACE), 15, TUI_ASCENDING | TUI_STRETCH, show_place},
    {TUI_METRIC(SITE_COUNT), 6, 0, NULL},
    {TUI_METRIC(SITE_TIME), 6, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(SITE_P50), 6, 0, NULL},
    {TUI_METRIC(SITE_P99), 6, 0, NULL},
    {TUI_METRIC(SITE_MAX), 6, 0, NULL},
    {TUI_METRIC(SITE_SENT), 7, 0, NULL},
    {TUI_METRIC(SITE_RECEIVED), 7, 0, NULL},
    {TUI_METRIC(SITE_RANKS), 6, 0, NULL},
    {TUI_METRIC(SITE_MODULE), 20, TUI_ASCENDING | TUI_STRETCH, show_module},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), .rows = count_sites, .row = get_site,
                                           .whole = offsetof(struct tui_app, whole), .identity = identify_site};

/* The row of the cursor's call: the site where the cursor was last, else the one that takes most time. */
static uint64_t find_call_row(const struct tui_app *app)
{
    uint64_t first = 0, last = app->table[TUI_VIEW_CALLS].cursor_identity;
    for (size_t row = 0, n = count_sites(app); row < n; row++) {
        const struct ana_site *site = get_site(app, row);
        if (ana_hash_text(site->call) != app->cursor_call)
            continue;
        if (identify_site(app, site) == last)
            return last;
        first = first ? first : identify_site(app, site);
    }
    return first;
}

static void follow_site(struct tui_app *app, const void *row)
{
    app->cursor_call = ana_hash_text(((const struct ana_site *)row)->call);
}

/* Draws the callers of a site, the innermost at the top, a line each. */
static void draw_path(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect,
                      const struct ana_site *site)
{
    uint32_t place = trc_path_place(ana_job_rank(app->job, site->index)->file, site->path);
    for (uint32_t i = 0; i < (uint32_t)rect.h && i < site->path->n; i++) {
        char words[ANA_CALLER];
        ana_caller_words(app->job, site->index, site->path->site[i], words, sizeof words);
        tui_putf(grid, rect, 1, (int)i, TUI_STYLE_NORMAL, "%s%s%s", i == place ? "* " : "  ", words,
                 i + 1 == site->path->n && site->path->end != TRC_PATH_WHOLE ? " < .." : "");
    }
}

static void draw_calls(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_site *site = tui_table_chosen(&app->table[TUI_VIEW_CALLS]);
    int callers = site && site->path ? (int)site->path->n : 0, room = rect.h / 4;
    callers = callers < room ? callers : room;
    struct tui_rect line = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    const int left = rect.h - 3 - (int)app->table[TUI_VIEW_CALLS].count;
    if (site && left >= TUI_LONGEST_ROWS && tui_app_ended(app)) { /* has the callers, too */
        tui_longest_draw(app, site, &own(app)->longest, grid, (struct tui_rect){rect.x, line.y - left, rect.w, left});
        callers = 0;
        rect.h -= left;
    }
    tui_table_draw(&app->table[TUI_VIEW_CALLS], grid, (struct tui_rect){rect.x, rect.y, rect.w, rect.h - 1 - callers});
    if (!site)
        return;
    if (callers)
        draw_path(app, grid, (struct tui_rect){rect.x, line.y - callers, rect.w, callers}, site);
    char address[48];
    snprintf(address, sizeof address, "0x%" PRIx64 " in rank %s", site->address, TUI_RANK_NAME(app, site->index));
    tui_putf(grid, line, 1, 0, TUI_STYLE_NORMAL, "%s%s%s  %s", site->function ? site->function : "",
             site->function ? "  " : "", site->module ? site->module : "unknown module", address);
}

static int act_on_site(struct tui_app *app, enum tui_action action)
{
    const struct ana_site *site = tui_table_chosen(&app->table[TUI_VIEW_CALLS]);
    if (action == TUI_ACTION_SEGMENTS)
        return tui_app_switch(app, TUI_VIEW_SEGMENTS);
    if (action == TUI_ACTION_TREE)
        return tui_app_switch(app, TUI_VIEW_PATHS);
    if (action == TUI_ACTION_ONLY && site)
        return tui_app_only(app, &app->filter.site, site->identity);
    if ((action != TUI_ACTION_DEEPER && action != TUI_ACTION_INSPECT) || !site)
        return TUI_UNHANDLED;
    tui_app_choose_rank(app, site->index);
    if (action == TUI_ACTION_DEEPER)
        return tui_app_open(app, TUI_VIEW_TIMELINE);
    int64_t begin, end, at;
    tui_app_range(app, &begin, &end);
    at = ana_longest(app->job, site, begin, end);
    if (at > INT64_MIN)
        tui_app_goto_time(app, at);
    return TUI_UNHANDLED;
}

const struct tui_view tui_view_calls = {
    .table = &spec,
    .own_size = sizeof(struct own),
    .shared = find_call_row,
    .moved = follow_site,
    .draw = draw_calls,
    .act = act_on_site,
};
