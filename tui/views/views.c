#include "tui/views/views.h"

#define VIEW(id, symbol) extern const struct tui_view symbol;
#include "tui/app/view.def"

const struct tui_view *const tui_views[TUI_VIEWS] = {
#define VIEW(id, symbol) &symbol,
#include "tui/app/view.def"
};
