/* Screen and keys while files are opened. */
#include "tests/support/check.h"
#include "tests/support/still_clock.h"
#include "tests/support/screen_job.h"
#include "tests/support/small_term.h"
#include "tests/support/trace_folder.h"
#include "trace/session/session.h"
#include "tui/app/opening.h"
#include "tui/term/keys.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 20, LOOKS = 5 };

struct user {
    int looks, key; /* the key that comes after LOOKS looks; 0: none */
    char shown[4096];
};

static struct tui_event wait_for(void *data, int timeout_ms)
{
    struct user *u = data;
    CHECK(timeout_ms == 0, "opening waits for keys");
    if (u->looks >= LOOKS && u->key) {
        int key = u->key;
        u->key = 0;
        return (struct tui_event){.kind = TUI_EVENT_KEY, .key = key};
    }
    return (struct tui_event){.kind = TUI_EVENT_NONE};
}

static void show(void *data, const struct tui_grid *grid, bool repaint)
{
    struct user *u = data;
    (void)repaint;
    small_term_text(grid, u->shown, sizeof u->shown);
    u->looks++;
}

static const struct tui_term_ops ops = {
    small_term_size, small_term_ascii, wait_for, show, small_term_close, NULL, NULL, NULL};

/* Opens the folder; returns the ranks that are there then. */
static size_t open_with(const char *folder, int key, struct user *u, bool *left, char *warning, size_t warning_size)
{
    *u = (struct user){.key = key};
    struct tui_opening opening = {.folder = folder, .term = {&ops, u}};
    struct ana_job *job = NULL;
    char error[256] = "";
    still_clock_step = 30000000; /* a file takes 60 ms: two looks at the clock */
    enum trc_status status = ana_job_open_watched(&folder, 1, tui_opening_step, &opening, &job, error, sizeof error);
    CHECK(status == TRC_OK, "%s", error);
    still_clock_step = 0;
    *left = opening.left;
    tui_grid_free(&opening.grid);
    ana_job_refresh(job);
    const char *first = ana_job_warning(job, 0), *second = first ? ana_job_warning(job, 1) : NULL;
    snprintf(warning, warning_size, "%s|%s", first ? first : "", second ? second : "");
    size_t ranks = ana_job_info(job).ranks;
    ana_job_close(job);
    return ranks;
}

/* A job that lives goes on for 10 s while each of its files is opened. */
static bool go_on(void *unused, size_t opened, size_t files)
{
    (void)unused, (void)opened, (void)files;
    for (int i = 0; i < 20; i++)
        screen_job_tick(&still_clock_ns);
    return true;
}

/* Files read long before the last one are no reason to take a rank for dead. */
static void test_slow_opening(void)
{
    struct ana_job *first =
        screen_job_open(&(struct screen_job){.ranks = 6, .steps = 10, .running = true}, &still_clock_ns);
    char path[600], error[256];
    const char *folder = path;
    snprintf(path, sizeof path, "%s", trc_path(ana_job_rank(first, 0)->file));
    *strrchr(path, '/') = 0;
    struct ana_job *job = NULL;
    CHECK(ana_job_open_watched(&folder, 1, go_on, NULL, &job, error, sizeof error) == TRC_OK, "%s", error);
    for (size_t i = 0; i < 6; i++)
        CHECK(ana_job_rank(job, i)->state != ANA_RANK_UNKNOWN && ana_job_rank(job, i)->state != ANA_RANK_DEAD,
              "rank %zu: %s", i, ana_rank_state_name(ana_job_rank(job, i)->state));
    ana_job_close(job);
    ana_job_close(first);
    folder_remove();
}

int main(void)
{
    test_slow_opening();
    const char *folder = folder_make("opening");
    char warning[512];
    struct user u;
    bool left;
    for (int r = 0; r < RANKS; r++) {
        struct tb *tb = tb_new(r, RANKS);
        folder_write(tb, r);
        tb_free(tb);
    }
    CHECK(open_with(folder, 0, &u, &left, warning, sizeof warning) == RANKS && !left, "all are opened");
    CHECK(strstr(u.shown, "OPENING") && strstr(u.shown, " of 20 files") && strstr(u.shown, "EscShow these"), "%s",
          u.shown);
    CHECK(u.looks > LOOKS && u.looks <= RANKS * 3 / 4, "%d looks at %d files", u.looks, RANKS);
    CHECK(strcmp(warning, "|") == 0, "%s", warning);

    size_t some = open_with(folder, TUI_KEY_ESCAPE, &u, &left, warning, sizeof warning);
    CHECK(some > 0 && some < RANKS && !left && u.looks == LOOKS, "Esc: %zu ranks, %d looks", some, u.looks);
    char want[128];
    snprintf(want, sizeof want, "%d of %d files were not opened", RANKS - (int)some, RANKS);
    CHECK(strstr(warning, want) && strstr(warning, "no trace file here of"), "%s", warning);

    CHECK(open_with(folder, 'x', &u, &left, warning, sizeof warning) == RANKS && !left, "other keys do nothing");
    CHECK(open_with(folder, 'q', &u, &left, warning, sizeof warning) < RANKS && left, "q leaves");
    folder_remove();
    return check_result();
}
