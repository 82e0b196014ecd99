#include "tui/views/help_lines.h"
#include "tui/views/sentences_impl.h"
#include "tui/app/jump.h"

#include "tui/widgets/plot_category.h"

void tui_help_keys(enum tui_view_id view, int width, tui_line_do *line, void *to)
{
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        const struct tui_action_info *info = tui_action_info(a);
        char text[512];
        if (view < TUI_VIEWS && !(info->views & 1u << view))
            continue;
        size_t n = (size_t)snprintf(text, sizeof text, "%s", info->help);
        if (view == TUI_VIEWS && __builtin_popcount(info->views) * 2 <= TUI_VIEWS) {
            for (int v = 0, first = 1; v < TUI_VIEWS; v++)
                if (info->views & 1u << v) {
                    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", first ? "  [" : ", ",
                                          tui_view_words[v].title);
                    first = 0;
                }
            snprintf(text + n, sizeof text - n, "]");
        }
        tui_wrap(info->keys, 16, text, width, line, to);
    }
}

void tui_help_jumps(int width, tui_line_do *line, void *to)
{
    const struct tui_jump *jump;
    for (jump = tui_jumps; jump->word; jump++) {
        char typed[64];
        snprintf(typed, sizeof typed, ":%s", jump->example);
        tui_wrap(typed, 16, jump->help, width, line, to);
    }
}

void tui_help_about(enum tui_view_id view, int width, tui_line_do *line, void *to)
{
    tui_wrap("", 1, tui_view_words[view].about, width, line, to);
}

void tui_help_view(enum tui_view_id id, int width, tui_line_do *line, void *to)
{
    const struct tui_view *view = tui_views[id];
    for (int c = 0; view->table && c < view->table->column_count; c++) {
        if (c == 0)
            line(to, TUI_STYLE_LABEL, " columns");
        tui_wrap(view->table->columns[c].metric->title, 14, view->table->columns[c].metric->help, width, line, to);
    }
    bool titled = false;
    for (const struct tui_term_help *t = tui_terms; t->word; t++) {
        if (t->view != id)
            continue;
        if (!titled)
            line(to, TUI_STYLE_LABEL, SAY_WHAT_ELSE_IT);
        titled = true;
        tui_wrap(t->word, 21, t->help, width, line, to);
    }
    if (id != TUI_VIEW_TIMELINE)
        return;
    line(to, TUI_STYLE_LABEL, SAY_WHAT_TIME_WAS);
    for (int c = 0; c < TUI_CATEGORIES; c++) {
        const struct tui_category *category = tui_category(c);
        char word[64], sign[5];
        tui_encode(category->ch, sign);
        snprintf(word, sizeof word, "%s %s", sign, category->name);
        tui_wrap(word, 21, category->help, width, line, to);
    }
}
