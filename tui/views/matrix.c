/* Matrix: a row a sender, a column a receiver; a cell is a pair of ranks or of blocks of ranks. */
#include "tui/widgets/plot.h"
#include "tui/app/view.h"

#include <stdlib.h>
#include <string.h>

/* Rows and columns around the cells, and the width of a cell with a shade and of one with a number. */
enum { LEFT = 7, ABOVE = 2, BELOW = 3, SHADE = 2, NUMBER = 9 };

enum measure { BYTES, MESSAGES, SIZE, LATENCY, MEASURES };

struct own {
    enum measure measure;
    size_t fold;           /* ranks a cell is wide and high */
    int cell;              /* columns of a cell */
    size_t left;           /* first rank in view, across */
    struct tui_rect drawn; /* where the picture stands */
};

static struct own *own(const struct tui_app *app)
{
    return app->own[TUI_VIEW_MATRIX];
}

static const struct {
    const char *name;
    enum ana_unit unit;
} measures[MEASURES] = {
    {"bytes", ANA_BYTES}, {"messages", ANA_COUNT}, {"mean size", ANA_BYTES}, {"latency p50", ANA_NS}};

struct block {
    double bytes, messages;
    double latency, latency_messages; /* sum of p50 x messages and of messages, of pairs whose latency is known */
};

static double measure_block(const struct tui_app *app, const struct block *b)
{
    if (b->messages <= 0)
        return NAN;
    switch (own(app)->measure) {
    case BYTES:
        return b->bytes;
    case MESSAGES:
        return b->messages;
    case SIZE:
        return b->bytes / b->messages;
    default:
        return b->latency_messages > 0 ? b->latency / b->latency_messages : NAN;
    }
}

static size_t clamp_top(size_t cursor, size_t top, size_t shown, size_t n)
{
    if (cursor < top)
        top = cursor;
    if (cursor >= top + shown)
        top = cursor - shown + 1;
    return top + shown > n ? (n > shown ? n - shown : 0) : top;
}

/* Chooses the ranks a cell and the first ranks in view; says how many cells fit. */
static void place_matrix(struct tui_app *app, struct tui_rect rect, size_t *down, size_t *across)
{
    size_t n = app->rank_count, h = rect.h > ABOVE + BELOW ? (size_t)(rect.h - ABOVE - BELOW) : 0;
    if (h && n == h + 1) /* one row too few: use the blank line */
        h = n;
    own(app)->cell = n <= h && LEFT + 1 + (long)n * NUMBER <= rect.w ? NUMBER : SHADE;
    size_t w = rect.w > LEFT + 1 ? (size_t)((rect.w - LEFT - 1) / own(app)->cell) : 0;
    *down = *across = 0;
    own(app)->fold = 1;
    if (!n || !h || !w)
        return;
    size_t least = h < w ? h : w;
    if (!app->unfolded)
        own(app)->fold = (n + least - 1) / least;
    size_t blocks = (n + own(app)->fold - 1) / own(app)->fold;
    *down = blocks < h ? blocks : h;
    *across = blocks < w ? blocks : w;
    app->picture_top = app->unfolded ? clamp_top(app->cursor_rank, app->picture_top, *down, n) : 0;
    own(app)->left = app->unfolded ? clamp_top(app->cursor_peer, own(app)->left, *across, n) : 0;
    own(app)->drawn = (struct tui_rect){rect.x + LEFT, rect.y + ABOVE, (int)*across * own(app)->cell, (int)*down};
}

static void name_block(const struct tui_app *app, size_t first, char *out, size_t size)
{
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, SIZE_MAX, false);
    for (size_t i = first; i < first + own(app)->fold && i < app->rank_count; i++)
        ana_ranges_add(&ranges, ana_rank_id(&app->rank[i]));
    ana_ranges_end(&ranges);
}

static void draw_pair(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, const struct block *b)
{
    char from[80], to[80], count[ANA_TEXT], bytes[ANA_TEXT], latency[ANA_TEXT], rate[ANA_TEXT];
    name_block(app, app->cursor_rank / own(app)->fold * own(app)->fold, from, sizeof from);
    name_block(app, app->cursor_peer / own(app)->fold * own(app)->fold, to, sizeof to);
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_STRONG, "%s \xe2\x86\x92 %s  ", from, to);
    if (!b || b->messages <= 0) {
        tui_put(grid, rect, x, 0, TUI_STYLE_DIM, "no point-to-point messages");
        return;
    }
    double seconds = (double)(app->summary.end_ns - app->summary.begin_ns) / 1e9;
    tui_putf(grid, rect, x, 0, TUI_STYLE_NORMAL, "%s messages, %s, p50 %s, %s",
             ana_number(count, sizeof count, ANA_COUNT, b->messages, true),
             ana_number(bytes, sizeof bytes, ANA_BYTES, b->bytes, true),
             ana_number(latency, sizeof latency, ANA_NS,
                        b->latency_messages > 0 ? b->latency / b->latency_messages : NAN, true),
             ana_number(rate, sizeof rate, ANA_BYTES_PER_S, seconds > 0 ? b->bytes / seconds : NAN, true));
}

static void draw_legend(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, double most)
{
    static const double steps[] = {0.01, 0.1, 0.4, 0.75};
    static const char *const names[] = {"less", "from 10 %", "40 %", "75 %"};
    char text[ANA_TEXT];
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, "\xc2\xb7 none  ");
    for (int i = 0; i < 4; i++) {
        enum tui_style style;
        uint32_t ch = tui_plot_shade(steps[i], &style);
        tui_put_char(grid, rect, x, 0, style, ch);
        tui_put_char(grid, rect, x + 1, 0, style, ch);
        x = tui_putf(grid, rect, x + 3, 0, TUI_STYLE_NORMAL, "%s  ", names[i]);
    }
    if (most > 0)
        tui_putf(grid, rect, x, 0, TUI_STYLE_NORMAL, "of %s",
                 ana_number(text, sizeof text, measures[own(app)->measure].unit, most, true));
}

static void draw_axes(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, size_t down,
                      size_t across)
{
    char name[ANA_TEXT];
    int end = 0;
    for (size_t i = 0; i < across; i++) {
        size_t first = (own(app)->left + i) * own(app)->fold;
        bool here = first / own(app)->fold == app->cursor_peer / own(app)->fold;
        tui_app_rank_name(app, first, name, sizeof name);
        int x = LEFT + (int)(i + 1) * own(app)->cell - tui_columns(name);
        if (x > end && x + tui_columns(name) <= rect.w) {
            tui_put(grid, rect, x, 1, here ? TUI_STYLE_CURSOR : TUI_STYLE_AXIS, name);
            end = x + tui_columns(name);
        }
    }
    for (size_t i = 0; i < down; i++) {
        size_t first = (app->picture_top + i) * own(app)->fold;
        bool here = first / own(app)->fold == app->cursor_rank / own(app)->fold;
        tui_put_right(grid, rect, LEFT - 1, ABOVE + (int)i, here ? TUI_STYLE_CURSOR : TUI_STYLE_AXIS,
                      tui_app_rank_name(app, first, name, sizeof name));
    }
}

/* Draws a cell: a dot where no message was sent, a question mark where its measure is unknown. */
static void draw_cell(const struct tui_app *app, struct tui_grid *grid, struct tui_rect cell, const struct block *b,
                      double most, bool here)
{
    double v = measure_block(app, b);
    bool known = b->messages > 0 && !isnan(v);
    enum tui_style style = TUI_STYLE_DIM;
    char text[ANA_TEXT];
    uint32_t ch = b->messages <= 0 ? 0xb7 : known ? tui_plot_shade(most > 0 && v > 0 ? v / most : 1e-9, &style) : '?';
    if (here) {
        style = TUI_STYLE_CURSOR;
        tui_fill(grid, cell, style, ' ');
    }
    if (own(app)->cell == NUMBER && known)
        tui_put_right(grid, cell, cell.w, 0, style,
                      ana_number(text, sizeof text, measures[own(app)->measure].unit, v, true));
    else
        for (int x = b->messages > 0 && own(app)->cell == SHADE ? 0 : cell.w - 1; x < cell.w; x++)
            tui_put_char(grid, cell, x, 0, style, ch);
}

static void draw_matrix(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_summary *s = &app->summary;
    size_t down, across;
    place_matrix(app, rect, &down, &across);
    struct block *blocks = calloc(down * across + 1, sizeof *blocks), cursor = {0};
    if (!blocks)
        return;
    size_t at_row = app->cursor_rank / own(app)->fold, at_column = app->cursor_peer / own(app)->fold;
    for (size_t i = 0; i < s->pair_count; i++) {
        const struct ana_pair *p = &s->pairs[i];
        size_t row = p->source / own(app)->fold, column = p->destination / own(app)->fold;
        struct block add = {(double)p->bytes, (double)p->messages, 0, 0};
        if (!isnan(p->latency_p50_ns)) {
            add.latency = p->latency_p50_ns * (double)p->messages;
            add.latency_messages = (double)p->messages;
        }
        struct block *to = &blocks[down * across]; /* out of view */
        if (row - app->picture_top < down && column - own(app)->left < across)
            to = &blocks[(row - app->picture_top) * across + column - own(app)->left];
        *to = (struct block){to->bytes + add.bytes, to->messages + add.messages, to->latency + add.latency,
                             to->latency_messages + add.latency_messages};
    }
    double most = 0;
    for (size_t i = 0; i < down * across; i++) {
        double v = measure_block(app, &blocks[i]);
        if (v > most)
            most = v;
    }
    for (size_t r = 0; r < down; r++)
        for (size_t c = 0; c < across; c++) {
            bool here = r + app->picture_top == at_row && c + own(app)->left == at_column;
            struct tui_rect cell = {rect.x + LEFT + (int)c * own(app)->cell, rect.y + ABOVE + (int)r, own(app)->cell,
                                    1};
            draw_cell(app, grid, cell, &blocks[r * across + c], most, here);
            if (here)
                cursor = blocks[r * across + c];
        }
    free(blocks);
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, "sender \xe2\x86\x93  receiver \xe2\x86\x92");
    x = tui_putf(grid, rect, x + 3, 0, TUI_STYLE_NORMAL, "shade: %s (m changes it)", measures[own(app)->measure].name);
    if (own(app)->fold > 1 && x + 34 <= rect.w)
        tui_putf(grid, rect, x + 2, 0, TUI_STYLE_DIM, "a cell is %zux%zu ranks", own(app)->fold, own(app)->fold);
    draw_axes(app, grid, rect, down, across);
    struct tui_rect foot = {rect.x, rect.y + rect.h - 2, rect.w, 1};
    draw_pair(app, grid, foot, &cursor);
    foot.y++;
    draw_legend(app, grid, foot, most);
}

static void move_cursor(size_t *cursor, long delta, size_t n)
{
    long to = (long)*cursor + delta;
    *cursor = to < 0 ? 0 : to >= (long)n ? n - 1 : (size_t)to;
}

static int act_on_matrix(struct tui_app *app, enum tui_action action)
{
    long fold = own(app)->fold ? (long)own(app)->fold : 1,
         page = fold * (own(app)->drawn.h > 1 ? own(app)->drawn.h : 1);
    size_t n = app->rank_count;
    if (!n)
        return TUI_UNHANDLED;
    if (action >= TUI_ACTION_UP && action <= TUI_ACTION_DEEPER) /* moves */
        tui_app_choose_rank(app, app->cursor_rank);
    switch (action) {
    case TUI_ACTION_UP:
    case TUI_ACTION_DOWN:
        move_cursor(&app->cursor_rank, action == TUI_ACTION_UP ? -fold : fold, n);
        return TUI_REDRAW;
    case TUI_ACTION_LEFT:
    case TUI_ACTION_RIGHT:
        move_cursor(&app->cursor_peer, action == TUI_ACTION_LEFT ? -fold : fold, n);
        return TUI_REDRAW;
    case TUI_ACTION_PAGE_UP:
    case TUI_ACTION_PAGE_DOWN:
        move_cursor(&app->cursor_rank, action == TUI_ACTION_PAGE_UP ? -page : page, n);
        return TUI_REDRAW;
    case TUI_ACTION_FIRST:
    case TUI_ACTION_LAST:
        app->cursor_rank = app->cursor_peer = action == TUI_ACTION_FIRST ? 0 : n - 1;
        return TUI_REDRAW;
    case TUI_ACTION_MEASURE:
        own(app)->measure = (own(app)->measure + 1) % MEASURES;
        return TUI_REDRAW;
    case TUI_ACTION_DEEPER:
        if (fold > 1)
            app->unfolded = true;
        else
            tui_app_open(app, TUI_VIEW_TIMELINE);
        return TUI_REDRAW;
    case TUI_ACTION_BACK:
        if (!app->unfolded)
            return TUI_UNHANDLED;
        app->unfolded = false;
        return TUI_REDRAW;
    default:
        return TUI_UNHANDLED;
    }
}

static int click_matrix(struct tui_app *app, int x, int y)
{
    x -= own(app)->drawn.x;
    y -= own(app)->drawn.y;
    if (own(app)->cell < 1 || own(app)->fold < 1 || x < 0 || y < 0 || x >= own(app)->drawn.w || y >= own(app)->drawn.h)
        return TUI_UNHANDLED;
    size_t row = ((size_t)y + app->picture_top) * own(app)->fold,
           column = ((size_t)(x / own(app)->cell) + own(app)->left) * own(app)->fold;
    if (row >= app->rank_count || column >= app->rank_count)
        return TUI_UNHANDLED;
    if (app->cursor_rank / own(app)->fold == row / own(app)->fold &&
        app->cursor_peer / own(app)->fold == column / own(app)->fold)
        return act_on_matrix(app, TUI_ACTION_DEEPER);
    tui_app_choose_rank(app, row);
    app->cursor_peer = column;
    return TUI_REDRAW;
}

static const struct tui_term_help terms[] = {
    {"cells",
     "point-to-point messages only, by ranks of the world; a cell is a pair of ranks (its number where there is room, "
     "else a shade), or a block of pairs when not all fit (Enter unfolds it, Esc folds)"},
    {"bytes, messages", "sent from the row's rank to the column's rank"},
    {"mean size", "bytes / messages"},
    {"latency p50",
     "send begun to receive complete, half of the messages took no longer; of a block: the mean of its pairs, "
     "weighted by messages; ? where no message was seen at both ends"},
    {"shade", "value / the largest value in view"},
    {NULL, NULL}};

const struct tui_view tui_view_matrix = {
    .title = "Matrix",
    .own_size = sizeof(struct own),
    .about = "Who sends how much to whom?  Stencils show as diagonals, a hot rank as a cross.  Enter: the sender's "
             "timeline.",
    .terms = terms,
    .draw = draw_matrix,
    .act = act_on_matrix,
    .click = click_matrix,
};
