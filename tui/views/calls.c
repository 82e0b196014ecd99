/* Calls: where in the program the time goes.  One row a call site. */
#include "tui/app/jump.h"
#include "tui/app/view.h"
#include "trace/job/site_words.h"
#include "trace/util/hash.h"

#include <inttypes.h>
#include <string.h>

/* The index of the site that a row shows: of the chosen call, or of all.  SIZE_MAX if there is none. */
static size_t find_site(const struct tui_app *app, size_t row)
{
    const struct ana_summary *s = &app->summary;
    if (!app->call[0])
        return row < s->site_count ? row : SIZE_MAX;
    for (size_t i = 0; i < s->site_count; i++)
        if (strcmp(s->sites[i].call, app->call) == 0 && row-- == 0)
            return i;
    return SIZE_MAX;
}

static size_t count_sites(const void *data)
{
    const struct tui_app *app = data;
    size_t n = 0;
    for (size_t i = 0; app->has_summary && i < app->summary.site_count; i++)
        n += !app->call[0] || strcmp(app->summary.sites[i].call, app->call) == 0;
    return n;
}

static uint64_t identify_site(const void *data, size_t row)
{
    const struct tui_app *app = data;
    size_t i = find_site(app, row);
    if (i == SIZE_MAX)
        return 0;
    const struct ana_site *site = &app->summary.sites[i];
    const char *place = site->module ? site->module : site->function;
    return ana_hash_text(site->call) * 31 + (place ? ana_hash_text(place) : site->address);
}

/* A path without its folders, which the line below the table shows. */
static const char *find_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const struct ana_site *get_site(const void *data, size_t row)
{
    return &((const struct tui_app *)data)->summary.sites[find_site(data, row)];
}

static void fill_site_cell(const void *data, size_t row, const struct tui_column *column, struct tui_value *out)
{
    tui_metric(column->metric, get_site(data, row), &((const struct tui_app *)data)->whole, out);
}

static void show_module(const void *data, size_t row, struct tui_value *out)
{
    const char *module = get_site(data, row)->module;
    snprintf(out->text, sizeof out->text, "%s", module ? find_base_name(module) : "\xe2\x80\x93");
}

/* The source line where it is known. */
static void show_place(const void *data, size_t row, struct tui_value *out)
{
    const struct ana_site *site = get_site(data, row);
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
static const struct tui_table_spec spec = {.columns = columns,
                                           .column_count = sizeof columns / sizeof *columns,
                                           .rows = count_sites,
                                           .value = fill_site_cell,
                                           .identity = identify_site};

/* The row of the cursor's call: the site where the cursor was last, else the one that takes most time. */
static uint64_t find_call_row(const struct tui_app *app)
{
    uint64_t first = 0, last = app->table[TUI_VIEW_CALLS].cursor_identity;
    for (size_t row = 0, n = count_sites(app); row < n; row++) {
        if (ana_hash_text(app->summary.sites[find_site(app, row)].call) != app->cursor_call)
            continue;
        if (identify_site(app, row) == last)
            return last;
        first = first ? first : identify_site(app, row);
    }
    return first;
}

static void follow_site(struct tui_app *app, size_t row)
{
    size_t i = find_site(app, row);
    if (i != SIZE_MAX)
        app->cursor_call = ana_hash_text(app->summary.sites[i].call);
}

/* The site of the row under the cursor; NULL: there is none. */
static const struct ana_site *site_of_cursor(const struct tui_app *app)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_CALLS]), i = row == SIZE_MAX ? SIZE_MAX : find_site(app, row);
    return i == SIZE_MAX ? NULL : &app->summary.sites[i];
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
    const struct ana_site *site = site_of_cursor(app);
    int callers = site && site->path ? (int)site->path->n : 0, room = rect.h / 4;
    callers = callers < room ? callers : room;
    struct tui_rect line = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    tui_table_draw(&app->table[TUI_VIEW_CALLS], &spec, app, grid,
                   (struct tui_rect){rect.x, rect.y, rect.w, rect.h - 1 - callers});
    if (!site)
        return;
    if (callers)
        draw_path(app, grid, (struct tui_rect){rect.x, line.y - callers, rect.w, callers}, site);
    char rank[ANA_TEXT], address[48];
    snprintf(address, sizeof address, "0x%" PRIx64 " in rank %s", site->address,
             tui_app_rank_name(app, site->index, rank, sizeof rank));
    tui_putf(grid, line, 1, 0, TUI_STYLE_NORMAL, "%s%s%s  %s", site->function ? site->function : "",
             site->function ? "  " : "", site->module ? site->module : "unknown module", address);
}

static int act_on_site(struct tui_app *app, enum tui_action action)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_CALLS]), i = row == SIZE_MAX ? SIZE_MAX : find_site(app, row);
    if (action == TUI_ACTION_SEGMENTS) {
        tui_app_switch(app, TUI_VIEW_SEGMENTS);
        return TUI_REDRAW;
    }
    if (action == TUI_ACTION_ONLY && i != SIZE_MAX) {
        tui_app_only(app, &app->filter.site, app->summary.sites[i].identity);
        return TUI_REDRAW;
    }
    if (action != TUI_ACTION_DEEPER || i == SIZE_MAX)
        return TUI_UNHANDLED;
    tui_app_choose_rank(app, app->summary.sites[i].index);
    tui_app_open(app, TUI_VIEW_TIMELINE);
    return TUI_REDRAW;
}

const struct tui_view tui_view_calls = {
    .title = "Calls",
    .about = "Where in the program does the time go?  One row a place that calls MPI.  Enter: the timeline of the rank "
             "that spends most time there.  Tab: what threads do between the calls.",
    .table = &spec,
    .shared = find_call_row,
    .moved = follow_site,
    .draw = draw_calls,
    .act = act_on_site,
};
