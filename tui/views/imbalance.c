/* Imbalance: distance of ranks at collectives, the last ones, and the waits between ranks. */
#include "tui/views/sentences_impl.h"
#include "tui/app/jump.h"
#include "trace/util/hash.h"
#include "tui/app/view.h"
#include "trace/summary/alike.h"
#include <stdlib.h>
#include <string.h>

/* ---- waits of a summary in groups, each of one kind and for one rank ------------------------------------------- */

/* All 0 at first. */
struct wait_groups {
    struct ana_wait_group *group; /* by loss */
    char **who;                   /* waiters of each in words; NULL: not written yet */
    size_t count;
    unsigned summaries; /* made by then */
};

/* Frees the groups' memory. */
static void free_groups(struct wait_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->who[i]);
    free(groups->who);
    free(groups->group);
    *groups = (struct wait_groups){0};
}

/* Makes the groups of the summary that is shown, unless they are there. */
static void make_groups(const struct tui_app *app, struct wait_groups *groups)
{
    if (groups->summaries == app->summaries)
        return;
    free_groups(groups);
    groups->group = ana_wait_groups(&app->summary, &groups->count);
    groups->who = calloc(groups->count + 1, sizeof *groups->who);
    groups->count = groups->group && groups->who ? groups->count : 0;
    groups->summaries = app->summaries;
}

/* The waiters of a group of the summary that is shown, as "0-10, 12-15"; the text belongs to the group. */
static const char *waiters_of(const struct tui_app *app, struct wait_groups *groups, size_t at)
{
    const struct ana_summary *s = &app->summary;
    const struct ana_wait_group *group = &groups->group[at];
    char text[256], **who = &groups->who[at];
    uint8_t *waits = *who ? NULL : calloc(app->rank_count + 1, 1);
    if (!waits)
        return *who ? *who : "";
    for (size_t i = group->first; i < s->wait_count; i++)
        if (s->waits[i].kind == group->all.kind && s->waits[i].culprit == group->all.culprit &&
            s->waits[i].waiter < app->rank_count)
            waits[s->waits[i].waiter] = 1;
    struct ana_ranges ranges;
    ana_ranges_begin(&ranges, text, sizeof text, SIZE_MAX, false);
    for (size_t i = 0; i < app->rank_count; i++)
        if (waits[i])
            ana_ranges_add(&ranges, ana_rank_id(&app->rank[i]));
    ana_ranges_end(&ranges);
    free(waits);
    if (asprintf(who, "%s%s", text, group->others ? ", .." : "") < 0)
        *who = NULL;
    return *who ? *who : "";
}

struct own {
    struct wait_groups waits;
    int chosen, top;       /* the line of the cursor there, from 1 (0: it is on the collectives); the first in view */
    struct tui_rect lower; /* places where they were drawn */
};

TUI_STATE(IMBALANCE)

static uint64_t identify_collective(const void *data, const void *row)
{
    const struct ana_collective *c = row;
    (void)data;
    return (ana_hash_text(c->name) * 31 + c->identity) ^ c->comm_identity;
}

static void show_last(const void *data, const void *row, struct tui_value *out)
{
    const struct ana_collective *c = row;
    if (c->instances)
        snprintf(out->text, sizeof out->text, "%s (%.0f%%)", TUI_RANK_NAME(data, c->last_index), c->last_share * 100);
}

static const struct tui_column columns[] = {
    {TUI_METRIC(COLLECTIVE_NAME), 14, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(COLLECTIVE_PLACE), 13, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(COLLECTIVE_COMM), 12, TUI_ASCENDING | TUI_STRETCH, NULL},
    {TUI_METRIC(COLLECTIVE_INSTANCES), 6, 0, NULL},
    {TUI_METRIC(COLLECTIVE_SKEW_P50), 8, 0, NULL},
    {TUI_METRIC(COLLECTIVE_LOST), 6, 0, tui_show_loss},
    {TUI_METRIC(COLLECTIVE_LAST), 11, TUI_ASCENDING, show_last},
    {TUI_METRIC(COLLECTIVE_SKEW_P99), 7, 0, NULL},
    {TUI_METRIC(COLLECTIVE_SKEW_MAX), 7, 0, NULL},
    {TUI_METRIC(COLLECTIVE_WAITED), 7, TUI_FIRST_SORT, NULL},
    {TUI_METRIC(COLLECTIVE_INCOMPLETE), 10, 0, NULL},
};
static const struct tui_table_spec spec = {
    TUI_COLUMNS(columns), TUI_ROWS(summary.collectives, summary.collective_count), .identity = identify_collective,
    .empty = "no collective ended in the time in view"};

/* The row of the cursor's call: the communicator where the cursor was last, else the one that loses most. */
static uint64_t find_call_row(const struct tui_app *app)
{
    uint64_t first = 0, last = app->table[TUI_VIEW_IMBALANCE].cursor_identity;
    for (size_t i = 0; i < app->summary.collective_count; i++) {
        const struct ana_collective *c = &app->summary.collectives[i];
        if (ana_hash_text(c->name) != app->cursor_call)
            continue;
        if (identify_collective(app, c) == last)
            return last;
        first = first ? first : identify_collective(app, c);
    }
    return first;
}

static void follow_collective(struct tui_app *app, const void *row)
{
    const struct ana_collective *c = row;
    app->cursor_call = ana_hash_text(c->name);
    if (c->instances)
        tui_app_choose_rank(app, c->last_index);
}

/* ---- waits between ranks ----------------------------------------------------------------------------------------- */

static int count_groups(const struct own *o)
{
    return (int)o->waits.count;
}

static void draw_waits(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct own *o = own(app);
    int lines = rect.h - 1;
    make_groups(app, &o->waits);
    o->lower = rect;
    o->chosen = o->chosen < count_groups(o) ? o->chosen : count_groups(o);
    o->top = lines > 0 ? (int)tui_scroll((size_t)(o->chosen ? o->chosen - 1 : o->top), (size_t)o->top, (size_t)lines,
                                         (size_t)count_groups(o))
                       : 0;
    const struct ana_wait_group *group = o->waits.group + o->top;
    size_t n = (size_t)(count_groups(o) - o->top);
    char text[ANA_TEXT], to[64];
    int widest = 0; /* columns of the longest name: the numbers stand close to it on wide screens */
    for (size_t i = 0; i < n && (int)i + 1 < rect.h; i++) {
        tui_app_rank_name(app, group[i].all.culprit, text, sizeof text);
        int wide = tui_columns(waiters_of(app, &o->waits, (size_t)o->top + i)) + tui_columns(text) + 5;
        widest = wide > widest ? wide : widest;
    }
    tui_fill(grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, TUI_STYLE_HEADER, ' ');
    enum { NUMBERS = 43, NAMES = 36 };
    int kind = rect.w - 1 - NUMBERS;
    if (kind > NAMES)
        kind = widest < NAMES ? NAMES : widest < kind ? widest : kind;
    int right = kind + NUMBERS;
    int x = tui_put(grid, rect, 1, 0, TUI_STYLE_HEADER, "WHO \xe2\x86\x92 FOR WHOM");
    if (count_groups(o) > lines)
        tui_putf(grid, (struct tui_rect){rect.x, rect.y, kind - 1, 1}, x, 0, TUI_STYLE_HEADER, "  %d-%d of %d",
                 o->top + 1, o->top + lines, count_groups(o));
    tui_put(grid, rect, kind, 0, TUI_STYLE_HEADER, "WHY");
    tui_put_right(grid, rect, right - 16, 0, TUI_STYLE_HEADER, "TIMES");
    tui_put_right(grid, rect, right - 8, 0, TUI_STYLE_HEADER, "LOST");
    tui_put_right(grid, rect, right, 0, TUI_STYLE_HEADER, "OF ALL");
    double wall = app->whole.seen_ns;
    for (size_t i = 0; i < n && (int)i + 1 < rect.h; i++) {
        int y = (int)i + 1;
        snprintf(to, sizeof to, " \xe2\x86\x92 %s", TUI_RANK_NAME(app, group[i].all.culprit));
        struct tui_rect left = {rect.x, rect.y, kind - 1 - tui_columns(to), rect.h};
        tui_put(grid, rect, tui_put(grid, left, 1, y, TUI_STYLE_NORMAL, waiters_of(app, &o->waits, (size_t)o->top + i)),
                y, TUI_STYLE_STRONG, to);
        tui_put(grid, rect, kind, y, TUI_STYLE_NORMAL, ana_wait_words[group[i].all.kind].name);
        tui_put_right(grid, rect, right - 16, y, TUI_STYLE_NORMAL,
                      ANA_NUMBER(ANA_COUNT, (double)group[i].all.count, true));
        tui_put_right(grid, rect, right - 8, y, TUI_STYLE_NORMAL,
                      ANA_NUMBER(ANA_NS, (double)group[i].all.lost_ns, true));
        double share = (double)group[i].all.lost_ns / wall;
        tui_put_right(grid, rect, right, y, share >= 0.05 ? TUI_STYLE_NOTABLE : TUI_STYLE_NORMAL,
                      ANA_NUMBER(ANA_SHARE, share, true));
        if (o->top + (int)i + 1 == o->chosen) {
            tui_fill(grid, (struct tui_rect){rect.x, rect.y + y, rect.w, 1}, TUI_STYLE_CURSOR, 0);
            tui_put(grid, rect, 0, y, TUI_STYLE_CURSOR, ">");
        }
    }
    if (!n)
        tui_put(grid, rect, 1, 1, TUI_STYLE_DIM,
                app->analysed < 0.9995 ? SAY_NOBODY_SEEN_WAITING : SAY_NOBODY_WAITED_FOR);
}

static void draw_imbalance(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_table *table = &app->table[TUI_VIEW_IMBALANCE];
    int want = (int)table->count + 1 > 3 ? (int)table->count + 1 : 3;
    struct tui_part parts[] = {{3, want, 0}, {4, 0, 2}};
    struct tui_rect out[2];
    tui_stack(rect, false, 1, parts, 2, out);
    if (!out[1].h)
        own(app)->chosen = 0;
    table->elsewhere = own(app)->chosen > 0;
    tui_table_draw(table, grid, out[0]);
    if (out[1].h)
        draw_waits(app, grid, out[1]);
}

/* Switches from the last collective to the waits between ranks, and back; Enter there: the timeline of the awaited
 * rank. */
static int act_on_waits(struct tui_app *app, enum tui_action action)
{
    struct own *o = own(app);
    const struct tui_table *table = &app->table[TUI_VIEW_IMBALANCE];
    const long lines = tui_action_move(action, o->lower.h > 2 ? o->lower.h - 2 : 1).lines;
    bool below = o->lower.h && count_groups(o);
    if (action == TUI_ACTION_DOWN && below && !o->chosen && table->cursor + 1 >= table->count)
        o->chosen = 1;
    else if ((action == TUI_ACTION_BACK && o->chosen) || (action == TUI_ACTION_UP && o->chosen == 1))
        o->chosen = 0;
    else if (action == TUI_ACTION_WINDOW_LIST && below)
        o->chosen = !o->chosen;
    else if (!o->chosen)
        return TUI_UNHANDLED;
    else if (lines)
        o->chosen = 1 + (int)tui_step((size_t)o->chosen - 1, lines, (size_t)count_groups(o));
    else if (action == TUI_ACTION_DEEPER) {
        tui_app_open(app, TUI_VIEW_TIMELINE);
        tui_tree_reveal(app, o->waits.group[o->chosen - 1].all.culprit);
    } else
        return TUI_UNHANDLED;
    return TUI_REDRAW;
}

static int click_waits(struct tui_app *app, int x, int y)
{
    struct own *o = own(app);
    int line = y - o->lower.y + o->top;
    o->chosen = y < o->lower.y ? 0 : o->chosen;
    if (!o->lower.h || x < o->lower.x || y <= o->lower.y || y >= o->lower.y + o->lower.h || line > count_groups(o))
        return TUI_UNHANDLED;
    if (line == o->chosen)
        return tui_app_step(app, TUI_ACTION_DEEPER);
    o->chosen = line;
    return TUI_REDRAW;
}

static int act_on_collective(struct tui_app *app, enum tui_action action)
{
    if (act_on_waits(app, action) != TUI_UNHANDLED)
        return TUI_REDRAW;
    const struct ana_collective *c = tui_table_chosen(&app->table[TUI_VIEW_IMBALANCE]);
    if (action == TUI_ACTION_ONLY && c)
        return tui_app_only(app, &app->filter.comm, c->comm_identity);
    if (action != TUI_ACTION_DEEPER)
        return TUI_UNHANDLED;
    if (c)
        follow_collective(app, c);
    return tui_app_open(app, TUI_VIEW_RANKS);
}

static void drop_imbalance(void *of)
{
    free_groups(&((struct own *)of)->waits);
}

const struct tui_view tui_view_imbalance = {
    .table = &spec,
    .shared = find_call_row,
    .moved = follow_collective,
    .draw = draw_imbalance,
    .own_size = sizeof(struct own),
    .drop = drop_imbalance,
    .act = act_on_collective,
    .click = click_waits,
};
