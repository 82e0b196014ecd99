/* The price list: a line for each thing that could be mended. */
#include "tui/views/prices.h"

#define LEAST 0.01 /* of the run: what saves less is not worth a line */
#define MOST  6

/* How many of the prices have a line. */
static int count_lines(const struct tui_app *app)
{
    const struct ana_summary *s = &app->summary;
    int n = 0;
    while (app->has_summary && n < MOST && (size_t)n < s->price_count &&
           (double)s->prices[n].saves_ns >= LEAST * (double)s->path_ns)
        n++;
    return n;
}

static void draw_line(const struct tui_app *app, const struct ana_price *price, struct tui_grid *grid,
                      struct tui_rect rect, int y)
{
    char words[400], room[400], part[ANA_TEXT], saves[ANA_TEXT], of[ANA_TEXT];
    int width = rect.w - 39 > 20 ? rect.w - 39 : 20;
    bool most = price->kind != ANA_PRICE_SEGMENT;
    ana_price_words(app->job, price, words, sizeof words);
    ana_number(part, sizeof part, ANA_SHARE, (double)price->path_ns / (double)app->summary.path_ns, true);
    ana_spoken(saves, sizeof saves, (double)price->saves_ns);
    ana_spoken(of, sizeof of, (double)app->summary.path_ns);
    tui_putf(grid, rect, 1, y, TUI_STYLE_NORMAL, "%s %10s   %s%s of %s",
             ana_column(room, sizeof room, words, width, false), part, most ? "at most " : "", saves, of);
}

int tui_draw_prices(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    int lines = count_lines(app), width = rect.w - 39 > 20 ? rect.w - 39 : 20;
    if (lines == 0 || rect.h < 2)
        return 0;
    tui_putf(grid, rect, 1, 0, TUI_STYLE_LABEL, "%-*s ON THE PATH  SAVES", width, "WHAT TO MEND");
    for (int i = 0; i < lines && i + 1 < rect.h; i++)
        draw_line(app, &app->summary.prices[i], grid, rect, i + 1);
    return lines + 1 < rect.h ? lines + 1 : rect.h;
}
