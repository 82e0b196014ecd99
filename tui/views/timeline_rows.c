#include "tui/views/timeline.h"
#include "tui/views/sentences_impl.h"
#include "tui/widgets/plot.h"
#include "trace/util/rows.h"

#include <stdlib.h>

enum { PLAIN_LEFT = 8, LEFT = 17, RIGHT = 15, WIDE = 56 };

void tui_timeline_rows(struct tui_app *app, struct timeline_rows *rows, size_t fit)
{
    const struct tui_tree *tree = &app->tree;
    tui_tree_update(app, app->rows_by, fit, true);
    rows->many = tree->by != TUI_BY_RANK || tree->rows > fit;
    rows->lines = tree->rows;
    rows->most = SIZE_MAX;
    for (size_t i = 0; i < tree->rows; i++)
        if (tree->row[i].rest && !tree->row[i].open && !tree->row[i].is_rank) {
            rows->most = i + 1;
            rows->lines++;
            return;
        }
}

int tui_timeline_left(const struct timeline_rows *rows)
{
    return rows->many ? LEFT : PLAIN_LEFT;
}

int tui_timeline_right(const struct timeline_rows *rows, int width)
{
    return rows->many && width >= WIDE ? RIGHT : 1;
}

size_t tui_timeline_row(const struct timeline_rows *rows, size_t line)
{
    return line >= rows->most ? line - 1 : line;
}

size_t tui_timeline_line(const struct timeline_rows *rows, size_t row)
{
    return row >= rows->most ? row + 1 : row;
}

static enum tui_heat heat_of(const struct tui_app *app, const struct timeline_rows *rows)
{
    bool shares = rows->many && app->tree.by != TUI_BY_RANK;
    return rows->heat ? rows->heat : shares ? TUI_HEAT_WAITING : rows->wall ? rows->wall : TUI_HEAT_CATEGORY;
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Filtered time shows wherever there is some of it, and all else stays blank. */
static void leave_filtered(size_t n, struct ana_timeline_cell *cell)
{
    const float least = 0.02f;
    for (size_t i = 0; i < n; i++) {
        if (1 - cell[i].share[TRC_CAT_COMPUTE] < least)
            cell[i] = (struct ana_timeline_cell){0};
        cell[i].share[TRC_CAT_COMPUTE] = 0;
    }
}

/* Makes a rank wait in the call that it does not come out of, in a job that hangs: all of its time there is waiting,
 * although nobody has come for whom it could be said to have waited. */
static void wait_in_open_call(const struct tui_app *app, size_t index, const struct timeline_key *key,
                              struct ana_timeline_cell *cell)
{
    enum { LONG_NS = 1000000000 };
    const struct ana_rank *r = &app->rank[index];
    int64_t since_ns = app->info.elapsed_ns - r->inside_ns;
    double width = (double)(key->end_ns - key->begin_ns) / (double)key->columns;
    if (app->verdict->state != ANA_VERDICT_HUNG || !r->inside || r->inside_ns < LONG_NS || key->filtered)
        return;
    for (size_t i = 0; i < key->columns; i++)
        if ((double)key->begin_ns + width * (double)i >= (double)since_ns && tui_cell_category(&cell[i]) >= 0)
            cell[i].waiting = 1 - cell[i].share[TRC_CAT_COMPUTE];
}

static void read_lines(struct tui_app *app, struct timeline_rows *rows, const struct timeline_key *key)
{
    for (size_t i = 0; i < key->lines; i++) {
        size_t line = key->top + i;
        const struct tui_row *row = &app->tree.row[tui_timeline_row(rows, line)];
        struct ana_timeline_cell *cells = rows->cell + i * key->columns;
        bool most_follows = line + 1 == rows->most && i + 1 < key->lines;
        if (line != rows->most)
            ana_timeline_of(app->job, row->member, row->count, key->begin_ns, key->end_ns, key->columns, cells,
                            most_follows ? cells + key->columns : NULL);
        else if (i == 0) /* the line above it is out of view */
            ana_timeline_of(app->job, row->member, row->count, key->begin_ns, key->end_ns, key->columns, NULL, cells);
        if (row->is_rank)
            wait_in_open_call(app, *row->member, key, cells);
        if (key->filtered && line != rows->most)
            leave_filtered(key->columns, cells);
    }
}

/* Returns the category that a wall of computing would hide: waiting, or MPI if that is little.  AUTO: nothing. */
static enum tui_heat find_hidden(const struct timeline_rows *rows)
{
    const double least = 0.05, part = 0.25;
    double known = 0, mpi = 0, waiting = 0;
    for (size_t i = 0; i < rows->key.lines * rows->key.columns; i++) {
        const struct ana_timeline_cell *cell = &rows->cell[i];
        int best = tui_cell_category(cell);
        if (best >= 0 && best != TRC_CAT_COMPUTE)
            return TUI_HEAT_AUTO;
        known += best >= 0;
        mpi += best >= 0 ? 1 - (double)cell->share[TRC_CAT_COMPUTE] : 0;
        waiting += (double)cell->waiting;
    }
    return mpi <= least * known ? TUI_HEAT_AUTO : waiting >= part * mpi ? TUI_HEAT_WAITING : TUI_HEAT_MPI;
}

bool tui_timeline_read(struct tui_app *app, struct timeline_rows *rows, size_t top, size_t visible, size_t columns)
{
    struct timeline_key key = {.version = app->tree.version, .summaries = app->summaries, .top = top, .lines = visible};
    key.columns = columns;
    key.filtered = app->filter_words[0] != 0;
    tui_app_range(app, &key.begin_ns, &key.end_ns);
    const struct timeline_key *old = &rows->key;
    if (rows->cell && old->version == key.version && old->summaries == key.summaries && old->top == top &&
        old->lines == visible && old->columns == columns && old->begin_ns == key.begin_ns &&
        old->end_ns == key.end_ns && old->filtered == key.filtered)
        return true;
    free(rows->cell);
    rows->cell = calloc(visible * columns + 1, sizeof *rows->cell);
    if (!rows->cell)
        return false;
    rows->key = key;
    read_lines(app, rows, &key);
    rows->wall = find_hidden(rows);
    return true;
}

/* Returns the cells of the i-th line in view. */
static const struct ana_timeline_cell *cells_of(const struct timeline_rows *rows, size_t i)
{
    return rows->cell + i * rows->key.columns;
}

void tui_timeline_rows_free(struct timeline_rows *rows)
{
    free(rows->cell);
    *rows = (struct timeline_rows){0};
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static const struct {
    float from;
    const char *name;
    enum tui_style style;
    uint32_t ch;
} shades[] = {{0, "below 5", TUI_STYLE_DIM, 0xb7},
              {0.05f, "5", TUI_STYLE_HEAT_1, 0x2591},
              {0.15f, "15", TUI_STYLE_HEAT_2, 0x2592},
              {0.25f, "25", TUI_STYLE_HEAT_3, 0x2593},
              {0.5f, "50", TUI_STYLE_HEAT_4, 0x2588}};
enum { SHADES = sizeof shades / sizeof *shades };

/* The share that is shaded; NAN: nothing is known. */
static float share_of(const struct ana_timeline_cell *cell, enum tui_heat heat)
{
    float known = 0;
    for (int c = 0; c < TRC_CATEGORIES; c++)
        known += cell->share[c];
    return known <= 0 ? NAN : heat == TUI_HEAT_WAITING ? cell->waiting : 1 - cell->share[TRC_CAT_COMPUTE];
}

/* Draws a cell; returns its category as a bit. */
static unsigned draw_cell(struct tui_grid *grid, struct tui_rect area, int x, const struct ana_timeline_cell *cell,
                          enum tui_heat heat, bool cursor)
{
    if (heat == TUI_HEAT_CATEGORY) {
        int best = tui_cell_category(cell);
        const struct tui_category *category = tui_category(best);
        tui_put_char(grid, area, x, 0,
                     cursor     ? TUI_STYLE_CURSOR
                     : best < 0 ? TUI_STYLE_DIM
                                : category->style,
                     best < 0 ? (cursor ? '+' : ' ') : category->ch);
        return best < 0 ? 0 : 1u << best;
    }
    float share = share_of(cell, heat);
    int s = SHADES - 1;
    while (s > 0 && !(share >= shades[s].from))
        s--;
    tui_put_char(grid, area, x, 0, cursor ? TUI_STYLE_CURSOR : shades[s].style,
                 !isnan(share) ? shades[s].ch
                 : cursor      ? '+'
                               : ' ');
    return isnan(share) ? 0 : 1u << TUI_CATEGORIES;
}

/* Draws how much of its time a row waits, and how long others waited for it. */
static void draw_sums(const struct tui_app *app, const struct tui_row *row, struct tui_grid *grid, struct tui_rect rect)
{
    double waits = 0, seen = 0, caused = 0;
    for (size_t i = 0; i < row->count; i++) {
        const struct ana_rank_stat *stat = tui_app_stat(app, row->member[i]);
        if (!stat || !stat->counted || stat->waiting_ns < 0)
            continue;
        waits += (double)stat->waiting_ns;
        seen += (double)ana_rank_seen_ns(stat);
        caused += stat->caused_ns > 0 ? (double)stat->caused_ns : 0;
    }
    tui_put_right(grid, rect, 6, 0, TUI_STYLE_NORMAL, ANA_NUMBER(ANA_SHARE, seen > 0 ? waits / seen : NAN, true));
    tui_put_right(grid, rect, RIGHT - 1, 0, TUI_STYLE_NORMAL, ANA_NUMBER(ANA_NS, seen > 0 ? caused : NAN, true));
}

static void draw_name(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                      struct tui_rect label, size_t line, bool here)
{
    const struct tui_row *row = &app->tree.row[tui_timeline_row(rows, line)];
    char name[ANA_TEXT], place[80];
    enum tui_style style = here ? TUI_STYLE_CURSOR : row->odd && rows->many ? TUI_STYLE_NOTABLE : TUI_STYLE_AXIS;
    if (line == rows->most) {
        tui_put(grid, label, 7, 0, TUI_STYLE_AXIS, "their max");
        return;
    }
    if (here)
        tui_fill(grid, (struct tui_rect){label.x, label.y, label.w - 1, 1}, TUI_STYLE_CURSOR, ' ');
    tui_put_right(grid, label, PLAIN_LEFT - 2, 0, style, tui_tree_name(app, row, name, sizeof name));
    if (!rows->many)
        return;
    if (row->odd)
        tui_put(grid, label, 0, 0, here ? TUI_STYLE_CURSOR : TUI_STYLE_NOTABLE, "!");
    struct tui_rect right = {label.x + PLAIN_LEFT - 1 + row->level, label.y, label.w - PLAIN_LEFT - row->level, 1};
    tui_put(grid, right, 0, 0, style,
            row->rest && !row->open ? "others" : tui_tree_place(app, row, place, sizeof place));
}

unsigned tui_timeline_draw(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                           struct tui_rect area, size_t i, int at, bool here)
{
    size_t line = rows->key.top + i;
    int left = tui_timeline_left(rows), y = area.y + (int)i;
    const struct ana_timeline_cell *cells = cells_of(rows, i);
    enum tui_heat heat = heat_of(app, rows);
    struct tui_rect cell_row = {area.x, y, area.w, 1};
    if (line == rows->most && heat == TUI_HEAT_CATEGORY)
        heat = TUI_HEAT_MPI;
    draw_name(app, rows, grid, (struct tui_rect){area.x - left, y, left, 1}, line, here);
    unsigned seen = 0;
    for (int x = 0; x < area.w; x++)
        seen |= draw_cell(grid, cell_row, x, &cells[x], heat, here && x == at);
    if (rows->many && line != rows->most && area.x + area.w + RIGHT <= grid->cols)
        draw_sums(app, &app->tree.row[tui_timeline_row(rows, line)], grid,
                  (struct tui_rect){area.x + area.w, y, RIGHT, 1});
    return seen;
}

unsigned tui_timeline_strip(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                            struct tui_rect rect)
{
    enum { MOST = 256 };
    size_t rank[MOST], n = 0;
    unsigned seen = 0;
    int64_t begin, end;
    struct ana_timeline_cell *cell = calloc((size_t)rect.w, sizeof *cell);
    for (size_t i = 0; i < app->rank_count; i += 1 + app->rank_count / MOST)
        rank[n++] = i;
    if (cell && n)
        ana_timeline_of(app->job, rank, n, 0, app->info.elapsed_ns, (size_t)rect.w, cell, NULL);
    for (int x = 0; cell && x < rect.w; x++)
        seen |= draw_cell(grid, rect, x, &cell[x], heat_of(app, rows), false);
    free(cell);
    tui_app_range(app, &begin, &end);
    const double columns = rect.w / (double)app->info.elapsed_ns;
    int from = (int)((double)begin * columns), to = (int)((double)end * columns) - 1;
    tui_put_char(grid, rect, from, 0, TUI_STYLE_STRONG, '[');
    tui_put_char(grid, rect, to > from ? to : from + 1, 0, TUI_STYLE_STRONG, ']');
    tui_put_right(grid, (struct tui_rect){rect.x - PLAIN_LEFT, rect.y, PLAIN_LEFT, 1}, PLAIN_LEFT - 2, 0,
                  TUI_STYLE_LABEL, "run");
    return seen;
}

void tui_timeline_titles(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                         struct tui_rect area)
{
    int left = tui_timeline_left(rows);
    struct tui_rect title = {area.x - left, area.y - 1, left, 1};
    static const char *const by[] = {
        [TUI_BY_BEHAVIOUR] = "by behaviour", [TUI_BY_NODE] = "by node", [TUI_BY_RANK] = "rank"};
    TRC_ASSERT_ROWS(by, TUI_BY_RANK);
    if (!rows->many) {
        tui_put_right(grid, title, PLAIN_LEFT - 2, 0, TUI_STYLE_LABEL, "rank");
        return;
    }
    tui_put(grid, title, 2, 0, TUI_STYLE_LABEL, by[app->tree.by]);
    if (area.x + area.w + RIGHT <= grid->cols) {
        struct tui_rect right = {area.x + area.w, area.y - 1, RIGHT, 1};
        tui_put_right(grid, right, 6, 0, TUI_STYLE_LABEL, "WAITS");
        tui_put_right(grid, right, RIGHT - 1, 0, TUI_STYLE_LABEL, "CAUSED");
    }
}

int tui_timeline_shades(const struct tui_app *app, const struct timeline_rows *rows, struct tui_grid *grid,
                        struct tui_rect rect)
{
    enum tui_heat heat = heat_of(app, rows);
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, heat == TUI_HEAT_WAITING ? "waiting: " : "in MPI: ");
    for (int s = 0; s < SHADES; s++) {
        tui_put_char(grid, rect, x, 0, shades[s].style, shades[s].ch);
        x = tui_putf(grid, rect, x + 2, 0, TUI_STYLE_NORMAL, "%s%s", shades[s].name, s + 1 < SHADES ? "  " : " %");
    }
    return x;
}

void tui_timeline_next(const struct tui_app *app, struct timeline_rows *rows)
{
    rows->heat = heat_of(app, rows) % (TUI_HEATS - 1) + 1;
}

void tui_timeline_words(const struct tui_app *app, const struct timeline_rows *rows, size_t line, int column,
                        char *first, size_t first_size, char *second, size_t second_size)
{
    const struct tui_row *row = &app->tree.row[tui_timeline_row(rows, line)];
    char place[80];
    first[0] = second[0] = 0;
    if (line < rows->key.top || line >= rows->key.top + rows->key.lines || column < 0 ||
        column >= (int)rows->key.columns)
        return;
    const struct ana_timeline_cell *cell = cells_of(rows, line - rows->key.top) + column;
    snprintf(first, first_size, "%zu ranks on %s%s", row->count, tui_tree_place(app, row, place, sizeof place),
             app->tree.by == TUI_BY_BEHAVIOUR && row->level == 0 ? SAY_THAT_BEHAVE_ALIKE : "");
    if (isnan(share_of(cell, TUI_HEAT_MPI)))
        snprintf(second, second_size, SAY_NOTHING_IS_KNOWN_OF);
    else
        snprintf(
            second, second_size, SAY_HERE_SHARES, ANA_NUMBER(ANA_SHARE, cell->waiting, false),
            ANA_NUMBER(ANA_SHARE, fmax(0, 1 - (double)cell->share[TRC_CAT_COMPUTE] - (double)cell->waiting), false),
            ANA_NUMBER(ANA_SHARE, cell->share[TRC_CAT_COMPUTE], false));
}
