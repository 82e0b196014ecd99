/* Keys, actions, and which key means which action where.  All from action.def. */
#ifndef TUI_KEYMAP_H
#define TUI_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tui/term/keys.h"

enum tui_view_id {
#define VIEW(id, symbol) TUI_VIEW_##id,
#include "tui/app/view.def"
#undef VIEW
    TUI_VIEWS
};

enum tui_action {
    TUI_ACTION_NONE,
#define ACTION(id, label, keys, views, help) TUI_ACTION_##id,
#include "tui/app/action.def"
#undef ACTION
    TUI_ACTIONS
};

struct tui_action_info {
    const char *id;    /* "ZOOM_IN" */
    const char *label; /* in the key bar; empty: not there */
    const char *keys;
    const char *help;
    uint32_t views; /* bit 1 << tui_view_id */
};

/* NULL for TUI_ACTION_NONE and numbers out of range. */
const struct tui_action_info *tui_action_info(enum tui_action action);

/* What a key does in a view; TUI_ACTION_NONE for nothing. */
enum tui_action tui_key_action(enum tui_view_id view, int key);

/* The i-th key of an action as its name, of at most `size` bytes; false past the last. */
bool tui_action_key(enum tui_action action, size_t i, char *name, size_t size);

#endif
