#include "tui/views/views.h"

#define VIEW(id, symbol, title, about) extern const struct tui_view symbol;
#include "tui/app/view.def"

const struct tui_view *const tui_views[TUI_VIEWS] = {
#define VIEW(id, symbol, title, about) &symbol,
#include "tui/app/view.def"
};
