/* What parts of a screen mean, and the colours and attributes that show it (style.def). */
#ifndef TUI_STYLE_H
#define TUI_STYLE_H

#include <stdint.h>

enum tui_attribute { TUI_BOLD = 1, TUI_REVERSE = 2, TUI_UNDERLINE = 4 };

enum tui_style {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono) TUI_STYLE_##id,
#include "tui/widgets/style.def"
#undef STYLE
    TUI_STYLES
};

struct tui_look {
    char letter;          /* in text dumps of a grid */
    int16_t fore8, back8; /* -1: the terminal's own */
    int16_t fore256, back256;
    uint8_t attributes, mono; /* enum tui_attribute, with and without colour */
};

/* The colours and attributes of a style; those of NORMAL for an unknown number.  Static, never NULL. */
const struct tui_look *tui_style(unsigned style);

#endif
