/* Screens of a newly opened trace: figures of live pages at once, equal to the whole pass's, and nothing said
 * about waits, accounts or call sites before an event is read. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/view.h"
#include "tui/views/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK "0 %: from live pages, waits follow"

static struct tui_app app;

/* The text of a view in a terminal of this size. */
static char *text_of(enum tui_view_id view, int cols, int rows)
{
    struct tui_grid grid = {0};
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    if (!stream || !tui_grid_resize(&grid, cols, rows))
        exit(1);
    tui_app_open(&app, view);
    tui_app_draw(&app, &grid);
    tui_grid_write(&grid, stream, false);
    fclose(stream);
    tui_grid_free(&grid);
    return text;
}

static void expect(enum tui_view_id view, int cols, int rows, bool ahead, const char *words)
{
    char *text = text_of(view, cols, rows);
    CHECK((strstr(text, MARK) != NULL) == ahead, "view %d of %dx%d: the mark in\n%s", (int)view, cols, rows, text);
    CHECK(!words || strstr(text, words), "view %d of %dx%d: '%s' in\n%s", (int)view, cols, rows, words, text);
    CHECK(!strstr(text, "nothing stands out") || !ahead, "view %d: no claim about events in\n%s", (int)view, text);
    free(text);
}

static void expect_all(bool ahead)
{
    static const enum tui_view_id of_events[] = {TUI_VIEW_IMBALANCE, TUI_VIEW_CALLS, TUI_VIEW_SEGMENTS};
    static const int size[][2] = {{80, 24}, {200, 50}};
    for (int i = 0; i < 2; i++) {
        expect(TUI_VIEW_OVERVIEW, size[i][0], size[i][1], ahead, "MPI_Send");
        expect(TUI_VIEW_LATENCY, size[i][0], size[i][1], ahead, "MPI_Send");
        expect(TUI_VIEW_RANKS, size[i][0], size[i][1], ahead, "done");
        expect(TUI_VIEW_MATRIX, size[i][0], size[i][1], ahead, "sender");
        for (size_t k = 0; k < sizeof of_events / sizeof *of_events; k++)
            expect(of_events[k], size[i][0], size[i][1], ahead, ahead ? "not read yet" : NULL);
    }
}

/* Live pages and the whole pass agree about calls, bytes and partners. */
static void compare(const struct ana_summary *pages, const struct ana_summary *all)
{
    CHECK(pages->rank_count == all->rank_count && pages->call_count == all->call_count && all->pair_count &&
              pages->pair_count == all->pair_count,
          "as many rows");
    for (size_t i = 0; i < all->rank_count; i++)
        CHECK(pages->ranks[i].calls == all->ranks[i].calls && pages->ranks[i].sent == all->ranks[i].sent &&
                  pages->ranks[i].waiting_ns == -1 && all->ranks[i].waiting_ns >= 0,
              "rank %zu: %lld and %lld waited", i, (long long)pages->ranks[i].waiting_ns,
              (long long)all->ranks[i].waiting_ns);
    for (size_t i = 0; i < all->call_count; i++)
        CHECK(pages->calls[i].times.count == all->calls[i].times.count && pages->calls[i].waiting_ns == -1,
              "calls of %s", all->calls[i].name);
    for (size_t i = 0; i < all->pair_count; i++)
        CHECK(pages->pairs[i].messages == all->pairs[i].messages && pages->pairs[i].bytes == all->pairs[i].bytes,
              "pair %zu", i);
    CHECK(!pages->has_accounts && all->has_accounts, "accounts need events");
}

int main(void)
{
    struct ana_job *job = screen_job_open(&(struct screen_job){.ranks = 8, .steps = 100}, &still_clock_ns);
    struct ana_summary pages, first;
    CHECK(tui_app_init(&app, job, tui_views), "init");
    expect_all(true);
    if (ana_summarize_counters(job, &pages) != TRC_OK || ana_summarize(job, app.summary.selection, &first) != TRC_OK)
        return 1;
    ana_job_advance(job, 0);
    tui_app_load(&app);
    app.read = 1;
    compare(&pages, &app.summary);
    compare(&first, &app.summary);
    expect_all(false);
    ana_summary_free(&pages);
    ana_summary_free(&first);
    tui_app_free(&app);
    folder_remove();
    return check_result();
}
