#include "tui/views/timeline.h"
#include "tui/views/sentences_impl.h"

enum { MOST = 5, AROUND = 2 /* lines: the title, the slowest messages */ };

int tui_outliers_lines(const struct tui_app *app, int room, size_t ranks, bool wanted)
{
    const struct ana_summary *s = &app->summary;
    if (!app->has_summary || s->exact || app->all_time || room < 8)
        return 0;
    int rows = (int)s->outlier_count, most = room / 2 - AROUND < MOST ? room / 2 - AROUND : MOST;
    int lines = (rows < most ? rows : most) + AROUND, left = ranks < (size_t)room ? room - (int)ranks : 0;
    if (wanted || (rows && ranks > (size_t)room))
        return lines;
    return left >= lines ? lines : left > AROUND || (left && !rows) ? left : 0;
}

static void draw_title(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    const struct ana_summary *s = &app->summary;
    uint64_t calls = 0, messages = 0, bytes = 0;
    char more[160];
    for (size_t i = 0; i < s->rank_count; i++) {
        calls += s->ranks[i].calls;
        messages += s->ranks[i].sent_messages;
        bytes += s->ranks[i].sent;
    }
    snprintf(more, sizeof more, SAY_WINDOW_TOTALS, ANA_NUMBER(ANA_COUNT, (double)calls, true),
             ANA_NUMBER(ANA_COUNT, (double)messages, true), ANA_NUMBER(ANA_BYTES, (double)bytes, true));
    char count[48] = "nothing stands";
    if (s->outlier_count)
        snprintf(count, sizeof count, "%zu thing%s stand%s", s->outlier_count, s->outlier_count == 1 ? "" : "s",
                 s->outlier_count == 1 ? "s" : "");
    int x = tui_putf(grid, rect, 1, 0, TUI_STYLE_STRONG, "IN THIS WINDOW: %s out", count);
    if (x + 3 + tui_columns(more) <= rect.w)
        tui_put_right(grid, rect, rect.w - 1, 0, TUI_STYLE_DIM, more);
}

static void draw_row(const struct tui_app *app, const struct ana_outlier *row, struct tui_grid *grid,
                     struct tui_rect rect, int y, bool here)
{
    char what[400], cost[200];
    const enum tui_style style = tui_begin_line(grid, rect, y, TUI_STYLE_NORMAL, here);
    ana_outlier_words(app->job, row, what, sizeof what, cost, sizeof cost);
    struct tui_rect left = rect;
    if (row->is_message) /* the second part is a place, which is not cut */
        left.w -= tui_columns(cost) + 3;
    int x = tui_putf(grid, left, 1, y, style, "%.3f  rank %s  %s", (double)row->at_ns / 1e9,
                     TUI_RANK_NAME(app, row->index), what);
    if (row->is_message || x + 3 + tui_columns(cost) <= rect.w)
        tui_put_right(grid, rect, rect.w - 1, y, style, cost);
    else
        tui_putf(grid, rect, x, y, style, "; %s", cost);
}

void tui_outliers_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int chosen)
{
    const struct ana_summary *s = &app->summary;
    int rows = rect.h - AROUND, top = chosen >= rows ? chosen - rows + 1 : 0, x = 1;
    draw_title(app, grid, rect);
    if (rect.h < AROUND)
        return;
    for (int i = 0; i < rows && top + i < (int)s->outlier_count; i++)
        draw_row(app, &s->outliers[top + i], grid, rect, 1 + i, top + i == chosen);
    if (chosen >= 0 && chosen < (int)s->outlier_count) { /* the cost may be cut off above */
        char what[400], cost[200];
        ana_outlier_words(app->job, &s->outliers[chosen], what, sizeof what, cost, sizeof cost);
        tui_put(grid, rect, 1, rect.h - 1, TUI_STYLE_DIM, cost);
        return;
    }
    for (size_t i = 0; i < s->slow_count; i++) {
        char words[160];
        ana_slow_message_words(app->job, &s->slow[i], words, sizeof words);
        const char *before = i ? " \xc2\xb7 " : "slowest messages: ";
        if (x + tui_columns(before) + tui_columns(words) > rect.w)
            break;
        x = tui_putf(grid, rect, x, rect.h - 1, TUI_STYLE_DIM, "%s%s", before, words);
    }
}
