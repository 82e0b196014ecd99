#include "tui/widgets/columns.h"
#include "tui/widgets/layout.h"
#include "trace/util/grow.h"
#include "trace/util/hash.h"
#include "trace/util/cxx_name.h"
#include "trace/util/sort.h"

#include <string.h>
#include <strings.h>

void tui_table_free(struct tui_table *table)
{
    free(table->order);
    *table = (struct tui_table){0};
}

static bool is_text(const struct tui_column *column)
{
    return column->metric->unit == ANA_UNIT_TEXT;
}

static bool is_ascending(const struct tui_column *column)
{
    return column->flags & TUI_ASCENDING;
}

void tui_metric(const struct ana_metric *metric, const void *row, const struct ana_whole *whole, struct tui_value *out)
{
    struct ana_value value = ana_metric_value(metric, row, whole);
    if (value.type == ANA_WORDS)
        snprintf(out->text, sizeof out->text, "%s", value.text);
    else
        out->number = ana_value_number(value);
    if (value.at_least)
        ana_value_text(out->text, sizeof out->text, (enum ana_unit)metric->unit, value, true);
}

static const void *in_data(const struct tui_table *table, size_t offset)
{
    return (const char *)table->data + offset;
}

static size_t count_rows(const struct tui_table *table)
{
    return table->spec->rows ? table->spec->rows(table->data) : *(const size_t *)in_data(table, table->spec->count);
}

const void *tui_table_at(const struct tui_table *table, size_t i)
{
    if (table->spec->row)
        return table->spec->row(table->data, i);
    return *(const char *const *)in_data(table, table->spec->array) + i * table->spec->size;
}

size_t tui_table_row(const struct tui_table *table)
{
    return table->cursor < table->count ? table->order[table->cursor] : SIZE_MAX;
}

const void *tui_table_chosen(const struct tui_table *table)
{
    size_t row = tui_table_row(table);
    return row != SIZE_MAX && row < count_rows(table) ? tui_table_at(table, row) : NULL;
}

void tui_table_text(const struct tui_table *table, size_t row, int column, struct tui_value *out)
{
    const struct tui_table_spec *spec = table->spec;
    const struct tui_column *of = &spec->columns[column];
    const void *at = tui_table_at(table, row);
    *out = (struct tui_value){.number = NAN, .style = TUI_STYLE_NORMAL};
    if (spec->value)
        spec->value(table->data, at, of, out);
    else if (of->metric->value) /* else `show` alone knows */
        tui_metric(of->metric, at, in_data(table, spec->whole), out);
    if (of->show)
        of->show(table->data, at, out);
    if (!out->text[0])
        ana_number(out->text, sizeof out->text, is_text(of) ? ANA_COUNT : (enum ana_unit)of->metric->unit, out->number,
                   true);
}

struct sort_key {
    double number;
    char text[48];
    uint32_t row;
    int level;
    bool is_text, descending, pinned;
    const struct sort_key *parent;
};

/* Unknown values come last in both orders; equal values keep the order of the rows. */
static int compare_siblings(const struct sort_key *a, const struct sort_key *b)
{
    int order = 0;
    if (a->pinned != b->pinned)
        return a->pinned ? -1 : 1;
    if (a->is_text && isnan(a->number) && isnan(b->number)) {
        order = strcasecmp(a->text, b->text);
    } else if (isnan(a->number) || isnan(b->number)) {
        if (isnan(a->number) != isnan(b->number))
            return isnan(a->number) ? 1 : -1;
    } else {
        order = (a->number > b->number) - (a->number < b->number);
    }
    if (order)
        return a->descending ? -order : order;
    return (a->row > b->row) - (a->row < b->row);
}

/* Rows below each other follow the one above them, which stands where its own value says. */
static int compare_keys(const void *pa, const void *pb)
{
    const struct sort_key *a = *(const struct sort_key *const *)pa, *b = *(const struct sort_key *const *)pb;
    int deeper = a->level - b->level;
    while (a->level > b->level)
        a = a->parent;
    while (b->level > a->level)
        b = b->parent;
    if (a == b)
        return deeper;
    while (a->parent != b->parent) {
        a = a->parent;
        b = b->parent;
    }
    return compare_siblings(a, b);
}

/* The key of a row among the first n, which are by row, ascending; NULL: it has none. */
static const struct sort_key *find_key(const struct sort_key *keys, size_t n, size_t row)
{
    size_t at = ANA_FIRST(i, n, keys[i].row < row);
    return at < n && keys[at].row == row ? &keys[at] : NULL;
}

static void make_key(const struct tui_table *table, uint32_t row, struct sort_key *out)
{
    const struct tui_table_spec *spec = table->spec;
    bool pinned = spec->pinned && spec->pinned(table->data, tui_table_at(table, row));
    *out = (struct sort_key){.number = NAN, .row = row, .pinned = pinned};
    if (table->sort < 0)
        return;
    struct tui_value value;
    const struct tui_column *column = &spec->columns[table->sort];
    tui_table_text(table, row, table->sort, &value);
    out->number = value.number;
    out->is_text = is_text(column);
    out->descending = is_ascending(column) == table->inverted;
    snprintf(out->text, sizeof out->text, "%.47s", value.text);
}

static void sort_rows(struct tui_table *table)
{
    const struct tui_table_spec *spec = table->spec;
    if ((table->sort < 0 && !spec->pinned) || table->count < 2)
        return;
    struct sort_key *keys = malloc(table->count * sizeof *keys);
    const struct sort_key **order = malloc(table->count * sizeof *order);
    for (size_t i = 0; keys && order && i < table->count; i++) {
        make_key(table, table->order[i], &keys[i]);
        size_t above = spec->parent ? spec->parent(table->data, tui_table_at(table, table->order[i])) : SIZE_MAX;
        keys[i].parent = above == SIZE_MAX ? NULL : find_key(keys, i, above);
        keys[i].level = keys[i].parent ? keys[i].parent->level + 1 : 0;
        order[i] = &keys[i];
    }
    if (keys && order) { /* else unsorted, which is better than nothing */
        ana_sort(order, table->count, sizeof *order, compare_keys);
        for (size_t i = 0; i < table->count; i++)
            table->order[i] = order[i]->row;
    }
    free(keys);
    free(order);
}

/* Whether a text or the first column contains a word, as far as shown.  Numbers change: rows would come and go. */
static bool contains(const struct tui_table *table, size_t row, const char *word)
{
    struct tui_placed placed[TUI_TABLE_COLUMNS];
    bool more;
    int shown = tui_columns_place(table, table->drawn.w > 0 ? table->drawn.w : INT16_MAX, placed, &more);
    struct tui_value value;
    for (int i = 0; i < shown; i++) {
        int c = placed[i].column;
        if (c > 0 && !is_text(&table->spec->columns[c]))
            continue;
        tui_table_text(table, row, c, &value);
        if (strcasestr(value.text, word))
            return true;
    }
    return false;
}

/* Returns the identity of the row at a position. */
static uint64_t identify(const struct tui_table *table, size_t position)
{
    const void *row = tui_table_at(table, table->order[position]);
    if (table->spec->identity)
        return table->spec->identity(table->data, row);
    return ana_hash_text(*(const char *const *)((const char *)row + table->spec->name)) | 1; /* also without a name */
}

static void remember_cursor(struct tui_table *table)
{
    table->has_cursor = table->cursor < table->count;
    if (table->has_cursor)
        table->cursor_identity = identify(table, table->cursor);
}

bool tui_table_goto(struct tui_table *table, uint64_t identity)
{
    for (size_t i = 0; i < table->count; i++)
        if (identify(table, i) == identity) {
            table->cursor = i;
            remember_cursor(table);
            return true;
        }
    return false;
}

void tui_table_update(struct tui_table *table)
{
    const struct tui_table_spec *spec = table->spec;
    if (!table->started) {
        table->sort = spec->column_count - 1;
        while (table->sort >= 0 && !(spec->columns[table->sort].flags & TUI_FIRST_SORT))
            table->sort--;
        table->started = true;
    }
    const size_t rows = count_rows(table);
    table->room = ana_lengthen(&table->order, table->room, rows, sizeof *table->order);
    table->count = 0;
    for (size_t row = 0; row < rows && row < table->room; row++)
        if (!table->filter[0] || contains(table, row, table->filter))
            table->order[table->count++] = (uint32_t)row;
    sort_rows(table);
    if (!table->has_cursor) { /* nobody has moved the cursor: it stays on the first row */
        table->cursor = table->top = 0;
    } else if (!tui_table_goto(table, table->cursor_identity)) {
        if (table->cursor >= table->count)
            table->cursor = table->count ? table->count - 1 : 0;
        remember_cursor(table);
    }
}

void tui_table_move(struct tui_table *table, long delta)
{
    if (!table->count)
        return;
    table->cursor = tui_step(table->cursor, delta, table->count);
    remember_cursor(table);
}

static void sort_by_column(struct tui_table *table, int column)
{
    table->inverted = column == table->sort && !table->inverted;
    table->sort = column;
    tui_table_update(table);
}

void tui_table_sort(struct tui_table *table, int step)
{
    table->sort = tui_columns_step(table, table->sort, step);
    table->inverted = false;
    tui_columns_reveal(table, table->sort);
    tui_table_update(table);
}

void tui_table_invert(struct tui_table *table)
{
    table->inverted = !table->inverted;
    tui_table_update(table);
}

bool tui_table_find(struct tui_table *table, bool here)
{
    for (size_t i = 0; table->find[0] && i < table->count; i++) {
        size_t at = (table->cursor + i + (here ? 0 : 1)) % table->count;
        if (contains(table, table->order[at], table->find)) {
            table->cursor = at;
            remember_cursor(table);
            return true;
        }
    }
    return false;
}

/* ---- drawing --------------------------------------------------------------------------------------------------- */

/* Measures how wide stretching columns have to be for the `page` rows from the top. */
static void measure_columns(struct tui_table *table, size_t page)
{
    const struct tui_table_spec *spec = table->spec;
    for (int c = 0; c < spec->column_count; c++) {
        table->want[c] = 0;
        for (size_t i = table->top; (spec->columns[c].flags & TUI_STRETCH) && i < table->count && i < table->top + page;
             i++) {
            struct tui_value value;
            tui_table_text(table, table->order[i], c, &value);
            int columns = tui_columns(value.text);
            table->want[c] = columns > table->want[c] ? columns : table->want[c];
        }
    }
}

enum tui_table_click tui_table_click(struct tui_table *table, int x, int y)
{
    x -= table->drawn.x;
    y -= table->drawn.y;
    if (x < 0 || y < 0 || x >= table->drawn.w || y >= table->drawn.h)
        return TUI_CLICK_NOTHING;
    if (y == 0) {
        struct tui_placed placed[TUI_TABLE_COLUMNS];
        bool more;
        int shown = tui_columns_place(table, table->drawn.w, placed, &more);
        for (int i = 0; i < shown; i++)
            if (x >= placed[i].x && x <= placed[i].x + placed[i].width) {
                sort_by_column(table, placed[i].column);
                return TUI_CLICK_TITLE;
            }
        return TUI_CLICK_NOTHING;
    }
    size_t position = table->top + (size_t)(y - 1);
    if (position >= table->count)
        return TUI_CLICK_NOTHING;
    bool same = position == table->cursor;
    table->cursor = position;
    remember_cursor(table);
    return same ? TUI_CLICK_CURSOR : TUI_CLICK_ROW;
}

static void put_column(struct tui_grid *grid, struct tui_rect rect, int x, int y, int width, bool right,
                       enum tui_style style, const char *text)
{
    struct tui_rect cell = {rect.x + x, rect.y + y, width, 1};
    char room[512];
    text = trc_cxx_fit(text, width > 0 ? (size_t)width : SIZE_MAX, room, sizeof room);
    int used = tui_columns(text), head = ana_cut_head(text, width);
    tui_put(grid, cell, right && used < width ? width - used : 0, 0, style, text);
    if (used > width)
        tui_skip(&text, used - (width - 1 - head)); /* cut: its end stands behind the mark */
    if (used > width) {
        tui_put_char(grid, cell, head, 0, style, 0x2026);
        tui_put(grid, cell, head + 1, 0, style, text);
    }
}

/* Draws the titles, and around the first one what says that there are columns out of view. */
static void draw_titles(const struct tui_table *table, struct tui_grid *grid, struct tui_rect rect,
                        const struct tui_placed *placed, int shown, bool more)
{
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    for (int i = 0; i < shown; i++) {
        const struct tui_placed *p = &placed[i];
        const struct tui_column *column = &table->spec->columns[p->column];
        bool sorted = p->column == table->sort, right = !is_text(column);
        char title[48];
        bool down = is_ascending(column) == table->inverted;
        snprintf(title, sizeof title, "%s%s", column->metric->title,
                 sorted && tui_columns(column->metric->title) < p->width ? (down ? "\xe2\x96\xbc" : "\xe2\x96\xb2")
                                                                         : "");
        put_column(grid, rect, p->x, 0, p->width, right, sorted ? TUI_STYLE_SORTED : TUI_STYLE_HEADER, title);
    }
    if (more)
        tui_put(grid, rect, 0, 0, TUI_STYLE_SORTED, ">");
    if (table->skip > 0 && shown > 1)
        tui_put(grid, rect, placed[1].x - 1, 0, TUI_STYLE_SORTED, "<");
}

void tui_table_draw(struct tui_table *table, struct tui_grid *grid, struct tui_rect rect)
{
    table->drawn = rect;
    if (rect.w < 2 || rect.h < 2)
        return;
    size_t page = (size_t)rect.h - 1;
    table->top = tui_scroll(table->cursor, table->top, page, table->count);
    measure_columns(table, page);
    struct tui_placed placed[TUI_TABLE_COLUMNS];
    bool more;
    int shown = tui_columns_place(table, rect.w, placed, &more);
    draw_titles(table, grid, rect, placed, shown, more);
    for (size_t i = 0; i < page && table->top + i < table->count; i++) {
        size_t row = table->order[table->top + i];
        int y = (int)i + 1;
        bool cursor = table->top + i == table->cursor && !table->elsewhere,
             tagged = table->spec->tagged && table->spec->tagged(table->data, tui_table_at(table, row));
        for (const struct tui_placed *p = placed; p < placed + shown; p++) {
            struct tui_value value;
            tui_table_text(table, row, p->column, &value);
            const struct tui_column *column = &table->spec->columns[p->column];
            bool unknown = !is_text(column) && isnan(value.number) && !cursor && !tagged;
            put_column(grid, rect, p->x, y, p->width, !is_text(column),
                       tagged    ? TUI_STYLE_TAGGED
                       : unknown ? TUI_STYLE_DIM
                                 : value.style,
                       value.text);
            for (int k = 0; value.each && k < p->width && value.text[k]; k++)
                tui_fill(grid, (struct tui_rect){rect.x + p->x + k, rect.y + y, 1, 1}, (enum tui_style)value.styles[k],
                         0);
        }
        if (tagged)
            tui_put(grid, rect, 0, y, TUI_STYLE_TAGGED, "+");
        if (cursor) {
            tui_fill(grid, (struct tui_rect){rect.x, rect.y + y, rect.w, 1}, TUI_STYLE_CURSOR, 0);
            if (!tagged)
                tui_put(grid, rect, 0, y, TUI_STYLE_CURSOR, ">");
        }
    }
    if (!table->count)
        tui_put(grid, rect, 1, 1, TUI_STYLE_DIM,
                table->filter[0]     ? "no row contains the filter"
                : table->awaited     ? "not read yet"
                : table->spec->empty ? table->spec->empty
                                     : "nothing to show");
}
