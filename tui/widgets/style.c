#include "tui/widgets/style.h"

static const struct tui_look looks[] = {
#define STYLE(id, letter, fore8, back8, fore256, back256, attributes, mono)                                            \
    {letter, fore8, back8, fore256, back256, attributes, mono},
#include "tui/widgets/style.def"
#undef STYLE
};

const struct tui_look *tui_style(unsigned style)
{
    return &looks[style < TUI_STYLES ? style : TUI_STYLE_NORMAL];
}
