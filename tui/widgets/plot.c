#include "tui/widgets/plot.h"

#include <math.h>

double tui_plot_max(const double *values, size_t n)
{
    double max = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]) && values[i] > max)
            max = values[i];
    return max;
}

static double clamp_share(double share)
{
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

uint32_t tui_plot_block(double share)
{
    if (isnan(share))
        return ' ';
    return 0x2581 + (uint32_t)lround(clamp_share(share) * 7);
}

uint32_t tui_plot_shade(double share, enum tui_style *style)
{
    static const struct {
        double from;
        enum tui_style style;
        uint32_t ch;
    } steps[] = {{0.75, TUI_STYLE_HEAT_4, 0x2588},
                 {0.4, TUI_STYLE_HEAT_3, 0x2593},
                 {0.1, TUI_STYLE_HEAT_2, 0x2592},
                 {0, TUI_STYLE_HEAT_1, 0x2591}};
    *style = TUI_STYLE_DIM;
    if (isnan(share))
        return ' ';
    for (size_t i = 0; share > 0 && i < sizeof steps / sizeof *steps; i++)
        if (share >= steps[i].from) {
            *style = steps[i].style;
            return steps[i].ch;
        }
    return 0xb7;
}

void tui_plot_spark(struct tui_grid *grid, struct tui_rect rect, int x, int y, enum tui_style style,
                    const double *values, size_t n, double max)
{
    if (max <= 0)
        max = tui_plot_max(values, n);
    for (size_t i = 0; i < n; i++)
        tui_put_char(grid, rect, x + (int)i, y, style, tui_plot_block(max > 0 ? values[i] / max : values[i]));
}

void tui_plot_area(struct tui_grid *grid, struct tui_rect rect, enum tui_style style, const double *values, size_t n,
                   double max)
{
    if (max <= 0)
        max = tui_plot_max(values, n);
    for (size_t i = 0; i < n && (int)i < rect.w; i++) {
        if (isnan(values[i]))
            continue;
        int eighths = max > 0 ? (int)lround(clamp_share(values[i] / max) * rect.h * 8) : 0;
        if (!eighths)
            eighths = 1; /* a known 0 is a line at the bottom; an unknown value is blank */
        for (int y = rect.h - 1; y >= 0 && eighths > 0; y--, eighths -= 8)
            tui_put_char(grid, rect, (int)i, y, style, 0x2580 + (uint32_t)(eighths < 8 ? eighths : 8));
    }
}

void tui_plot_bar(struct tui_grid *grid, struct tui_rect rect, int x, int y, int width, enum tui_style style,
                  double share)
{
    if (isnan(share))
        return;
    int eighths = (int)lround(clamp_share(share) * width * 8);
    for (int i = 0; i < width && eighths > 0; i++, eighths -= 8)
        tui_put_char(grid, rect, x + i, y, style, eighths >= 8 ? 0x2588 : 0x2590 - (uint32_t)eighths);
}

void tui_plot_fold(const double *values, size_t n, double *out, size_t m)
{
    for (size_t i = 0; i < m; i++) {
        out[i] = NAN;
        for (size_t j = i * n / m; j < (i + 1) * n / m; j++)
            if (!isnan(values[j]) && !(out[i] >= values[j]))
                out[i] = values[j];
    }
}
