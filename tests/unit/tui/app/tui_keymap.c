/* Keys and actions: every key exists, no key means two things in one view, every view can be left. */
#include "tests/support/check.h"
#include "tui/app/view.h"
#include "tui/views/views.h"

#include <stdio.h>
#include <string.h>

static void every_action(void)
{
    for (enum tui_action a = TUI_ACTION_NONE + 1; a < TUI_ACTIONS; a++) {
        const struct tui_action_info *info = tui_action_info(a);
        char name[16];
        size_t keys = 0;
        CHECK(info->help[0] != 0, "an action without help: %s", info->id);
        CHECK(info->views != 0, "an action that works nowhere: %s", info->id);
        for (; tui_action_key(a, keys, name, sizeof name); keys++) {
            int key = tui_key_of(name);
            CHECK(key != TUI_KEY_NONE, "no such key: %s", name);
            for (int v = 0; v < TUI_VIEWS; v++)
                if (info->views & 1u << v)
                    CHECK(tui_key_action((enum tui_view_id)v, key) == a, "a key that means two things: %s", name);
        }
        CHECK(keys > 0, "an action without a key: %s", info->id);
    }
    CHECK(!tui_action_info(TUI_ACTION_NONE) && !tui_action_info(TUI_ACTIONS), "no info out of range");
}

static void every_view(void)
{
    for (int v = 0; v < TUI_VIEWS; v++) {
        const struct tui_view *view = tui_views[v];
        CHECK(tui_key_action((enum tui_view_id)v, 'q') == TUI_ACTION_QUIT, "q quits: %s", tui_view_words[v].title);
        CHECK(tui_key_action((enum tui_view_id)v, TUI_KEY_F10) == TUI_ACTION_QUIT, "F10 quits: %s",
              tui_view_words[v].title);
        CHECK(tui_key_action((enum tui_view_id)v, '?') == TUI_ACTION_HELP, "? helps: %s", tui_view_words[v].title);
        CHECK(tui_key_action((enum tui_view_id)v, TUI_KEY_F1) == TUI_ACTION_HELP, "F1 helps: %s",
              tui_view_words[v].title);
        CHECK(tui_key_action((enum tui_view_id)v, 0x2603) == TUI_ACTION_NONE, "a snowman does nothing: %s",
              tui_view_words[v].title);
        CHECK(tui_view_words[v].about && view->draw, "a view says what it is about: %s", tui_view_words[v].title);
        if (v < 10 && v != TUI_VIEW_HELP) /* 0 is the tenth */
            CHECK((int)tui_key_action(TUI_VIEW_HELP, '0' + (v + 1) % 10) == (int)TUI_ACTION_VIEW_OVERVIEW + v,
                  "digits in the order of the views: %s", tui_view_words[v].title);
        for (int c = 0; view->table && c < view->table->column_count; c++) {
            CHECK(view->table->columns[c].metric->help && view->table->columns[c].metric->help[0],
                  "a column without help: %s", view->table->columns[c].metric->title);
            CHECK(tui_columns(view->table->columns[c].metric->title) <= view->table->columns[c].width,
                  "a title wider than its column: %s", view->table->columns[c].metric->title);
        }
        CHECK(!view->table || view->table->column_count <= TUI_TABLE_COLUMNS, "too many columns: %s",
              tui_view_words[v].title);
    }
}

int main(void)
{
    every_action();
    every_view();
    CHECK(tui_key_of("x") == 'x' && tui_key_of("\xc3\xa9") == 0xe9 && tui_key_of("S-Left") == TUI_KEY_SHIFT_LEFT,
          "names of keys");
    CHECK(tui_key_of("nonsense") == TUI_KEY_NONE && tui_key_of("") == TUI_KEY_NONE, "what is no key");
    return check_result();
}
