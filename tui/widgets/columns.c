#include "tui/widgets/columns.h"

int tui_columns_wanted(const struct tui_table *table, int list[TUI_TABLE_COLUMNS])
{
    int n = 0;
    for (int i = 0; i < table->wanted_count; i++)
        list[n++] = table->wanted[i];
    for (int c = 0; !table->wanted_count && c < table->spec->column_count; c++)
        if (!table->spec->hidden || !table->spec->hidden(table->data, c))
            list[n++] = c;
    return n;
}

void tui_columns_choose(struct tui_table *table, const int *list, int count)
{
    table->wanted_count = 0;
    table->skip = 0;
    for (int i = -1; count && i < count; i++)
        if (i < 0 || list[i])
            table->wanted[table->wanted_count++] = (uint8_t)(i < 0 ? 0 : list[i]);
}

bool tui_columns_has(const struct tui_table *table, int column)
{
    int list[TUI_TABLE_COLUMNS], n = tui_columns_wanted(table, list);
    for (int i = 0; i < n; i++)
        if (list[i] == column)
            return true;
    return false;
}

int tui_columns_all(const struct tui_table *table, int list[TUI_TABLE_COLUMNS])
{
    int n = tui_columns_wanted(table, list);
    for (int c = 0; c < table->spec->column_count; c++)
        if (!tui_columns_has(table, c))
            list[n++] = c;
    return n;
}

int tui_columns_place(const struct tui_table *table, int width, struct tui_placed out[TUI_TABLE_COLUMNS], bool *more)
{
    int list[TUI_TABLE_COLUMNS], n = tui_columns_wanted(table, list), x = 1, shown = 0;
    *more = false;
    for (int i = 0; i < n && !*more; i++) {
        if (i > 0 && i <= table->skip)
            continue;
        int want = table->spec->columns[list[i]].width;
        *more = x + want > width && shown;
        if (*more)
            break;
        out[shown] = (struct tui_placed){list[i], x, want < width - x ? want : width - x};
        x += out[shown++].width + 1;
    }
    int spare = width - x, moved = 0;
    for (int i = 0; i < shown; i++) {
        struct tui_placed *p = &out[i];
        int grow = table->spec->columns[p->column].flags & TUI_STRETCH ? table->want[p->column] - p->width : 0;
        grow = grow < 0 || spare < 0 ? 0 : grow > spare ? spare : grow;
        p->x += moved;
        p->width += grow;
        spare -= grow;
        moved += grow;
    }
    return shown;
}

bool tui_columns_scroll(struct tui_table *table, int by)
{
    struct tui_placed placed[TUI_TABLE_COLUMNS];
    int before = table->skip;
    bool more = false;
    for (; by < 0 && table->skip > 0; by++)
        table->skip--;
    for (; by > 0 && table->drawn.w > 0; by--) {
        tui_columns_place(table, table->drawn.w, placed, &more);
        if (!more)
            break;
        table->skip++;
    }
    return table->skip != before;
}

void tui_columns_reveal(struct tui_table *table, int column)
{
    int list[TUI_TABLE_COLUMNS], n = tui_columns_wanted(table, list), at = 0;
    while (at < n && list[at] != column)
        at++;
    if (at == 0 || at == n)
        return;
    if (at <= table->skip)
        table->skip = at - 1;
    for (bool there = false; !there && table->drawn.w > 0;) {
        struct tui_placed placed[TUI_TABLE_COLUMNS];
        bool more;
        for (int i = tui_columns_place(table, table->drawn.w, placed, &more); i-- > 0;)
            there |= placed[i].column == column;
        if (!there && !tui_columns_scroll(table, 1))
            return;
    }
}

int tui_columns_step(const struct tui_table *table, int column, int step)
{
    int list[TUI_TABLE_COLUMNS], n = tui_columns_wanted(table, list), at = 0;
    while (at < n && list[at] != column)
        at++;
    if (at == n)
        at = step > 0 ? -1 : n;
    return list[(at + step + n) % n];
}
