/* Help: the keys of a view, and what its columns mean. */
#include "tui/views/help_lines.h"

struct own {
    size_t top, page; /* first line in view; lines of the last drawn page */
};

static struct own *own(const struct tui_app *app)
{
    return app->own[TUI_VIEW_HELP];
}

struct page {
    struct tui_grid *grid;
    struct tui_rect rect;
    size_t skip, count;
};

static void put_line(void *to, enum tui_style style, const char *text)
{
    struct page *page = to;
    if (page->count >= page->skip && page->count - page->skip < (size_t)page->rect.h)
        tui_put(page->grid, page->rect, 0, (int)(page->count - page->skip), style, text);
    page->count++;
}

static void put_lines(const struct tui_app *app, struct page *page)
{
    char title[64];
    int width = page->rect.w < 110 ? page->rect.w : 110; /* longer lines are hard to read */
    snprintf(title, sizeof title, " %s", tui_views[app->help_of]->title);
    put_line(page, TUI_STYLE_STRONG, title);
    tui_help_about(app->help_of, width, put_line, page);
    put_line(page, TUI_STYLE_NORMAL, "");
    put_line(page, TUI_STYLE_STRONG, " Keys");
    tui_help_keys(app->help_of, width, put_line, page);
    put_line(page, TUI_STYLE_NORMAL, "");
    put_line(page, TUI_STYLE_STRONG, " Typed after :");
    tui_help_jumps(width, put_line, page);
    put_line(page, TUI_STYLE_NORMAL, "");
    put_line(page, TUI_STYLE_STRONG, " What is shown");
    tui_help_view(app->help_of, width, put_line, page);
}

static void draw_help(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct page page = {grid, {rect.x, rect.y, rect.w, 0}, 0, 0};
    put_lines(app, &page); /* draws nothing: counts the lines */
    size_t rows = (size_t)(rect.h - 1), total = page.count;
    own(app)->page = rows;
    if (own(app)->top + rows > total)
        own(app)->top = total > rows ? total - rows : 0;
    page = (struct page){grid, {rect.x, rect.y, rect.w, (int)rows}, own(app)->top, 0};
    put_lines(app, &page);
    if (total > rows)
        tui_putf(grid, rect, 1, rect.h - 1, TUI_STYLE_DIM, "lines %zu to %zu of %zu; Esc or q leads back",
                 own(app)->top + 1, own(app)->top + rows, total);
    else
        tui_put(grid, rect, 1, rect.h - 1, TUI_STYLE_DIM, "Esc or q leads back");
}

static int act_on_help(struct tui_app *app, enum tui_action action)
{
    size_t top = own(app)->top, page = own(app)->page > 1 ? own(app)->page - 1 : 1;
    switch (action) {
    case TUI_ACTION_UP:
        own(app)->top = top ? top - 1 : 0;
        return TUI_REDRAW;
    case TUI_ACTION_DOWN:
        own(app)->top = top + 1;
        return TUI_REDRAW;
    case TUI_ACTION_PAGE_UP:
        own(app)->top = top > page ? top - page : 0;
        return TUI_REDRAW;
    case TUI_ACTION_PAGE_DOWN:
        own(app)->top = top + page;
        return TUI_REDRAW;
    case TUI_ACTION_FIRST:
    case TUI_ACTION_LAST:
        own(app)->top = action == TUI_ACTION_FIRST ? 0 : SIZE_MAX / 2;
        return TUI_REDRAW;
    case TUI_ACTION_DEEPER:
    case TUI_ACTION_QUIT:
        return tui_app_step(app, TUI_ACTION_BACK);
    default:
        return TUI_UNHANDLED;
    }
}

const struct tui_view tui_view_help = {
    .title = "Help",
    .own_size = sizeof(struct own),
    .about = "What the keys do and what the columns mean.",
    .draw = draw_help,
    .act = act_on_help,
};
