#include "tui/views/timeline.h"
#include "tui/views/sentences_impl.h"

bool tui_drag_columns(struct tui_rect area, int x, int y, int to_x, int *first, int *last)
{
    x -= area.x;
    to_x -= area.x;
    if (x < 0 || x >= area.w || y < area.y || y >= area.y + area.h)
        return false;
    to_x = to_x < 0 ? 0 : to_x >= area.w ? area.w - 1 : to_x;
    *first = x < to_x ? x : to_x;
    *last = x < to_x ? to_x : x;
    return true;
}

bool tui_drag_draw(const struct tui_app *app, struct tui_grid *grid, struct tui_rect area, struct tui_rect foot,
                   int64_t begin_ns, int64_t end_ns)
{
    int first, last;
    if (!app->dragging || !tui_drag_columns(area, app->pressed_x, app->pressed_y, app->drag_x, &first, &last))
        return false;
    double cell = (double)(end_ns - begin_ns) / area.w;
    tui_fill(grid, (struct tui_rect){area.x + first, area.y - 1, last - first + 1, 1}, TUI_STYLE_CURSOR, 0);
    tui_put(grid, foot, 1, 0, TUI_STYLE_STRONG, SAY_THE_WINDOW_ONCE);
    foot.y++;
    tui_putf(grid, foot, 1, 0, TUI_STYLE_NORMAL, "%s from %s", ANA_SPOKEN((last + 1 - first) * cell),
             ANA_SPOKEN((double)begin_ns + first * cell));
    return true;
}
