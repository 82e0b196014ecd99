#include "tui/views/iteration_rows.h"

#include <stdlib.h>
#include <string.h>

enum { STAND_OUT = 3, MEAN_OF = 4 };
#define LEAST_EXCESS 0.1

double tui_iteration_excess(const struct ana_loop_level *loop, const struct ana_iteration_cell *cell, bool whole_time)
{
    double ns = (double)(whole_time ? cell->time_ns : cell->own_ns),
           usual = whole_time ? loop->median_ns : loop->own_ns;
    return (ns - usual) / loop->median_ns;
}

/* State while rows are made. */
struct maker {
    const struct tui_app *app;
    const struct tui_iteration_look *look;
    struct tui_iteration_rows *rows;
    size_t groups;            /* groups of ranks that share a row, behind the ranks that stand out */
    double weight[STAND_OUT]; /* weights of the ranks that stand out, the heaviest first */
    struct ana_iteration_cell *one;
};

static struct ana_iteration_cell *cells_of(const struct maker *m, size_t row)
{
    return m->rows->cell + row * m->look->cells;
}

static void read_rank(const struct maker *m, size_t index, struct ana_iteration_cell *out)
{
    ana_iteration_cells(m->app->job, &m->app->summary.iterations, m->look->level, index, m->look->first, m->look->last,
                        m->look->cells, out);
}

static void join_cells(const struct maker *m, struct ana_iteration_cell *to, const struct ana_iteration_cell *from)
{
    for (size_t i = 0; i < m->look->cells; i++) {
        to[i].time_ns = fmaxf(to[i].time_ns, from[i].time_ns);
        to[i].own_ns = fmaxf(to[i].own_ns, from[i].own_ns);
        to[i].mean_of = to[i].mean_of > from[i].mean_of ? to[i].mean_of : from[i].mean_of;
    }
}

/* Returns how much longer than usual a rank takes, in all of its cells. */
static double weigh(const struct maker *m, const struct ana_iteration_cell *cells)
{
    const struct ana_loop_level *loop = &m->app->summary.iterations.loop[m->look->level];
    double sum = 0;
    for (size_t i = 0; i < m->look->cells; i++) {
        double excess = tui_iteration_excess(loop, &cells[i], m->look->whole_time);
        sum += excess > LEAST_EXCESS ? excess : 0;
    }
    return sum;
}

/* Returns the number of groups of ranks that share a row. */
static size_t groups_of(const struct tui_app *app, const struct tui_iteration_rows *rows)
{
    return rows->by_host ? app->info.hosts : rows->most - STAND_OUT;
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

static size_t group_of(const struct maker *m, size_t position, size_t index)
{
    if (!m->rows->by_host)
        return position * m->groups / m->rows->ranks;
    return m->app->rank[index].host_index;
}

static void add_to_group(const struct maker *m, size_t group, size_t index, const struct ana_iteration_cell *cells)
{
    struct tui_iteration_row *row = &m->rows->row[STAND_OUT + group];
    if (!row->ranks++)
        row->first = index;
    join_cells(m, cells_of(m, STAND_OUT + group), cells);
}

/* Adds a row for a rank that is an outlier; the rank that no longer does goes to its group. */
static void place_rank(struct maker *m, size_t position, size_t index)
{
    size_t last = STAND_OUT - 1, cells = m->look->cells * sizeof *m->one;
    double weight = weigh(m, m->one);
    struct tui_iteration_row *row = m->rows->row;
    if (!(weight > m->weight[last])) {
        add_to_group(m, group_of(m, position, index), index, m->one);
        return;
    }
    if (row[last].ranks) {
        size_t out = row[last].first;
        add_to_group(m, group_of(m, tui_app_shown_position(m->app, out), out), out, cells_of(m, last));
    }
    size_t at = last;
    for (; at > 0 && weight > m->weight[at - 1]; at--) {
        row[at] = row[at - 1];
        m->weight[at] = m->weight[at - 1];
        memcpy(cells_of(m, at), cells_of(m, at - 1), cells);
    }
    row[at] = (struct tui_iteration_row){index, 1, true};
    m->weight[at] = weight;
    memcpy(cells_of(m, at), m->one, cells);
}

/* Rows without ranks go. */
static void close_up(const struct maker *m, size_t rows)
{
    size_t n = 0, cells = m->look->cells * sizeof *m->one;
    for (size_t i = 0; i < rows; i++) {
        if (!m->rows->row[i].ranks)
            continue;
        m->rows->row[n] = m->rows->row[i];
        memmove(cells_of(m, n++), cells_of(m, i), cells);
    }
    memmove(cells_of(m, n), cells_of(m, rows), cells);
    m->rows->count = n;
}

static void make_folded(struct maker *m)
{
    size_t rows = STAND_OUT + m->groups;
    for (size_t i = 0; i < m->rows->ranks; i++) {
        size_t index = tui_app_shown_rank(m->app, i);
        read_rank(m, index, m->one);
        join_cells(m, cells_of(m, rows), m->one);
        place_rank(m, i, index);
    }
    close_up(m, rows);
}

/* Reads only the sum over single ranks; ranks in view are read when they are drawn. */
static void make_single(struct maker *m)
{
    for (size_t i = 0; i < m->rows->ranks; i++) {
        read_rank(m, tui_app_shown_rank(m->app, i), m->one);
        join_cells(m, cells_of(m, m->rows->count), m->one);
    }
}

/* Finds the rank that was longest outside calls in each of the slowest iterations without a known segment. */
static void find_late(const struct maker *m)
{
    const struct ana_iterations *of = &m->app->summary.iterations;
    const struct ana_loop_level *loop = &of->loop[m->look->level];
    for (size_t k = 0; k < loop->slow_count; k++) {
        struct tui_iteration_late *late = &m->rows->late[k];
        *late = (struct tui_iteration_late){0, NAN};
        for (size_t i = 0; loop->slow[k].index == SIZE_MAX && i < m->app->rank_count; i++) {
            struct ana_iteration_cell cell;
            const uint64_t number = loop->slow[k].number;
            ana_iteration_cells(m->app->job, of, m->look->level, i, number, number, 1, &cell);
            /* The other iterations of a mean count with their usual time. */
            const float own_ns = cell.mean_of <= MEAN_OF
                                     ? cell.own_ns + (float)(cell.mean_of - 1) * (cell.own_ns - (float)loop->own_ns)
                                     : NAN;
            if (!(late->own_ns >= own_ns) && !isnan(own_ns))
                *late = (struct tui_iteration_late){i, own_ns};
        }
    }
}

/* Finds the row of the cursor's rank, which is never a row of another rank that stands out. */
static void find_cursor(const struct maker *m)
{
    size_t cursor = m->app->cursor_rank, group = group_of(m, tui_app_shown_position(m->app, cursor), cursor);
    for (size_t i = m->rows->count; i-- > 0;) {
        const struct tui_iteration_row *row = &m->rows->row[i];
        size_t its = group_of(m, tui_app_shown_position(m->app, row->first), row->first);
        if (row->stands ? row->first == cursor : its == group)
            m->rows->cursor = i;
    }
}

/* Reads the ranks around the cursor's. */
static void scroll_single(struct tui_app *app, const struct maker *m)
{
    size_t n = m->rows->ranks, at = tui_app_shown_position(app, app->cursor_rank), visible = m->rows->count;
    app->picture_top = at < app->picture_top ? at : app->picture_top;
    if (at >= app->picture_top + visible)
        app->picture_top = at - visible + 1;
    if (app->picture_top + visible > n)
        app->picture_top = n - visible;
    for (size_t row = 0; row < visible; row++) {
        m->rows->row[row] = (struct tui_iteration_row){tui_app_shown_rank(app, app->picture_top + row), 1, false};
        read_rank(m, m->rows->row[row].first, cells_of(m, row));
    }
    m->rows->cursor = at - app->picture_top;
}

static bool is_made(const struct tui_app *app, const struct tui_iteration_look *look, size_t most,
                    const struct tui_iteration_rows *rows)
{
    const struct tui_iteration_look *of = &rows->look;
    return rows->cell && rows->ranks == tui_app_shown(app) && rows->summaries == app->summaries && rows->most == most &&
           rows->unfolded == app->unfolded && of->level == look->level && of->first == look->first &&
           of->last == look->last && of->cells == look->cells && of->whole_time == look->whole_time;
}

/* Chooses what rows there will be, and makes room for their cells.  False: out of memory. */
static bool begin_rows(const struct tui_app *app, const struct tui_iteration_look *look, size_t most,
                       struct tui_iteration_rows *rows)
{
    tui_iteration_rows_free(rows);
    *rows = (struct tui_iteration_rows){.ranks = tui_app_shown(app),
                                        .look = *look,
                                        .summaries = app->summaries,
                                        .most = most,
                                        .unfolded = app->unfolded};
    rows->folded = !app->unfolded && rows->ranks > most && most > STAND_OUT;
    rows->count = rows->ranks < most ? rows->ranks : most;
    rows->by_host = rows->folded && app->info.hosts + STAND_OUT <= most && app->info.hosts * 2 > most;
    size_t cells = ((rows->folded ? STAND_OUT + groups_of(app, rows) : rows->count) + 2) * look->cells;
    rows->cell = malloc(cells * sizeof *rows->cell);
    for (size_t i = 0; rows->cell && i < cells; i++)
        rows->cell[i] = (struct ana_iteration_cell){NAN, NAN, 0};
    return rows->cell != NULL;
}

bool tui_iteration_rows_make(struct tui_app *app, const struct tui_iteration_look *look, size_t most,
                             struct tui_iteration_rows *rows)
{
    most = most < TUI_ITERATION_ROWS ? most : TUI_ITERATION_ROWS;
    if (!tui_app_shown(app) || !most)
        return false;
    app->cursor_rank = tui_app_shown_rank(app, tui_app_shown_position(app, app->cursor_rank));
    bool made = is_made(app, look, most, rows);
    if (!made && !begin_rows(app, look, most, rows))
        return false;
    struct maker m = {.app = app, .look = look, .rows = rows, .groups = groups_of(app, rows)};
    m.one = cells_of(&m, rows->folded ? STAND_OUT + m.groups + 1 : rows->count + 1);
    if (!made)
        (rows->folded ? make_folded : make_single)(&m);
    if (!made)
        find_late(&m);
    if (rows->folded)
        find_cursor(&m);
    else
        scroll_single(app, &m);
    return true;
}

void tui_iteration_rows_free(struct tui_iteration_rows *rows)
{
    free(rows->cell);
    rows->cell = NULL;
}

void tui_iteration_row_name(const struct tui_app *app, const struct tui_iteration_rows *rows, size_t row, char *out,
                            size_t size)
{
    const struct tui_iteration_row *of = &rows->row[row];
    if (!of->stands && rows->by_host)
        snprintf(out, size, "%s", app->rank[of->first].host);
    else
        snprintf(out, size, "%s%s", TUI_RANK_NAME(app, of->first), rows->folded && !of->stands ? ".." : "");
}
