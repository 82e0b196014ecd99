/* The price list: a line for each thing that could be mended. */
#include "tui/views/prices.h"
#include "tui/views/sentences_impl.h"
#include "trace/util/trouble.h"
#include "tui/views/iterations.h"

#define LEAST 0.01 /* share of the run: smaller savings are not worth a line */
#define MOST  6
#define RIGHT 31 /* columns of shares and savings */

/* Returns how many of the prices have a line. */
static int count_lines(const struct tui_app *app)
{
    const struct ana_summary *s = &app->summary;
    int n = 0;
    while (app->has_summary && n < MOST && (size_t)n < s->price_count &&
           (double)s->prices[n].saves_ns >= LEAST * (double)s->path_ns)
        n++;
    return n;
}

/* The slowest iteration, if it took long enough to be told; NULL: none did. */
static const struct ana_slow_iteration *find_slow(const struct tui_app *app)
{
    const struct ana_iterations *of = &app->summary.iterations;
    const struct ana_loop_level *loop = &of->loop[of->level];
    const bool is_shown = app->has_summary && of->levels && loop->slow_count && ana_iteration_is_slow(loop, loop->slow);
    return is_shown ? loop->slow : NULL;
}

int tui_price_lines(const struct tui_app *app)
{
    int lines = count_lines(app);
    return lines ? lines + (find_slow(app) != NULL) : 0;
}

static void draw_line(const struct tui_app *app, const struct ana_price *price, struct tui_grid *grid,
                      struct tui_rect rect, int y, bool chosen)
{
    char words[400], room[400], part[ANA_TEXT], saves[ANA_TEXT];
    int width = rect.w - RIGHT > 20 ? rect.w - RIGHT : 20;
    ana_price_words(app->job, price, words, sizeof words);
    const bool about = price->kind == ANA_PRICE_PROCESSOR || price->siblings;
    const char *bound = price->at_most ? "at most " : about ? "about " : "";
    ana_metric_text(part, sizeof part, TUI_METRIC(PRICE_PATH), price, &app->whole, true);
    ana_spoken(saves, sizeof saves, (double)price->saves_ns);
    enum tui_style style = tui_begin_line(grid, rect, y, TUI_STYLE_NORMAL, chosen);
    tui_putf(grid, rect, 1, y, style, "%s %10s   %s%s", ana_column(room, sizeof room, words, width, false), part, bound,
             saves);
}

int tui_draw_prices(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int chosen)
{
    int lines = count_lines(app), width = rect.w - RIGHT > 20 ? rect.w - RIGHT : 20, used = lines + 1;
    const struct ana_slow_iteration *slow = find_slow(app);
    const struct ana_iterations *of = &app->summary.iterations;
    char words[400], room[400];
    if (lines == 0 || rect.h < 2)
        return 0;
    tui_putf(grid, rect, 1, 0, TUI_STYLE_LABEL, "%-*s ON THE PATH  SAVES OF %s", width, "WHAT TO MEND",
             ANA_SPOKEN((double)app->summary.path_ns));
    for (int i = 0; i < lines && i + 1 < rect.h; i++)
        draw_line(app, &app->summary.prices[i], grid, rect, i + 1, chosen == i + 1);
    bool of_line = chosen > 0 && chosen <= lines;
    words[0] = 0;
    if (of_line)
        ana_reason_words(&app->summary.prices[chosen - 1].reason, words, sizeof words);
    if (words[0] && used + (slow != NULL) < rect.h)
        tui_putf(grid, rect, 1, used + (slow != NULL), TUI_STYLE_LABEL, SAY_WHY_IT_TAKES, words);
    int more = words[0] != 0;
    if (slow) {
        enum tui_style style = tui_begin_line(grid, rect, used, TUI_STYLE_NORMAL, chosen == used);
        ana_iteration_words(app->job, &of->loop[of->level], slow, words, sizeof words);
        const int columns = tui_columns(words);
        tui_putf(grid, rect, 1, used++, style, "%s (Enter: there)",
                 ana_column(room, sizeof room, words, columns < rect.w - 17 ? columns : rect.w - 17, false));
    }
    used += more;
    return used < rect.h ? used : rect.h;
}

void tui_price_open(struct tui_app *app, int line)
{
    const struct ana_slow_iteration *slow = find_slow(app);
    if (line > count_lines(app)) {
        if (slow)
            tui_iterations_show(app, slow);
        return;
    }
    const struct ana_price *price = &app->summary.prices[line - 1];
    if (price->kind == ANA_PRICE_DEVICE) {
        tui_app_open(app, TUI_VIEW_GPU);
        return;
    }
    if (price->kind == ANA_PRICE_PROCESSOR) {
        tui_app_open(app, TUI_VIEW_RANKS);
        return;
    }
    if (price->kind != ANA_PRICE_SEGMENT) {
        tui_app_choose_call(app, price->to.call);
        tui_app_open(app, TUI_VIEW_CALLS);
        return;
    }
    struct tui_table *table = &app->table[TUI_VIEW_SEGMENTS];
    for (size_t i = 0; i < app->summary.segment_count; i++)
        if (app->summary.segments[i].identity == price->identity) {
            table->cursor_identity = app->summary.segments[i].identity;
            table->has_cursor = true;
        }
    tui_app_open(app, TUI_VIEW_SEGMENTS);
}
