/* Bands of the cursor's rank in the timeline: its streams, iterations and regions. */
#include "tui/views/timeline.h"
#include "trace/summary/iterations.h"

#include <stdlib.h>

static void put_title(struct tui_grid *grid, struct tui_rect band, enum tui_style style, const char *title)
{
    tui_put_right(grid, (struct tui_rect){0, band.y, band.x, 1}, band.x - 1, 0, style, title);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* Counts the streams of the cursor's rank; *first gets the first one. */
static size_t count_streams(const struct tui_app *app, size_t *first)
{
    size_t n = 0, all = ana_streams(app->job);
    for (size_t i = 0; i < all; i++)
        if (ana_stream(app->job, i).index == app->cursor_rank && n++ == 0)
            *first = i;
    return n;
}

size_t tui_timeline_streams(const struct tui_app *app)
{
    size_t first;
    return count_streams(app, &first);
}

static unsigned draw_stream(struct tui_grid *grid, struct ana_stream stream, struct tui_rect band,
                            const struct ana_timeline_cell *cells)
{
    char name[ANA_TEXT];
    unsigned seen = 0;
    snprintf(name, sizeof name, "g%u:%u", stream.device, stream.stream);
    put_title(grid, band, TUI_STYLE_DIM, name);
    for (int x = 0; x < band.w; x++) {
        struct ana_timeline_cell cell = cells[x];
        if (cell.share[TRC_CAT_COMPUTE] > 0.5f)
            continue;
        cell.share[TRC_CAT_COMPUTE] = 0;
        int best = tui_cell_category(&cell);
        if (best < 0)
            continue;
        seen |= 1u << best;
        tui_put_char(grid, band, x, 0, tui_category(best)->style, tui_category(best)->ch);
    }
    return seen;
}

unsigned tui_timeline_draw_streams(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    size_t first = 0, n = (size_t)rect.w;
    int64_t begin, end;
    unsigned seen = 0;
    struct ana_timeline_cell *cells = rect.h > 0 ? calloc(n, sizeof *cells) : NULL;
    tui_app_range(app, &begin, &end);
    count_streams(app, &first);
    for (size_t i = 0; cells && i < (size_t)rect.h; i++) {
        ana_stream_timeline(app->job, first + i, begin, end, n, cells);
        seen |= draw_stream(grid, ana_stream(app->job, first + i),
                            (struct tui_rect){rect.x, rect.y + (int)i, rect.w, 1}, cells);
    }
    free(cells);
    return seen;
}

/* ---- iterations -------------------------------------------------------------------------------------------------- */

enum { NARROWEST = 3 /* columns of an iteration, or of a region in the mean */, LEVELS = 3, DEEPEST = 8 };

/* Draws where the iterations begin, with their numbers.  False: they are too many, or there are none. */
static bool draw_iterations(const struct tui_app *app, struct tui_grid *grid, struct tui_rect band, int64_t begin,
                            int64_t end)
{
    const struct ana_iterations *of = &app->summary.iterations;
    const double width = (double)(end - begin) / band.w;
    char text[ANA_TEXT];
    uint64_t first = of->levels ? ana_iteration_at(app->job, of, of->level, app->cursor_rank, begin) : 0,
             last = of->levels ? ana_iteration_at(app->job, of, of->level, app->cursor_rank, end) : 0;
    if (!first || last == first || last - first > (uint64_t)band.w / NARROWEST)
        return false;
    uint64_t before = first;
    for (int x = 1, from = 0; x <= band.w; x++) { /* iteration `before` begins in column `from` */
        const int64_t at = begin + (int64_t)(width * (x + 0.5));
        const uint64_t now = x == band.w ? 0 : ana_iteration_at(app->job, of, of->level, app->cursor_rank, at);
        if (now == before)
            continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)before);
        if (tui_columns(text) < x - from)
            tui_put(grid, band, from + 1 - !from, 0, TUI_STYLE_DIM, text);
        if (now)
            tui_put_char(grid, band, x, 0, TUI_STYLE_AXIS, 0x2502);
        before = now;
        from = x;
    }
    put_title(grid, band, TUI_STYLE_AXIS, "iter");
    return true;
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* Draws a region from one column to another, its last; both may be out of view. */
static void draw_region(struct tui_grid *grid, struct tui_rect band, const char *name, int from, int to)
{
    for (int x = from > 0 ? from : 0; x <= to && x < band.w; x++)
        tui_put_char(grid, band, x, 0, TUI_STYLE_AXIS, x == from ? 0x251c : x == to ? 0x2524 : 0x2500);
    const struct tui_rect inside = {band.x, band.y, to < band.w ? to : band.w, band.h};
    for (int x = from < 0 ? 0 : from + 1; *name && x < inside.w;)
        x += tui_put_char(grid, inside, x, 0, TUI_STYLE_LABEL, tui_decode(&name));
}

/* Draws the regions of a level.  False: they are too many, or one that lasts all the time while others are in it. */
static bool draw_level(struct tui_grid *grid, struct tui_rect band, const struct ana_region_span *span, size_t n,
                       uint32_t level, int64_t begin, int64_t end)
{
    const double columns = band.w / (double)(end - begin);
    bool deeper = false, part = false;
    double covered = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        deeper |= span[i].level > level;
        if (span[i].level != level)
            continue;
        part |= span[i].begin_ns > begin || span[i].end_ns < end;
        covered += (double)(span[i].end_ns - span[i].begin_ns) * columns;
        count++;
    }
    if (!count || covered < NARROWEST * count || (deeper && !part))
        return false;
    for (size_t i = 0; i < n; i++)
        if (span[i].level == level)
            draw_region(grid, band, span[i].name, (int)floor((double)(span[i].begin_ns - begin) * columns),
                        (int)ceil((double)(span[i].end_ns - begin) * columns) - 1);
    return true;
}

static int draw_regions(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect, int64_t begin,
                        int64_t end)
{
    int lines = 0;
    size_t room = (size_t)rect.w / NARROWEST * LEVELS, n = 0;
    struct ana_region_span *span = rect.h > 0 && app->summary.region_count ? calloc(room, sizeof *span) : NULL;
    if (span)
        n = ana_region_spans(app->job, app->cursor_rank, begin, end, room, span);
    for (uint32_t level = 0; level < DEEPEST && lines < rect.h && lines < LEVELS; level++)
        lines += draw_level(grid, tui_below(rect, lines), span, n, level, begin, end);
    if (lines)
        put_title(grid, rect, TUI_STYLE_AXIS, "region");
    free(span);
    return lines;
}

int tui_timeline_bands(const struct tui_app *app, struct tui_grid *grid, struct tui_rect rect)
{
    int64_t begin, end;
    tui_app_range(app, &begin, &end);
    int lines = rect.h > 0 && draw_iterations(app, grid, (struct tui_rect){rect.x, rect.y, rect.w, 1}, begin, end);
    return lines + draw_regions(app, grid, tui_below(rect, lines), begin, end);
}
