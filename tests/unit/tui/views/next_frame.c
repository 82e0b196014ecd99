/* Screens that sum up all ranks do so after a new summary alone: the next frame shows the same sums. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/views/iterations.h"
#include "tui/views/views.h"

#include <stdlib.h>
#include <string.h>

static struct tui_app app;
static struct tui_grid grid;

/* The text of the next frame. */
static const char *frame(void)
{
    static char shown[65536];
    memset(shown, 0, sizeof shown);
    tui_app_draw(&app, &grid);
    FILE *out = fmemopen(shown, sizeof shown - 1, "w");
    tui_grid_write(&grid, out, false);
    fclose(out);
    return shown;
}

/* The summary knows nothing of waits that are gone. */
static void test_imbalance(void)
{
    tui_app_open(&app, TUI_VIEW_IMBALANCE);
    char *first = strdup(frame());
    CHECK(strstr(first, "late in collective"), "%s", first);
    size_t waits = app.summary.wait_count;
    app.summary.wait_count = 0;
    CHECK(strcmp(frame(), first) == 0, "waits are gone through for each frame: %s", frame());
    app.summaries++;
    CHECK(strstr(frame(), "nobody waited"), "waits of a new summary: %s", frame());
    app.summary.wait_count = waits;
    app.summaries++;
    CHECK(strcmp(frame(), first) == 0, "not the same again: %s", frame());
    free(first);
}

/* Each kind of wait has its name in the lower table. */
static void test_wait_kinds(void)
{
    tui_app_open(&app, TUI_VIEW_IMBALANCE);
    struct ana_wait *wait = &app.summary.waits[0];
    const enum ana_wait_kind before = wait->kind;
    for (size_t kind = 0; kind < ANA_WAIT_KINDS; kind++) {
        wait->kind = (enum ana_wait_kind)kind;
        app.summaries++;
        CHECK(strstr(frame(), ana_wait_words[kind].name), "%s: %s", ana_wait_words[kind].name, frame());
    }
    wait->kind = before;
    app.summaries++;
}

/* Cells that were blotted out stay so until there is a new summary, or other rows. */
static void test_iterations(bool unfolded)
{
    tui_app_open(&app, TUI_VIEW_ITERATIONS);
    app.unfolded = unfolded;
    char *first = strdup(frame());
    struct tui_iteration_rows *rows = &tui_iterations_of(&app)->rows;
    size_t cells = rows->look.cells, all = rows->count * cells;
    CHECK(rows->folded == !unfolded && rows->ranks == app.rank_count && cells, "folded %d", rows->folded);
    for (size_t i = 0; i < cells; i++)
        rows->cell[all + i].time_ns = 0;
    CHECK(strcmp(frame(), first) != 0, "ranks are read for each frame");
    char *blotted = strdup(frame());
    tui_app_choose_rank(&app, 1);
    frame();
    tui_app_choose_rank(&app, 0);
    CHECK(strcmp(frame(), blotted) == 0, "... or for each row of the cursor: %s", frame());
    app.summaries++;
    CHECK(strcmp(frame(), first) == 0, "a new summary is not read: %s", frame());
    free(first);
    free(blotted);
}

/* Tags select ranks before their summary exists: rows of other ranks disappear. */
static void test_tags(void)
{
    tui_app_open(&app, TUI_VIEW_ITERATIONS);
    app.unfolded = true;
    const struct tui_iteration_rows *rows = &tui_iterations_of(&app)->rows;
    tui_app_choose_rank(&app, app.rank_count - 1);
    for (size_t tags = 2; tags-- > 0;) {
        app.tagged[app.cursor_rank] = tags > 0;
        app.tagged_count = tags;
        frame();
        CHECK(rows->ranks == (tags ? tags : app.rank_count), "%zu ranks with %zu tags", rows->ranks, tags);
        CHECK(rows->cursor < rows->count && rows->count <= rows->ranks, "%zu of %zu", rows->cursor, rows->count);
    }
}

int main(void)
{
    struct ana_job *job =
        screen_job_open(&(struct screen_job){.ranks = 64, .steps = 100, .slow = true}, &still_clock_ns);
    ana_job_advance(job, 0);
    CHECK(tui_app_init(&app, job, tui_views) && tui_grid_resize(&grid, 80, 24), "memory");
    test_imbalance();
    test_wait_kinds();
    test_iterations(false);
    test_iterations(true);
    test_tags();
    tui_grid_free(&grid);
    tui_app_free(&app);
    folder_remove();
    return check_result();
}
