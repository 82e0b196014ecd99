/* Small pictures in cells: sparklines, bars, shades.  Blocks of Unicode; the grid turns them into ASCII where needed.
 */
#ifndef TUI_PLOT_H
#define TUI_PLOT_H

#include "tui/widgets/grid.h"
#include <stddef.h>

/* Largest of the known values, 0 when none is positive. */
double tui_plot_max(const double *values, size_t n);

/* Block of height 0..1 in eighths: 0 gives the lowest bar, NAN a blank. */
uint32_t tui_plot_block(double share);
/* Shade of 0..1 in four steps, a dot for 0, blank for NAN; *style gets the heat that fits. */
uint32_t tui_plot_shade(double share, enum tui_style *style);

/* One cell a value, scaled to `max` (0: to the largest). */
void tui_plot_spark(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style,
                    const double *values, size_t n, double max);
/* Rows of `rect` as the vertical resolution of the same. */
void tui_plot_area(struct tui_grid *grid, struct tui_rect rect, enum tui_style style, const double *values, size_t n,
                   double max);
/* A bar of `share` (0..1) of `width` cells, in eighths of a cell; nothing for NAN. */
void tui_plot_bar(struct tui_grid *grid, struct tui_rect rect, int x, int y, int width, enum tui_style style,
                  double share);

/* n values folded to m <= n by taking the largest known of each group, for more values than cells. */
void tui_plot_fold(const double *values, size_t n, double *out, size_t m);

#endif
