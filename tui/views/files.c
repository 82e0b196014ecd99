/* Files: what ranks did with each by MPI-IO. */
#include "tui/app/view.h"
#include "tui/views/sentences_impl.h"
#include "trace/util/text.h"

/* Shows the name without its folders, which the line below the table shows. */
static void show_name(const void *data, const void *row, struct tui_value *out)
{
    const char *name = trc_base_name(((const struct ana_file_stat *)row)->name);
    (void)data;
    snprintf(out->text, sizeof out->text, "%s", name ? name : SAY_SEVERAL_OR_NOT);
}

static void show_rank(const void *data, const void *row, struct tui_value *out)
{
    tui_app_rank_name(data, ((const struct ana_file_stat *)row)->slowest_index, out->text, sizeof out->text);
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
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), TUI_ROWS(summary.files, summary.file_count),
                                           .name = offsetof(struct ana_file_stat, name)};

/* Draws how many accesses had which size. */
static void draw_sizes(struct tui_grid *grid, struct tui_rect line, const char *what, const struct ana_file_way *way)
{
    int x = tui_put(grid, line, 1, 0, TUI_STYLE_LABEL, what), n = (int)(sizeof way->size / sizeof *way->size);
    for (int i = 0; i < n && x < line.w - 16; i++)
        if (way->size[i])
            x = tui_putf(grid, line, x + 2, 0, TUI_STYLE_NORMAL, "%s x%s", ANA_SIZE_CLASS(i),
                         ANA_NUMBER(ANA_COUNT, (double)way->size[i], true));
}

static void draw_files(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { BELOW = 3 };
    struct tui_rect line = {rect.x, rect.y + rect.h - BELOW, rect.w, 1};
    tui_table_draw(&app->table[TUI_VIEW_FILES], grid, (struct tui_rect){rect.x, rect.y, rect.w, rect.h - BELOW});
    const struct ana_file_stat *file = tui_table_chosen(&app->table[TUI_VIEW_FILES]);
    if (!file)
        return;
    tui_put(grid, line, 1, 0, TUI_STYLE_STRONG, file->name ? file->name : SAY_SEVERAL_FILES_OR);
    line.y++;
    draw_sizes(grid, line, "reads: ", &file->read);
    line.y++;
    draw_sizes(grid, line, "writes:", &file->write);
}

/* Enter: the timeline of the rank that spent most. */
static int act_on_file(struct tui_app *app, enum tui_action action)
{
    const struct ana_file_stat *file = tui_table_chosen(&app->table[TUI_VIEW_FILES]);
    if (action != TUI_ACTION_DEEPER || !file)
        return TUI_UNHANDLED;
    tui_app_choose_rank(app, file->slowest_index);
    return tui_app_open(app, TUI_VIEW_TIMELINE);
}

const struct tui_view tui_view_files = {
    .table = &spec,
    .draw = draw_files,
    .act = act_on_file,
};
