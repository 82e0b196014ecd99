/* Files: what ranks did with each by MPI-IO. */
#include "trace/job/files.h"
#include "trace/util/hash.h"
#include "tui/app/view.h"

#include <string.h>

static size_t count_files(const void *data)
{
    const struct tui_app *app = data;
    return app->has_summary ? app->summary.file_count : 0;
}

static const struct ana_file_stat *get_file(const void *data, size_t row)
{
    return &((const struct tui_app *)data)->summary.files[row];
}

static uint64_t identify_file(const void *data, size_t row)
{
    return ana_hash_text(get_file(data, row)->name) | 1;
}

static void fill_file_cell(const void *data, size_t row, const struct tui_column *column, struct tui_value *out)
{
    tui_metric(column->metric, get_file(data, row), &((const struct tui_app *)data)->whole, out);
}

/* Shows the name without its folders, which the line below the table shows. */
static void show_name(const void *data, size_t row, struct tui_value *out)
{
    const char *name = get_file(data, row)->name, *slash = name ? strrchr(name, '/') : NULL;
    snprintf(out->text, sizeof out->text, "%s", slash && slash[1] ? slash + 1 : name ? name : "several, or not known");
}

static void show_rank(const void *data, size_t row, struct tui_value *out)
{
    char rank[ANA_TEXT];
    snprintf(out->text, sizeof out->text, "%s",
             tui_app_rank_name(data, get_file(data, row)->slowest_index, rank, sizeof rank));
}

static const struct tui_column columns[] = {
    {TUI_METRIC(FILE_NAME), 16, TUI_ASCENDING | TUI_STRETCH, show_name},
    {TUI_METRIC(FILE_RANKS), 5, 0, NULL},
    {TUI_METRIC(FILE_TIME), 6, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(FILE_READ), 7, 0, NULL},
    {TUI_METRIC(FILE_READ_RATE), 9, 0, NULL},
    {TUI_METRIC(FILE_WRITTEN), 7, 0, NULL},
    {TUI_METRIC(FILE_WRITE_RATE), 9, 0, NULL},
    {TUI_METRIC(FILE_SLOWEST), 5, TUI_ASCENDING, show_rank},
    {TUI_METRIC(FILE_SLOWEST_TIME), 6, 0, NULL},
    {TUI_METRIC(FILE_OPENS), 6, 0, NULL},
    {TUI_METRIC(FILE_READS), 6, 0, NULL},
    {TUI_METRIC(FILE_READ_TIME), 7, 0, NULL},
    {TUI_METRIC(FILE_WRITES), 6, 0, NULL},
    {TUI_METRIC(FILE_WRITE_TIME), 7, 0, NULL},
};
static const struct tui_table_spec spec = {.columns = columns,
                                           .column_count = sizeof columns / sizeof *columns,
                                           .rows = count_files,
                                           .value = fill_file_cell,
                                           .identity = identify_file};

/* Draws how many accesses had which size. */
static void draw_sizes(struct tui_grid *grid, struct tui_rect line, const char *what, const struct ana_file_way *way)
{
    char size[ANA_TEXT], count[ANA_TEXT];
    int x = tui_put(grid, line, 1, 0, TUI_STYLE_LABEL, what), n = (int)(sizeof way->size / sizeof *way->size);
    for (int i = 0; i < n && x < line.w - 16; i++)
        if (way->size[i])
            x = tui_putf(grid, line, x + 2, 0, TUI_STYLE_NORMAL, "%s x%s", ana_size_class(size, sizeof size, i),
                         ana_number(count, sizeof count, ANA_COUNT, (double)way->size[i], true));
}

static void draw_files(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { BELOW = 3 };
    struct tui_rect line = {rect.x, rect.y + rect.h - BELOW, rect.w, 1};
    tui_table_draw(&app->table[TUI_VIEW_FILES], &spec, app, grid,
                   (struct tui_rect){rect.x, rect.y, rect.w, rect.h - BELOW});
    size_t row = tui_table_row(&app->table[TUI_VIEW_FILES]);
    if (row >= count_files(app))
        return;
    const struct ana_file_stat *file = get_file(app, row);
    tui_put(grid, line, 1, 0, TUI_STYLE_STRONG, file->name ? file->name : "several files, or not known which");
    line.y++;
    draw_sizes(grid, line, "reads: ", &file->read);
    line.y++;
    draw_sizes(grid, line, "writes:", &file->write);
}

/* Enter: the timeline of the rank that spent most. */
static int act_on_file(struct tui_app *app, enum tui_action action)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_FILES]);
    if (action != TUI_ACTION_DEEPER || row >= count_files(app))
        return TUI_UNHANDLED;
    tui_app_choose_rank(app, get_file(app, row)->slowest_index);
    tui_app_open(app, TUI_VIEW_TIMELINE);
    return TUI_REDRAW;
}

static const struct tui_term_help terms[] = {
    {"reads:, writes:", "accesses of the file under the cursor by size class: 64 B holds 64 to 127 bytes"},
    {NULL, NULL}};

const struct tui_view tui_view_files = {
    .title = "Files",
    .about =
        "What did ranks do with files by MPI-IO: how much, how fast, in pieces of which size, and who took longest?  "
        "Enter: the timeline of that rank.",
    .table = &spec,
    .terms = terms,
    .draw = draw_files,
    .act = act_on_file,
};
