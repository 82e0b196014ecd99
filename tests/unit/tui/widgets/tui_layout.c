/* Layout: over all sizes, nothing overlaps, nothing lies outside, nothing that is shown is empty. */
#include "tests/support/check.h"
#include "tui/widgets/layout.h"

#include <stdio.h>

static void check_parts(struct tui_rect area, const struct tui_rect *part, int n, const char *what)
{
    for (int i = 0; i < n; i++) {
        const struct tui_rect *a = &part[i];
        if (!a->w && !a->h)
            continue; /* left out */
        bool bad = a->w <= 0 || a->h <= 0 || a->x < area.x || a->y < area.y || a->x + a->w > area.x + area.w ||
                   a->y + a->h > area.y + area.h;
        for (int j = 0; j < i; j++) {
            const struct tui_rect *b = &part[j];
            bad = bad || (b->w && b->h && a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h &&
                          b->y < a->y + a->h);
        }
        CHECK(!bad, "%s: part %d of %dx%d at %d,%d is %dx%d", what, i, area.w, area.h, a->x, a->y, a->w, a->h);
    }
}

/* Any numbers: the cursor is in view, and there is no room below the last row. */
static void scrolling(void)
{
    for (size_t n = 1; n < 12; n++)
        for (size_t shown = 1; shown < 14; shown++)
            for (size_t cursor = 0; cursor < n; cursor++)
                for (size_t top = 0; top < 14; top++) {
                    size_t got = tui_scroll(cursor, top, shown, n);
                    CHECK(got <= cursor && cursor < got + shown && (got == 0 || got + shown <= n), "%zu", got);
                    bool good = top <= cursor && cursor < top + shown && top + shown <= n;
                    CHECK(!good || got == top, "what is good stays");
                }
}

int main(void)
{
    scrolling();
    static const struct tui_part parts[] = {{4, 8, 3}, {5, 0, 0}, {2, 2, 2}, {1, 1, 1}};
    for (int cols = 1; cols <= 300; cols++)
        for (int rows = 1; rows <= 100; rows++) {
            struct tui_rect area = {0, 0, cols, rows}, out[4];
            struct tui_screen s = tui_screen_layout(cols, rows);
            struct tui_rect all[] = {s.job, s.headline, s.body, s.more_keys, s.keys};
            check_parts(area, all, 5, "screen");
            bool fits = cols >= TUI_MIN_COLS && rows >= TUI_MIN_ROWS;
            CHECK((s.body.h > 0) == fits, "the view is there from 60x20 on, and only then: %dx%d", cols, rows);
            CHECK(!fits || (s.job.h == 1 && s.headline.h >= 1 && s.keys.h == 1), "the other three are there: %dx%d",
                  cols, rows);
            CHECK(!fits || s.job.h + s.headline.h + s.body.h + s.more_keys.h + s.keys.h == rows,
                  "no row is lost: %dx%d", cols, rows);
            CHECK(!fits || (s.more_keys.h > 0) == (rows >= TUI_KEYS_ROWS), "a second line of keys: %dx%d", cols, rows);
            CHECK(!fits || s.body.h >= TUI_MIN_ROWS - 3, "the headline does not starve the view: %dx%d", cols, rows);
            CHECK(!fits || s.headline.h == (rows > TUI_MIN_ROWS ? 2 : 1),
                  "a headline of any length has its rows: %dx%d", cols, rows);
            for (int gap = 0; gap <= 1; gap++)
                for (int across = 0; across <= 1; across++) {
                    tui_stack(area, across, gap, parts, 4, out);
                    check_parts(area, out, 4, "stack");
                    int room = across ? cols : rows;
                    CHECK((out[1].w > 0) == (room >= 5), "what matters most goes last: %dx%d", cols, rows);
                    for (int i = 0; i < 4; i++) {
                        int size = across ? out[i].w : out[i].h;
                        CHECK(!out[i].w || size >= parts[i].least, "no part below its least: %dx%d", cols, rows);
                        CHECK(!parts[i].most || size <= parts[i].most, "no part above its most: %dx%d", cols, rows);
                    }
                    CHECK(room < 20 || (out[0].w && out[1].w && out[2].w && out[3].w), "all fit in 20: %dx%d", cols,
                          rows);
                }
        }
    struct tui_rect below = tui_below((struct tui_rect){2, 3, 10, 4}, 9);
    CHECK(below.h == 0 && below.y == 7, "below more than there is: nothing");
    return check_result();
}
