/* Cells: text in, text out; cut, clipped, replaced where a terminal could not show it. */
#include "tests/support/check.h"
#include "tui/widgets/grid.h"

#include <stdlib.h>
#include <string.h>

static struct tui_grid grid;
static const struct tui_rect all = {0, 0, 12, 3};

static void expect(const char *what, bool styles, const char *want)
{
    char *got = NULL;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    tui_grid_write(&grid, out, styles);
    fclose(out);
    CHECK(strcmp(got, want) == 0, "%s:\n%s instead of\n%s", what, got, want);
    free(got);
    tui_grid_clear(&grid);
}

static void texts(void)
{
    CHECK(tui_put(&grid, all, 1, 0, TUI_STYLE_NORMAL, "a\xe2\x80\x93z") == 4, "the column after the text");
    tui_put_right(&grid, all, 12, 1, TUI_STYLE_NORMAL, "right");
    expect("put", false, " a\xe2\x80\x93z\n       right\n\n");
    tui_put(&grid, all, 6, 0, TUI_STYLE_NORMAL, "longer than");
    tui_put(&grid, all, 0, 1, TUI_STYLE_NORMAL, "just as wide");
    expect("cut", false, "      longe\xe2\x80\xa6\njust as wide\n\n");
    tui_put(&grid, (struct tui_rect){2, 1, 4, 1}, 0, 0, TUI_STYLE_NORMAL, "inside");
    tui_put(&grid, (struct tui_rect){2, 1, 4, 1}, 0, 1, TUI_STYLE_NORMAL, "below it");
    tui_put(&grid, (struct tui_rect){2, 1, 4, 1}, -2, 0, TUI_STYLE_NORMAL, "");
    expect("clipped to the rectangle", false, "\n  ins\xe2\x80\xa6\n\n");
    tui_put(&grid, (struct tui_rect){10, 2, 9, 9}, 0, 0, TUI_STYLE_NORMAL, "outside");
    expect("clipped to the grid", false, "\n\n          ou\n");
    tui_put(&grid, all, 0, 0, TUI_STYLE_NORMAL,
            "a\xff\xe2\x80z\xf0\x9f\x98\x80"
            "b\t");
    expect("bad bytes, pictures and control characters", false, "a???z?b?\n\n\n");
    tui_put(&grid, all, 0, 0, TUI_STYLE_TROUBLE, "x");
    tui_fill(&grid, (struct tui_rect){1, 1, 2, 2}, TUI_STYLE_CURSOR, 0);
    expect("styles", true, "x\n\n\nr\n CC\n CC\n");
}

#define NI  "\xe4\xbd\xa0" /* two columns */
#define HAO "\xe5\xa5\xbd"

/* Characters of two columns, and marks of none. */
static void widths(void)
{
    CHECK(tui_columns("a" NI "e\xcc\x81z") == 5, "columns of text: %d", tui_columns("a" NI "e\xcc\x81z"));
    CHECK(tui_put(&grid, all, 0, 0, TUI_STYLE_NORMAL, NI HAO "e\xcc\x81|") == 6, "the column after the text");
    tui_put(&grid, all, 0, 1, TUI_STYLE_NORMAL, "abcde|");
    CHECK(tui_grid_at(&grid, 5, 0)->ch == '|' && tui_grid_at(&grid, 5, 1)->ch == '|', "what follows is aligned");
    expect("wide characters and marks", false, NI HAO "e\xcc\x81|\nabcde|\n\n");
    tui_put(&grid, (struct tui_rect){0, 0, 4, 1}, 0, 0, TUI_STYLE_NORMAL, "a" NI HAO);
    expect("cut before half a character", false, "a" NI "\xe2\x80\xa6\n\n\n");
    tui_put(&grid, (struct tui_rect){0, 0, 3, 1}, 0, 0, TUI_STYLE_NORMAL, "a" NI HAO);
    expect("cut where a character was", false, "a \xe2\x80\xa6\n\n\n");
    tui_put(&grid, all, 0, 0, TUI_STYLE_NORMAL, NI HAO);
    tui_put_char(&grid, all, 1, 0, TUI_STYLE_NORMAL, 'x');
    tui_put_char(&grid, all, 2, 0, TUI_STYLE_NORMAL, 'y');
    expect("no half of a character stays", false, " xy\n\n\n");
    const char *rest = "a" NI "e\xcc\x81z";
    CHECK(tui_skip(&rest, 2) == 3 && *rest == 'e' && tui_skip(&rest, 1) == 1 && *rest == 'z', "skipped by columns");
    grid.ascii = true;
    tui_put(&grid, all, 0, 0, TUI_STYLE_NORMAL, NI "e\xcc\x81|");
    expect("ASCII keeps the columns", false, "??e|\n\n\n");
    grid.ascii = false;
}

static void ascii(void)
{
    grid.ascii = true;
    tui_put(&grid, all, 0, 0, TUI_STYLE_NORMAL, "\xe2\x80\x93\xe2\x96\x88\xc2\xb1\xe2\x86\x92\xc3\xa9");
    tui_put(&grid, all, 0, 1, TUI_STYLE_NORMAL, "a longer one, cut");
    expect("ASCII stand-ins", false, "-#~>?\na longer on~\n\n");
    grid.ascii = false;
}

static void sizes(void)
{
    struct tui_grid other = {0};
    CHECK(!tui_grid_at(&grid, 12, 0) && !tui_grid_at(&grid, 0, 3) && !tui_grid_at(&grid, -1, 0), "no cell outside");
    CHECK(tui_grid_resize(&other, 0, -5) && !other.cells && !tui_grid_at(&other, 0, 0), "nothing fits in nothing");
    tui_put(&other, all, 0, 0, TUI_STYLE_NORMAL, "text");
    tui_grid_free(&other);
}

static void round_trip(void)
{
    for (uint32_t ch = 1; ch < 0x110000; ch += ch < 0x3000 ? 1 : 97) {
        char bytes[5];
        const char *at = bytes;
        if (ch >= 0xd800 && ch < 0xe000)
            continue;
        int n = tui_encode(ch, bytes);
        if (tui_decode(&at) != ch || at != bytes + n) {
            CHECK(false, "encode and decode are inverse");
            return;
        }
    }
}

int main(void)
{
    tui_grid_resize(&grid, all.w, all.h);
    texts();
    widths();
    ascii();
    sizes();
    round_trip();
    tui_grid_free(&grid);
    return check_result();
}
