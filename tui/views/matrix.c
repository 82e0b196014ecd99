/* Matrix: a row a sender, a column a receiver; a cell is a pair of ranks or of blocks of ranks. */
#include "tui/app/view.h"
#include "tui/views/sentences_impl.h"
#include "trace/timeline/state_at.h"
#include "tui/views/matrix_blocks.h"
#include "tui/widgets/plot.h"

#include <stdlib.h>
#include <string.h>

/* Rows and columns around the cells; the width of a cell with a shade, of one with a number, and of one that shares its
 * row with the one below it. */
enum { LEFT = 7, ABOVE = 2, BELOW = 3, SHADE = 2, NUMBER = 9, HALF = 1, LABELS = 8 };
/* Columns of the list of pairs; of its part without latencies. */
enum { PAIRS_WIDTH = 43, PAIRS_NARROW = 33, PAIRS_LEAST = 4, PAIRS_MOST = 64 };

enum measure { BYTES, MESSAGES, SIZE, LATENCY, MEASURES };

struct own {
    enum measure measure;
    struct matrix_blocks blocks;
    int cell;              /* columns of a cell: SHADE, NUMBER or HALF */
    bool sums;             /* a row and a column of sums have room */
    size_t top, left;      /* first blocks in view */
    size_t down, across;   /* blocks in view */
    bool met;              /* the cursor was put on a pair that exchanged something */
    unsigned met_of;       /* the summary in which such a pair was looked for last */
    struct tui_rect drawn; /* place of the picture */
};

TUI_STATE(MATRIX)

static const struct {
    const char *name;
    enum ana_unit unit;
} measures[MEASURES] = {
    {"bytes", ANA_BYTES}, {"messages", ANA_COUNT}, {"mean size", ANA_BYTES}, {"latency p50", ANA_NS}};

static double measure_block(const struct tui_app *app, const struct matrix_sum *b)
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

/* Chooses how wide cells are, and leaves room beside them for the list of pairs, then for sums; returns how many blocks
 * fit down and across. */
static size_t choose_cell(struct own *o, size_t n, size_t h, size_t w, bool ascii)
{
    enum { LEAST = 8 }; /* blocks that are worth a picture */
    o->cell = n <= h && n * NUMBER <= w ? NUMBER : HALF;
    if (o->cell == NUMBER) {
        o->sums = n > 1 && n < h && (n + 1) * NUMBER <= w;
        return o->down = o->across = n;
    }
    const size_t rows = ascii ? n : (n + 1) / 2, columns = ascii ? n * SHADE : n;
    if (columns > w || rows + 1 + PAIRS_LEAST > h ||
        columns + PAIRS_NARROW < w) /* else all ranks fit, the list below */
        w -= w >= PAIRS_NARROW + 1 + LEAST * SHADE ? PAIRS_NARROW + 1 : 0;
    o->cell = (n <= h && n * SHADE <= w) || ascii ? SHADE : HALF;
    const size_t cell = (size_t)o->cell, per_row = o->cell == HALF ? 2 : 1, with = (h - 1) * per_row;
    o->sums = n > 1 && (n <= with || n > h * per_row) && (n < with ? n : with) * cell + NUMBER <= w;
    o->down = o->sums ? with : h * per_row;
    o->across = (o->sums ? w - NUMBER : w) / cell;
    return o->down < o->across ? o->down : o->across;
}

/* Puts the cursor on the pair that sends most, or on the partner that the user's rank sends most to; later both are the
 * user's. */
static void meet_partner(struct tui_app *app)
{
    const struct ana_pair *best = NULL;
    struct own *o = own(app);
    if (o->met || o->met_of == app->summaries)
        return;
    o->met_of = app->summaries;
    for (size_t i = 0; i < app->summary.pair_count; i++) {
        const struct ana_pair *p = &app->summary.pairs[i];
        if ((!app->rank_chosen || p->source == app->cursor_rank) && (!best || p->bytes > best->bytes))
            best = p;
    }
    if (!best)
        return;
    app->cursor_rank = best->source;
    app->cursor_peer = best->destination;
    o->met = true;
}

/* Chooses the blocks, and those in view.  False: there is nothing to see. */
static bool place_matrix(struct tui_app *app, struct tui_rect rect, bool ascii)
{
    struct own *o = own(app);
    size_t n = app->rank_count, h = rect.h > ABOVE + BELOW ? (size_t)(rect.h - ABOVE - BELOW) : 0;
    if (h && (n == h + 1 || (n + 1) / 2 == h + 1)) /* one row too few: use the blank line */
        h++;
    size_t fit = n && h ? choose_cell(o, n, h, (size_t)(rect.w > LEFT + 1 ? rect.w - LEFT - 1 : 0), ascii) : 0;
    if (!fit || !tui_matrix_cut(app, app->unfolded ? n : fit, &o->blocks))
        return false;
    const size_t count = o->blocks.count;
    o->down = count < o->down ? count : o->down;
    o->across = count < o->across ? count : o->across;
    o->top = tui_scroll(tui_matrix_block(&o->blocks, app->cursor_rank), o->top, o->down, count);
    o->left = tui_scroll(tui_matrix_block(&o->blocks, app->cursor_peer), o->left, o->across, count);
    int rows = o->cell == HALF ? (int)(o->down + 1) / 2 : (int)o->down;
    o->drawn = (struct tui_rect){rect.x + LEFT, rect.y + ABOVE, (int)o->across * o->cell, rows};
    return true;
}

static void name_block(const struct tui_app *app, size_t rank, char *out, size_t size)
{
    const struct matrix_blocks *blocks = &own(app)->blocks;
    size_t block = tui_matrix_block(blocks, rank);
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, out, size, SIZE_MAX, false);
    for (size_t i = blocks->edge[block]; i < blocks->edge[block + 1]; i++)
        ana_ranges_add(&ranges, ana_rank_id(&app->rank[i]));
    ana_ranges_end(&ranges);
}

static void draw_pair(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect,
                      const struct matrix_sum *b)
{
    char from[80], to[80];
    name_block(app, app->cursor_rank, from, sizeof from);
    name_block(app, app->cursor_peer, to, sizeof to);
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_STRONG, "%s \xe2\x86\x92 %s  ", from, to);
    if (!b || b->messages <= 0) {
        tui_put(grid, rect, x, 0, TUI_STYLE_DIM, SAY_NO_POINT_TO);
        return;
    }
    tui_putf(grid, rect, x, 0, TUI_STYLE_NORMAL, "%s messages, %s, p50 %s, %s",
             ANA_NUMBER(ANA_COUNT, b->messages, true), ANA_NUMBER(ANA_BYTES, b->bytes, true),
             ANA_NUMBER(ANA_NS, b->latency_messages > 0 ? b->latency / b->latency_messages : NAN, true),
             ANA_NUMBER(ANA_BYTES_PER_S, b->moving_s > 0 ? b->moved / b->moving_s : NAN, true));
}

/* Values differ by powers of ten, and so do shades: of the largest value in view. */
static const struct {
    double from;
    const char *name;
    enum tui_style style;
    uint32_t ch;
} shades[] = {{0, "less", TUI_STYLE_HEAT_1, 0x2591},
              {0.001, "from 0.1 %", TUI_STYLE_HEAT_2, 0x2592},
              {0.01, "1 %", TUI_STYLE_HEAT_3, 0x2593},
              {0.1, "10 %", TUI_STYLE_HEAT_4, 0x2588}};
enum { SHADES = sizeof shades / sizeof *shades, NONE = 0, UNKNOWN = -1 };

static void draw_legend(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, double most)
{
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, "\xc2\xb7 none  ");
    for (int i = 0; i < SHADES; i++) {
        uint32_t ch = own(app)->cell == HALF ? 0x2588 : shades[i].ch;
        tui_put_char(grid, rect, x, 0, shades[i].style, ch);
        tui_put_char(grid, rect, x + 1, 0, shades[i].style, ch);
        x = tui_putf(grid, rect, x + 3, 0, TUI_STYLE_NORMAL, "%s  ", shades[i].name);
    }
    if (most > 0)
        tui_putf(grid, rect, x, 0, TUI_STYLE_NORMAL, "of %s", ANA_NUMBER(measures[own(app)->measure].unit, most, true));
}

/* The shade of a block as a number from 1 on; NONE, or UNKNOWN. */
static int shade_of(const struct tui_app *app, const struct matrix_sum *b, double most)
{
    double v = measure_block(app, b);
    int s = SHADES;
    if (b->messages <= 0)
        return NONE;
    if (isnan(v))
        return UNKNOWN;
    while (s > 1 && !(most > 0 && v / most >= shades[s - 1].from))
        s--;
    return s;
}

static void draw_axes(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct own *o = own(app);
    char name[ANA_TEXT];
    int end = 0, per_row = o->cell == HALF ? 2 : 1;
    size_t at_column = tui_matrix_block(&o->blocks, app->cursor_peer);
    size_t at_row = tui_matrix_block(&o->blocks, app->cursor_rank), nodes = 0;
    for (size_t i = 0; i < o->across; i++)
        nodes += tui_matrix_begins_node(app, &o->blocks, o->left + i);
    bool by_node = nodes > 1 && nodes * LABELS / 2 <= o->across;
    for (size_t i = 0; i < o->across; i++) {
        size_t block = o->left + i;
        tui_app_rank_name(app, o->blocks.edge[block], name, sizeof name);
        int x = LEFT + (int)(i + 1) * o->cell - tui_columns(name);
        bool wanted = o->cell != HALF || block == at_column ||
                      (by_node ? tui_matrix_begins_node(app, &o->blocks, block) : block % LABELS == 0);
        if (wanted && x > end && x + tui_columns(name) <= rect.w) {
            tui_put(grid, rect, x, 1, block == at_column ? TUI_STYLE_CURSOR : TUI_STYLE_AXIS, name);
            end = x + tui_columns(name);
        }
    }
    for (int y = 0; y < o->drawn.h; y++) {
        size_t block = o->top + (size_t)(y * per_row);
        bool here = at_row >= block && at_row < block + (size_t)per_row;
        tui_put_right(grid, rect, LEFT - 1, ABOVE + y, here ? TUI_STYLE_CURSOR : TUI_STYLE_AXIS,
                      TUI_RANK_NAME(app, o->blocks.edge[here ? at_row : block]));
    }
}

/* Draws a cell: a dot where no message was sent, a question mark where its measure is unknown. */
static void draw_cell(const struct tui_app *app, struct tui_grid *grid, struct tui_rect cell,
                      const struct matrix_sum *b, double most, bool here)
{
    int shade = shade_of(app, b, most);
    enum tui_style style = here ? TUI_STYLE_CURSOR : shade > NONE ? shades[shade - 1].style : TUI_STYLE_DIM;
    uint32_t ch = shade > NONE ? shades[shade - 1].ch : shade == NONE ? 0xb7 : '?';
    if (here)
        tui_fill(grid, cell, style, ' ');
    if (own(app)->cell == NUMBER && shade > NONE)
        tui_put_right(grid, cell, cell.w, 0, style,
                      ANA_NUMBER(measures[own(app)->measure].unit, measure_block(app, b), true));
    else
        for (int x = shade != NONE && own(app)->cell == SHADE ? 0 : cell.w - 1; x < cell.w; x++)
            tui_put_char(grid, cell, x, 0, style, ch);
}

/* Draws two blocks, one above the other, as halves of a cell: the stronger one in its colour, the other one behind. */
static void draw_halves(struct tui_grid *grid, struct tui_rect cell, int above, int below)
{
    static const enum tui_style mixed[SHADES][SHADES] = {
        [1] = {TUI_STYLE_HEAT_2_1},
        [2] = {TUI_STYLE_HEAT_3_1, TUI_STYLE_HEAT_3_2},
        [3] = {TUI_STYLE_HEAT_4_1, TUI_STYLE_HEAT_4_2, TUI_STYLE_HEAT_4_3}};
    int strong = above > below ? above : below, weak = above > below ? below : above;
    uint32_t half = above > below ? 0x2580 : 0x2584;
    if (strong <= NONE)
        tui_put_char(grid, cell, 0, 0, TUI_STYLE_DIM, weak == UNKNOWN ? '?' : 0xb7);
    else if (weak <= NONE)
        tui_put_char(grid, cell, 0, 0, shades[strong - 1].style, half);
    else if (weak == strong)
        tui_put_char(grid, cell, 0, 0, shades[strong - 1].style, 0x2588);
    else
        tui_put_char(grid, cell, 0, 0, mixed[strong - 1][weak - 1], half);
}

static void draw_cells(const struct tui_app *app, struct tui_grid *grid, const struct matrix_sum *sums, double most)
{
    const struct own *o = own(app);
    static const struct matrix_sum nothing;
    size_t at_row = tui_matrix_block(&o->blocks, app->cursor_rank) - o->top,
           at_column = tui_matrix_block(&o->blocks, app->cursor_peer) - o->left;
    size_t step = o->cell == HALF ? 2 : 1;
    for (size_t r = 0; r < o->down; r += step)
        for (size_t c = 0; c < o->across; c++) {
            struct tui_rect cell = {o->drawn.x + (int)c * o->cell, o->drawn.y + (int)(r / step), o->cell, 1};
            const struct matrix_sum *sum = &sums[r * o->across + c];
            const struct matrix_sum *below = r + 1 < o->down ? sum + o->across : &nothing;
            bool here = c == at_column && at_row >= r && at_row < r + step;
            if (step == 1)
                draw_cell(app, grid, cell, sum, most, here);
            else if (here) /* the cursor's half is the ground of the other one */
                tui_put_char(grid, cell, 0, 0, TUI_STYLE_CURSOR, at_row == r ? 0x2584 : 0x2580);
            else
                draw_halves(grid, cell, shade_of(app, sum, most), shade_of(app, below, most));
        }
}

/* Adds a block to another one. */
static void add_block(struct matrix_sum *to, const struct matrix_sum *b)
{
    to->bytes += b->bytes;
    to->messages += b->messages;
    to->latency += b->latency;
    to->latency_messages += b->latency_messages;
}

/* Draws the sums of rows (sent) and columns (received); of columns too narrow for a number their heights. */
static void draw_sums(const struct tui_app *app, struct tui_grid *grid, const struct matrix_sum *sums)
{
    const struct own *o = own(app);
    const enum ana_unit unit = measures[o->measure].unit;
    const struct tui_rect area = {o->drawn.x, o->drawn.y - 1, o->drawn.w + NUMBER, o->drawn.h + 2};
    const size_t per_row = o->cell == HALF ? 2 : 1;
    struct matrix_sum *received = calloc(o->across + 1, sizeof *received), sent = {0};
    double most = 0;
    tui_put_right(grid, area, area.w, 0, TUI_STYLE_AXIS, "all");
    tui_put_right(grid, (struct tui_rect){area.x - LEFT, area.y, LEFT - 1, area.h}, LEFT - 1, area.h - 1,
                  TUI_STYLE_AXIS, "all");
    for (size_t r = 0; received && r < o->down; r++) {
        for (size_t c = 0; c < o->across; c++) {
            add_block(&sent, &sums[r * o->across + c]);
            add_block(&received[c], &sums[r * o->across + c]);
        }
        if ((r + 1) % per_row && r + 1 < o->down)
            continue;
        tui_put_right(grid, area, area.w, (int)(r / per_row) + 1, TUI_STYLE_NORMAL,
                      ANA_NUMBER(unit, measure_block(app, &sent), true));
        sent = (struct matrix_sum){0};
    }
    for (size_t c = 0; received && c < o->across; c++)
        most = fmax(most, measure_block(app, &received[c]));
    for (size_t c = 0; received && c < o->across; c++) {
        const double v = measure_block(app, &received[c]);
        if (o->cell == NUMBER)
            tui_put_right(grid, area, ((int)c + 1) * NUMBER, area.h - 1, TUI_STYLE_NORMAL, ANA_NUMBER(unit, v, true));
        for (int x = 0; o->cell != NUMBER && x < o->cell; x++)
            tui_put_char(grid, area, (int)c * o->cell + x, area.h - 1, TUI_STYLE_BAR, tui_plot_block(v / most));
    }
    free(received);
}

/* Finds the `most` pairs with most bytes, sorted; returns their number. */
static int find_pairs(const struct tui_app *app, const struct ana_pair *pair[PAIRS_MOST], int most)
{
    int n = 0;
    for (size_t i = 0; i < app->summary.pair_count; i++) {
        const struct ana_pair *p = &app->summary.pairs[i];
        int at = n < most ? n : most;
        while (at > 0 && pair[at - 1]->bytes < p->bytes)
            at--;
        if (at == most)
            continue;
        n += n < most;
        memmove(&pair[at + 1], &pair[at], (size_t)(n - 1 - at) * sizeof *pair);
        pair[at] = p;
    }
    return n;
}

/* Lists the busiest pairs of ranks. */
static void draw_pairs(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    static const struct {
        const char *title;
        int end;
    } column[] = {{"FROM", 6}, {"TO", 12}, {"MESSAGES", 22}, {"BYTES", 32}, {"p50", PAIRS_WIDTH - 1}};
    const struct ana_pair *pair[PAIRS_MOST];
    if (rect.h < PAIRS_LEAST || !app->summary.pair_count)
        return;
    int n = find_pairs(app, pair, rect.h - 1 < PAIRS_MOST ? rect.h - 1 : PAIRS_MOST);
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    const int columns = rect.w < PAIRS_WIDTH ? 4 : 5;
    for (int c = 0; c < columns; c++)
        tui_put_right(grid, rect, column[c].end, 0, TUI_STYLE_HEADER, column[c].title);
    for (int i = 0; i < n; i++) {
        char text[5][ANA_TEXT];
        tui_app_rank_name(app, pair[i]->source, text[0], sizeof text[0]);
        tui_app_rank_name(app, pair[i]->destination, text[1], sizeof text[1]);
        ana_number(text[2], sizeof text[2], ANA_COUNT, (double)pair[i]->messages, true);
        ana_number(text[3], sizeof text[3], ANA_BYTES, (double)pair[i]->bytes, true);
        ana_number(text[4], sizeof text[4], ANA_NS, pair[i]->latency_p50_ns, true);
        for (int c = 0; c < columns; c++)
            tui_put_right(grid, rect, column[c].end, i + 1, TUI_STYLE_NORMAL, text[c]);
    }
}

static void draw_matrix(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct own *o = own(app);
    meet_partner(app);
    if (!place_matrix(app, rect, grid->ascii))
        return;
    struct matrix_sum *sums = tui_matrix_sums(app, &o->blocks, o->top, o->down, o->left, o->across);
    if (!sums)
        return;
    double most = 0;
    for (size_t i = 0; i < o->down * o->across; i++)
        most = fmax(most, measure_block(app, &sums[i])); /* NAN is left out */
    draw_cells(app, grid, sums, most);
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, "sender \xe2\x86\x93  receiver \xe2\x86\x92");
    x = tui_putf(grid, rect, x + 3, 0, TUI_STYLE_NORMAL, "shade: %s (m%s)", measures[o->measure].name,
                 o->blocks.most > 1 ? "" : " changes it");
    if (o->blocks.most > 1 && x + 30 <= rect.w)
        tui_putf(grid, rect, x + 2, 0, TUI_STYLE_DIM, SAY_CELLS_OF_RANKS, o->blocks.most, o->blocks.most,
                 o->blocks.nodes ? ", by node" : "");
    draw_axes(app, grid, rect);
    struct tui_rect foot = {rect.x, rect.y + rect.h - 2, rect.w, 1};
    bool with_sums = o->sums && o->down == o->blocks.count && o->across == o->blocks.count;
    if (with_sums)
        draw_sums(app, grid, sums);
    int below = o->drawn.y + o->drawn.h + 1 + with_sums, beside = o->drawn.x + o->drawn.w + 2 + with_sums * NUMBER;
    int right = rect.x + rect.w - beside;
    if (right >= PAIRS_NARROW)
        draw_pairs(
            app, grid,
            (struct tui_rect){beside, rect.y + 1, right < PAIRS_WIDTH ? right : PAIRS_WIDTH, foot.y - rect.y - 2});
    else
        draw_pairs(app, grid, (struct tui_rect){rect.x, below, rect.w, foot.y - 1 - below});
    size_t row = tui_matrix_block(&o->blocks, app->cursor_rank) - o->top,
           column = tui_matrix_block(&o->blocks, app->cursor_peer) - o->left;
    draw_pair(app, grid, foot, row < o->down && column < o->across ? &sums[row * o->across + column] : NULL);
    foot.y++;
    draw_legend(app, grid, foot, most);
    free(sums);
}

/* Moves a cursor by blocks, to the first rank of the one it comes to. */
static void move_cursor(const struct tui_app *app, size_t *cursor, long delta)
{
    const struct matrix_blocks *blocks = &own(app)->blocks;
    if (blocks->count)
        *cursor = blocks->edge[tui_step(tui_matrix_block(blocks, *cursor), delta, blocks->count)];
}

/* Puts the cursor in time on the longest call that sends from the rank under the cursor to its partner. */
static void inspect_pair(struct tui_app *app)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    const int64_t at = ana_longest_send(app->job, app->cursor_rank, app->cursor_peer, begin, end);
    if (at > INT64_MIN)
        tui_app_goto_time(app, at);
}

static int act_on_matrix(struct tui_app *app, enum tui_action action)
{
    const struct tui_move move = tui_action_move(action, own(app)->down > 1 ? (long)own(app)->down : 1);
    size_t n = app->rank_count;
    if (!n)
        return TUI_UNHANDLED;
    if (action >= TUI_ACTION_UP && action <= TUI_ACTION_DEEPER) /* moves */
        tui_app_choose_rank(app, app->cursor_rank);
    switch (action) {
    case TUI_ACTION_FIRST:
    case TUI_ACTION_LAST:
        app->cursor_rank = app->cursor_peer = action == TUI_ACTION_FIRST ? 0 : n - 1;
        return TUI_REDRAW;
    case TUI_ACTION_MEASURE:
        own(app)->measure = (own(app)->measure + 1) % MEASURES;
        return TUI_REDRAW;
    case TUI_ACTION_DEEPER:
        if (own(app)->blocks.most > 1)
            app->unfolded = true;
        else
            tui_app_open(app, TUI_VIEW_TIMELINE);
        return TUI_REDRAW;
    case TUI_ACTION_INSPECT:
        inspect_pair(app);
        return TUI_UNHANDLED;
    case TUI_ACTION_BACK:
        if (!app->unfolded)
            return TUI_UNHANDLED;
        app->unfolded = false;
        return TUI_REDRAW;
    default:
        if (!move.lines && !move.columns)
            return TUI_UNHANDLED;
        move_cursor(app, move.lines ? &app->cursor_rank : &app->cursor_peer, move.lines + move.columns);
        return TUI_REDRAW;
    }
}

static int click_matrix(struct tui_app *app, int x, int y)
{
    struct own *o = own(app);
    x -= o->drawn.x;
    y -= o->drawn.y;
    if (o->cell < 1 || x < 0 || y < 0 || x >= o->drawn.w || y >= o->drawn.h)
        return TUI_UNHANDLED;
    size_t row = o->top + (size_t)y * (o->cell == HALF ? 2 : 1), column = o->left + (size_t)(x / o->cell);
    if (row >= o->blocks.count || column >= o->blocks.count)
        return TUI_UNHANDLED;
    size_t at = tui_matrix_block(&o->blocks, app->cursor_rank);
    if (at >= row && at < row + (o->cell == HALF ? 2 : 1) && tui_matrix_block(&o->blocks, app->cursor_peer) == column)
        return act_on_matrix(app, TUI_ACTION_DEEPER);
    tui_app_choose_rank(app, o->blocks.edge[row]);
    app->cursor_peer = o->blocks.edge[column];
    return TUI_REDRAW;
}

static void drop_own(void *data)
{
    struct own *o = data;
    tui_matrix_free(&o->blocks);
}

const struct tui_view tui_view_matrix = {
    .own_size = sizeof(struct own),
    .drop = drop_own,
    .draw = draw_matrix,
    .act = act_on_matrix,
    .click = click_matrix,
};
