/* All views, in the order of view.def. */
#ifndef TUI_VIEWS_H
#define TUI_VIEWS_H

#include "tui/app/view.h"

/* TUI_VIEWS of them: what tui_app_init takes. */
extern const struct tui_view *const tui_views[];

#endif
