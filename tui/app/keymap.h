/* Keys, actions, and which key means which action where.  All from action.def. */
#ifndef TUI_KEYMAP_H
#define TUI_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* A key is a code point, or one of these above all code points. */
enum tui_key {
    TUI_KEY_NONE = 0,
    TUI_KEY_CONTROL_L = 12,
    TUI_KEY_TAB = 9,
    TUI_KEY_ENTER = 10,
    TUI_KEY_ESCAPE = 27,
    TUI_KEY_SPACE = 32,
    TUI_KEY_BACKSPACE = 127,
    TUI_KEY_UP = 0x110000,
    TUI_KEY_DOWN,
    TUI_KEY_LEFT,
    TUI_KEY_RIGHT,
    TUI_KEY_SHIFT_LEFT,
    TUI_KEY_SHIFT_RIGHT,
    TUI_KEY_HOME,
    TUI_KEY_END,
    TUI_KEY_PAGE_UP,
    TUI_KEY_PAGE_DOWN,
    TUI_KEY_F1, /* .. F10 follow each other */
    TUI_KEY_F10 = TUI_KEY_F1 + 9
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

/* A key of its name ("Enter", "F5", "x"); TUI_KEY_NONE if there is none. */
int tui_key_of(const char *name);
/* The i-th key of an action as its name, of at most `size` bytes; false past the last. */
bool tui_action_key(enum tui_action action, size_t i, char *name, size_t size);

#endif
