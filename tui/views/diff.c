/* Diff: what got slower or faster since another run; hpctop diff opens it. */
#include "tui/app/view.h"
#include "tui/views/sentences_impl.h"

static size_t count_findings(const void *data)
{
    const struct tui_app *app = data;
    return app->diff ? app->diff->findings : 0;
}

static const void *get_finding(const void *data, size_t row)
{
    return &((const struct tui_app *)data)->diff->finding[row];
}

/* Shows less of what follows from another finding, or from the machine. */
static void show_faint(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_diff_finding *f = row;
    (void)data;
    out->style = f->follows || f->machine ? TUI_STYLE_DIM : TUI_STYLE_NORMAL;
}

static void show_words(const void *data, const void *row, struct tui_value *out)
{
    show_faint(data, row, out);
    ana_diff_words(row, out->text, sizeof out->text);
}

static void show_ranks(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_diff_finding *f = row;
    show_faint(data, row, out);
    ana_diff_ranks(f, out->text, sizeof out->text);
    out->number = f->ranks ? f->rank[0].rank : -1;
}

static void show_change(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_diff_finding *f = row;
    show_faint(data, row, out);
    ana_diff_change(f, out->text, sizeof out->text);
    out->number = f->after_ns - f->before_ns;
    if (out->style == TUI_STYLE_NORMAL && out->number > 0)
        out->style = TUI_STYLE_NOTABLE;
}

static void show_sure(const void *data, const void *row, struct tui_value *out)
{
    show_faint(data, row, out);
    ana_diff_sure(((const struct ana_diff_finding *)row)->confidence, out->text, sizeof out->text);
}

static uint64_t identify_finding(const void *data, const void *row) /* a diff does not change */
{
    return (uint64_t)((const struct ana_diff_finding *)row - ((const struct tui_app *)data)->diff->finding) + 1;
}

static const struct tui_column columns[] = {
    {TUI_OWN("WHERE", ANA_UNIT_TEXT, "between two calls, or in the calls of one place; as the run after has them"), 34,
     TUI_ASCENDING | TUI_STRETCH, show_words},
    {TUI_OWN("RANKS", ANA_UNIT_TEXT, "ranks that changed alike"), 8, TUI_ASCENDING, show_ranks},
    {TUI_METRIC(CHANGE_BEFORE), 7, 0, show_faint},
    {TUI_METRIC(CHANGE_AFTER), 7, 0, show_faint},
    {TUI_OWN("CHANGE", ANA_NS, "after compared with before; sorted by the time itself"), 8, 0, show_change},
    {TUI_METRIC(CHANGE_CONFIDENCE), 8, 0, show_sure},
};
static const struct tui_table_spec spec = {TUI_COLUMNS(columns), .rows = count_findings, .row = get_finding,
                                           .whole = offsetof(struct tui_app, whole), .identity = identify_finding};

static void draw_diff(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    char words[600];
    struct tui_rect last = {rect.x, rect.y + rect.h - 1, rect.w, 1};
    const struct ana_diff *d = app->diff;
    if (!d) {
        tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, SAY_DIFF_NEEDS_TWO);
        return;
    }
    ana_diff_answer(d, words, sizeof words);
    tui_put(grid, rect, 1, 0, d->answer == ANA_DIFF_SLOWER ? TUI_STYLE_NOTABLE : TUI_STYLE_NORMAL, words);
    ana_diff_account(d, words, sizeof words);
    tui_put(grid, rect, 1, 1, TUI_STYLE_NORMAL, words);
    tui_putf(grid, rect, 1, 2, TUI_STYLE_DIM, SAY_RUNS_COMPARED, d->run[0].name, d->run[0].ranks,
             (size_t)d->run[0].iterations, d->run[1].name, d->run[1].ranks, (size_t)d->run[1].iterations);
    tui_table_draw(&app->table[TUI_VIEW_DIFF], grid, (struct tui_rect){rect.x, rect.y + 4, rect.w, rect.h - 5});
    const struct ana_diff_finding *f = tui_table_chosen(&app->table[TUI_VIEW_DIFF]);
    if (!f) {
        tui_putf(grid, last, 1, 0, TUI_STYLE_DIM, SAY_NONE_OF_DIFFERENCES, d->compared);
        return;
    }
    ana_diff_words(f, words, sizeof words);
    tui_putf(grid, last, 1, 0, TUI_STYLE_NORMAL, "%s%s%s (Enter)", words, f->follows ? SAY_FOLLOWS_FROM_WHAT : "",
             f->machine && !f->follows ? SAY_PERHAPS_THE_MACHINE : "");
}

/* Shows the place of a finding in the list of segments, or of places that call. */
static int act_on_finding(struct tui_app *app, enum tui_action action)
{
    const struct ana_diff_finding *f = tui_table_chosen(&app->table[TUI_VIEW_DIFF]);
    if (action != TUI_ACTION_DEEPER || !f || f->side == ANA_DIFF_ONLY_BEFORE)
        return TUI_UNHANDLED;
    enum tui_view_id view = f->kind == ANA_PORTION_SEGMENT ? TUI_VIEW_SEGMENTS : TUI_VIEW_CALLS;
    struct tui_table *table = &app->table[view];
    tui_app_open(app, view);
    if (f->kind == ANA_PORTION_SEGMENT)
        ana_diff_words(f, table->find, sizeof table->find);
    else
        snprintf(table->find, sizeof table->find, "%.60s", f->to.place);
    tui_table_update(table);
    tui_table_find(table, true);
    return TUI_REDRAW;
}

const struct tui_view tui_view_diff = {
    .table = &spec,
    .draw = draw_diff,
    .act = act_on_finding,
};
