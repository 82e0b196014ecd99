#include "tui/widgets/style.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct tui_look looks[] = {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono)                                            \
    {letter, fore8, back8, fore256, back256, attributes, mono},
#include "tui/widgets/style.def"
#undef STYLE
};

static const struct {
    enum tui_theme theme;
    enum tui_style style;
    int16_t fore8, back8, fore256, back256;
} changes[] = {
#define LOOK(theme, style, fore8, back8, fore256, back256)                                                             \
    {TUI_THEME_##theme, TUI_STYLE_##style, fore8, back8, fore256, back256},
#include "tui/widgets/theme.def"
#undef LOOK
};

const char *tui_theme_name(int theme)
{
    static const char *const names[TUI_THEMES] = {"dark", "light", "colour-blind"};
    return theme >= 0 && theme < TUI_THEMES ? names[theme] : NULL;
}

void tui_theme_use(enum tui_theme theme)
{
    static const struct tui_look dark[] = {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono)                                            \
    {letter, fore8, back8, fore256, back256, attributes, mono},
#include "tui/widgets/style.def"
#undef STYLE
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

const struct tui_look *tui_style(unsigned style)
{
    return &looks[style < TUI_STYLES ? style : TUI_STYLE_NORMAL];
}
