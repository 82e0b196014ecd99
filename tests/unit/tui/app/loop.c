/* The loop behind the screens: how often a running job is looked at, what a key costs, and when it ends. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/small_term.h"
#include "tests/support/still_clock.h"
#include "tests/support/trace_folder.h"
#include "tui/app/loop.h"
#include "tui/views/views.h"
#include <stdlib.h>

/* A terminal whose user does nothing for some looks, and then leaves.  Only waiting takes time. */
struct idle {
    const struct tui_app *app;
    int64_t elapsed_ns; /* end as the last look saw it: it moves with the clock */
    int looks, seen, keys;
    unsigned summaries;        /* number at the last wait */
    int between;               /* looks after which a key is taken before all is summed up */
    int waited_ms, longest_ms; /* asked for since the last look */
    int shows;
    bool freezes;            /* set when a look is not summed up yet */
    unsigned then;           /* summaries when it was frozen */
    int frozen_for, changes; /* waits since then; those at which there were others */
};

/* Waits a while in front of a frozen screen, and leaves. */
static struct tui_event watch_frozen(struct idle *t)
{
    if (!t->frozen_for++)
        t->then = t->app->summaries;
    t->changes += t->app->summaries != t->then;
    return (struct tui_event){.kind = t->frozen_for > 20 ? TUI_EVENT_END : TUI_EVENT_NONE};
}

static struct tui_event wait_for(void *data, int timeout_ms)
{
    struct idle *t = data;
    if (t->app->frozen)
        return watch_frozen(t);
    if (t->app->info.elapsed_ns != t->elapsed_ns) {
        t->elapsed_ns = t->app->info.elapsed_ns;
        t->between += t->seen && t->app->summaries == t->summaries;
        t->seen++;
        t->waited_ms = 0;
    }
    t->summaries = t->app->summaries;
    if (t->freezes && t->between)
        return (struct tui_event){.kind = TUI_EVENT_KEY, .key = ' '};
    t->waited_ms += timeout_ms;
    if (t->waited_ms > t->longest_ms)
        t->longest_ms = t->waited_ms;
    if (t->keys-- > 0)
        return (struct tui_event){.kind = TUI_EVENT_KEY, .key = '2' + t->keys % 4};
    if (t->seen >= t->looks)
        return (struct tui_event){.kind = TUI_EVENT_KEY, .key = 'q'};
    still_clock_ns += timeout_ms * INT64_C(1000000);
    return (struct tui_event){.kind = TUI_EVENT_NONE};
}

static void show(void *data, const struct tui_grid *grid, bool repaint)
{
    struct idle *t = data;
    (void)grid, (void)repaint;
    t->shows++;
}

static const struct tui_term_ops ops = {
    small_term_size, small_term_ascii, wait_for, show, small_term_close, NULL, NULL, NULL};

static struct idle run(int looks, int keys, bool freezes)
{
    struct tui_app app;
    struct ana_job *job =
        screen_job_open(&(struct screen_job){.ranks = 4, .steps = 10, .running = true}, &still_clock_ns);
    CHECK(tui_app_init(&app, job, tui_views), "memory");
    struct idle t = {.app = &app, .elapsed_ns = app.info.elapsed_ns, .looks = looks, .keys = keys, .freezes = freezes};
    tui_loop(&app, (struct tui_term){&ops, &t}, true);
    tui_app_free(&app);
    folder_remove();
    return t;
}

int main(void)
{
    struct idle t = run(4, 0, false);
    CHECK(t.seen == 4, "%d looks", t.seen);
    CHECK(t.longest_ms > 0 && t.longest_ms <= 450, "a running job is looked at after %d ms of waiting", t.longest_ms);
    CHECK(t.shows >= 4, "every look is shown: %d", t.shows);
    CHECK(t.between == 3, "keys wait until all is summed up after %d looks of 3", 3 - t.between);

    /* A hundred keys in a row: shown, and no look at the files for each. */
    t = run(2, 100, false);
    CHECK(t.shows >= 100 && t.seen < 50, "%d shown, %d looks", t.shows, t.seen);

    t = run(9, 0, true);
    CHECK(t.frozen_for > 20 && t.changes == 0, "frozen for %d waits, it changed at %d", t.frozen_for, t.changes);
    return check_result();
}
