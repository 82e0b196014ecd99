/* Help: the keys of a view, and what its columns mean. */
#include "tui/views/help_lines.h"
#include "tui/views/sentences_impl.h"
#include "tui/views/pager.h"

static void draw_help(struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    struct tui_pager *page = app->own[TUI_VIEW_HELP];
    char title[64];
    int width = rect.w < 110 ? rect.w : 110; /* longer lines are hard to read */
    snprintf(title, sizeof title, " %s", tui_view_words[app->help_of].title);
    tui_pager_begin(page, grid, rect);
    tui_pager_line(page, TUI_STYLE_STRONG, title);
    tui_help_about(app->help_of, width, tui_pager_line, page);
    tui_pager_line(page, TUI_STYLE_NORMAL, "");
    tui_pager_line(page, TUI_STYLE_STRONG, " Keys");
    tui_help_keys(app->help_of, width, tui_pager_line, page);
    tui_pager_line(page, TUI_STYLE_NORMAL, "");
    tui_pager_line(page, TUI_STYLE_STRONG, " Typed after :");
    tui_help_jumps(width, tui_pager_line, page);
    tui_pager_line(page, TUI_STYLE_NORMAL, "");
    tui_pager_line(page, TUI_STYLE_STRONG, SAY_WHAT_IS_SHOWN);
    tui_help_view(app->help_of, width, tui_pager_line, page);
    tui_pager_end(page, SAY_ESC_OR_Q);
}

static int act_on_help(struct tui_app *app, enum tui_action action)
{
    if (action == TUI_ACTION_DEEPER || action == TUI_ACTION_QUIT)
        return tui_app_step(app, TUI_ACTION_BACK);
    return tui_pager_act(app->own[TUI_VIEW_HELP], action);
}

const struct tui_view tui_view_help = {
    .own_size = sizeof(struct tui_pager),
    .draw = draw_help,
    .act = act_on_help,
};
