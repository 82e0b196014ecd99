/* Why: the trouble, the part of each rank in it, the evidence, and where to look next. */
#include "tui/views/pager.h"
#include "tui/views/sentences_impl.h"
#include "tui/views/prices.h"
#include "tui/views/spread.h"
#include "tui/views/timeline.h"

struct own {
    size_t detail_top, detail_page, detail_lines; /* lines of the detail: first in view, number that fits, all */
    size_t detail_of; /* 1 + index of the rank whose stacks and last calls are shown; 0: none */
    int price;        /* the line of the price list with the cursor, from 1; 0: it is on the groups */
    struct tui_spread spread;
};

TUI_STATE(VERDICT)

enum { WHO, DOING, WHERE, COUNT };

static const struct tui_column columns[] = {
    [WHO] = {TUI_OWN("WHO", ANA_UNIT_TEXT,
                     "ranks that are at the same place; those to blame come first, then the smallest groups"),
             9, TUI_ASCENDING | TUI_STRETCH, NULL},
    [DOING] = {TUI_OWN("DOING", ANA_UNIT_TEXT, "call that they are in, with its partner, or the last one before"), 24,
               TUI_ASCENDING | TUI_STRETCH, NULL},
    [WHERE] = {TUI_OWN("WHERE", ANA_UNIT_TEXT,
                       "place in the program that made that call; the stack's place where one was taken"),
               12, TUI_ASCENDING | TUI_STRETCH, NULL},
    [COUNT] = {TUI_OWN("RANKS", ANA_COUNT, "how many ranks that is"), 6, 0, NULL},
};

static size_t count_groups(const void *data)
{
    return ((const struct tui_app *)data)->verdict->groups;
}

static const void *get_group(const void *data, size_t row)
{
    return &((const struct tui_app *)data)->verdict->group[row];
}

static uint64_t identify_group(const void *data, const void *row)
{
    (void)data;
    return ((const struct ana_verdict_group *)row)->first + 1;
}

static void fill_group_cell(const void *data, const void *row, const struct tui_column *column, struct tui_value *out)
{
    const struct tui_app *app = data;
    const struct ana_verdict_group *g = row;
    if (g->culprit && ana_verdict_state_alarms(app->verdict->state))
        out->style = TUI_STYLE_TROUBLE;
    const char *text[] = {
        [WHO] = g->who, [DOING] = g->doing, [WHERE] = g->where[0] ? g->where : "\xe2\x80\x93", [COUNT] = ""};
    snprintf(out->text, sizeof out->text, "%.127s", text[column - columns]);
    if (column - columns == COUNT)
        out->number = (double)g->count;
}

static const struct tui_table_spec spec = {TUI_COLUMNS(columns), .rows = count_groups, .row = get_group,
                                           .value = fill_group_cell, .identity = identify_group};

static void follow_group(struct tui_app *app, const void *row)
{
    tui_app_choose_rank(app, ((const struct ana_verdict_group *)row)->first);
    if (own(app)->detail_of)
        own(app)->detail_of = app->cursor_rank + 1;
}

/* Room that is left for paragraphs. */
struct paragraphs {
    struct tui_grid *grid;
    struct tui_rect rect;
};
enum { INDENT = 12 };

static void put_line(void *to, enum tui_style style, const char *text)
{
    struct paragraphs *p = to;
    if (text[1] != ' ')
        tui_putf(p->grid, p->rect, 0, 0, TUI_STYLE_LABEL, "%.*s", INDENT, text);
    tui_put(p->grid, p->rect, INDENT, 0, style, text + INDENT);
    p->rect = tui_below(p->rect, 1);
}

/* Returns how many lines of the price list the cursor can go to: the list is there while the job moves. */
static int count_prices(const struct tui_app *app)
{
    bool moves = app->verdict->state == ANA_VERDICT_HEALTHY || app->verdict->state == ANA_VERDICT_SLOW;
    return moves && !own(app)->detail_of ? tui_price_lines(app) : 0;
}

/* Whether the groups of ranks are shown: not of a job that ended well, where all ranks have just finished. */
static bool shows_groups(const struct tui_app *app)
{
    return own(app)->detail_of || app->info.state != ANA_FINISHED || !count_prices(app);
}

/* Returns the room that is left below them. */
static struct tui_rect draw_reasons(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_verdict *v = app->verdict;
    struct paragraphs p = {grid, rect};
    char text[160];
    for (size_t i = 0; i < v->facts; i++)
        tui_wrap(i ? "" : "WHY", INDENT, v->fact[i].text, rect.w, put_line, &p);
    if (v->next[0])
        tui_wrap("LOOK NEXT", INDENT, v->next, rect.w, put_line, &p);
    if (v->state == ANA_VERDICT_HEALTHY)
        return p.rect;
    const char *name = ana_verdict_class_name(v->id);
    snprintf(text, sizeof text, "%s%s%s", ana_confidence_name(v->confidence), name ? "; " : "", name ? name : "");
    tui_wrap("CERTAINTY", INDENT, text, rect.w, put_line, &p);
    for (size_t i = 0; i < v->divergences && p.rect.h > 2; i++)
        tui_wrap(i ? "" : "THEY PART", INDENT, v->divergence[i], rect.w, put_line, &p);
    if (shows_groups(app))
        tui_putf(grid, p.rect, 1, 1, TUI_STYLE_DIM, SAY_ENTER_STACKS_AND,
                 tui_app_offers(app, TUI_VIEW_HOROVOD) ? SAY_AGAIN_HOROVOD : "");
    return tui_below(p.rect, shows_groups(app) ? 2 : 0);
}

/* Draws the account of time of all ranks, with the meaning of each account; returns the room below it. */
static struct tui_rect draw_accounts(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_account *all = &app->summary.account;
    int y = 0;
    tui_put(grid, rect, 1, 0, TUI_STYLE_LABEL, "WHERE THE TIME WENT");
    for (enum ana_account_id id = 0; id < ANA_ACCOUNTS; id++)
        if (all->ns[id])
            tui_putf(grid, rect, 1, ++y, TUI_STYLE_NORMAL, "%-9s %7s %6s  %s", ana_account_key(id),
                     ANA_NUMBER(ANA_NS, (double)all->ns[id], true),
                     ANA_NUMBER(ANA_SHARE, ana_account_share(all, id), true), ana_account_help(id));
    return tui_below(rect, y + 2);
}

/* Draws in the room of a large screen the evidence for what the job does: accounts, spread over the ranks, and the
 * longest times. */
static void draw_evidence(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { LEAST = 4 };
    if (!app->has_summary || rect.h < ANA_ACCOUNTS + 2)
        return;
    if (app->summary.has_accounts)
        rect = draw_accounts(app, grid, rect);
    if (app->rank_count >= TUI_SPREAD_RANKS && rect.h >= TUI_SPREAD_ROWS) {
        tui_spread_draw(app, &own(app)->spread, grid, rect);
        rect = tui_below(rect, TUI_SPREAD_ROWS + 1);
    }
    if (rect.h >= LEAST)
        tui_slowest_draw(app, NULL, grid, rect);
}

/* Stacks may be long: PgUp and PgDn scroll them, and the last line says so. */
static void draw_rank_detail(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    enum { LINES = 120 };
    static char line[LINES][ANA_DETAIL_LINE];
    struct own *o = own(app);
    size_t n = ana_rank_detail(app->job, o->detail_of - 1, line, LINES), h = rect.h > 0 ? (size_t)rect.h : 0;
    bool cut = n > h && h > 1;
    size_t page = cut ? h - 1 : h;
    o->detail_page = page;
    o->detail_lines = n;
    if (o->detail_top + page > n)
        o->detail_top = n > page ? n - page : 0;
    for (size_t i = 0; i < page && o->detail_top + i < n; i++) {
        const char *text = line[o->detail_top + i];
        tui_put(grid, rect, 1, (int)i, *text == ' ' ? TUI_STYLE_NORMAL : TUI_STYLE_STRONG, text);
    }
    if (cut)
        tui_putf(grid, rect, 1, rect.h - 1, TUI_STYLE_DIM, SAY_LINES_BY_PAGES, o->detail_top + 1, o->detail_top + page,
                 n);
}

static void draw_verdict(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    int wanted = (int)app->verdict->groups + 1, most = rect.h / 2;
    int height = wanted < most ? wanted : most;
    if (app->verdict->state == ANA_VERDICT_HEALTHY && app->info.state != ANA_FINISHED) {
        tui_put(grid, rect, 1, 0, TUI_STYLE_FINE, SAY_NOBODY_IS_STUCK);
        rect = tui_below(rect, 2);
    }
    int lines = count_prices(app), least = shows_groups(app) ? 0 : 1;
    own(app)->price = own(app)->price < least ? least : own(app)->price < lines ? own(app)->price : lines;
    app->table[TUI_VIEW_VERDICT].elsewhere = own(app)->price > 0;
    struct tui_rect rest = rect;
    if (!least) {
        tui_table_draw(&app->table[TUI_VIEW_VERDICT], grid, (struct tui_rect){rect.x, rect.y, rect.w, height});
        rest = tui_below(rect, height + 1);
    }
    int prices = lines ? tui_draw_prices(app, grid, rest, own(app)->price) : 0;
    if (prices)
        rest = tui_below(rest, prices + 1);
    if (own(app)->detail_of)
        draw_rank_detail(app, grid, rest);
    else
        draw_evidence(app, grid, tui_below(draw_reasons(app, grid, rest), 1));
}

/* Moves from the last group to the price list, and back. */
static int act_on_price(struct tui_app *app, enum tui_action action)
{
    struct own *o = own(app);
    const struct tui_table *table = &app->table[TUI_VIEW_VERDICT];
    int lines = count_prices(app);
    o->price = o->price < lines ? o->price : lines;
    bool at_end = table->cursor + 1 >= table->count || !shows_groups(app);
    if (action == TUI_ACTION_DOWN && o->price < lines && (o->price || at_end))
        o->price++;
    else if (action == TUI_ACTION_UP && o->price)
        o->price -= o->price > 1 || shows_groups(app);
    else if (action == TUI_ACTION_DEEPER && o->price)
        tui_price_open(app, o->price);
    else if (!o->price || action != TUI_ACTION_DOWN)
        return TUI_UNHANDLED;
    return TUI_REDRAW;
}

static int act_on_group(struct tui_app *app, enum tui_action action)
{
    if (act_on_price(app, action) != TUI_UNHANDLED)
        return TUI_REDRAW;
    own(app)->price = 0;
    const struct ana_verdict_group *group = tui_table_chosen(&app->table[TUI_VIEW_VERDICT]);
    size_t page = own(app)->detail_page;
    bool more = own(app)->detail_of && own(app)->detail_lines > page;
    if (more && (action == TUI_ACTION_PAGE_DOWN || action == TUI_ACTION_PAGE_UP)) {
        size_t *top = &own(app)->detail_top;
        *top = action == TUI_ACTION_PAGE_DOWN ? *top + page : *top > page ? *top - page : 0;
        return TUI_REDRAW;
    }
    if (action == TUI_ACTION_BACK && own(app)->detail_of) {
        own(app)->detail_of = 0;
        return TUI_REDRAW;
    }
    if (action != TUI_ACTION_DEEPER || !group)
        return TUI_UNHANDLED;
    tui_app_choose_rank(app, group->first);
    if (own(app)->detail_of) /* the second Enter: its tensors, or its timeline */
        return tui_app_open(app, tui_app_offers(app, TUI_VIEW_HOROVOD) ? TUI_VIEW_HOROVOD : TUI_VIEW_TIMELINE);
    own(app)->detail_of = app->cursor_rank + 1;
    own(app)->detail_top = 0;
    return TUI_REDRAW;
}

const struct tui_view tui_view_verdict = {
    .own_size = sizeof(struct own),
    .table = &spec,
    .moved = follow_group,
    .draw = draw_verdict,
    .act = act_on_group,
};
