/* Keys and actions: every key exists, no key means two things in one view, every view can be left. */
#include "tui/app/view.h"
#include "tui/views/views.h"

#include <stdio.h>
#include <string.h>

static int failures;

static void check(bool ok, const char *what, const char *which)
{
    if (!ok) {
        failures++;
        printf("%s: %s\n", what, which);
    }
}

static void every_action(void)
{
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        const struct tui_action_info *info = tui_action_info(a);
        char name[16];
        size_t keys = 0;
        check(info->help[0] != 0, "an action without help", info->id);
        check(info->views != 0, "an action that works nowhere", info->id);
        for (; tui_action_key(a, keys, name, sizeof name); keys++) {
            int key = tui_key_of(name);
            check(key != TUI_KEY_NONE, "no such key", name);
            for (int v = 0; v < TUI_VIEWS; v++)
                if (info->views & 1u << v)
                    check(tui_key_action((enum tui_view_id)v, key) == a, "a key that means two things", name);
        }
        check(keys > 0, "an action without a key", info->id);
    }
    check(!tui_action_info(TUI_ACTION_NONE) && !tui_action_info(TUI_ACTIONS), "no info out of range", "NONE");
}

static void every_view(void)
{
    for (int v = 0; v < TUI_VIEWS; v++) {
        const struct tui_view *view = tui_views[v];
        check(tui_key_action((enum tui_view_id)v, 'q') == TUI_ACTION_QUIT, "q quits", view->title);
        check(tui_key_action((enum tui_view_id)v, TUI_KEY_F10) == TUI_ACTION_QUIT, "F10 quits", view->title);
        check(tui_key_action((enum tui_view_id)v, '?') == TUI_ACTION_HELP, "? helps", view->title);
        check(tui_key_action((enum tui_view_id)v, TUI_KEY_F1) == TUI_ACTION_HELP, "F1 helps", view->title);
        check(tui_key_action((enum tui_view_id)v, 0x2603) == TUI_ACTION_NONE, "a snowman does nothing", view->title);
        check(view->about && view->draw, "a view says what it is about", view->title);
        if (v < 10 && v != TUI_VIEW_HELP) /* 0 is the tenth */
            check((int)tui_key_action(TUI_VIEW_HELP, '0' + (v + 1) % 10) == (int)TUI_ACTION_VIEW_OVERVIEW + v,
                  "digits in the order of the views", view->title);
        for (int c = 0; view->table && c < view->table->column_count; c++) {
            check(view->table->columns[c].help && view->table->columns[c].help[0], "a column without help",
                  view->table->columns[c].title);
            check(tui_columns(view->table->columns[c].title) <= view->table->columns[c].width,
                  "a title wider than its column", view->table->columns[c].title);
        }
        check(!view->table || view->table->column_count <= TUI_TABLE_COLUMNS, "too many columns", view->title);
    }
}

int main(void)
{
    every_action();
    every_view();
    check(tui_key_of("x") == 'x' && tui_key_of("\xc3\xa9") == 0xe9 && tui_key_of("S-Left") == TUI_KEY_SHIFT_LEFT,
          "names of keys", "x");
    check(tui_key_of("nonsense") == TUI_KEY_NONE && tui_key_of("") == TUI_KEY_NONE, "what is no key", "nonsense");
    return failures != 0;
}
