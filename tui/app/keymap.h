/* Keys and their actions by view: all of it is in action.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/term/keys.h"

enum tui_view_id {
#define VIEW(id, symbol, title, about) TUI_VIEW_##id,
#include "tui/app/view.def"
    TUI_VIEWS
};

enum tui_action {
    TUI_ACTION_NONE,
#define ACTION(id, label, keys, views, handler, help) TUI_ACTION_##id,
#include "tui/app/action.def"
    TUI_ACTIONS
};

struct tui_action_info {
    const char *id;    /* "ZOOM_IN" */
    const char *label; /* label in the key bar; empty: it is not shown there */
    const char *keys;
    const char *help;
    uint32_t views; /* views where it works: bits 1 << enum tui_view_id */
};

/* The row of an action in action.def, static; NULL for TUI_ACTION_NONE and unknown numbers. */
const struct tui_action_info *tui_action_info(enum tui_action action);

/* The action of a key in a view; TUI_ACTION_NONE if it has none. */
enum tui_action tui_key_action(enum tui_view_id view, int key);

struct tui_move {
    long lines, columns; /* down, right */
};
/* Returns the distance by which an action moves a cursor, with `page` lines a page.  Both 0: not at all.
 * TUI_ACTION_FIRST and _LAST: more lines than any list has. */
struct tui_move tui_action_move(enum tui_action action, long page);

/* Writes the name of an action's i-th key into `name` of `size` bytes; false behind the last, or if it does not fit. */
bool tui_action_key(enum tui_action action, size_t i, char *name, size_t size);
