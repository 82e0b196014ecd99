#include "tui/widgets/style.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct tui_look looks[] = {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono)                                            \
    {letter, fore8, back8, fore256, back256, attributes, mono},
#include "tui/widgets/style.def"
};

static const struct {
    enum tui_theme theme;
    enum tui_style style;
    int16_t fore8, back8, fore256, back256;
} changes[] = {
#define LOOK(theme, style, fore8, back8, fore256, back256)                                                             \
    {TUI_THEME_##theme, TUI_STYLE_##style, fore8, back8, fore256, back256},
#include "tui/widgets/theme.def"
};

const char *const tui_theme_names[TUI_THEMES] = {"dark", "light", "colour-blind"};

static enum tui_theme used;

enum tui_theme tui_theme(void)
{
    return used;
}

void tui_theme_use(enum tui_theme theme)
{
    used = theme;
    static const struct tui_look dark[] = {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono)                                            \
    {letter, fore8, back8, fore256, back256, attributes, mono},
#include "tui/widgets/style.def"
    };
    memcpy(looks, dark, sizeof looks);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        if (changes[i].theme == theme) {
            struct tui_look *look = &looks[changes[i].style];
            look->fore8 = changes[i].fore8;
            look->back8 = changes[i].back8;
            look->fore256 = changes[i].fore256;
            look->back256 = changes[i].back256;
        }
}

enum tui_theme tui_theme_of_ground(const char *colorfgbg)
{
    enum { WHITE = 7, BRIGHT = 15 };
    const char *last = colorfgbg ? strrchr(colorfgbg, ';') : NULL;
    char *end = NULL;
    long ground = last ? strtol(last + 1, &end, 10) : -1;
    return last && end > last + 1 && !*end && (ground == WHITE || ground == BRIGHT) ? TUI_THEME_LIGHT : TUI_THEME_DARK;
}

int tui_rgb(int colour)
{
    static const int base[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
                                 0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
    if (colour < 16)
        return colour < 0 ? colour : base[colour];
    if (colour >= 232)
        return (8 + 10 * (colour - 232)) * 0x010101;
    int rgb = 0;
    for (int i = 0, step = 36, rest = colour - 16; i < 3; i++, rest %= step, step /= 6)
        rgb = rgb << 8 | (rest / step ? 55 + 40 * (rest / step) : 0);
    return rgb;
}

const struct tui_look *tui_style(unsigned style)
{
    return &looks[style < TUI_STYLES ? style : TUI_STYLE_NORMAL];
}
