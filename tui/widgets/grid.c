#include "tui/widgets/grid.h"

#include <stdlib.h>

bool tui_grid_resize(struct tui_grid *grid, int cols, int rows)
{
    free(grid->cells);
    grid->cells = NULL;
    grid->cols = grid->rows = 0;
    if (cols < 1 || rows < 1)
        return true;
    grid->cells = calloc((size_t)cols * (size_t)rows, sizeof *grid->cells);
    if (!grid->cells)
        return false;
    grid->cols = cols;
    grid->rows = rows;
    tui_grid_clear(grid);
    return true;
}

void tui_grid_free(struct tui_grid *grid)
{
    tui_grid_resize(grid, 0, 0);
}

void tui_grid_clear(struct tui_grid *grid)
{
    for (int i = 0; i < grid->cols * grid->rows; i++)
        grid->cells[i] = (struct tui_cell){' ', TUI_STYLE_NORMAL};
}

struct tui_cell *tui_grid_at(const struct tui_grid *grid, int x, int y)
{
    if (x < 0 || y < 0 || x >= grid->cols || y >= grid->rows)
        return NULL;
    return &grid->cells[y * grid->cols + x];
}

uint32_t tui_decode(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    if (!*s)
        return 0;
    int more = s[0] < 0x80                   ? 0
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 1
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 2
               : s[0] < 0xf5                 ? 3
                                             : -1;
    if (s[0] >= 0x80 && s[0] < 0xc2)
        more = -1;
    uint32_t ch = more <= 0 ? s[0] : s[0] & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            more = -1;
            break;
        }
        ch = ch << 6 | (s[i] & 0x3f);
    }
    *text += more < 0 ? 1 : 1 + more;
    return more < 0 ? '?' : ch;
}

int tui_encode(uint32_t ch, char out[5])
{
    int more = ch < 0x80 ? 0 : ch < 0x800 ? 1 : ch < 0x10000 ? 2 : 3;
    static const unsigned char lead[4] = {0, 0xc0, 0xe0, 0xf0};
    for (int i = more; i > 0; i--, ch >>= 6)
        out[i] = (char)(0x80 | (ch & 0x3f));
    out[0] = (char)(lead[more] | ch);
    out[more + 1] = 0;
    return more + 1;
}

/* Terminals agree on the width of these characters; others could shift a line, and are not shown. */
static bool is_one_column(uint32_t ch)
{
    return (ch >= 0x20 && ch < 0x7f) || (ch >= 0xa1 && ch < 0x300) || (ch >= 0x370 && ch < 0x483) ||
           (ch >= 0x2010 && ch < 0x2028) || (ch >= 0x2030 && ch < 0x205f) || (ch >= 0x20a0 && ch < 0x20c0) ||
           (ch >= 0x2190 && ch < 0x2300) || (ch >= 0x2500 && ch < 0x25fd) || ch == 0x2713 || ch == 0x2717;
}

char tui_ascii(uint32_t ch)
{
    static const struct {
        uint32_t ch;
        char ascii;
    } stand_in[] = {{0x2013, '-'}, {0x2014, '-'}, {0x2026, '~'}, {0x25cf, '*'}, {0x2713, '+'}, {0x2717, 'X'},
                    {0xb1, '~'},   {0xb5, 'u'},   {0xd7, 'x'},   {0x2580, '"'}, {0x2581, '_'}, {0x2582, '.'},
                    {0x2583, '-'}, {0x2584, '='}, {0x2585, '+'}, {0x2586, '*'}, {0x2587, '%'}, {0x2588, '#'},
                    {0x2589, '#'}, {0x258a, '#'}, {0x258b, '#'}, {0x258c, '='}, {0x258d, '-'}, {0x258e, '-'},
                    {0x258f, '-'}, {0x2591, '.'}, {0x2592, ':'}, {0x2593, '%'}, {0x2190, '<'}, {0x2191, '^'},
                    {0x2192, '>'}, {0x2193, 'v'}, {0x2500, '-'}, {0x2502, '|'}, {0x25b2, '^'}, {0x25bc, 'v'},
                    {0x2264, '<'}, {0x2265, '>'}, {0xb7, '.'},   {0x25b6, '>'}, {0x250c, '+'}, {0x2510, '+'},
                    {0x2514, '+'}, {0x2518, '+'}, {0x251c, '|'}, {0x2524, '|'}};
    if (ch >= 0x20 && ch < 0x7f)
        return (char)ch;
    for (size_t i = 0; i < sizeof stand_in / sizeof *stand_in; i++)
        if (stand_in[i].ch == ch)
            return stand_in[i].ascii;
    return '?';
}

int tui_columns(const char *text)
{
    int n = 0;
    while (tui_decode(&text))
        n++;
    return n;
}

void tui_put_char(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, uint32_t ch)
{
    if (x < 0 || y < 0 || x >= rect.w || y >= rect.h)
        return;
    struct tui_cell *cell = tui_grid_at(grid, rect.x + x, rect.y + y);
    if (!cell)
        return;
    cell->ch = grid->ascii ? (uint32_t)(unsigned char)tui_ascii(ch) : is_one_column(ch) ? ch : '?';
    cell->style = (uint8_t)style;
}

int tui_put(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *text)
{
    uint32_t ch;
    while ((ch = tui_decode(&text))) {
        if (x >= rect.w) {
            tui_put_char(grid, rect, rect.w - 1, y, style, 0x2026);
            return rect.w;
        }
        tui_put_char(grid, rect, x++, y, style, ch);
    }
    return x;
}

int tui_putf(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return tui_put(grid, rect, x, y, style, text);
}

void tui_put_right(struct tui_grid *grid, struct tui_rect rect, int x_end, int y, enum tui_style style,
                   const char *text)
{
    int x = x_end - tui_columns(text);
    tui_put(grid, rect, x < 0 ? 0 : x, y, style, text);
}

void tui_fill(struct tui_grid *grid, struct tui_rect rect, enum tui_style style, uint32_t ch)
{
    for (int y = 0; y < rect.h; y++)
        for (int x = 0; x < rect.w; x++) {
            struct tui_cell *cell = tui_grid_at(grid, rect.x + x, rect.y + y);
            if (!cell)
                continue;
            cell->style = (uint8_t)style;
            if (ch)
                tui_put_char(grid, rect, x, y, style, ch);
        }
}

enum tui_style tui_begin_line(struct tui_grid *grid, struct tui_rect rect, int y, enum tui_style style, bool chosen)
{
    if (!chosen)
        return style;
    tui_fill(grid, (struct tui_rect){rect.x, rect.y + y, rect.w, 1}, TUI_STYLE_CURSOR, ' ');
    tui_put_char(grid, rect, 0, y, TUI_STYLE_CURSOR, '>');
    return TUI_STYLE_CURSOR;
}

void tui_repeat(struct tui_grid *grid, struct tui_rect line, int down)
{
    for (int x = line.x; x < line.x + line.w; x++) {
        const struct tui_cell *from = tui_grid_at(grid, x, line.y);
        struct tui_cell *to = tui_grid_at(grid, x, line.y + down);
        if (from && to)
            *to = *from;
    }
}

void tui_grid_write(const struct tui_grid *grid, FILE *out, bool styles)
{
    for (int pass = 0; pass <= (styles ? 1 : 0); pass++)
        for (int y = 0; y < grid->rows; y++) {
            const struct tui_cell *row = &grid->cells[y * grid->cols];
            int end = grid->cols;
            while (end > 0 && (pass ? row[end - 1].style == TUI_STYLE_NORMAL : row[end - 1].ch == ' '))
                end--;
            for (int x = 0; x < end; x++) {
                char bytes[5];
                tui_encode(row[x].ch, bytes);
                if (pass)
                    fputc(tui_style(row[x].style)->letter, out);
                else
                    fputs(bytes, out);
            }
            fputc('\n', out);
        }
}
