/* All views, in the order of view.def. */
#pragma once

#include "tui/app/view.h"

/* Views, TUI_VIEWS in all, by enum tui_view_id. */
extern const struct tui_view *const tui_views[];
