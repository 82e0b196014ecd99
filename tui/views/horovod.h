/* The two lower parts of Horovod's screen. */
#pragma once

#include "tui/output/horovod_words.h"
#include "tui/app/view.h"

/* Draws the ranks of a process set, the worst first: phase, lateness, use of their time. */
void tui_horovod_draw_ranks(const struct tui_app *app, const struct ana_hvd_set *set, struct tui_grid *grid,
                            struct tui_rect rect);
/* Draws for each rank of the set when it submitted a tensor, or its activity instead; the worst first. */
void tui_horovod_draw_tensor(const struct tui_app *app, const struct ana_hvd_set *set, const struct ana_hvd_tensor *t,
                             struct tui_grid *grid, struct tui_rect rect);
