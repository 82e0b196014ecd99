/* Horovod: one row a tensor, one cell a rank; below it the late ranks and the carrier of the data. */
#include "tui/views/horovod.h"
#include "tui/views/sentences_impl.h"

struct own {
    bool open;    /* the lower part shows who submitted the tensor under the cursor */
    size_t cells; /* cells of a row, for the ranks of its tensor */
};

TUI_STATE(HOROVOD)

enum { WAITS, MISSING, RANKS, TENSOR, STATE, DONE, OPERATION, ELEMENTS, STEP, SET };

static const struct tui_column columns[] = {
    [WAITS] = {TUI_OWN("WAITS", ANA_NS, "time since its first rank submitted it, while not all have"), 7,
               TUI_FIRST_SORT, NULL},
    [MISSING] = {TUI_OWN("MISSING", ANA_COUNT, "ranks that others wait for: they have not submitted it"), 7, 0, NULL},
    [RANKS] =
        {TUI_OWN(
             "RANKS", ANA_UNIT_TEXT,
             "one cell a rank, by its number in the process set; where there are more ranks than cells, one cell for "
             "several: the least advanced of them"),
         16, TUI_ASCENDING | TUI_STRETCH, NULL},
    [TENSOR] = {TUI_OWN("TENSOR", ANA_UNIT_TEXT, "its name, as the program gave it to Horovod"), 20,
                TUI_ASCENDING | TUI_STRETCH, NULL},
    [STATE] = {TUI_OWN("STATE", ANA_UNIT_TEXT, "of its least advanced rank, in a word"), 9, TUI_ASCENDING, NULL},
    [DONE] = {TUI_OWN("DONE", ANA_COUNT, "times that it was agreed on, and so carried out"), 6, 0, NULL},
    [OPERATION] = {TUI_OWN("OPERATION", ANA_UNIT_TEXT, "what it is submitted for"), 13, TUI_ASCENDING, NULL},
    [ELEMENTS] = {TUI_OWN("ELEMENTS", ANA_COUNT, "its size"), 8, 0, NULL},
    [STEP] = {TUI_OWN("STEP", ANA_COUNT, "the step it was agreed on last in: a batch of tensors, each once"), 6, 0,
              NULL},
    [SET] = {TUI_OWN("SET", ANA_COUNT, "process set"), 3, 0, NULL},
};

static bool has_sets(const struct tui_app *app)
{
    return app->horovod && app->horovod->sets > 0;
}

static size_t count_tensors(const void *data)
{
    const struct tui_app *app = data;
    size_t n = 0;
    for (size_t i = 0; has_sets(app) && i < app->horovod->sets; i++)
        n += app->horovod->set[i].tensors;
    return n;
}

static const void *get_tensor(const void *data, size_t row)
{
    const struct ana_hvd_set *set = ((const struct tui_app *)data)->horovod->set;
    for (; row >= set->tensors; set++)
        row -= set->tensors;
    return &set->tensor[row];
}

/* Returns the process set of a tensor. */
static const struct ana_hvd_set *find_set(const struct tui_app *app, const struct ana_hvd_tensor *t)
{
    const struct ana_hvd_set *set = app->horovod->set;
    while (t < set->tensor || t >= set->tensor + set->tensors)
        set++;
    return set;
}

static uint64_t identify_tensor(const void *data, const void *row)
{
    const struct tui_app *app = data;
    const struct ana_hvd_set *set = find_set(app, row);
    return ((uint64_t)(set - app->horovod->set) << 32 | (uint64_t)((const struct ana_hvd_tensor *)row - set->tensor)) +
           1;
}

static size_t count_missing(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t, size_t *first)
{
    size_t n = 0;
    *first = SIZE_MAX;
    for (size_t m = 0; t->pending && m < set->ranks; m++)
        if (t->submitted[m] == ANA_HVD_NO && n++ == 0)
            *first = m;
    return n;
}

/* Fills in one cell a rank, or for several ranks the least advanced.  Returns the least advanced state of all. */
static enum tui_hvd_state fill_rank_cells(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t, size_t most,
                                          struct tui_value *out)
{
    bool operating = tui_hvd_operating(set);
    size_t n = set->ranks < most ? set->ranks : most;
    enum tui_hvd_state least = TUI_HVD_JOINED;
    for (size_t i = 0; i < n; i++) {
        enum tui_hvd_state state = TUI_HVD_JOINED;
        for (size_t m = i * set->ranks / n; m < (i + 1) * set->ranks / n; m++) {
            enum tui_hvd_state of = tui_hvd_state(set, t, m, operating);
            state = of < state ? of : state;
        }
        least = state < least ? state : least;
        out->text[i] = tui_hvd_looks[state].mark;
        out->styles[i] = (uint8_t)tui_hvd_looks[state].style;
    }
    out->text[n] = 0;
    out->each = true;
    return least;
}

static void fill_tensor_cell(const void *data, const void *row, const struct tui_column *column, struct tui_value *out)
{
    const struct tui_app *app = data;
    struct tui_value all;
    size_t first;
    const struct ana_hvd_tensor *t = row;
    const struct ana_hvd_set *set = find_set(app, t);
    const long c = column - columns;
    if (c == WAITS)
        out->number = t->pending ? (double)(set->now_ns - t->since_ns) : NAN;
    else if (c == MISSING) {
        out->number = t->pending ? (double)count_missing(set, t, &first) : NAN;
        out->style = out->number > 0 ? TUI_STYLE_TROUBLE : TUI_STYLE_NORMAL;
    } else if (c == RANKS)
        fill_rank_cells(set, t, own(app)->cells ? own(app)->cells : 16, out);
    else if (c == TENSOR || c == OPERATION)
        snprintf(out->text, sizeof out->text, "%.127s", c == TENSOR ? t->name : ana_hvd_op_name(t->op));
    else if (c == STATE) {
        const struct tui_hvd_look *look = &tui_hvd_looks[fill_rank_cells(set, t, 1, &all)];
        snprintf(out->text, sizeof out->text, "%s", look->word);
        out->style = look->style;
    } else if (c == SET)
        out->number = (double)(set - app->horovod->set);
    else {
        const uint64_t count = c == DONE ? t->done : c == ELEMENTS ? t->elements : t->step;
        out->number = count || c == DONE ? (double)count : NAN;
    }
}

static const struct tui_table_spec spec = {TUI_COLUMNS(columns), .rows = count_tensors, .row = get_tensor,
                                           .value = fill_tensor_cell, .identity = identify_tensor};

/* The other screens show the rank that the tensor waits for. */
static void follow_tensor(struct tui_app *app, const void *row)
{
    size_t first;
    const struct ana_hvd_set *set = find_set(app, row);
    if (count_missing(set, row, &first) && set->rank[first].index < app->rank_count)
        tui_app_choose_rank(app, set->rank[first].index);
}

/* ---- the screen ------------------------------------------------------------------------------------------------- */

/* Draws what the marks mean that are in view and, where ranks share cells, how many there are. */
static void draw_legend(const struct tui_app *app, const struct ana_hvd_set *set, struct tui_grid *grid,
                        struct tui_rect rect)
{
    bool seen[TUI_HVD_STATES] = {false}, operating = tui_hvd_operating(set);
    for (size_t i = 0; i < set->tensors; i++)
        for (size_t m = 0; m < set->ranks; m++)
            seen[tui_hvd_state(set, &set->tensor[i], m, operating)] = true;
    int x = 1;
    for (int s = 0; s < TUI_HVD_STATES; s++)
        if (seen[s]) {
            const struct tui_hvd_look *look = &tui_hvd_looks[s];
            x = tui_putf(grid, rect, x, 0, look->style, "%c", look->mark);
            x = tui_putf(grid, rect, x, 0, TUI_STYLE_DIM, " %s  ", look->word);
        }
    if (set->ranks > own(app)->cells)
        tui_putf(grid, rect, x, 0, TUI_STYLE_DIM, SAY_RANKS_IN_CELLS, set->ranks, own(app)->cells);
}

/* Cells for ranks: half of the room that the columns leave.  The other half is for long names. */
static size_t count_cells(int width)
{
    enum { MOST = 120 };
    int used = 1;
    for (size_t c = 0; c < sizeof columns / sizeof *columns && used + columns[c].width <= width; c++)
        used += columns[c].width + 1;
    int cells = columns[RANKS].width + (used < width ? (width - used) / 2 : 0);
    return (size_t)(cells < MOST ? cells : MOST);
}

static void draw_horovod(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { HEAD = 3 };
    struct tui_table *table = &app->table[TUI_VIEW_HOROVOD];
    if (!has_sets(app)) {
        tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, TUI_HVD_NONE);
        return;
    }
    const struct ana_hvd_tensor *t = tui_table_chosen(table);
    const struct ana_hvd_set *set = t ? find_set(app, t) : app->horovod->set;
    char line[400];
    tui_hvd_set_line(set, (size_t)(set - app->horovod->set), true, line, sizeof line);
    tui_put(grid, rect, 1, 0, TUI_STYLE_NORMAL, line);
    tui_hvd_data_line(set, true, line, sizeof line);
    tui_put(grid, rect, 1, 1, TUI_STYLE_NORMAL, line);
    tui_hvd_steps_line(app->job, set, true, line, sizeof line);
    tui_put(grid, rect, 1, 2, TUI_STYLE_NORMAL, line);
    own(app)->cells = count_cells(rect.w);
    /* The lower part has a title and a line a rank, the table a line a tensor.  If both do not fit, each gets half. */
    int room = rect.h - HEAD - 2, below = (int)(set->ranks < 999 ? set->ranks : 999) + 1, want = (int)table->count + 1;
    int height = room - below > room / 2 ? room - below : room / 2;
    height = want < height ? want : height;
    tui_table_draw(table, grid, (struct tui_rect){rect.x, rect.y + HEAD, rect.w, height});
    struct tui_rect rest = tui_below(rect, HEAD + height);
    draw_legend(app, set, grid, (struct tui_rect){rest.x, rest.y, rest.w, 1});
    rest = tui_below(rest, 2);
    if (own(app)->open && t)
        tui_horovod_draw_tensor(app, set, t, grid, rest);
    else
        tui_horovod_draw_ranks(app, set, grid, rest);
}

static int act_on_tensor(struct tui_app *app, enum tui_action action)
{
    const void *tensor = tui_table_chosen(&app->table[TUI_VIEW_HOROVOD]);
    if (action == TUI_ACTION_BACK && own(app)->open) {
        own(app)->open = false;
        return TUI_REDRAW;
    }
    if (action != TUI_ACTION_DEEPER || !tensor)
        return TUI_UNHANDLED;
    follow_tensor(app, tensor);
    if (own(app)->open)
        tui_app_open(app, TUI_VIEW_RANKS);
    own(app)->open = true;
    return TUI_REDRAW;
}

const struct tui_view tui_view_horovod = {
    .own_size = sizeof(struct own),
    .table = &spec,
    .moved = follow_tensor,
    .draw = draw_horovod,
    .act = act_on_tensor,
};
