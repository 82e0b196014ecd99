/* Horovod: tensors down, ranks across; who comes late; who carries the bytes. */
#include "tui/horovod_words.h"
#include "tui/view.h"

#include <stdlib.h>
#include <string.h>

enum { WAITS, MISSING, RANKS, TENSOR, STATE, DONE, OPERATION, ELEMENTS, STEP, SET };

static const struct tui_column columns[] = {
    [WAITS] = {"WAITS", 7, ANA_NS, false, false, "time since its first rank submitted it, while not all have"},
    [MISSING] = {"MISSING", 7, ANA_COUNT, false, false, "ranks that others wait for: they have not submitted it"},
    [RANKS] = {"RANKS", 16, TUI_UNIT_TEXT, true, true,
               "one cell a rank, by its number in the process set; where there are more ranks than cells, one cell for "
               "several: the least advanced of them"},
    [TENSOR] = {"TENSOR", 20, TUI_UNIT_TEXT, true, true, "its name, as the program gave it to Horovod"},
    [STATE] = {"STATE", 9, TUI_UNIT_TEXT, true, false, "of its least advanced rank, in a word"},
    [DONE] = {"DONE", 6, ANA_COUNT, false, false, "times that it was agreed on, and so carried out"},
    [OPERATION] = {"OPERATION", 13, TUI_UNIT_TEXT, true, false, "what it is submitted for"},
    [ELEMENTS] = {"ELEMENTS", 8, ANA_COUNT, false, false, "its size"},
    [STEP] = {"STEP", 6, ANA_COUNT, false, false, "the step it was agreed on last in: a batch of tensors, each once"},
    [SET] = {"SET", 3, ANA_COUNT, false, false, "process set"},
};

static const struct tui_term_help terms[] = {
    {"NOW IN", "what its loop is in; of a rank that misses tensors, the MPI call of another of its threads"},
    {"LAST IN", "steps that the rank came last in, alone"},
    {"LATE", "mean time, and mean number of cycles, from the first rank's submission to this rank's, over the steps"},
    {"MISSES", "tensors that others have submitted and this rank has not"},
    {"NEGOTIATE", "time in cycles and lists, waiting for others included"},
    {"OPERATE", "time in MPI data operations of the loop"},
    {"BANDWIDTH", "bytes that it gave to data operations / time in them"},
    {"cycles", "of the loop; each is one AND over all ranks, so its number is the job's clock"},
    {"data by", "the library that carried the data; NCCL and Gloo make no MPI call, so they are inferred"},
    {NULL, NULL},
};

static bool has(const struct tui_app *app)
{
    return app->horovod && app->horovod->sets > 0;
}

static size_t rows(const void *data)
{
    const struct tui_app *app = data;
    size_t n = 0;
    for (size_t i = 0; has(app) && i < app->horovod->sets; i++)
        n += app->horovod->set[i].tensors;
    return n;
}

/* The tensor of a row, and its process set. */
static const struct ana_hvd_tensor *tensor_at(const struct tui_app *app, size_t row, size_t *set)
{
    for (*set = 0; row >= app->horovod->set[*set].tensors; ++*set)
        row -= app->horovod->set[*set].tensors;
    return &app->horovod->set[*set].tensor[row];
}

static uint64_t identity(const void *data, size_t row)
{
    size_t s;
    const struct tui_app *app = data;
    const struct ana_hvd_tensor *t = tensor_at(app, row, &s);
    return ((uint64_t)s << 32 | (uint64_t)(t - app->horovod->set[s].tensor)) + 1;
}

static size_t missing(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t, size_t *first)
{
    size_t n = 0;
    *first = SIZE_MAX;
    for (size_t m = 0; t->pending && m < set->ranks; m++)
        if (t->submitted[m] == ANA_HVD_NO && n++ == 0)
            *first = m;
    return n;
}

/* One cell a rank, or for several; returns the least advanced state of all. */
static enum tui_hvd_state cells(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t, size_t most,
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
        out->text[i] = tui_hvd_look(state)->mark;
        out->styles[i] = (uint8_t)tui_hvd_look(state)->style;
    }
    out->text[n] = 0;
    out->each = true;
    return least;
}

static void value(const void *data, size_t row, int column, struct tui_value *out)
{
    const struct tui_app *app = data;
    struct tui_value all;
    size_t s, first;
    const struct ana_hvd_tensor *t = tensor_at(app, row, &s);
    const struct ana_hvd_set *set = &app->horovod->set[s];
    switch (column) {
    case WAITS:
        out->number = t->pending ? (double)(set->now_ns - t->since_ns) : NAN;
        break;
    case MISSING:
        out->number = t->pending ? (double)missing(set, t, &first) : NAN;
        out->style = out->number > 0 ? TUI_STYLE_TROUBLE : TUI_STYLE_NORMAL;
        break;
    case RANKS:
        cells(set, t, app->tensor_cells ? app->tensor_cells : 16, out);
        break;
    case TENSOR:
        snprintf(out->text, sizeof out->text, "%.127s", t->name);
        break;
    case STATE: {
        const struct tui_hvd_look *look = tui_hvd_look(cells(set, t, 1, &all));
        snprintf(out->text, sizeof out->text, "%s", look->word);
        out->style = look->style;
        break;
    }
    case DONE:
        out->number = (double)t->done;
        break;
    case OPERATION:
        snprintf(out->text, sizeof out->text, "%s", ana_hvd_op_name(t->op));
        break;
    case ELEMENTS:
        out->number = t->elements ? (double)t->elements : NAN;
        break;
    case STEP:
        out->number = t->step ? (double)t->step : NAN;
        break;
    case SET:
        out->number = (double)s;
        break;
    }
}

static const struct tui_table_spec spec = {columns, sizeof columns / sizeof *columns, WAITS, rows, value, identity,
                                           NULL};

/* The rank that a tensor waits for is the one that the other screens show. */
static void moved(struct tui_app *app, size_t row)
{
    size_t s, first;
    const struct ana_hvd_tensor *t = tensor_at(app, row, &s);
    const struct ana_hvd_set *set = &app->horovod->set[s];
    if (missing(set, t, &first) && set->rank[first].index < app->rank_count)
        app->cursor_rank = set->rank[first].index;
}

/* ---- ranks ---------------------------------------------------------------------------------------------------------
 */

struct member {
    size_t m;
    size_t misses;
    int state;     /* of the tensor that is looked into */
    double amount; /* what is sorted by, the largest first */
};

static int worst_first(const void *pa, const void *pb)
{
    const struct member *a = pa, *b = pb;
    if (a->state != b->state)
        return a->state - b->state;
    if (a->misses != b->misses)
        return a->misses < b->misses ? 1 : -1;
    if (a->amount != b->amount)
        return a->amount < b->amount ? 1 : -1;
    return (a->m > b->m) - (a->m < b->m);
}

/* The rank's name in the job; of one without a file, its number in the set. */
static const char *name_of(const struct tui_app *app, const struct ana_hvd_set *set, size_t m, char *out, size_t size)
{
    if (set->rank[m].index == SIZE_MAX)
        snprintf(out, size, "%zu", m);
    else
        tui_app_rank_name(app, set->rank[m].index, out, size);
    return out;
}

enum { R_RANK, R_NOW, R_MISSES, R_MS, R_CYCLES, R_LAST, R_NEGOTIATE, R_OPERATE, R_BANDWIDTH, R_COUNT, R_COLUMNS };
static const struct {
    const char *title;
    int width;
} rank_columns[R_COLUMNS] = {
    [R_RANK] = {"RANK", 5},           [R_NOW] = {"NOW IN", 14},
    [R_MISSES] = {"MISSES", 6},       [R_MS] = {"LATE", 7},
    [R_CYCLES] = {"LATE cycles", 11}, [R_LAST] = {"LAST IN", 7},
    [R_NEGOTIATE] = {"NEGOTIATE", 9}, [R_OPERATE] = {"OPERATE", 7},
    [R_BANDWIDTH] = {"BANDWIDTH", 9}, [R_COUNT] = {"cycles", 7},
};

static void rank_text(const struct tui_app *app, const struct ana_hvd_set *set, const struct member *of, int column,
                      char *out, size_t size)
{
    const struct ana_hvd_rank *r = &set->rank[of->m];
    bool known = r->index != SIZE_MAX, late = known && r->steps;
    switch (column) {
    case R_RANK:
        name_of(app, set, of->m, out, size);
        break;
    case R_NOW:
        snprintf(out, size, "%s", of->misses && r->main_inside ? r->main_inside : tui_hvd_now(r));
        break;
    case R_MISSES:
        ana_number(out, size, ANA_COUNT, (double)of->misses, true);
        break;
    case R_MS:
        ana_number(out, size, ANA_NS, late ? r->late_ms * 1e6 : NAN, true);
        break;
    case R_CYCLES:
        ana_number(out, size, ANA_COUNT, NAN, true);
        if (late)
            snprintf(out, size, "%.1f", r->late_cycles);
        break;
    case R_LAST:
        ana_number(out, size, ANA_COUNT, late ? (double)r->last : NAN, true);
        break;
    case R_NEGOTIATE:
        ana_number(out, size, ANA_NS, known ? (double)r->negotiation_ns : NAN, true);
        break;
    case R_OPERATE:
        ana_number(out, size, ANA_NS, r->operations ? (double)r->operation_ns : NAN, true);
        break;
    case R_BANDWIDTH:
        ana_number(out, size, ANA_BYTES_PER_S, tui_hvd_bandwidth(r->operation_bytes, r->operation_ns), true);
        break;
    case R_COUNT:
        ana_number(out, size, ANA_COUNT, known ? (double)r->cycles : NAN, true);
        break;
    }
}

/* All ranks of the set with what they miss, the worst first; NULL when out of memory. */
static struct member *members(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t)
{
    struct member *all = calloc(set->ranks ? set->ranks : 1, sizeof *all);
    bool operating = tui_hvd_operating(set);
    for (size_t m = 0; all && m < set->ranks; m++) {
        all[m].m = m;
        all[m].amount = t ? (double)t->submitted_ns[m] : set->rank[m].late_ms;
        all[m].state = t ? (int)tui_hvd_state(set, t, m, operating) : 0;
        for (size_t i = 0; !t && i < set->tensors; i++)
            all[m].misses += set->tensor[i].pending && set->tensor[i].submitted[m] == ANA_HVD_NO;
    }
    if (all)
        qsort(all, set->ranks, sizeof *all, worst_first);
    return all;
}

static void draw_ranks(const struct tui_app *app, const struct ana_hvd_set *set, struct tui_grid *grid,
                       struct tui_rect rect)
{
    struct member *all = members(set, NULL);
    size_t room = rect.h > 1 ? (size_t)rect.h - 1 : 0, shown = set->ranks <= room ? set->ranks : room ? room - 1 : 0;
    for (int c = 0, at = 1; all && c < R_COLUMNS && at + rank_columns[c].width <= rect.w; c++) {
        int end = at + rank_columns[c].width;
        bool left = c == R_NOW;
        for (size_t i = 0; i <= shown; i++) {
            char text[64];
            snprintf(text, sizeof text, "%s", rank_columns[c].title);
            if (i)
                rank_text(app, set, &all[i - 1], c, text, sizeof text);
            enum tui_style style = i == 0                               ? TUI_STYLE_LABEL
                                   : all[i - 1].misses && c <= R_MISSES ? TUI_STYLE_TROUBLE
                                                                        : TUI_STYLE_NORMAL;
            tui_put(grid, (struct tui_rect){rect.x, rect.y, end, rect.h},
                    left || tui_columns(text) > rank_columns[c].width ? at : end - tui_columns(text), (int)i, style,
                    text);
        }
        at = end + 1;
    }
    if (all && shown < set->ranks)
        tui_putf(grid, rect, 1, (int)shown + 1, TUI_STYLE_DIM, "and %zu more, no worse", set->ranks - shown);
    free(all);
}

/* ---- one tensor ----------------------------------------------------------------------------------------------------
 */

/* What a rank has to do with a tensor: when it submitted it, or what it does instead. */
static void told(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t, const struct member *of,
                 int64_t first_ns, char *out, size_t size)
{
    const struct ana_hvd_rank *r = &set->rank[of->m];
    char age[ANA_TEXT], late[ANA_TEXT];
    int64_t at = t->submitted_ns[of->m];
    bool waits = of->state == TUI_HVD_MISSING;
    if (waits && r->main_inside)
        snprintf(out, size, "in %s for %s", r->main_inside,
                 ana_spoken(age, sizeof age, (double)(set->now_ns - r->main_since_ns)));
    else if (waits)
        snprintf(out, size, "its loop: %s", tui_hvd_now(r));
    else if (at == ANA_HVD_NEVER || of->state == TUI_HVD_UNKNOWN || of->state == TUI_HVD_JOINED)
        snprintf(out, size, "\xe2\x80\x93");
    else
        snprintf(out, size, "%s ago, +%s, cycle %llu", ana_spoken(age, sizeof age, (double)(set->now_ns - at)),
                 ana_number(late, sizeof late, ANA_NS, (double)(at - first_ns), true),
                 (unsigned long long)t->submitted_cycle[of->m]);
}

static void draw_tensor(const struct tui_app *app, const struct ana_hvd_set *set, const struct ana_hvd_tensor *t,
                        struct tui_grid *grid, struct tui_rect rect)
{
    enum { ENTRY = 58 };
    struct member *all = members(set, t);
    int64_t first_ns = INT64_MAX;
    char age[ANA_TEXT];
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_STRONG, "%s", t->name);
    if (t->done)
        tui_putf(grid, rect, x, 0, TUI_STYLE_NORMAL, ": done %llu times, last %s ago in step %llu",
                 (unsigned long long)t->done, ana_spoken(age, sizeof age, (double)(set->now_ns - t->agreed_ns)),
                 (unsigned long long)t->step);
    else
        tui_put(grid, rect, x, 0, TUI_STYLE_NORMAL, ": never done so far");
    for (size_t m = 0; m < set->ranks; m++)
        if ((!t->pending || t->submitted[m] == ANA_HVD_YES) && t->submitted_ns[m] != ANA_HVD_NEVER &&
            t->submitted_ns[m] < first_ns)
            first_ns = t->submitted_ns[m];
    size_t room = rect.h > 1 ? (size_t)rect.h - 1 : 0, across = (size_t)rect.w / ENTRY ? (size_t)rect.w / ENTRY : 1;
    size_t shown = set->ranks <= room * across ? set->ranks : room ? (room - 1) * across : 0;
    size_t down = shown < set->ranks ? room - 1 : room;
    for (size_t i = 0; all && down && i < shown; i++) {
        const struct tui_hvd_look *look = tui_hvd_look((enum tui_hvd_state)all[i].state);
        struct tui_rect cell = {rect.x + (int)(i / down) * ENTRY, rect.y + 1 + (int)(i % down),
                                across > 1 ? ENTRY - 1 : rect.w, 1};
        char name[32], text[96];
        tui_put_right(grid, cell, 6, 0, TUI_STYLE_NORMAL, name_of(app, set, all[i].m, name, sizeof name));
        tui_putf(grid, cell, 7, 0, look->style, "%c %s", look->mark, look->word);
        told(set, t, &all[i], first_ns, text, sizeof text);
        tui_put(grid, cell, 20, 0, TUI_STYLE_NORMAL, text);
    }
    if (room && shown < set->ranks)
        tui_putf(grid, rect, 1, rect.h - 1, TUI_STYLE_DIM, "and %zu more, no worse", set->ranks - shown);
    free(all);
}

/* ---- the screen ----------------------------------------------------------------------------------------------------
 */

/* What the marks in view mean; of a folded row, how many ranks share a cell. */
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
            const struct tui_hvd_look *look = tui_hvd_look((enum tui_hvd_state)s);
            x = tui_putf(grid, rect, x, 0, look->style, "%c", look->mark);
            x = tui_putf(grid, rect, x, 0, TUI_STYLE_DIM, " %s  ", look->word);
        }
    if (set->ranks > app->tensor_cells)
        tui_putf(grid, rect, x, 0, TUI_STYLE_DIM, "%zu ranks in %zu cells", set->ranks, app->tensor_cells);
}

/* Half of what is left beside the columns that have room: the other half is for long names. */
static size_t room_for_cells(int width)
{
    enum { MOST = 120 };
    int used = 1;
    for (size_t c = 0; c < sizeof columns / sizeof *columns && used + columns[c].width <= width; c++)
        used += columns[c].width + 1;
    int cells = columns[RANKS].width + (used < width ? (width - used) / 2 : 0);
    return (size_t)(cells < MOST ? cells : MOST);
}

static void draw(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { HEAD = 2 };
    struct tui_table *table = &app->table[TUI_VIEW_HOROVOD];
    if (!has(app)) {
        tui_put(grid, rect, 1, 0, TUI_STYLE_DIM, TUI_HVD_NONE);
        return;
    }
    size_t row = tui_table_row(table), s = 0;
    const struct ana_hvd_tensor *t = row == SIZE_MAX ? NULL : tensor_at(app, row, &s);
    const struct ana_hvd_set *set = &app->horovod->set[s];
    char line[256];
    tui_hvd_set_line(set, s, true, line, sizeof line);
    tui_put(grid, rect, 1, 0, TUI_STYLE_NORMAL, line);
    tui_hvd_data_line(set, true, line, sizeof line);
    tui_put(grid, rect, 1, 1, TUI_STYLE_NORMAL, line);
    app->tensor_cells = room_for_cells(rect.w);
    /* What is below needs a line a rank and its title, the table as many as it has; in need each gets a half. */
    int room = rect.h - HEAD - 2, below = (int)(set->ranks < 999 ? set->ranks : 999) + 1, want = (int)table->count + 1;
    int height = room - below > room / 2 ? room - below : room / 2;
    height = want < height ? want : height;
    tui_table_draw(table, &spec, app, grid, (struct tui_rect){rect.x, rect.y + HEAD, rect.w, height});
    struct tui_rect rest = tui_below(rect, HEAD + height);
    draw_legend(app, set, grid, (struct tui_rect){rest.x, rest.y, rest.w, 1});
    rest = tui_below(rest, 2);
    if (app->tensor_open && t)
        draw_tensor(app, set, t, grid, rest);
    else
        draw_ranks(app, set, grid, rest);
}

static int act(struct tui_app *app, enum tui_action action)
{
    size_t row = tui_table_row(&app->table[TUI_VIEW_HOROVOD]);
    if (action == TUI_ACTION_BACK && app->tensor_open) {
        app->tensor_open = false;
        return TUI_REDRAW;
    }
    if (action != TUI_ACTION_DEEPER || row == SIZE_MAX)
        return TUI_UNHANDLED;
    moved(app, row);
    if (app->tensor_open)
        tui_app_open(app, TUI_VIEW_RANKS);
    app->tensor_open = true;
    return TUI_REDRAW;
}

const struct tui_view tui_view_horovod = {
    .title = "Horovod",
    .about = "Which tensors wait for which rank, who comes late, and what carries the data?  Enter: who submitted the "
             "tensor and when, and once more: the rank that it waits for.",
    .table = &spec,
    .terms = terms,
    .moved = moved,
    .draw = draw,
    .act = act,
};
