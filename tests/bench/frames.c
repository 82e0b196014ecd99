/* Cost of opening a job and painting each of its screens, in ms of a processor: the first frame of a view and the
 * next one, after the cursor was moved.
 *     frames [-s COLSxROWS] [-t] FOLDER      -t: a view's text, too */
#include "tui/app/view.h"
#include "tui/views/views.h"
#include "trace/session/session.h"
#include "trace/util/now.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static double lap_ms(void)
{
    static int64_t last;
    int64_t now = ana_used_ns(), took = now - last;
    last = now;
    return (double)took / 1e6;
}

static double paint(struct tui_app *app, struct tui_grid *grid)
{
    lap_ms();
    tui_app_draw(app, grid);
    return lap_ms();
}

static void measure_view(struct tui_app *app, struct tui_grid *grid, enum tui_view_id view, bool text)
{
    lap_ms();
    tui_app_open(app, view);
    double opened = lap_ms(), first = paint(app, grid);
    if (text)
        tui_grid_write(grid, stdout, false);
    tui_app_step(app, TUI_ACTION_DOWN);
    double moved = lap_ms(), next = paint(app, grid);
    printf("%-14s %9.1f %9.1f %9.1f %9.1f\n", app->views[view]->title, opened, first, moved, next);
}

int main(int argc, char **argv)
{
    int cols = 80, rows = 24, i = 1;
    bool text = false;
    for (; i < argc - 1; i++)
        if (strcmp(argv[i], "-t") == 0)
            text = true;
        else if (sscanf(argv[i], "%dx%d", &cols, &rows) != 2 && strcmp(argv[i], "-s") != 0)
            return 64;
    struct ana_job *job;
    struct tui_app app;
    struct tui_grid grid = {0};
    char error[512];
    const char *folder = argv[argc - 1];
    setlocale(LC_ALL, "C.UTF-8");
    lap_ms();
    if (argc < 2 || !tui_grid_resize(&grid, cols, rows) ||
        ana_job_open(&folder, 1, &job, error, sizeof error) != TRC_OK)
        return 2;
    printf("opening        %9.1f\n", lap_ms());
    if (!tui_app_init(&app, job, tui_views))
        return 2;
    printf("counters       %9.1f\n", lap_ms());
    ana_job_advance(job, 0);
    printf("events         %9.1f\n", lap_ms());
    tui_app_load(&app);
    printf("summary        %9.1f\n", lap_ms());
    ana_job_refresh(job);
    printf("refresh        %9.1f\n", lap_ms());
    tui_app_load(&app);
    printf("summary again  %9.1f\n", lap_ms());
    printf("%-14s %9s %9s %9s %9s   %zu ranks, %dx%d\n", "view", "open", "paint", "key", "paint", app.rank_count, cols,
           rows);
    for (enum tui_view_id view = 0; view < TUI_VIEWS; view++)
        if (tui_app_offers(&app, view))
            measure_view(&app, &grid, view, text);
    /* A thousandth of the run, as it is shown before its events were read again. */
    int64_t middle = app.info.elapsed_ns / 2, narrow = app.info.elapsed_ns / 1000;
    tui_app_set_range(&app, middle, middle + narrow);
    measure_view(&app, &grid, TUI_VIEW_OVERVIEW, false);
    measure_view(&app, &grid, TUI_VIEW_TIMELINE, text);
    for (enum tui_rows_by by = TUI_BY_NODE; by <= TUI_BY_RANK; by++) {
        app.rows_by = by;
        measure_view(&app, &grid, TUI_VIEW_RANKS, text);
        measure_view(&app, &grid, TUI_VIEW_TIMELINE, text);
    }
    tui_app_free(&app);
    tui_grid_free(&grid);
    return 0;
}
