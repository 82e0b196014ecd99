#include "tui/views/pager.h"
#include "tui/views/sentences_impl.h"

void tui_pager_begin(struct tui_pager *pager, struct tui_grid *grid, struct tui_rect rect)
{
    pager->grid = grid;
    pager->rect = rect;
    pager->page = rect.h > 1 ? (size_t)rect.h - 1 : 0;
    pager->count = 0;
}

void tui_pager_line(void *to, enum tui_style style, const char *text)
{
    struct tui_pager *pager = to;
    size_t at = pager->count++;
    if (at >= pager->top && at - pager->top < pager->page)
        tui_put(pager->grid, pager->rect, 0, (int)(at - pager->top), style, text);
}

void tui_pager_end(struct tui_pager *pager, const char *keys)
{
    if (pager->count > pager->page)
        tui_putf(pager->grid, pager->rect, 1, pager->rect.h - 1, TUI_STYLE_DIM, SAY_LINES_TO_OF, pager->top + 1,
                 pager->top + pager->page, pager->count, keys);
    else
        tui_put(pager->grid, pager->rect, 1, pager->rect.h - 1, TUI_STYLE_DIM, keys);
}

int tui_pager_act(struct tui_pager *pager, enum tui_action action)
{
    const long lines = tui_action_move(action, pager->page > 1 ? (long)pager->page - 1 : 1).lines;
    if (!lines)
        return TUI_UNHANDLED;
    pager->top = tui_step(pager->top, lines, pager->count > pager->page ? pager->count - pager->page + 1 : 1);
    return TUI_REDRAW;
}
