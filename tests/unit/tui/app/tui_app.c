/* The app's state: selection, freezing, windows, views, and every key in every view at every size. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/jump.h"
#include "tui/app/view.h"
#include "tui/views/views.h"
#include "trace/summary/rates.h"
#include "trace/util/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tui_app app;

/* App of the job `of`, analysed up to a share of 0..1. */
static void start_at(struct screen_job of, double share)
{
    struct ana_job *job = screen_job_open(&of, &still_clock_ns);
    still_clock_step = 1;
    for (double done = 0; done < share; done = ana_job_advance(job, share < 1))
        ;
    still_clock_step = 0;
    CHECK(tui_app_init(&app, job, tui_views), "init");
}

static void start(int ranks, bool running)
{
    start_at((struct screen_job){.ranks = ranks, .steps = 100, .running = running}, 1);
}

static void look_again(void)
{
    ana_job_refresh(app.job);
    ana_job_advance(app.job, 0);
    tui_app_load(&app);
}

static void end(void)
{
    tui_app_free(&app);
    folder_remove();
}

static void selection(void)
{
    start(6, false);
    const struct ana_selection *asked = &app.summary.selection;
    int64_t all = app.info.elapsed_ns, quarter = all / 4;
    CHECK(asked->begin_ns == 0 && asked->end_ns == INT64_MAX && !asked->ranks, "at first: everything");
    const void *before = app.summary.ranks;
    tui_app_settle(&app);
    CHECK(app.summary.ranks == before, "nothing new, nothing computed");
    tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    tui_app_settle(&app);
    CHECK(asked->begin_ns == quarter && asked->end_ns - asked->begin_ns == all / 2, "zoom in: the middle half");
    tui_app_step(&app, TUI_ACTION_EARLIER);
    CHECK(app.begin_ns == 0 && app.end_ns == all / 2, "earlier: half a window");
    tui_app_step(&app, TUI_ACTION_EARLIER);
    CHECK(app.begin_ns == 0 && app.end_ns == all / 2, "not before the begin");
    tui_app_step(&app, TUI_ACTION_LATER);
    tui_app_step(&app, TUI_ACTION_LATER);
    tui_app_step(&app, TUI_ACTION_LATER);
    CHECK(app.begin_ns == all - all / 2 && app.end_ns == all, "not after the end");
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
    CHECK(asked->ranks && asked->ranks[1] && !asked->ranks[0], "the tagged alone are asked for");
    CHECK(!tui_app_stat(&app, 0) && tui_app_stat(&app, 1)->index == 1, "numbers of the tagged alone");
    tui_app_step(&app, TUI_ACTION_BACK);
    CHECK(app.view == TUI_VIEW_OVERVIEW, "back");
    tui_app_step(&app, TUI_ACTION_BACK);
    CHECK(!app.tagged_count, "back again: no tags");
    end();
}

static void live(void)
{
    start(6, true);
    tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    CHECK(app.follow && app.end_ns == tui_app_known_end(&app), "a running job is zoomed at its end");
    int64_t width = app.end_ns - app.begin_ns, last = app.end_ns;
    screen_job_tick(&still_clock_ns);
    look_again();
    CHECK(app.follow && app.end_ns == tui_app_known_end(&app) && app.end_ns >= last + 400000000 &&
              app.end_ns - app.begin_ns == width,
          "and followed");
    tui_app_step(&app, TUI_ACTION_FREEZE);
    int64_t elapsed = app.info.elapsed_ns;
    screen_job_tick(&still_clock_ns);
    look_again();
    CHECK(app.frozen && app.info.elapsed_ns == elapsed, "frozen: nothing moves");
    tui_app_step(&app, TUI_ACTION_EARLIER);
    CHECK(!app.follow && app.end_ns < elapsed, "stepping back lets go of the end");
    tui_app_step(&app, TUI_ACTION_FREEZE);
    tui_app_load(&app);
    CHECK(!app.frozen && app.info.elapsed_ns > elapsed, "on again");
    end();
    start(6, false);
    tui_app_step(&app, TUI_ACTION_FREEZE);
    CHECK(!app.frozen && app.message[0], "an ended job says that it needs no freezing");
    end();
}

/* Something is known of a part of the job. */
static bool is_known(int64_t begin_ns, int64_t end_ns)
{
    double part;
    ana_series(app.job, (struct ana_selection){.begin_ns = begin_ns, .end_ns = end_ns}, 1,
               (double *[ANA_SERIES_KINDS]){[ANA_SERIES_CALLS] = &part});
    return !isnan(part);
}

/* Analysis that has come as far as 70% of the job, and then to its end. */
static void following(void)
{
    start_at((struct screen_job){.ranks = 4, .steps = 1000, .running = true}, 0.85);
    int64_t known = tui_app_known_end(&app), all = app.info.elapsed_ns;
    CHECK(known > all * 6 / 10 && known < all * 8 / 10, "%lld of %lld ns", (long long)known, (long long)all);
    CHECK(is_known(known - 10, known) && !is_known(known + 10, all), "the end of what is analysed is found");
    for (int i = 0; i < 18; i++)
        tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    CHECK(app.follow && app.end_ns == known, "the live window ends where the analysis does");
    CHECK(app.cursor_ns == app.end_ns - 1, "and the cursor is there");
    look_again();
    CHECK(app.follow && app.end_ns == tui_app_known_end(&app) && app.end_ns > known, "and goes on with it");
    end();
    start_at((struct screen_job){.ranks = 4, .steps = 1000, .running = true}, 0);
    CHECK(tui_app_known_end(&app) == 0, "nothing analysed");
    tui_app_step(&app, TUI_ACTION_ZOOM_IN);
    tui_app_load(&app);
    CHECK(app.follow && app.begin_ns == 0, "the window stays in the job");
    end();
}

/* A job that has run for more than a minute: the timeline shows the last one until the user wants all. */
static void scrolling(void)
{
    enum { TICKS = 104 };
    int64_t begin, until;
    start(4, true);
    for (int i = 0; i < TICKS; i++)
        screen_job_tick(&still_clock_ns);
    look_again();
    tui_app_step(&app, TUI_ACTION_VIEW_TIMELINE);
    tui_app_range(&app, &begin, &until);
    CHECK(until == app.info.elapsed_ns && until > 60 * SCREEN_S && begin == until - 60 * SCREEN_S, "the last minute");
    CHECK(app.all_time, "of all time, which other screens show");
    screen_job_tick(&still_clock_ns);
    look_again();
    int64_t before = until;
    tui_app_range(&app, &begin, &until);
    CHECK(until > before && begin == until - 60 * SCREEN_S, "it scrolls");
    tui_app_step(&app, TUI_ACTION_VIEW_OVERVIEW);
    tui_app_range(&app, &begin, &until);
    CHECK(begin == 0, "the overview shows all");
    tui_app_step(&app, TUI_ACTION_VIEW_TIMELINE);
    tui_app_step(&app, TUI_ACTION_ZOOM_ALL);
    tui_app_range(&app, &begin, &until);
    CHECK(begin == app.info.run_begin_ns && until == app.info.elapsed_ns, "z: all");
    tui_app_step(&app, TUI_ACTION_ZOOM_ALL);
    CHECK(tui_app_scrolls(&app), "z: the last minute again");
    tui_app_step(&app, TUI_ACTION_LEFT);
    CHECK(!app.all_time && app.end_ns - app.begin_ns == 60 * SCREEN_S, "a cursor that moves holds the minute");
    app.info.run_begin_ns = SCREEN_S;
    tui_app_step(&app, TUI_ACTION_ZOOM_ALL);
    tui_app_range(&app, &begin, &until);
    CHECK(begin == SCREEN_S, "all begins after MPI_Init");
    end();
}

/* Ranks whose files come later give others new indices: the cursor stays on its rank. */
static void new_indices(void)
{
    start(4, true);
    tui_app_choose_rank(&app, 1);
    app.rank[1].rank = 3; /* rank 3 was the second one so far */
    app.rank[1].pid = app.rank[3].pid;
    app.generation--;
    look_again();
    CHECK(app.cursor_rank == 3, "rank %zu", app.cursor_rank);
    end();
}

static void open_calls(void)
{
    start(4, true);
    still_clock_ns += 3 * SCREEN_S; /* no rank has come out of its call */
    look_again();
    const struct tui_table_spec *spec = tui_views[TUI_VIEW_OVERVIEW]->table;
    struct tui_value value = {0};
    int column = 0;
    while (column < spec->column_count && strcmp(spec->columns[column].metric->title, "LAST RANK") != 0)
        column++;
    tui_table_text(&app.table[TUI_VIEW_OVERVIEW], 0, column, &value);
    CHECK(strcmp(value.text, "3 inside") == 0, "a call that ranks are in for seconds says so: %s", value.text);
    tui_table_text(&app.table[TUI_VIEW_OVERVIEW], 1, column, &value);
    CHECK(!strstr(value.text, "inside"), "another does not");
    end();

    start(4, true);
    struct ana_rates rates = ana_rates_of(app.job, &app.summary);
    CHECK(!rates.now && isnan(app.rank[0].mpi_share) && rates.mpi_share > 0, "no second watched: all of its time");
    for (int i = 0; i < 2; i++) { /* time in which all but rank 3 are in MPI */
        still_clock_ns += SCREEN_S;
        look_again();
    }
    rates = ana_rates_of(app.job, &app.summary);
    CHECK(app.rank[0].mpi_share == 1 && app.rank[3].mpi_share == 0, "while it runs: the last second of each rank");
    CHECK(rates.now && rates.mpi_share == 0.75, "and of all together: %g", rates.mpi_share);
    end();
    start(4, false);
    rates = ana_rates_of(app.job, &app.summary);
    const struct ana_summary *s = &app.summary;
    CHECK(!rates.now && isnan(app.rank[0].calls_per_s), "when it has ended, no last second");
    double calls = 0;
    for (size_t i = 0; i < s->rank_count; i++)
        calls += (double)s->ranks[i].calls;
    CHECK(rates.calls == calls * (1 / ((double)(s->end_ns - s->begin_ns) / 1e9)), "but all of its time");
    end();
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
    end();
}

static void press(const char *name)
{
    tui_app_key(&app, tui_key_of(name));
    tui_app_settle(&app);
}

/* Esc undoes Enter, and nothing else. */
static void ways_back(void)
{
    start(6, false);
    for (const char *c = "2345671"; *c; c++)
        press((char[]){*c, 0});
    CHECK(!app.depth, "digits do not pile up: %d", app.depth);
    tui_app_choose_call(&app, "MPI_Send");
    press("7");
    press("Enter");
    CHECK(app.view == TUI_VIEW_TIMELINE && app.depth == 1, "Enter goes deeper");
    press("4");
    CHECK(app.view == TUI_VIEW_MATRIX, "a digit takes the place of the view");
    press("Esc");
    CHECK(app.view == TUI_VIEW_CALLS, "and Esc leads to where Enter was pressed");
    press("2");
    press("\\");
    press("n");
    press("Enter");
    press("Enter");
    CHECK(app.view == TUI_VIEW_TIMELINE, "%d", app.view);
    press("Esc");
    CHECK(app.view == TUI_VIEW_RANKS && app.table[TUI_VIEW_RANKS].filter[0], "back, with the filter");
    press("Esc");
    CHECK(!app.table[TUI_VIEW_RANKS].filter[0] && app.call[0], "then the filter goes");
    press("Esc");
    CHECK(!app.call[0], "then the call");

    press("6");
    int64_t all = app.info.elapsed_ns;
    app.cursor_ns = all / 2;
    press("Enter");
    CHECK(!app.all_time, "Enter zooms to the call");
    int64_t call_begin = app.begin_ns, call_end = app.end_ns;
    press("+");
    press("Enter");
    press("Esc");
    press("Esc");
    CHECK(app.all_time && app.view == TUI_VIEW_TIMELINE, "and each Esc undoes one: %d", app.view);
    press("Enter");
    CHECK(app.begin_ns == call_begin && app.end_ns == call_end && app.depth == 1, "the same call once more");
    press("1");
    press("Esc");
    CHECK(app.view == TUI_VIEW_OVERVIEW && app.all_time, "no way leads back into a view that was left by a digit");

    press("?");
    CHECK(app.view == TUI_VIEW_HELP, "help");
    CHECK(!(tui_app_key(&app, 'q') & TUI_QUIT) && app.view == TUI_VIEW_OVERVIEW, "q leaves the help alone");
    CHECK(tui_app_key(&app, 'q') & TUI_QUIT, "and then the program");
    end();
}

/* Cost of a group of ranks to the others is one number, in Ranks as in the timeline. */
static void groups_cost(void)
{
    start(120, false);
    press("2");
    const struct tui_table_spec *spec = tui_views[TUI_VIEW_RANKS]->table;
    for (size_t row = 0; row < app.tree.rows; row++) {
        double sum = 0;
        for (size_t i = 0; i < app.tree.row[row].count; i++)
            sum += (double)tui_app_stat(&app, app.tree.row[row].member[i])->caused_ns;
        for (int c = 0; c < spec->column_count; c++) {
            struct tui_value value;
            tui_table_text(&app.table[TUI_VIEW_RANKS], row, c, &value);
            CHECK(strcmp(spec->columns[c].metric->title, "CAUSED") != 0 || fabs(value.number - sum) < 1,
                  "row %zu: %g, not %g", row, value.number, sum);
        }
    }
    CHECK(app.tree.rows > 1 && app.tree.rows < 100, "rows of groups");
    end();
}

/* The matrix begins where most is sent; of a rank that the user has chosen, with its partner. */
static void busiest_pair(void)
{
    struct tui_grid grid = {0};
    tui_grid_resize(&grid, 80, 24);
    for (int chosen = 0; chosen < 2; chosen++) {
        start(6, false);
        CHECK(app.summary.pair_count == 6, "a ring");
        for (size_t i = 0; i < app.summary.pair_count; i++)
            if (app.summary.pairs[i].source == 4)
                app.summary.pairs[i].bytes *= 2;
        if (chosen)
            tui_app_choose_rank(&app, 2);
        press("4");
        tui_app_draw(&app, &grid);
        CHECK(app.cursor_rank == (chosen ? 2 : 4) && app.cursor_peer == (chosen ? 3 : 5), "%zu to %zu", app.cursor_rank,
              app.cursor_peer);
        end();
    }
    tui_grid_free(&grid);
}

/* The filter's old text is taken over or replaced. */
static void prompts(void)
{
    start(6, false);
    struct tui_table *table = &app.table[TUI_VIEW_CALLS];
    press("7");
    press("\\");
    for (const char *c = "Send"; *c; c++)
        press((char[]){*c, 0});
    press("Enter");
    press("\\");
    press("A");
    CHECK(strcmp(table->filter, "A") == 0, "a letter takes the place of the old filter: %s", table->filter);
    press("C-u");
    CHECK(!table->filter[0] && app.prompt, "nothing is left to filter by");
    press("Up");
    CHECK(strcmp(table->filter, "Send") == 0, "the one before");
    press("Esc");
    press("/");
    press("Up");
    CHECK(!app.line.text[0], "each prompt has its own");
    end();
}

/* Any keys, at any size, with any job: nothing breaks. */
static void everything(void)
{
    static const int ranks[] = {1, 2, 4, 120};
    static const int sizes[][2] = {{60, 20}, {80, 24}, {1, 1}, {200, 50}, {61, 90}, {300, 21}};
    struct tui_grid grid = {0};
    unsigned seed = 1;
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
        start_at((struct screen_job){.ranks = ranks[r], .steps = 20, .running = r % 2, .unknown = r == 2}, 1);
        for (int i = 0; i < 3000; i++) {
            seed = seed * 1103515245 + 12345;
            unsigned dice = seed >> 16;
            const int *size = sizes[dice / 7 % 6];
            if (i % 10 == 0)
                tui_grid_resize(&grid, size[0], size[1]);
            if (dice % 5 == 0)
                tui_app_click(&app, (int)(dice % 211), (int)(dice % 53), grid.cols, grid.rows);
            else if (dice % 25 == 1)
                tui_app_wheel(&app, dice % 2 ? 1 : -1, (int)(dice % 211), (int)(dice % 53), dice % 4 < 2);
            else if (dice % 25 == 6)
                tui_app_release(&app, (int)(dice % 211), (int)(dice % 53));
            else if (dice % 25 == 11)
                tui_app_key(&app, TUI_KEY_UP + (int)(dice / 25 % 20));
            else if (dice % 25 == 16)
                tui_app_jump(&app,
                             (const char *[]){"note here", "note", "rank 1", "all", "0-1", "save"}[dice / 25 % 6]);
            else if (dice % 5 == 1)
                tui_app_key(&app, (int)(dice % 128));
            else
                tui_app_step(&app, (enum tui_action)(dice % TUI_ACTIONS));
            if (dice % 3 == 0)
                tui_app_settle(&app);
            if (dice % 17 == 0) {
                look_again();
            }
            if (ranks[r] < 100 || i % 30 == 0)
                tui_app_draw(&app, &grid);
        }
        end();
    }
    tui_grid_free(&grid);
}

int main(void)
{
    selection();
    live();
    following();
    scrolling();
    new_indices();
    open_calls();
    views();
    ways_back();
    prompts();
    busiest_pair();
    groups_cost();
    everything();
    return check_result();
}
