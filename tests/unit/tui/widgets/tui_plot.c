/* Small pictures. */
#include "tests/support/check.h"
#include "tui/widgets/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tui_grid grid;
static const struct tui_rect area = {0, 0, 10, 2};

static void expect(const char *what, const char *want)
{
    char *got = NULL;
    size_t size;
    FILE *out = open_memstream(&got, &size);
    tui_grid_write(&grid, out, false);
    fclose(out);
    CHECK(strcmp(got, want) == 0, "%s:\n%s instead of\n%s", what, got, want);
    free(got);
    tui_grid_clear(&grid);
}

int main(void)
{
    enum tui_style style;
    double v[10] = {0, 1, 2, 4, NAN, 8, -1, 7, 6, 5}, folded[5];
    tui_grid_resize(&grid, area.w, area.h);
    tui_plot_spark(&grid, area, 0, 0, TUI_STYLE_BAR, v, 10, 0);
    expect("sparkline: unknown is blank, nothing is the lowest bar", "▁▂▃▅ █▁▇▆▅\n\n");
    tui_plot_spark(&grid, area, 0, 0, TUI_STYLE_BAR, v, 10, 16);
    expect("sparkline on a scale", "▁▁▂▃ ▅▁▄▄▃\n\n");
    tui_plot_area(&grid, area, TUI_STYLE_BAR, v, 10, 0);
    expect("area", "     █ ▆▄▂\n▁▂▄█ █▁███\n");
    tui_plot_bar(&grid, area, 0, 0, 8, TUI_STYLE_BAR, 0.5);
    tui_plot_bar(&grid, area, 0, 1, 8, TUI_STYLE_BAR, 0.2);
    expect("bars in eighths", "████\n█▋\n");
    tui_plot_bar(&grid, area, 0, 0, 8, TUI_STYLE_BAR, NAN);
    tui_plot_bar(&grid, area, 0, 1, 8, TUI_STYLE_BAR, 7);
    expect("no bar for the unknown, none beyond its room", "\n████████\n");
    CHECK(tui_plot_max(v, 10) == 8 && tui_plot_max(v + 4, 1) == 0, "largest of the known");
    CHECK(tui_plot_shade(NAN, &style) == ' ', "unknown is blank");
    CHECK(tui_plot_shade(0, &style) == 0xb7 && style == TUI_STYLE_DIM, "nothing is a dot");
    CHECK(tui_plot_shade(1e-9, &style) == 0x2591 && style == TUI_STYLE_HEAT_1, "little is not nothing");
    CHECK(tui_plot_shade(1, &style) == 0x2588 && style == TUI_STYLE_HEAT_4, "all is full");
    tui_plot_fold(v, 10, folded, 5);
    CHECK(folded[0] == 1 && folded[1] == 4 && folded[2] == 8 && folded[3] == 7 && folded[4] == 6,
          "fold: the largest known");
    tui_plot_fold(v + 4, 1, folded, 1);
    CHECK(isnan(folded[0]), "fold: unknown stays unknown");
    tui_grid_free(&grid);
    return check_result();
}
