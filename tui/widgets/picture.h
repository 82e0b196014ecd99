/* A grid as a picture with its colours: SVG, or a page for a browser. */
#pragma once

#include "tui/widgets/grid.h"

/* Writes the grid as an SVG document. */
void tui_picture_svg(const struct tui_grid *grid, FILE *out);

/* Writes it as an HTML page with that title. */
void tui_picture_html(const struct tui_grid *grid, const char *title, FILE *out);
