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
        grid->cells[i] = (struct tui_cell){' ', TUI_STYLE_NORMAL, 0};
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

/* Characters on whose width terminals agree, by first and last code point; others could shift a line, and are not
 * shown.  Width 2: Unicode's East Asian Wide and Fullwidth without pictures; 0: combining marks. */
static const struct {
    uint32_t first, last;
    int width;
} widths[] = {
    {0x20, 0x7e, 1},     {0xa1, 0x2ff, 1},    {0x300, 0x36f, 0},     {0x370, 0x482, 1},    {0x48a, 0x52f, 1},
    {0x1100, 0x115f, 2}, {0x1ab0, 0x1aff, 0}, {0x1dc0, 0x1dff, 0},   {0x1e00, 0x1fbc, 1},  {0x2010, 0x2027, 1},
    {0x2030, 0x205e, 1}, {0x20a0, 0x20bf, 1}, {0x20d0, 0x20f0, 0},   {0x2190, 0x22ff, 1},  {0x2500, 0x25fc, 1},
    {0x2713, 0x2713, 1}, {0x2717, 0x2717, 1}, {0x2e80, 0x2fd5, 2},   {0x2ff0, 0x3029, 2},  {0x3030, 0x303e, 2},
    {0x3041, 0x3096, 2}, {0x3099, 0x309a, 0}, {0x309b, 0x33ff, 2},   {0x3400, 0x4dbf, 2},  {0x4e00, 0xa4c6, 2},
    {0xa960, 0xa97c, 2}, {0xac00, 0xd7a3, 2}, {0xf900, 0xfad9, 2},   {0xfe20, 0xfe2f, 0},  {0xfe30, 0xfe6b, 2},
    {0xff01, 0xff60, 2}, {0xffe0, 0xffe6, 2}, {0x20000, 0x2fa1d, 2}, {0x30000, 0x323af, 2}};
enum { UNKNOWN = -1 };

static int width_of(uint32_t ch)
{
    for (size_t i = 0; i < sizeof widths / sizeof *widths && ch >= widths[i].first; i++)
        if (ch <= widths[i].last)
            return widths[i].width;
    return UNKNOWN;
}

/* Returns the columns of a character, also as '?'. */
static int columns_of(uint32_t ch)
{
    const int width = width_of(ch);
    return width == UNKNOWN ? 1 : width;
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
    for (uint32_t ch; (ch = tui_decode(&text));)
        n += columns_of(ch);
    return n;
}

int tui_skip(const char **text, int columns)
{
    int n = 0;
    for (const char *next = *text; **text; *text = next) {
        const int width = columns_of(tui_decode(&next));
        if (n >= columns && width)
            break;
        n += width;
    }
    return n;
}

/* Returns a cell of the rectangle, without the other half of a character that it was a half of; NULL: outside. */
static struct tui_cell *free_cell(const struct tui_grid *grid, struct tui_rect rect, int x, int y)
{
    if (x < 0 || y < 0 || x >= rect.w || y >= rect.h)
        return NULL;
    struct tui_cell *cell = tui_grid_at(grid, rect.x + x, rect.y + y);
    struct tui_cell *left = tui_grid_at(grid, rect.x + x - 1, rect.y + y);
    struct tui_cell *right = tui_grid_at(grid, rect.x + x + 1, rect.y + y);
    if (cell && !cell->ch && left)
        left->ch = ' ';
    if (cell && cell->ch && right && !right->ch)
        right->ch = ' ';
    return cell;
}

/* Joins a mark to the character before a column. */
static void put_mark(const struct tui_grid *grid, struct tui_rect rect, int x, int y, uint32_t mark)
{
    struct tui_cell *cell =
        x > 0 && x <= rect.w && y >= 0 && y < rect.h ? tui_grid_at(grid, rect.x + x - 1, rect.y + y) : NULL;
    if (cell && !cell->ch)
        cell = tui_grid_at(grid, rect.x + x - 2, rect.y + y);
    if (cell && !cell->mark && !grid->ascii)
        cell->mark = mark;
}

int tui_put_char(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, uint32_t ch)
{
    const int width = columns_of(ch);
    if (!width)
        put_mark(grid, rect, x, y, ch);
    if (width == 2 && x + 1 >= rect.w)
        return width;
    for (int i = 0; i < width; i++) {
        struct tui_cell *cell = free_cell(grid, rect, x + i, y);
        const uint32_t shown = grid->ascii ? (uint32_t)(unsigned char)tui_ascii(ch) : width_of(ch) < 0 ? '?' : ch;
        if (cell)
            *cell = (struct tui_cell){i && !grid->ascii ? 0 : shown, (uint8_t)style, 0};
    }
    return width;
}

int tui_put(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style, const char *text)
{
    for (uint32_t ch; (ch = tui_decode(&text));) {
        const int width = columns_of(ch);
        if (x + width > rect.w && width) {
            tui_put_char(grid, rect, rect.w - 1, y, style, 0x2026);
            return rect.w;
        }
        x += tui_put_char(grid, rect, x, y, style, ch);
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
                else if (row[x].ch)
                    fputs(bytes, out);
                if (!pass && row[x].mark) {
                    tui_encode(row[x].mark, bytes);
                    fputs(bytes, out);
                }
            }
            fputc('\n', out);
        }
}
