#include "tui/views/timeline.h"

void tui_timeline_marks(const struct tui_app *app, struct tui_grid *grid, struct tui_rect axis, int64_t begin,
                        int64_t end)
{
    for (int i = 0; i < app->marks.count; i++) {
        const struct tui_mark *mark = &app->marks.mark[i];
        int x = (int)((double)(mark->at_ns - begin) / (double)(end - begin) * axis.w);
        if (mark->at_ns >= begin && mark->at_ns < end)
            tui_put_char(grid, axis, x, 0, TUI_STYLE_FOUND, mark->letter == '-' ? '*' : (uint32_t)mark->letter);
    }
}

/* First one of the cursor's rank. */
static const struct tui_mark *find_near(const struct tui_app *app, int64_t most_ns)
{
    char rank[ANA_TEXT];
    tui_app_rank_name(app, app->cursor_rank, rank, sizeof rank);
    const struct tui_mark *mark = tui_marks_near(&app->marks, rank, app->cursor_ns, most_ns);
    return mark ? mark : tui_marks_near(&app->marks, NULL, app->cursor_ns, most_ns);
}

int tui_timeline_note(const struct tui_app *app, struct tui_grid *grid, struct tui_rect line, int columns)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    const struct tui_mark *mark = find_near(app, (end - begin) / (columns > 0 ? columns : 1));
    if (!mark)
        return 1;
    return tui_putf(grid, line, 1, 0, TUI_STYLE_FOUND, "%c rank %s%s%s", mark->letter == '-' ? '*' : mark->letter,
                    mark->rank, mark->note[0] ? ": " : "", mark->note) +
           2;
}
