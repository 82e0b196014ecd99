/* Axis of time above or below a picture over time. */
#pragma once

#include "tui/widgets/grid.h"

/* Writes round instants of job time, in ns, into the first row of `rect`, whose columns are begin to end. */
void tui_axis_draw(struct tui_grid *grid, struct tui_rect rect, int64_t begin_ns, int64_t end_ns);
