/* Keys as a terminal gives them, and their names in tables, help and scripts. */
#pragma once

/* The key of a capital letter with Ctrl. */
#define TUI_CONTROL(letter) ((letter) - 'A' + TUI_KEY_CONTROL_A)

/* A key is the code point of its character; keys without one have numbers above all code points. */
enum tui_key {
    TUI_KEY_NONE = 0,
    TUI_KEY_CONTROL_A = 1, /* the other ones follow */
    TUI_KEY_TAB = 9,
    TUI_KEY_ENTER = 10,
    TUI_KEY_CONTROL_L = 12,
    TUI_KEY_ESCAPE = 27,
    TUI_KEY_SPACE = 32,
    TUI_KEY_BACKSPACE = 127,
    TUI_KEY_UP = 0x110000,
    TUI_KEY_DOWN,
    TUI_KEY_LEFT,
    TUI_KEY_RIGHT,
    TUI_KEY_SHIFT_LEFT,
    TUI_KEY_SHIFT_RIGHT,
    TUI_KEY_CONTROL_LEFT,
    TUI_KEY_CONTROL_RIGHT,
    TUI_KEY_DELETE,
    TUI_KEY_HOME,
    TUI_KEY_END,
    TUI_KEY_PAGE_UP,
    TUI_KEY_PAGE_DOWN,
    TUI_KEY_F1, /* F2 to F10 follow */
    TUI_KEY_F10 = TUI_KEY_F1 + 9
};

/* The key with that name ("Enter", "F5", "x"); TUI_KEY_NONE if there is none. */
int tui_key_of(const char *name);
