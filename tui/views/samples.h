/* Samples: where a late rank of a job that runs spends a segment. */
#pragma once

#include "tui/app/view.h"

/* Samples the rank that takes longest for a segment, and opens the view; TUI_UNHANDLED: the rank does not run on this
 * host. */
int tui_view_samples_open(struct tui_app *app, const struct ana_segment_stat *segment);
