/* The frame of every screen: the line of the job, the headline, the view, the key bar. */
#include "tui/app/chooser.h"
#include "tui/app/sentences_impl.h"
#include "trace/headline/headline.h"
#include "tui/app/palette.h"
#include "tui/app/view.h"
#include "tui/app/words.h"
#include "tui/widgets/wrap.h"
#include "trace/util/rows.h"

#include <ctype.h>
#include <string.h>

/* ---- key bar ---------------------------------------------------------------------------------------------------- */

/* Lists the view's actions that have a label, without the ones in `gone`; returns their width together. */
static int list_keys(const struct tui_app *app, uint64_t gone, enum tui_action *out, int *at, int *count)
{
    int width = 0;
    char key[16];
    *count = 0;
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        const struct tui_action_info *info = tui_action_info(a);
        if (a < TUI_ACTION_FIND && !tui_app_offers(app, (enum tui_view_id)(a - TUI_ACTION_VIEW_OVERVIEW)))
            continue;
        if (!info->label[0] || !(info->views & 1u << app->view) || gone & 1ull << a)
            continue;
        tui_action_key(a, 0, key, sizeof key);
        out[*count] = a;
        at[(*count)++] = width;
        width += tui_columns(key) + tui_columns(info->label);
    }
    return at[*count] = width;
}

/* Places the view's actions: out[i] in column at[i], the end in at[n].  Where there is little room, first those go that
 * are missed least, then the blanks between them, then others. */
static int place_keys(const struct tui_app *app, int cols, enum tui_action *out, int *at, int *gap)
{
    static const enum tui_action first_to_go[] = {
        TUI_ACTION_VIEW_ITERATIONS, TUI_ACTION_FILTER, TUI_ACTION_FIND, TUI_ACTION_VIEW_CALLS,
        TUI_ACTION_VIEW_TIMELINE,   TUI_ACTION_HELP,   TUI_ACTION_NONE};
    enum { WITH_BLANKS = 2 };
    int n, width = 0;
    for (*gap = 1; *gap >= 0; --*gap) {
        uint64_t gone = 0;
        for (int drop = 0;; drop++) {
            width = list_keys(app, gone, out, at, &n);
            bool last = *gap ? drop == WITH_BLANKS : first_to_go[drop] == TUI_ACTION_NONE;
            if (width + *gap * (n - 1) <= cols || (last && !*gap)) {
                for (int i = 0; i <= n; i++)
                    at[i] += i * *gap;
                return n;
            }
            if (last)
                break;
            gone |= 1ull << first_to_go[drop];
        }
    }
    return 0;
}

enum tui_action tui_key_bar_at(const struct tui_app *app, int cols, int x)
{
    enum tui_action action[TUI_ACTIONS];
    int at[TUI_ACTIONS + 1], gap, n = place_keys(app, cols, action, at, &gap);
    for (int i = 0; i < n; i++)
        if (x >= at[i] && x < at[i + 1] - gap)
            return action[i];
    return TUI_ACTION_NONE;
}

/* Draws the typed text from column x on: the cursor is a line behind the end, else its character is marked; so is all
 * text that the next character would replace. */
static void draw_line(const struct tui_line *line, struct tui_grid *grid, struct tui_rect rect, int x)
{
    int at = 0;
    for (const char *c = line->text; *c;) {
        bool here = c == line->text + line->at;
        enum tui_style style = here || line->chosen ? TUI_STYLE_CURSOR : TUI_STYLE_PROMPT;
        at += tui_put_char(grid, rect, x + at, 0, style, tui_decode(&c));
    }
    if (!line->text[line->at])
        tui_put_char(grid, rect, x + at, 0, TUI_STYLE_PROMPT, '_');
}

static void draw_keys(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    if (app->prompt) {
        tui_fill(grid, rect, TUI_STYLE_PROMPT, ' ');
        const char *what = app->prompt == TUI_PROMPT_JUMP     ? ":"
                           : app->prompt == TUI_PROMPT_FILTER ? "Filter: "
                           : app->view == TUI_VIEW_TIMELINE   ? "Find rank: "
                                                              : "Find: ";
        draw_line(&app->line, grid, rect, tui_put(grid, rect, 0, 0, TUI_STYLE_PROMPT, what));
        return;
    }
    if (app->message[0]) {
        tui_fill(grid, rect, TUI_STYLE_PROMPT, ' ');
        tui_put(grid, rect, 0, 0, TUI_STYLE_PROMPT, app->message);
        return;
    }
    enum tui_action action[TUI_ACTIONS];
    int at[TUI_ACTIONS + 1], gap, n = place_keys(app, rect.w, action, at, &gap);
    char key[16];
    for (int i = 0; i < n; i++) {
        bool here = action[i] < TUI_ACTION_FIND && (int)(action[i] - TUI_ACTION_VIEW_OVERVIEW) == (int)app->view;
        tui_action_key(action[i], 0, key, sizeof key);
        int x = tui_put(grid, rect, at[i], 0, TUI_STYLE_KEY, key);
        tui_put(grid, rect, x, 0, here ? TUI_STYLE_KEY_HERE : TUI_STYLE_KEY_LABEL, tui_action_info(action[i])->label);
    }
}

/* Whether an action is of the present view, or of a few, and in no label of the key bar. */
static bool is_special(const struct tui_app *app, enum tui_action action)
{
    enum { MANY = TUI_VIEWS - 3 };
    const struct tui_action_info *info = tui_action_info(action);
    return !info->label[0] && info->views & 1u << app->view && __builtin_popcount(info->views) < MANY;
}

/* Draws the keys of the view that the key bar has no room for, and the key of the palette. */
static void draw_more_keys(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    char key[16], word[24];
    int x = 0;
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        if (a != TUI_ACTION_JUMP && !is_special(app, a))
            continue;
        tui_action_key(a, 0, key, sizeof key);
        tui_palette_word(a, word, sizeof word);
        if (x + tui_columns(key) + 1 + tui_columns(word) > rect.w)
            continue;
        x = tui_put(grid, rect, x, 0, TUI_STYLE_KEY, key);
        x = tui_put(grid, rect, x + 1, 0, TUI_STYLE_DIM, word) + 2;
    }
}

/* ---- job line --------------------------------------------------------------------------------------------------- */

/* Describes the view, if not everything is in it: "MPI_Send  3 tagged  50.0ms from 1.205s". */
static void describe_view(const struct tui_app *app, char *out, size_t size)
{
    size_t n = 0;
    out[0] = 0;
    const bool pages = app->summary.counters_only;
    if (app->analysed < 0.9995)
        n += (size_t)snprintf(out + n, size - n, "%s%.0f %%%s%s  ", pages ? "" : "analysed ",
                              fmax(app->analysed, app->read < 1 ? app->read : 0) * 100, app->halted ? ", halted" : "",
                              !pages        ? ""
                              : app->halted ? SAY_LIVE_PAGES
                                            : SAY_FROM_LIVE_PAGES);
    if (app->call[0])
        n += (size_t)snprintf(out + n, size - n, "%s  ", app->call);
    if (app->table[app->view].filter[0] && n < size)
        n += (size_t)snprintf(out + n, size - n, "\\%s  ", app->table[app->view].filter);
    if (app->tagged_count && n < size)
        n += (size_t)snprintf(out + n, size - n, "%zu tagged  ", app->tagged_count);
    char width[ANA_TEXT], from[48];
    if (!app->all_time && n < size) {
        ana_number(width, sizeof width, ANA_NS, (double)(app->end_ns - app->begin_ns), true);
        int64_t step = 1; /* precision: as fine as the range is narrow */
        while (step < 1000000000 && step * 10 <= (app->end_ns - app->begin_ns) / 10)
            step *= 10;
        int decimals = step >= 1000000000 ? 0 : 9 - (int)lround(log10((double)step));
        if (app->begin_ns < 60000000000)
            snprintf(from, sizeof from, "%.*fs", decimals, (double)(app->begin_ns - app->begin_ns % step) / 1e9);
        else
            tui_words_instant(from, sizeof from, app->begin_ns, step, false);
        if (app->follow)
            n += (size_t)snprintf(out + n, size - n, "last %s  ", width);
        else
            n += (size_t)snprintf(out + n, size - n, "%s from %s  ", width, from);
    }
    if (app->filter_words[0] && n < size)
        n += (size_t)snprintf(out + n, size - n, "%s  ", app->filter_words);
    if (n >= 2 && n < size)
        out[n - 2] = 0;
}

static void draw_job(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_job_info *info = &app->info;
    char state[16], clock[ANA_TEXT], scope[320];
    snprintf(state, sizeof state, "%s", app->frozen ? "frozen" : ana_state_name(info->state));
    for (char *c = state; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    enum tui_style style = app->frozen                   ? TUI_STYLE_PROMPT
                           : info->state == ANA_RUNNING  ? TUI_STYLE_JOB_RUNNING
                           : info->state == ANA_FINISHED ? TUI_STYLE_JOB_ENDED
                                                         : TUI_STYLE_JOB_BAD;
    tui_fill(grid, rect, TUI_STYLE_JOB, ' ');
    describe_view(app, scope, sizeof scope);
    int right = scope[0] ? tui_columns(scope) + 3 : 0;
    if (right > rect.w / 2)
        right = rect.w / 2;
    struct tui_rect left = {rect.x, rect.y, rect.w - right, 1};
    (info->state == ANA_RUNNING ? ana_clock : ana_run_time)(clock, sizeof clock, info->elapsed_ns);
    /* State and clock are always there, then as many parts as fit.  For ranks and nodes a long name is cut to 12. */
    enum { RANKS, NODES, MPI, VERSION, PARTS, BEFORE = 9, SHORT = 12 };
    char part[PARTS][128] = {""}, world[32] = "";
    if (info->world_size > info->ranks)
        snprintf(world, sizeof world, " of %zu", info->world_size);
    snprintf(part[RANKS], sizeof part[RANKS], "   %zu%s rank%s", info->ranks, world, info->ranks == 1 ? "" : "s");
    snprintf(part[NODES], sizeof part[NODES], ", %zu node%s", info->hosts, info->hosts == 1 ? "" : "s");
    const char *mpi = info->mpi ? info->mpi : "", *version = strrchr(mpi, ' ');
    snprintf(part[MPI], sizeof part[MPI], "   %.*s", version ? (int)(version - mpi) : (int)strlen(mpi), mpi);
    snprintf(part[VERSION], sizeof part[VERSION], "%s", version ? version : "");
    const char *called = info->name ? info->name : "";
    int wanted = tui_columns(called), room = left.w - (BEFORE + 2 + tui_columns(state) + 1 + tui_columns(clock));
    int parts = 0;
    for (; parts < PARTS; parts++) {
        int least = parts > NODES || wanted < SHORT ? wanted : SHORT, columns = tui_columns(part[parts]);
        if (least + columns > room)
            break;
        room -= columns;
    }
    int length = wanted < room ? wanted : room > 0 ? room : 0;
    tui_put(grid, left, 1, 0, TUI_STYLE_JOB, "hpctop");
    tui_put(grid, (struct tui_rect){left.x + BEFORE, left.y, length, 1}, 0, 0, TUI_STYLE_JOB, called);
    int x = tui_put(grid, left, BEFORE + length + 2, 0, style, state) + 1;
    x = tui_put(grid, left, x, 0, TUI_STYLE_JOB, clock);
    for (int i = 0; i < parts; i++)
        x = tui_put(grid, left, x, 0, TUI_STYLE_JOB, part[i]);
    if (scope[0])
        tui_put(grid, (struct tui_rect){rect.x + rect.w - right, rect.y, right - 1, 1}, 2, 0, TUI_STYLE_PROMPT, scope);
}

static void draw_headline(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    static const struct {
        enum tui_style style;
        const char *mark;
    } looks[] = {
        {TUI_STYLE_FINE, "\xe2\x9c\x93"}, {TUI_STYLE_NOTABLE, "\xe2\x97\x8f"}, {TUI_STYLE_TROUBLE, "\xe2\x9c\x97"}};
    TRC_ASSERT_ROWS(looks, ANA_TROUBLE);
    const bool open = app->weight == ANA_FINE && app->analysed < 0.9995; /* events to be read may show trouble */
    const enum tui_style style = open ? TUI_STYLE_NORMAL : looks[app->weight].style;
    tui_put(grid, rect, 1, 0, style, open ? "\xc2\xb7" : looks[app->weight].mark);
    int room = rect.w - 4, at = 0;
    const char *text = app->headline, *cut = NULL;
    for (const char *c = text; rect.h > 1 && *c;
         at += tui_skip(&c, 1)) { /* the first line ends at the last blank that fits */
        if (at > room && cut)
            break;
        if (*c == ' ' && at <= room)
            cut = c;
    }
    if (at <= room || !cut) {
        tui_put(grid, rect, 3, 0, style, text);
        return;
    }
    tui_putf(grid, rect, 3, 0, style, "%.*s", (int)(cut - text), text);
    tui_put(grid, rect, 3, 1, style, cut + 1);
}

struct lines {
    struct tui_grid *grid;
    struct tui_rect rect;
};

static void put_line(void *to, enum tui_style style, const char *text)
{
    struct lines *l = to;
    tui_put(l->grid, l->rect, 0, 0, style, text);
    l->rect = tui_below(l->rect, 1);
}

/* Draws a terminal that is too small for any view: the job, the headline, and where the ranks are. */
static void draw_small(const struct tui_app *app, struct tui_grid *grid)
{
    char text[160];
    struct lines l = {grid, {0, 1, grid->cols, grid->rows - 2}};
    draw_job(app, grid, (struct tui_rect){0, 0, grid->cols, 1});
    tui_wrap("", 1, app->headline, grid->cols, put_line, &l);
    for (int i = 0; i < app->group_count && l.rect.h > 0; i++) {
        const struct tui_group *g = &app->group[i];
        snprintf(text, sizeof text, " %zu rank%s %s %s", g->count, g->count == 1 ? "" : "s",
                 ana_rank_state_name(g->state), g->inside ? g->inside : "");
        put_line(&l, TUI_STYLE_NORMAL, text);
    }
    tui_putf(grid, (struct tui_rect){0, grid->rows - 1, grid->cols, 1}, 0, 0, TUI_STYLE_DIM, SAY_VIEWS_NEED_THIS,
             TUI_MIN_COLS, TUI_MIN_ROWS, grid->cols, grid->rows);
}

void tui_app_draw(struct tui_app *app, struct tui_grid *grid)
{
    tui_grid_clear(grid);
    struct tui_screen screen = tui_screen_layout(grid->cols, grid->rows);
    if (!screen.body.h) {
        draw_small(app, grid);
        return;
    }
    draw_job(app, grid, screen.job);
    draw_headline(app, grid, screen.headline);
    tui_app_view(app)->draw(app, grid, screen.body);
    if (app->choosing)
        tui_chooser_draw(app, grid, screen.body);
    if (app->prompt == TUI_PROMPT_JUMP)
        tui_palette_draw(app, grid, screen.body);
    if (screen.more_keys.h)
        draw_more_keys(app, grid, screen.more_keys);
    draw_keys(app, grid, screen.keys);
}
