#include "tui/widgets/picture.h"

enum {
    CELL_W = 9,
    CELL_H = 18,
    BASE = 14,
    FONT = 15,
    DARK_FORE = 252,
    DARK_BACK = 234,
    LIGHT_FORE = 235,
    LIGHT_BACK = 231
};

/* The colours of a style as red, green and blue; `back` is -1 where it is the ground of all. */
struct ink {
    int fore, back;
    bool bold, filled;
};

static int ground(bool fore)
{
    bool light = tui_theme() == TUI_THEME_LIGHT;
    return tui_rgb(fore ? (light ? LIGHT_FORE : DARK_FORE) : light ? LIGHT_BACK : DARK_BACK);
}

static struct ink ink_of(unsigned style)
{
    const struct tui_look *look = tui_style(style);
    return (struct ink){.fore = look->fore256 < 0 ? ground(true) : tui_rgb(look->fore256),
                        .back = tui_rgb(look->back256),
                        .bold = look->attributes & TUI_BOLD,
                        .filled = look->attributes & TUI_FILLED};
}

static void put_text(uint32_t ch, FILE *out)
{
    char bytes[5];
    tui_encode(ch, bytes);
    fputs(ch == '&' ? "&amp;" : ch == '<' ? "&lt;" : ch == '>' ? "&gt;" : ch == '"' ? "&quot;" : bytes, out);
}

static void put_cell(const struct tui_cell *cell, FILE *out)
{
    if (cell->ch)
        put_text(cell->ch, out);
    if (cell->mark)
        put_text(cell->mark, out);
}

static const struct tui_cell *row_of(const struct tui_grid *grid, int y)
{
    return &grid->cells[y * grid->cols];
}

/* End of the run of cells in one style that begins at `from`. */
static int end_of_run(const struct tui_grid *grid, int from, int y)
{
    int to = from + 1;
    while (to < grid->cols && row_of(grid, y)[to].style == row_of(grid, y)[from].style)
        to++;
    return to;
}

static bool is_blank(const struct tui_grid *grid, int from, int to, int y)
{
    for (int x = from; x < to; x++)
        if (row_of(grid, y)[x].ch != ' ')
            return false;
    return true;
}

/* Each character has a place of its own: fonts differ in how wide they make blocks. */
static void put_run(const struct tui_grid *grid, int from, int to, int y, const struct ink *ink, FILE *out)
{
    fprintf(out, "<text y=\"%d\" fill=\"#%06x\"%s x=\"", y * CELL_H + BASE, (unsigned)ink->fore,
            ink->bold ? " font-weight=\"bold\"" : "");
    for (int x = from; x < to; x++) {
        const struct tui_cell *cell = &row_of(grid, y)[x];
        for (int i = 0; i < (cell->ch != 0) + (cell->mark != 0); i++)
            fprintf(out, "%s%d", x > from || i ? " " : "", x * CELL_W);
    }
    fputs("\">", out);
    for (int x = from; x < to; x++)
        put_cell(&row_of(grid, y)[x], out);
    fputs("</text>\n", out);
}

void tui_picture_svg(const struct tui_grid *grid, FILE *out)
{
    int w = grid->cols * CELL_W, h = grid->rows * CELL_H;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"%d\" xml:space=\"preserve\">\n"
            "<rect width=\"%d\" height=\"%d\" fill=\"#%06x\"/>\n",
            w, h, w, h, FONT, w, h, (unsigned)ground(false));
    for (int y = 0; y < grid->rows; y++)
        for (int x = 0, to; x < grid->cols; x = to) {
            to = end_of_run(grid, x, y);
            struct ink ink = ink_of(row_of(grid, y)[x].style);
            if (ink.back >= 0)
                fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#%06x\"/>\n", x * CELL_W,
                        y * CELL_H, (to - x) * CELL_W, CELL_H, (unsigned)ink.back);
            if (!ink.filled && !is_blank(grid, x, to, y))
                put_run(grid, x, to, y, &ink, out);
        }
    fputs("</svg>\n", out);
}

void tui_picture_html(const struct tui_grid *grid, const char *title, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
    while (*title)
        put_text(tui_decode(&title), out);
    fprintf(out,
            "</title></head>\n<body style=\"margin:0;background:#%06x;color:#%06x\">\n"
            "<pre style=\"font:15px/1.2 'DejaVu Sans Mono',Menlo,Consolas,monospace;margin:1em\">\n",
            (unsigned)ground(false), (unsigned)ground(true));
    for (int y = 0; y < grid->rows; y++, fputc('\n', out))
        for (int x = 0, to; x < grid->cols; x = to) {
            to = end_of_run(grid, x, y);
            unsigned style = row_of(grid, y)[x].style;
            struct ink ink = ink_of(style);
            if (style != TUI_STYLE_NORMAL) {
                fprintf(out, "<span style=\"color:#%06x", (unsigned)ink.fore);
                if (ink.back >= 0)
                    fprintf(out, ";background:#%06x", (unsigned)ink.back);
                fputs(ink.bold ? ";font-weight:bold\">" : "\">", out);
            }
            for (; x < to; x++)
                if (ink.filled)
                    put_text(' ', out);
                else
                    put_cell(&row_of(grid, y)[x], out);
            if (style != TUI_STYLE_NORMAL)
                fputs("</span>", out);
        }
    fputs("</pre>\n</body></html>\n", out);
}
