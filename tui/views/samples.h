/* Samples: where a late rank of a job that runs spends a segment. */
#pragma once

#include "tui/app/view.h"

/* Returns whether the rank that takes longest for a segment runs on this host. */
bool tui_view_samples_may_open(const struct tui_app *app, const struct ana_segment_stat *segment);
/* Samples the rank that takes longest for a segment, and opens the view; TUI_UNHANDLED: it
 * does not run here, or memory is out. */
int tui_view_samples_open(struct tui_app *app, const struct ana_segment_stat *segment);
