/* Tables: order, cursor, filter, search, clicks, columns that fit. */
#include "tests/support/check.h"
#include "tui/widgets/columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct data {
    size_t count;
    struct row {
        uint64_t id;
        const char *name;
        double number;
    } row[8];
};

static struct data data = {5, {{11, "pear", 3}, {12, "apple", NAN}, {13, "fig", 7}, {14, "plum", 3}, {15, "Date", 1}}};

static size_t rows(const void *d)
{
    return ((const struct data *)d)->count;
}
static const void *row_at(const void *d, size_t row)
{
    return &((const struct data *)d)->row[row];
}
static uint64_t identity(const void *d, const void *row)
{
    (void)d;
    return ((const struct row *)row)->id;
}

static const struct tui_column columns[] = {
    {TUI_OWN("NAME", ANA_UNIT_TEXT, "name"), 6, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_OWN("N", ANA_COUNT, "number"), 5, TUI_FIRST_SORT, NULL},
    {TUI_OWN("AGAIN", ANA_NS, "number"), 6, TUI_ASCENDING, NULL}};

static void value(const void *d, const void *row, const struct tui_column *column, struct tui_value *out)
{
    const struct row *r = row;
    (void)d;
    if (column == columns)
        snprintf(out->text, sizeof out->text, "%s", r->name);
    else
        out->number = r->number;
}

static const struct tui_table_spec spec = {TUI_COLUMNS(columns), .rows = rows, .row = row_at, .value = value,
                                           .identity = identity};
static struct tui_table table = {.spec = &spec, .data = &data};

static void order(const char *want, const char *what)
{
    char got[64] = "";
    for (size_t i = 0; i < table.count; i++)
        sprintf(got + strlen(got), "%s%c", i ? " " : "", data.row[table.order[i]].name[0]);
    CHECK(strcmp(got, want) == 0, "%s: %s instead of %s", what, got, want);
}

static void sorting(void)
{
    tui_table_update(&table);
    order("f p p D a", "largest first, equal ones as they come, unknown last");
    tui_table_invert(&table);
    order("D p p f a", "the other way round, unknown still last");
    tui_table_sort(&table, -1);
    order("a D f p p", "text, without regard to case");
    tui_table_sort(&table, -1);
    CHECK(table.sort == 2 && !table.inverted, "before the first is the last");
    order("D p p f a", "a column whose natural order is small first");
}

/* Rows of a running job change places: until someone moves the cursor it shows the first row. */
static void untouched(void)
{
    struct data live = data;
    struct tui_table fresh = {.spec = &spec, .data = &live};
    tui_table_update(&fresh);
    CHECK(fresh.cursor == 0 && tui_table_row(&fresh) == 2, "at first: the first row");
    live.row[4].number = 9;
    fresh.top = 1;
    tui_table_update(&fresh);
    CHECK(fresh.cursor == 0 && fresh.top == 0 && tui_table_row(&fresh) == 4, "the first row, though it is another now");
    tui_table_move(&fresh, 0);
    live.row[4].number = 1;
    tui_table_update(&fresh);
    CHECK(tui_table_row(&fresh) == 4 && fresh.cursor == 3, "a key puts it on its row");
    tui_table_free(&fresh);
}

static void cursor(void)
{
    CHECK(tui_table_goto(&table, 13), "go to a row");
    CHECK(tui_table_row(&table) == 2, "the row under the cursor");
    tui_table_sort(&table, -1);
    CHECK(tui_table_row(&table) == 2 && table.cursor == 0, "sorting keeps the cursor on its row");
    data.row[4].number = 9;
    tui_table_update(&table);
    order("D f p p a", "new numbers");
    CHECK(tui_table_row(&table) == 2 && table.cursor == 1, "so do new numbers");
    tui_table_move(&table, 100);
    CHECK(table.cursor == 4, "not beyond the last");
    tui_table_move(&table, -1);
    CHECK(table.cursor == 3, "up");
    tui_table_move(&table, -100);
    CHECK(table.cursor == 0, "not beyond the first");
    CHECK(!tui_table_goto(&table, 99) && table.cursor == 0, "what is not there is not gone to");
}

static void words(void)
{
    strcpy(table.filter, "P");
    tui_table_update(&table);
    order("p p a", "filter, without regard to case");
    strcpy(table.find, "plum");
    CHECK(tui_table_find(&table, true) && tui_table_row(&table) == 3, "find");
    CHECK(tui_table_find(&table, false) && tui_table_row(&table) == 3, "the only one is the next, too");
    strcpy(table.find, "fig");
    CHECK(!tui_table_find(&table, true) && tui_table_row(&table) == 3, "not among the filtered");
    strcpy(table.filter, "7");
    tui_table_update(&table);
    CHECK(table.count == 0, "numbers, which change, are not words");
    strcpy(table.filter, "nothing like it");
    tui_table_update(&table);
    CHECK(table.count == 0 && tui_table_row(&table) == SIZE_MAX, "no rows, no row under the cursor");
    tui_table_move(&table, 1);
    table.filter[0] = 0;
    tui_table_update(&table);
    CHECK(table.count == 5, "without the filter all are back");
    data.count = 2;
    tui_table_update(&table);
    CHECK(table.cursor < 2 && tui_table_row(&table) != SIZE_MAX, "rows that went away take the cursor along");
    data.count = 5;
    tui_table_update(&table);
}

static const char *titles(int width)
{
    static char line[64];
    struct tui_grid grid = {0};
    tui_grid_resize(&grid, width, 3);
    tui_table_draw(&table, &grid, (struct tui_rect){0, 0, width, 3});
    for (int x = 0; x < width; x++)
        line[x] = tui_grid_at(&grid, x, 0)->ch < 128 ? (char)tui_grid_at(&grid, x, 0)->ch : '^';
    line[width] = 0;
    tui_grid_free(&grid);
    return line;
}

/* Columns that do not fit are scrolled to; unwanted ones are not there. */
static void choosing(void)
{
    enum { WIDTH = 14 }; /* NAME and one more */
    table.sort = -1;
    CHECK(strcmp(titles(WIDTH), ">NAME       N ") == 0, "|%s|", titles(WIDTH));
    CHECK(tui_columns_scroll(&table, 1) && strcmp(titles(WIDTH), " NAME  < AGAIN") == 0, "|%s|", titles(WIDTH));
    CHECK(!tui_columns_scroll(&table, 1), "nothing is further right");
    CHECK(tui_columns_scroll(&table, -5) && !tui_columns_scroll(&table, -1), "and back");
    for (int i = 0; i < 7; i++) {
        tui_table_sort(&table, i < 4 ? 1 : -1);
        const char *shown = titles(WIDTH), *name = spec.columns[table.sort].metric->title;
        CHECK(strstr(shown, name), "what is sorted by is in view: %s in %s", name, shown);
    }
    int wanted[] = {2, 0};
    tui_columns_choose(&table, wanted, 2);
    table.sort = -1;
    CHECK(strcmp(titles(30), " NAME    AGAIN                ") == 0, "the first one stays first: |%s|", titles(30));
    for (int i = 0; i < 4; i++) {
        tui_table_sort(&table, 1);
        CHECK(table.sort != 1, "what is not there is not sorted by");
    }
    int all[TUI_TABLE_COLUMNS];
    CHECK(tui_columns_all(&table, all) == 3 && all[2] == 1, "but can be chosen again");
    CHECK(tui_columns_has(&table, 2) && !tui_columns_has(&table, 1), "which are there");
    tui_columns_choose(&table, wanted, 0);
    CHECK(tui_columns_has(&table, 1), "none chosen: all of them");
    table.sort = 1;
    table.inverted = false;
    tui_table_update(&table);
}

static void drawing(void)
{
    struct tui_grid grid = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    tui_grid_resize(&grid, 24, 4);
    tui_table_goto(&table, 12); /* the last */
    tui_table_draw(&table, &grid, (struct tui_rect){0, 0, 24, 4});
    tui_grid_write(&grid, out, false);
    tui_grid_clear(&grid);
    tui_table_draw(&table, &grid, (struct tui_rect){2, 0, 13, 4});
    tui_grid_write(&grid, out, false);
    fclose(out);
    const char *want = " NAME      N▼  AGAIN\n pear       3    3ns\n plum       3    3ns\n>apple      –      –\n"
                       "  >NAME      N▼\n   pear       3\n   plum       3\n  >apple      –\n";
    CHECK(strcmp(text, want) == 0, "drawn, scrolled to the cursor; columns that do not fit are left out:\n%s", text);
    CHECK(tui_table_click(&table, 3, 1) == TUI_CLICK_ROW && tui_table_row(&table) == 0, "a click on a row");
    CHECK(tui_table_click(&table, 3, 1) == TUI_CLICK_CURSOR, "a second click");
    CHECK(tui_table_click(&table, 4, 0) == TUI_CLICK_TITLE && table.sort == 0, "a click on a title");
    CHECK(tui_table_click(&table, 4, 0) == TUI_CLICK_TITLE && table.inverted, "twice: the other way");
    CHECK(tui_table_click(&table, 1, 1) == TUI_CLICK_NOTHING, "a click beside it");
    for (int w = 0; w < 30; w++)
        for (int h = 0; h < 6; h++)
            tui_table_draw(&table, &grid, (struct tui_rect){0, 0, w, h});
    tui_grid_free(&grid);
    free(text);
}

int main(void)
{
    sorting();
    untouched();
    cursor();
    words();
    choosing();
    drawing();
    tui_table_free(&table);
    return check_result();
}
