/* The app's state: selection, freezing, windows, views, and every key in every view at every size. */
#include "tests/support/check.h"
#include "tests/support/fixture_job.h"
#include "tui/app/view.h"
#include "tui/views/views.h"
#include "trace/util/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct fixture fixture;
static struct tui_app app;

static void start(size_t ranks, bool running)
{
    struct tui_source source = fixture_source(&fixture, ranks);
    fixture.running = running;
    CHECK(tui_app_init(&app, source, tui_views), "init");
}

static void selection(void)
{
    start(6, false);
    CHECK(fixture.asked.begin_ns == 0 && fixture.asked.end_ns == INT64_MAX && !fixture.asked.ranks,
          "at first: everything");
    int before = fixture.summaries;
    tui_app_settle(&app);
    CHECK(fixture.summaries == before, "nothing new, nothing computed");
    tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    tui_app_settle(&app);
    CHECK(fixture.asked.begin_ns == 2500000000 && fixture.asked.end_ns == 7500000000, "zoom in: the middle half");
    tui_app_step(&app, TUI_ACTION_EARLIER);
    CHECK(app.begin_ns == 0 && app.end_ns == 5000000000, "earlier: half a window");
    tui_app_step(&app, TUI_ACTION_EARLIER);
    CHECK(app.begin_ns == 0 && app.end_ns == 5000000000, "not before the begin");
    tui_app_step(&app, TUI_ACTION_LATER);
    tui_app_step(&app, TUI_ACTION_LATER);
    tui_app_step(&app, TUI_ACTION_LATER);
    CHECK(app.begin_ns == 5000000000 && app.end_ns == 10000000000, "not after the end");
    tui_app_step(&app, TUI_ACTION_ZOOM_OUT);
    CHECK(app.all_time, "zoom out: all again");
    for (int i = 0; i < 60; i++)
        tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    CHECK(app.end_ns - app.begin_ns == 1000, "a microsecond is the shortest window");
    tui_app_step(&app, TUI_ACTION_ZOOM_ALL);
    CHECK(app.all_time, "z: all");

    tui_app_open(&app, TUI_VIEW_RANKS);
    tui_app_step(&app, TUI_ACTION_DOWN);
    tui_app_step(&app, TUI_ACTION_TAG);
    CHECK(app.tagged_count == 1 && app.tagged[1] && app.cursor_rank == 2, "tag, and on to the next");
    tui_app_settle(&app);
    CHECK(fixture.asked.ranks && fixture.asked.ranks[1] && !fixture.asked.ranks[0], "the tagged alone are asked for");
    CHECK(!tui_app_stat(&app, 0) && tui_app_stat(&app, 1)->index == 1, "numbers of the tagged alone");
    tui_app_step(&app, TUI_ACTION_BACK);
    CHECK(app.view == TUI_VIEW_OVERVIEW, "back");
    tui_app_step(&app, TUI_ACTION_BACK);
    CHECK(!app.tagged_count, "back again: no tags");
    tui_app_free(&app);
}

static void live(void)
{
    start(6, true);
    tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    CHECK(app.follow && app.end_ns == app.info.elapsed_ns, "a running job is zoomed at its end");
    app.source.ops->refresh(app.source.data);
    tui_app_load(&app);
    CHECK(app.follow && app.end_ns == app.info.elapsed_ns && app.end_ns - app.begin_ns == 5000000000, "and followed");
    tui_app_step(&app, TUI_ACTION_FREEZE);
    int64_t elapsed = app.info.elapsed_ns;
    app.source.ops->refresh(app.source.data);
    tui_app_load(&app);
    CHECK(app.frozen && app.info.elapsed_ns == elapsed, "frozen: nothing moves");
    tui_app_step(&app, TUI_ACTION_EARLIER);
    CHECK(!app.follow && app.end_ns < elapsed, "stepping back lets go of the end");
    tui_app_step(&app, TUI_ACTION_FREEZE);
    tui_app_load(&app);
    CHECK(!app.frozen && app.info.elapsed_ns > elapsed, "on again");
    fixture.running = false;
    tui_app_load(&app);
    tui_app_step(&app, TUI_ACTION_FREEZE);
    CHECK(!app.frozen && app.message[0], "an ended job says that it needs no freezing");
    tui_app_free(&app);
}

/* Analysis that has come as far as this. */
static int64_t known_ns;

static void known_series(void *data, struct ana_selection asked, enum ana_series_kind kind, size_t n, double *out)
{
    (void)data, (void)kind;
    for (size_t i = 0; i < n; i++)
        out[i] = asked.begin_ns + (asked.end_ns - asked.begin_ns) * (int64_t)i / (int64_t)n < known_ns ? 1 : NAN;
}

static void following(void)
{
    struct tui_source source = fixture_source(&fixture, 4);
    struct tui_source_ops ops = *source.ops;
    ops.series = known_series;
    source.ops = &ops;
    fixture.running = true;
    known_ns = 7123456789;
    CHECK(tui_app_init(&app, source, tui_views), "init");
    CHECK(llabs(tui_app_known_end(&app) - known_ns) < 10, "the end of what is analysed is found");
    for (int i = 0; i < 18; i++)
        tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    CHECK(app.follow && llabs(app.end_ns - known_ns) < 10, "the live window ends where the analysis does");
    CHECK(app.cursor_ns == app.end_ns - 1, "and the cursor is there");
    known_ns += 1000000000;
    tui_app_load(&app);
    CHECK(app.follow && llabs(app.end_ns - known_ns) < 10, "and goes on with it");
    known_ns = 0;
    CHECK(tui_app_known_end(&app) == 0, "nothing analysed");
    tui_app_load(&app);
    CHECK(app.begin_ns == 0, "the window stays in the job");
    tui_app_free(&app);
}

static const struct tui_source_ops *plain_ops;

/* Ranks that have been inside their call for 3 s. */
static const struct ana_rank *stuck_rank(void *data, size_t index)
{
    plain_ops->rank(data, index);
    fixture.rank.inside_ns = 3000000000;
    return &fixture.rank;
}

static void open_calls(void)
{
    struct tui_source source = fixture_source(&fixture, 4);
    struct tui_source_ops ops = *source.ops;
    plain_ops = source.ops;
    ops.rank = stuck_rank;
    source.ops = &ops;
    fixture.running = true;
    CHECK(tui_app_init(&app, source, tui_views), "init");
    const struct tui_table_spec *spec = tui_views[TUI_VIEW_OVERVIEW]->table;
    struct tui_value value = {0};
    int column = 0;
    while (column < spec->column_count && strcmp(spec->columns[column].metric->title, "LAST RANK") != 0)
        column++;
    tui_table_text(spec, &app, 0, column, &value);
    CHECK(strcmp(value.text, "3 inside") == 0, "a call that ranks are in for seconds says so");
    tui_table_text(spec, &app, 1, column, &value);
    CHECK(!strstr(value.text, "inside"), "another does not");

    const struct ana_rank_stat *stat = tui_app_stat(&app, 0);
    double whole = (double)stat->mpi_ns / (double)stat->wall_ns;
    CHECK(tui_app_mpi_share(&app, 0) == whole, "no second watched: all of its time between MPI_Init and MPI_Finalize");
    app.info.elapsed_ns += 3000000000;
    CHECK(tui_app_mpi_share(&app, 0) == 0.4, "while it runs: the last second");
    tui_app_free(&app);
    start(4, false);
    CHECK(tui_app_mpi_share(&app, 0) == whole, "when it has ended: all of its time");
    tui_app_free(&app);
}

static void views(void)
{
    start(6, false);
    app.cursor_call = ana_hash_text("MPI_Send");
    tui_app_open(&app, TUI_VIEW_LATENCY);
    size_t row = tui_table_row(&app.table[TUI_VIEW_LATENCY]);
    CHECK(strcmp(app.summary.calls[row].name, "MPI_Send") == 0, "one cursor: the call of one view is that of the next");
    tui_app_step(&app, TUI_ACTION_DEEPER);
    CHECK(app.view == TUI_VIEW_CALLS && strcmp(app.call, "MPI_Send") == 0, "deeper: where it is called");
    CHECK(app.table[TUI_VIEW_CALLS].count == 1, "its sites alone");
    tui_app_key(&app, '\\');
    tui_app_key(&app, 'x');
    CHECK(app.prompt == TUI_PROMPT_FILTER && app.table[TUI_VIEW_CALLS].count == 1, "exchange has an x");
    tui_app_key(&app, 'q');
    CHECK(app.prompt == TUI_PROMPT_FILTER && app.table[TUI_VIEW_CALLS].count == 0, "q is a letter in a prompt");
    tui_app_key(&app, TUI_KEY_ESCAPE);
    CHECK(!app.prompt && app.table[TUI_VIEW_CALLS].count == 1, "Esc leaves the prompt and its filter");
    for (int i = 0; i < 20; i++)
        tui_app_open(&app, i % 2 ? TUI_VIEW_RANKS : TUI_VIEW_MATRIX);
    for (int i = 0; i < 20; i++)
        tui_app_step(&app, TUI_ACTION_BACK);
    CHECK(!app.depth && !app.call[0], "back to the begin, however long the way");
    CHECK(tui_app_key(&app, 'q') & TUI_QUIT, "q quits");
    tui_app_free(&app);
}

/* Whatever is typed, at whatever size, whatever the job: nothing breaks. */
static void everything(void)
{
    static const size_t ranks[] = {0, 1, 2, 4, 700};
    static const int sizes[][2] = {{60, 20}, {80, 24}, {1, 1}, {200, 50}, {61, 90}, {300, 21}};
    struct tui_grid grid = {0};
    unsigned seed = 1;
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
        start(ranks[r], r % 2);
        fixture.unknown = r == 2;
        for (int i = 0; i < 3000; i++) {
            seed = seed * 1103515245 + 12345;
            unsigned dice = seed >> 16;
            const int *size = sizes[dice / 7 % 6];
            if (i % 10 == 0)
                tui_grid_resize(&grid, size[0], size[1]);
            if (dice % 5 == 0)
                tui_app_click(&app, (int)(dice % 211), (int)(dice % 53), grid.cols, grid.rows);
            else if (dice % 5 == 1)
                tui_app_key(&app, (int)(dice % 128));
            else
                tui_app_step(&app, (enum tui_action)(dice % TUI_ACTIONS));
            if (dice % 3 == 0)
                tui_app_settle(&app);
            if (dice % 17 == 0) {
                app.source.ops->refresh(app.source.data);
                tui_app_load(&app);
            }
            if (ranks[r] < 100 || i % 30 == 0)
                tui_app_draw(&app, &grid);
        }
        tui_app_free(&app);
    }
    tui_grid_free(&grid);
}

int main(void)
{
    selection();
    live();
    following();
    open_calls();
    views();
    everything();
    return check_result();
}
