#include "tui/app/axis.h"
#include "tui/app/words.h"

/* The time from one mark to the next, in ns: 1, 2 or 5 of a power of ten, and from 30 s on as clocks have it. */
static int64_t find_step(double least_ns)
{
    static const int seconds[] = {30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400};
    int last = (int)(sizeof seconds / sizeof *seconds) - 1, s = 0;
    for (int64_t ten = 1; ten <= 10000000000; ten *= 10)
        for (int64_t step = ten; step <= 5 * ten && step <= 10000000000; step = step == ten ? 2 * ten : step + 3 * ten)
            if ((double)step >= least_ns)
                return step;
    while (s < last && seconds[s] * 1e9 < least_ns)
        s++;
    return seconds[s] * 1000000000ll;
}

void tui_axis_draw(struct tui_grid *grid, struct tui_rect rect, int64_t begin, int64_t end)
{
    double width = (double)(end - begin);
    int64_t step = find_step(14 * width / rect.w), last_second = -1;
    int free_from = 0;
    for (int64_t t = (begin + step - 1) / step * step; t < end; t += step) {
        char text[48];
        int x = (int)((double)(t - begin) / width * rect.w);
        tui_words_instant(text, sizeof text, t, step, last_second >= 0 && t / 1000000000 == last_second);
        if (x < free_from || x + tui_columns(text) > rect.w)
            continue;
        last_second = t / 1000000000;
        free_from = tui_put(grid, rect, x, 0, TUI_STYLE_AXIS, text) + 1;
    }
}

bool tui_app_scrolls(const struct tui_app *app)
{
    return app->view == TUI_VIEW_TIMELINE && app->all_time && app->scrolls && app->info.state == ANA_RUNNING &&
           app->info.elapsed_ns - app->info.run_begin_ns > TUI_SCROLLED_NS;
}
