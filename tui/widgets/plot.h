/* Small plots in cells: sparklines, areas, bars, shades.  They use block characters, which the grid turns into ASCII
 * where a terminal needs that.  NAN is an unknown value: its cell stays blank. */
#pragma once

#include "tui/widgets/grid.h"
#include <stddef.h>

/* The largest value that is known; 0 when none is positive. */
double tui_plot_max(const double *values, size_t n);

/* The block character for a height of 0..1 in eighths of a cell: the lowest bar for 0, a blank for NAN. */
uint32_t tui_plot_block(double share);

/* The character that shades a cell for 0..1, in four steps: a dot for 0, a blank for NAN.  *style gets its colour. */
uint32_t tui_plot_shade(double share, enum tui_style *style);

/* Draws a sparkline, one cell a value, from column x of row y.  `max` is the full height; 0: the largest value. */
void tui_plot_spark(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style,
                    const double *values, size_t n, double max);

/* Draws columns, one a value, that are up to as high as `rect`.  `max` is the full height; 0: the largest value. */
void tui_plot_area(struct tui_grid *grid, struct tui_rect rect, enum tui_style style, const double *values, size_t n,
                   double max);

/* Draws a bar to the right that fills `share` (0..1) of `width` cells, in eighths of a cell; nothing for NAN. */
void tui_plot_bar(struct tui_grid *grid, struct tui_rect rect, int x, int y, int width, enum tui_style style,
                  double share);

/* Reduces n values to m <= n, each the largest known of its group: for more values than cells. */
void tui_plot_fold(const double *values, size_t n, double *out, size_t m);
