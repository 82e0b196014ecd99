#include "tui/widgets/layout.h"

void tui_stack(struct tui_rect area, bool across, int gap, const struct tui_part *parts, int n, struct tui_rect *out)
{
    int room = across ? area.w : area.h;
    int size[16] = {0};
    bool in[16] = {false};
    if (n > 16)
        n = 16;
    for (int i = 0; i < n; i++)
        in[i] = true;
    /* Leave out the part with the lowest weight until the rest fits. */
    for (;;) {
        int need = 0, count = 0, lightest = -1;
        for (int i = 0; i < n; i++) {
            if (!in[i])
                continue;
            need += parts[i].least + (count++ ? gap : 0);
            int weight = parts[i].weight ? parts[i].weight : 1 << 20;
            if (lightest < 0 || weight < (parts[lightest].weight ? parts[lightest].weight : 1 << 20))
                lightest = i;
        }
        if (!count)
            break;
        if (need <= room) {
            room -= need;
            break;
        }
        in[lightest] = false;
    }
    for (int i = 0; i < n; i++)
        size[i] = in[i] ? parts[i].least : 0;
    /* Hands out the remaining space, a row at a time, to the parts that may grow. */
    for (bool moved = true; room > 0 && moved;) {
        moved = false;
        for (int i = 0; i < n && room > 0; i++)
            if (in[i] && (!parts[i].most || size[i] < parts[i].most)) {
                size[i]++;
                room--;
                moved = true;
            }
    }
    int at = 0;
    for (int i = 0; i < n; i++) {
        if (!in[i] || !size[i]) {
            out[i] = (struct tui_rect){area.x, area.y, 0, 0};
            continue;
        }
        out[i] = across ? (struct tui_rect){area.x + at, area.y, size[i], area.h}
                        : (struct tui_rect){area.x, area.y + at, area.w, size[i]};
        at += size[i] + gap;
    }
}

struct tui_screen tui_screen_layout(int cols, int rows)
{
    int headline = rows > TUI_MIN_ROWS ? 2 : 1;
    const struct tui_part parts[] = {
        {1, 1, 3}, {headline, headline, 2}, {TUI_MIN_ROWS - 3, 0, 0}, {1, 1, 1}, {1, 1, 1}};
    struct tui_rect out[5] = {{0}};
    struct tui_screen screen = {0};
    if (cols >= TUI_MIN_COLS && rows >= TUI_MIN_ROWS) {
        int n = rows >= TUI_KEYS_ROWS ? 5 : 4;
        tui_stack((struct tui_rect){0, 0, cols, rows}, false, 0, parts, n, out);
        screen = (struct tui_screen){out[0], out[1], out[2], n == 5 ? out[3] : out[4], out[n - 1]};
    }
    return screen;
}

struct tui_rect tui_below(struct tui_rect area, int n)
{
    if (n > area.h)
        n = area.h;
    return (struct tui_rect){area.x, area.y + n, area.w, area.h - n};
}

size_t tui_scroll(size_t cursor, size_t top, size_t shown, size_t n)
{
    if (cursor < top)
        top = cursor;
    if (cursor >= top + shown)
        top = cursor - shown + 1;
    return top + shown > n ? (n > shown ? n - shown : 0) : top;
}

size_t tui_step(size_t at, long by, size_t n)
{
    const long last = n ? (long)n - 1 : 0, to = by > last ? last : by < -last - 1 ? 0 : (long)at + by;
    return to < 0 ? 0 : (size_t)(to > last ? last : to);
}
