/* Random grids as pictures: they have the text of the grid, whatever its characters. */
#include "tests/support/check.h"
#include "tui/widgets/picture.h"

#include <stdlib.h>
#include <string.h>

/* Takes the tags out of markup and resolves its entities, in place; returns how many tags were opened and not
 * closed. */
static int strip(char *text)
{
    int open = 0;
    char *to = text;
    for (const char *c = text; *c;) {
        if (*c == '<') {
            const char *end = strchr(c, '>');
            if (!end)
                return 1000;
            open += c[1] == '/' ? -1 : end[-1] == '/' || c[1] == '!' || strncmp(c, "<meta", 5) == 0 ? 0 : 1;
            c = end + 1;
        } else if (*c == '&') {
            *to++ = strncmp(c, "&amp;", 5) == 0    ? '&'
                    : strncmp(c, "&lt;", 4) == 0   ? '<'
                    : strncmp(c, "&gt;", 4) == 0   ? '>'
                    : strncmp(c, "&quot;", 6) == 0 ? '"'
                                                   : '?';
            c = strchr(c, ';') + 1;
        } else {
            *to++ = *c++;
        }
    }
    *to = 0;
    return open;
}

static char *write_with(const struct tui_grid *grid, int form)
{
    static char *text; /* the caller frees it */
    static size_t size;
    FILE *out = open_memstream(&text, &size);
    if (form == 0)
        tui_grid_write(grid, out, false);
    else if (form == 1)
        tui_picture_html(grid, "a<b & \"c\"", out);
    else
        tui_picture_svg(grid, out);
    fclose(out);
    return text;
}

/* Removes blanks and newlines, in place: pictures have them where rows end. */
static char *squeeze(char *text)
{
    char *to = text;
    for (const char *c = text; *c; c++)
        if (*c != ' ' && *c != '\n')
            *to++ = *c;
    *to = 0;
    return text;
}

int main(void)
{
    static const uint32_t characters[] = {'a', '<', '>', '&', '"', '\'', ' ', ' ', 0x2588, 0x2026, ';'};
    unsigned seed = 5;
    for (int round = 0; round < 300; round++) {
        struct tui_grid grid = {0};
        tui_grid_resize(&grid, 1 + round % 70, 1 + round % 13);
        for (int i = 0; i < grid.cols * grid.rows; i++) {
            seed = seed * 1103515245 + 12345;
            unsigned dice = seed >> 16;
            struct tui_cell *cell = &grid.cells[i];
            cell->style = (uint8_t)(dice % 3 ? TUI_STYLE_NORMAL : dice / 3 % TUI_STYLES);
            if (!(tui_style(cell->style)->attributes & TUI_FILLED)) /* ground without its character */
                cell->ch = characters[dice / 64 % 11];
        }
        char *want = squeeze(write_with(&grid, 0)), *html = write_with(&grid, 1), *svg = write_with(&grid, 2);
        CHECK(strstr(html, "<title>a&lt;b &amp; &quot;c&quot;</title>"), "the title");
        char *body = strstr(html, "<pre");
        CHECK(strip(body) == -2 && strcmp(squeeze(body), want) == 0, "html: %s instead of %s", body, want);
        CHECK(strncmp(svg, "<svg ", 5) == 0 && strip(svg) == 0 && strcmp(squeeze(svg), want) == 0,
              "svg: %s instead of %s", svg, want);
        free(want);
        free(html);
        free(svg);
        tui_grid_free(&grid);
    }
    struct tui_grid grid = {0};
    tui_grid_resize(&grid, 4, 1);
    tui_put(&grid, (struct tui_rect){0, 0, 4, 1}, 0, 0, TUI_STYLE_WAITING, "WW");
    char *svg = write_with(&grid, 2);
    CHECK(!strstr(svg, ">WW<") && strstr(svg, "width=\"18\" height=\"18\" fill=\"#d75f5f\""), "%s", svg);
    free(svg);
    tui_theme_use(TUI_THEME_LIGHT);
    svg = write_with(&grid, 2);
    CHECK(strstr(svg, "fill=\"#ffffff\""), "the light theme is on white: %s", svg);
    free(svg);
    tui_grid_free(&grid);
    return check_result();
}
