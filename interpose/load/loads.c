#include "interpose/load/loads.h"
#include "interpose/core/source.h"
#include "interpose/load/loader.h"
#include "interpose/core/own.h"
#include "interpose/base/safe_read.h"
#include "interpose/core/state.h"
#include "interpose/load/slots.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 200000000 /* limit of a call's wait, in all, for another thread's dlopen */

static atomic_int kicks, alive;

static long wait_at_word(atomic_int *word, int value, long ns)
{
    struct timespec pause = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &pause : NULL, NULL, 0);
}

static void wake_word(atomic_int *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void wake_thread(void)
{
    atomic_fetch_add(&kicks, 1);
    wake_word(&kicks);
}

/* ---- questions ------------------------------------------------------------------------------------------------------
 */

enum { FREE, FILLING, ASKED, LEFT, ANSWERED }; /* LEFT: the asking thread has stopped waiting */
static struct {
    atomic_int state;
    void (*what)(uintptr_t);
    uintptr_t with;
} question;

static void answer_question(void *unused)
{
    (void)unused;
    question.what(question.with);
    int asked = ASKED;
    if (!atomic_compare_exchange_strong(&question.state, &asked, ANSWERED))
        atomic_store(&question.state, FREE);
    wake_word(&question.state);
}

bool ipo_loads_ask(void (*what)(uintptr_t), uintptr_t with)
{
    int state = FREE;
    if (!atomic_load(&alive))
        return false;
    while (!atomic_compare_exchange_strong(&question.state, &state, FILLING)) {
        if (state == LEFT || (state != FREE && wait_at_word(&question.state, state, PATIENCE_NS) && errno == ETIMEDOUT))
            return false;
        state = FREE;
    }
    question.what = what;
    question.with = with;
    atomic_store(&question.state, ASKED);
    wake_thread();
    while ((state = atomic_load(&question.state)) == ASKED)
        if (wait_at_word(&question.state, ASKED, PATIENCE_NS) && errno == ETIMEDOUT &&
            atomic_compare_exchange_strong(&question.state, &state, LEFT))
            return false;
    atomic_store(&question.state, FREE);
    wake_word(&question.state);
    return true;
}

/* ---- our thread -----------------------------------------------------------------------------------------------------
 */

static void *run_thread(void *unused)
{
    atomic_store(&alive, 1);
    int seen;
    for (bool again = false, first = true; seen = atomic_load(&kicks), atomic_load(&ipo_own_runs); first = false) {
        int state = atomic_load(&question.state);
        if (state == ASKED || state == LEFT)
            ipo_loader_run(answer_question, NULL);
        IPO_ASK_SOURCES(serve);
        /* Again a second later: a thread that was binding a slot may have overwritten it. */
        again = ipo_patch_new(again) || first;
        wait_at_word(&kicks, seen, again ? 1000000000 : 0);
    }
    atomic_store(&alive, 0);
    return unused;
}

void ipo_loads_check(void)
{
    int kept = errno;
    if (*ipo_armed)
        ipo_patch_new(false);
    errno = kept;
}

/* ---- new objects.  The loader's list is read by reads that may fail, since a thread that hangs may hold its lock. 
 * New objects are at its end; if the last known one was unloaded, the list is read from the front.  A new object may
 * have the address of an unloaded one: so the last one is read again, and from time to time the whole list. */
#define WHOLE 16 /* checks between two reads of the whole list */

struct map { /* a copy of the start of struct link_map */
    uint64_t bias, name, dynamic, next, previous;
};
_Static_assert(sizeof(struct map) == offsetof(struct link_map, l_prev) + sizeof(void *), "link_map");
static uint64_t front, last;

static bool is_listed(uint64_t at, struct map *map)
{
    struct map before;
    if (!at || !ipo_safe_read(at, map, sizeof *map))
        return false;
    return at == front || (ipo_safe_read(map->previous, &before, sizeof before) && before.next == at);
}

static void start_list(void)
{
    ipo_loader_start();
    front = (uint64_t)(uintptr_t)dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
}

void ipo_loads_live(void)
{
    static atomic_flag known = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&known))
        atomic_store(&alive, ipo_own_thread("hpctop load", run_thread, NULL));
}

static void announce(const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    for (IPO_EACH_SOURCE(source))
        if ((*source)->library && strncmp(file, (*source)->library, strlen((*source)->library)) == 0)
            (*source)->on_library();
}

/* Announces the objects that were loaded since the last call to the sources; the first call announces all.  An
 * object may be announced again.  True: there were any. */
static bool announce_new(void)
{
    struct map map;
    static unsigned checks;
    bool listed = checks++ % WHOLE && is_listed(last, &map), more = !listed || map.next;
    uint64_t at = listed ? last : front;
    for (unsigned n = 0; at && n < 10000 && ipo_safe_read(at, &map, sizeof map); n++) {
        char path[1024];
        path[ipo_safe_read_some(map.name, path, sizeof path - 1)] = 0;
        announce(path);
        last = at;
        at = map.next;
    }
    return more;
}

static void check_for_more(void)
{
    if (announce_new())
        wake_thread();
}

static const struct ipo_source loads_source = {
    .name = "loads", .live = start_list, .second = check_for_more, .over = wake_thread};
IPO_SOURCE(loads_source);
