/* Below Horovod's tensors: the ranks, or what each rank did about one tensor.  The worst come first. */
#include "tui/views/horovod.h"
#include "tui/views/sentences_impl.h"
#include "trace/util/sort.h"
#include <string.h>

struct member {
    size_t m;
    size_t misses;
    int state;     /* state of the tensor that is shown */
    double amount; /* sort key; the largest comes first */
};

ANA_COMPARE(compare_members, struct member, ANA_ORDER(x->state, y->state), ANA_ORDER(y->misses, x->misses),
            ANA_ORDER(y->amount, x->amount), ANA_ORDER(x->m, y->m))

/* The rank's name in the job, or its number in the set if it has no file. */
static const char *name_member(const struct tui_app *app, const struct ana_hvd_set *set, size_t m, char *out,
                               size_t size)
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
    enum ana_unit unit; /* unit of its number */
} rank_columns[R_COLUMNS] = {
    [R_RANK] = {"RANK", 5, ANA_COUNT},
    [R_NOW] = {"NOW IN", 14, ANA_COUNT},
    [R_MISSES] = {"MISSES", 6, ANA_COUNT},
    [R_MS] = {"LATE", 7, ANA_NS},
    [R_CYCLES] = {"LATE cycles", 11, ANA_COUNT},
    [R_LAST] = {"LAST IN", 7, ANA_COUNT},
    [R_NEGOTIATE] = {"NEGOTIATE", 9, ANA_NS},
    [R_OPERATE] = {"OPERATE", 7, ANA_NS},
    [R_BANDWIDTH] = {"BANDWIDTH", 9, ANA_BYTES_PER_S},
    [R_COUNT] = {"cycles", 7, ANA_COUNT},
};

static void describe_rank(const struct tui_app *app, const struct ana_hvd_set *set, const struct member *of, int column,
                          char *out, size_t size)
{
    const struct ana_hvd_rank *r = &set->rank[of->m];
    bool known = r->index != SIZE_MAX, late = known && r->steps;
    const double number[R_COLUMNS] = {
        [R_RANK] = NAN,
        [R_NOW] = NAN,
        [R_MISSES] = (double)of->misses,
        [R_MS] = late ? r->late_ms * 1e6 : NAN,
        [R_CYCLES] = NAN,
        [R_LAST] = late ? (double)r->last : NAN,
        [R_NEGOTIATE] = known ? (double)r->negotiation_ns : NAN,
        [R_OPERATE] = r->operations ? (double)r->operation_ns : NAN,
        [R_BANDWIDTH] = tui_hvd_bandwidth(r->operation_bytes, r->operation_ns),
        [R_COUNT] = known ? (double)r->cycles : NAN,
    };
    if (column == R_RANK)
        name_member(app, set, of->m, out, size);
    else if (column == R_NOW)
        snprintf(out, size, "%s", of->misses && r->main_inside ? r->main_inside : tui_hvd_now(r));
    else if (column == R_CYCLES && late)
        snprintf(out, size, "%.1f", r->late_cycles);
    else
        ana_number(out, size, rank_columns[column].unit, number[column], true);
}

/* Returns the ranks of the set with the tensors that they miss, the worst first, for the caller to free.  NULL when out
 * of memory. */
static struct member *collect_members(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t)
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
        ana_sort(all, set->ranks, sizeof *all, compare_members);
    return all;
}

void tui_horovod_draw_ranks(const struct tui_app *app, const struct ana_hvd_set *set, struct tui_grid *grid,
                            struct tui_rect rect)
{
    struct member *all = collect_members(set, NULL);
    size_t room = rect.h > 1 ? (size_t)rect.h - 1 : 0, shown = set->ranks <= room ? set->ranks : room ? room - 1 : 0;
    for (int c = 0, at = 1; all && c < R_COLUMNS && at + rank_columns[c].width <= rect.w; c++) {
        int end = at + rank_columns[c].width;
        bool left = c == R_NOW;
        for (size_t i = 0; i <= shown; i++) {
            char text[64];
            snprintf(text, sizeof text, "%s", rank_columns[c].title);
            if (i)
                describe_rank(app, set, &all[i - 1], c, text, sizeof text);
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
        tui_putf(grid, rect, 1, (int)shown + 1, TUI_STYLE_DIM, SAY_AND_MORE_NO, set->ranks - shown);
    free(all);
}

/* ---- one tensor ------------------------------------------------------------------------------------------------- */

/* Writes when a rank submitted a tensor, or its activity instead. */
static void describe_submission(const struct ana_hvd_set *set, const struct ana_hvd_tensor *t, const struct member *of,
                                int64_t first_ns, char *out, size_t size)
{
    const struct ana_hvd_rank *r = &set->rank[of->m];
    int64_t at = t->submitted_ns[of->m];
    bool waits = of->state == TUI_HVD_MISSING;
    if (waits && r->main_inside)
        snprintf(out, size, "in %s for %s", r->main_inside, ANA_SPOKEN((double)(set->now_ns - r->main_since_ns)));
    else if (waits)
        snprintf(out, size, "its loop: %s", tui_hvd_now(r));
    else if (at == ANA_HVD_NEVER || of->state == TUI_HVD_UNKNOWN || of->state == TUI_HVD_JOINED)
        snprintf(out, size, "\xe2\x80\x93");
    else
        snprintf(out, size, "%s ago, +%s, cycle %llu", ANA_SPOKEN((double)(set->now_ns - at)),
                 ANA_NUMBER(ANA_NS, (double)(at - first_ns), true), (unsigned long long)t->submitted_cycle[of->m]);
}

void tui_horovod_draw_tensor(const struct tui_app *app, const struct ana_hvd_set *set, const struct ana_hvd_tensor *t,
                             struct tui_grid *grid, struct tui_rect rect)
{
    enum { ENTRY = 58 };
    struct member *all = collect_members(set, t);
    int64_t first_ns = INT64_MAX;
    char done[96];
    snprintf(done, sizeof done, SAY_NEVER_DONE_SO);
    if (t->done)
        snprintf(done, sizeof done, SAY_DONE_TIMES_LAST, (unsigned long long)t->done,
                 ANA_SPOKEN((double)(set->now_ns - t->agreed_ns)), (unsigned long long)t->step);
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_STRONG, "%s", t->name);
    if (x + (int)strlen(done) > rect.w && rect.h > 1) { /* a line of its own */
        rect.y++;
        rect.h--;
        x = 1;
    }
    tui_put(grid, rect, x, 0, TUI_STYLE_NORMAL, x > 1 ? done : done + 2);
    for (size_t m = 0; m < set->ranks; m++)
        if ((!t->pending || t->submitted[m] == ANA_HVD_YES) && t->submitted_ns[m] != ANA_HVD_NEVER &&
            t->submitted_ns[m] < first_ns)
            first_ns = t->submitted_ns[m];
    size_t room = rect.h > 1 ? (size_t)rect.h - 1 : 0, across = (size_t)rect.w / ENTRY ? (size_t)rect.w / ENTRY : 1;
    size_t shown = set->ranks <= room * across ? set->ranks : room ? (room - 1) * across : 0;
    size_t down = shown < set->ranks ? room - 1 : room;
    for (size_t i = 0; all && down && i < shown; i++) {
        const struct tui_hvd_look *look = &tui_hvd_looks[all[i].state];
        struct tui_rect cell = {rect.x + (int)(i / down) * ENTRY, rect.y + 1 + (int)(i % down),
                                across > 1 ? ENTRY - 1 : rect.w, 1};
        char name[32], text[96];
        tui_put_right(grid, cell, 6, 0, TUI_STYLE_NORMAL, name_member(app, set, all[i].m, name, sizeof name));
        tui_putf(grid, cell, 7, 0, look->style, "%c %s", look->mark, look->word);
        describe_submission(set, t, &all[i], first_ns, text, sizeof text);
        tui_put(grid, cell, 20, 0, TUI_STYLE_NORMAL, text);
    }
    if (room && shown < set->ranks)
        tui_putf(grid, rect, 1, rect.h - 1, TUI_STYLE_DIM, SAY_AND_MORE_NO, set->ranks - shown);
    free(all);
}
