/* Meanings of parts of a screen, and the colours and attributes that show them (style.def). */
#pragma once

#include <stdint.h>

/* A filled style says with its ground alone what its character says: terminals with many colours leave that out. */
enum tui_attribute { TUI_BOLD = 1, TUI_REVERSE = 2, TUI_UNDERLINE = 4, TUI_FILLED = 8 };

enum tui_style {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono) TUI_STYLE_##id,
#include "tui/widgets/style.def"
    TUI_STYLES
};

struct tui_look {
    char letter;          /* code in text dumps of a grid */
    int16_t fore8, back8; /* -1: the terminal's own */
    int16_t fore256, back256;
    uint8_t attributes, mono; /* enum tui_attribute, with and without colour */
};

/* Background or eyes that the colours are made for. */
enum tui_theme { TUI_THEME_DARK, TUI_THEME_LIGHT, TUI_THEME_COLOUR_BLIND, TUI_THEMES };

/* The names of the themes in the configuration: "colour-blind". */
extern const char *const tui_theme_names[TUI_THEMES];

/* Sets the theme of the program; before a terminal is opened, in the thread that opens it. */
void tui_theme_use(enum tui_theme theme);

/* The theme that is used. */
enum tui_theme tui_theme(void);

/* A colour of the palette of 256 as red, green and blue: 0xrrggbb; a negative one stays as it is. */
int tui_rgb(int colour);

/* The theme for what the terminal says of its ground in COLORFGBG ("0;15": light); dark, where that is NULL or says
 * nothing. */
enum tui_theme tui_theme_of_ground(const char *colorfgbg);

/* The colours and attributes of a style; NORMAL's for an unknown number.  They stay until the theme changes; never
 * NULL. */
const struct tui_look *tui_style(unsigned style);
