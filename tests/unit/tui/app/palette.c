/* The palette of the prompt ":": offers, completion, and actions by their words. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/jump.h"
#include "tui/app/palette.h"
#include "tui/views/views.h"

#include <string.h>

static struct tui_app app;

static bool is_offered(const char *typed, const char *text)
{
    struct tui_offer offer[TUI_OFFERS];
    size_t n = tui_palette_list(&app, typed, offer);
    for (size_t i = 0; i < n; i++)
        if (strcmp(offer[i].text, text) == 0)
            return true;
    return false;
}

/* Completes a text `times` times. */
static const char *complete(const char *typed, int times)
{
    static struct tui_line line;
    tui_line_begin(&line, typed);
    while (times--)
        tui_palette_complete(&app, &line);
    return line.text;
}

static void offers(void)
{
    CHECK(is_offered("", "rank") && is_offered("", "timeline") && is_offered("", "zoom-in"), "everything at first");
    CHECK(is_offered("q", "quit") && !is_offered("q", "rank"), "what begins with the text");
    CHECK(!is_offered("", "horovod") && !is_offered("", "nccl"), "no screen that has nothing to show");
    CHECK(!is_offered("", "up") && !is_offered("", "jump"), "no keys of the cursor");
    CHECK(is_offered("call ", "call MPI_Allreduce") && is_offered("call mpi_all", "call MPI_Allreduce"), "calls");
    CHECK(!is_offered("call MPI_Send", "call MPI_Allreduce"), "calls that begin otherwise");
    CHECK(is_offered("comm ", "comm WORLD"), "communicators");
    CHECK(is_offered("site exch", "site exchange+0x60"), "places");
    CHECK(!is_offered("comm", "measure"), "a word");
}

static void completion(void)
{
    CHECK(strcmp(complete("tim", 1), "timeline") == 0, "one offer");
    CHECK(strcmp(complete("ca", 1), "call") == 0, "as far as all agree");
    CHECK(strcmp(complete("call mpi_allr", 1), "call MPI_Allreduce") == 0, "a name, with its capitals");
    CHECK(strcmp(complete("z", 2), "zoom-in") == 0, "then the first");
    CHECK(strcmp(complete("nonsense", 1), "nonsense") == 0, "none: as typed");
}

static void actions(void)
{
    CHECK(tui_app_jump(&app, "timeline") & TUI_REDRAW && app.view == TUI_VIEW_TIMELINE, "a screen");
    tui_app_jump(&app, "calls");
    CHECK(app.view == TUI_VIEW_CALLS && !app.filter.call, "the longer word is the screen, not the filter");
    tui_app_jump(&app, "zoom-in");
    CHECK(!app.all_time, "an action");
    CHECK(tui_app_jump(&app, "q") & TUI_QUIT, "q quits");
    tui_app_jump(&app, "horovod");
    CHECK(app.view == TUI_VIEW_CALLS && strstr(app.message, "not understood"), "none that has nothing to show");
}

int main(void)
{
    struct ana_job *job = screen_job_open(&(struct screen_job){.ranks = 6, .steps = 100}, &still_clock_ns);
    still_clock_step = 1;
    while (ana_job_advance(job, 1) < 1)
        ;
    still_clock_step = 0;
    CHECK(tui_app_init(&app, job, tui_views), "init");
    offers();
    completion();
    actions();
    tui_app_free(&app);
    folder_remove();
    return check_result();
}
