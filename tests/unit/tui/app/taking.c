/* Keys are answered while an index is loaded, and no screen sees any of it before all is there. */
#include "tests/support/check.h"
#include "tests/support/screen_job.h"
#include "tests/support/small_term.h"
#include "tests/support/trace_folder.h"
#include "trace/index/index.h"
#include "trace/job/job_impl.h"
#include "tui/app/loop.h"
#include "tui/term/keys.h"
#include "tui/views/views.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE_S = 20 }; /* limit after which the test has failed, and is to end */

/* Files are read by threads beside the test's own only while the gate is open. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moves;
    bool closed, waits; /* waits: somebody has come to it while it was closed */
    pthread_t test;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moves = PTHREAD_COND_INITIALIZER};

/* Waits for the other side of the gate; false: for too long. */
static bool wait_there(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return pthread_cond_timedwait(&gate.moves, &gate.lock, &until) == 0;
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.closed && !pthread_equal(pthread_self(), gate.test)) {
        gate.waits = true;
        pthread_cond_broadcast(&gate.moves);
        if (!wait_there())
            gate.closed = false;
    }
    pthread_mutex_unlock(&gate.lock);
    return syscall(SYS_pread64, fd, to, n, at);
}

static void set_gate(bool closed)
{
    pthread_mutex_lock(&gate.lock);
    gate.closed = closed;
    gate.waits = false;
    pthread_cond_broadcast(&gate.moves);
    pthread_mutex_unlock(&gate.lock);
}

/* Waits until somebody waits at the gate.  False: nobody does. */
static bool meet_at_gate(void)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.closed && !gate.waits && wait_there())
        ;
    bool met = gate.closed && gate.waits;
    pthread_mutex_unlock(&gate.lock);
    return met;
}

/* A user who presses these keys while the gate is closed, opens it, and leaves when all is there. */
static const int keys[] = {'2', '6', '5', 'i', '1', TUI_KEY_ESCAPE, '3', TUI_KEY_ESCAPE, '1'};
enum { KEYS = sizeof keys / sizeof *keys };
struct user {
    const struct tui_app *app;
    int pressed, answered; /* keys; by a frame */
    bool turn, halted;     /* something may be read before the next key; Esc has stopped it */
    char shown[8192];
};

static struct tui_event wait_for(void *data, int timeout_ms)
{
    struct user *u = data;
    (void)timeout_ms;
    if (u->pressed == KEYS) {
        set_gate(false);
        return (struct tui_event){.kind = u->app->analysed < 1 ? TUI_EVENT_NONE : TUI_EVENT_END};
    }
    CHECK(u->app->analysed == 0 && u->app->summary.wait_count == 0 && !u->app->job->indexed,
          "something of the index is seen");
    u->turn = !u->turn;
    u->halted |= u->app->halted;
    if (u->turn)
        return (struct tui_event){.kind = TUI_EVENT_NONE};
    CHECK(meet_at_gate(), "nobody takes the index up");
    return (struct tui_event){.kind = TUI_EVENT_KEY, .key = keys[u->pressed++]};
}

static void show(void *data, const struct tui_grid *grid, bool repaint)
{
    struct user *u = data;
    (void)repaint;
    small_term_text(grid, u->shown, sizeof u->shown);
    u->answered += u->pressed > u->answered;
}

static const struct tui_term_ops ops = {small_term_size, small_term_ascii, wait_for, show, small_term_close, NULL};

/* The overview of the job as it is once all was read. */
static void overview(struct ana_job *job, char *out, size_t out_size)
{
    struct tui_app app;
    struct tui_grid grid = {.ascii = true};
    ana_job_advance(job, 0);
    CHECK(tui_app_init(&app, job, tui_views) && tui_grid_resize(&grid, 80, 24), "memory");
    tui_app_draw(&app, &grid);
    small_term_text(&grid, out, out_size);
    tui_grid_free(&grid);
    tui_app_free(&app);
}

int main(void)
{
    int64_t clock_ns;
    char said[1024], want[8192];
    gate.test = pthread_self();
    struct ana_job *job = screen_job_open(&(struct screen_job){.ranks = 8, .steps = 100}, &clock_ns);
    ana_job_set_index(job, true);
    ana_job_advance(job, 0);
    CHECK(ana_index_write(job, true, said, sizeof said), "%s", said);
    overview(job, want, sizeof want);

    job = folder_open();
    struct tui_app app;
    CHECK(tui_app_init(&app, job, tui_views), "memory");
    struct user u = {.app = &app};
    set_gate(true);
    tui_loop(&app, (struct tui_term){&ops, &u}, true);
    CHECK(u.answered == KEYS, "%d of %d keys were answered", u.answered, KEYS);
    CHECK(u.halted, "Esc does not stop it");
    CHECK(app.job->indexed, "the index was not taken up");
    CHECK(strcmp(u.shown, want) == 0, "%s\nwithout:\n%s", u.shown, want);
    tui_app_free(&app);

    set_gate(true); /* left meanwhile */
    job = folder_open();
    CHECK(ana_job_advance(job, 1) < 1, "it is there at once");
    set_gate(false);
    ana_job_close(job);
    unlink(said);
    *strrchr(said, '/') = 0;
    rmdir(said);
    folder_remove();
    return check_result();
}
