#include "tui/app/chooser.h"
#include "tui/app/sentences_impl.h"
#include "tui/app/settings.h"
#include "tui/app/view.h"
#include "tui/widgets/columns.h"

#include <string.h>

/* Columns to choose from, the wanted ones first, and their number. */
struct list {
    const struct tui_table_spec *spec;
    const struct tui_table *table;
    int column[TUI_TABLE_COLUMNS], count, wanted;
};

static struct list list_columns(const struct tui_app *app)
{
    struct list list = {.spec = tui_app_view(app)->table, .table = &app->table[app->view]};
    list.wanted = tui_columns_wanted(list.table, list.column);
    list.count = tui_columns_all(list.table, list.column);
    return list;
}

void tui_chooser_open(struct tui_app *app)
{
    app->choosing = true;
    app->chosen_line = 0;
}

/* Wants a column or not; it moves to the end of the wanted columns, or behind them. */
static void toggle(struct tui_app *app, struct list *list)
{
    struct tui_table *table = &app->table[app->view];
    int at = app->chosen_line, column = list->column[at];
    if (column == 0)
        return;
    if (at < list->wanted) {
        memmove(&list->column[at], &list->column[at + 1], (size_t)(list->wanted - at - 1) * sizeof *list->column);
        list->wanted--;
    } else {
        list->column[list->wanted++] = column;
    }
    tui_columns_choose(table, list->column, list->wanted);
    if (table->sort >= 0 && !tui_columns_has(table, table->sort))
        table->sort = 0, table->inverted = false;
}

/* Moves a column by one place among the wanted columns, behind the first; the cursor goes with it. */
static void move_column(struct tui_app *app, struct list *list, int by)
{
    int at = app->chosen_line, to = at + by;
    if (at < 1 || to < 1 || at >= list->wanted || to >= list->wanted)
        return;
    int other = list->column[to];
    list->column[to] = list->column[at];
    list->column[at] = other;
    app->chosen_line = to;
    tui_columns_choose(&app->table[app->view], list->column, list->wanted);
}

int tui_chooser_key(struct tui_app *app, int key)
{
    struct list list = list_columns(app);
    struct tui_table *table = &app->table[app->view];
    int to = app->chosen_line;
    if (key == TUI_KEY_ESCAPE || key == 'q' || key == 'c' || key == TUI_KEY_BACKSPACE)
        app->choosing = false;
    else if (key == TUI_KEY_UP || key == 'k')
        to--;
    else if (key == TUI_KEY_DOWN || key == 'j')
        to++;
    else if (key == TUI_KEY_HOME)
        to = 0;
    else if (key == TUI_KEY_END)
        to = list.count - 1;
    else if (key == TUI_KEY_SPACE || key == TUI_KEY_ENTER)
        toggle(app, &list);
    else if (key == '[' || key == '-' || key == TUI_KEY_F1 + 6)
        move_column(app, &list, -1);
    else if (key == ']' || key == '+' || key == TUI_KEY_F1 + 7)
        move_column(app, &list, 1);
    else if (key == 'a')
        tui_columns_choose(table, NULL, 0);
    else if (key == 's' && to < list.wanted) {
        table->inverted = table->sort == list.column[to] && !table->inverted;
        table->sort = list.column[to];
    } else if (key == 'w')
        tui_settings_save(app, app->message, sizeof app->message);
    if (key == TUI_KEY_UP || key == TUI_KEY_DOWN || key == 'j' || key == 'k' || key == TUI_KEY_HOME ||
        key == TUI_KEY_END)
        app->chosen_line = to < 0 ? 0 : to >= list.count ? list.count - 1 : to;
    tui_app_update_table(app);
    return TUI_REDRAW;
}

void tui_chooser_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct list list = list_columns(app);
    enum { FRAME = 3, TITLE = 20, WIDEST = 110 };
    int w = rect.w < WIDEST ? rect.w : WIDEST, h = list.count + FRAME < rect.h ? list.count + FRAME : rect.h;
    struct tui_rect box = {rect.x + (rect.w - w) / 2, rect.y, w, h};
    int lines = h - FRAME, top = app->chosen_line >= lines ? app->chosen_line - lines + 1 : 0;
    tui_fill(grid, box, TUI_STYLE_NORMAL, ' ');
    tui_fill(grid, (struct tui_rect){box.x, box.y, box.w, 1}, TUI_STYLE_HEADER, ' ');
    tui_putf(grid, box, 1, 0, TUI_STYLE_HEADER, "Columns of %s", tui_view_words[app->view].title);
    for (int i = 0; i < lines && top + i < list.count; i++) {
        int at = top + i, y = i + 1;
        const struct tui_column *column = &list.spec->columns[list.column[at]];
        bool here = at == app->chosen_line, sorted = list.column[at] == list.table->sort;
        tui_putf(grid, box, 1, y, at < list.wanted ? TUI_STYLE_STRONG : TUI_STYLE_DIM, "[%c] %s %s",
                 at < list.wanted ? 'x' : ' ', column->metric->title,
                 !sorted                ? ""
                 : list.table->inverted ? "\xe2\x96\xb2"
                                        : "\xe2\x96\xbc");
        struct tui_rect text = {box.x + TITLE, box.y + y, box.w - TITLE - 1, 1};
        tui_put(grid, text, 0, 0, TUI_STYLE_NORMAL, column->metric->help);
        if (here)
            tui_fill(grid, (struct tui_rect){box.x, box.y + y, box.w, 1}, TUI_STYLE_CURSOR, 0);
    }
    tui_put(grid, box, 1, h - 1, TUI_STYLE_DIM, SAY_SPACE_ON_OFF);
}
