/* What the two files of Horovod's screen share. */
#ifndef TUI_VIEW_HOROVOD_H
#define TUI_VIEW_HOROVOD_H

#include "tui/output/horovod_words.h"
#include "tui/app/view.h"

/* The ranks of a set: what they are in, how late they are, where their time goes. */
void tui_horovod_draw_ranks(const struct tui_app *app, const struct ana_hvd_set *set, struct tui_grid *grid,
                            struct tui_rect rect);
/* Which rank has submitted a tensor and when, or what it does instead. */
void tui_horovod_draw_tensor(const struct tui_app *app, const struct ana_hvd_set *set, const struct ana_hvd_tensor *t,
                             struct tui_grid *grid, struct tui_rect rect);

#endif
