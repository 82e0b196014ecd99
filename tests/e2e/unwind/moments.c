/* moments COUNT SEED: holds threads at COUNT random moments while they work, and as many times looks at threads that
 * wait, and takes each stack twice from the same registers: by ours and by libunwind.  The program's own account
 * (shadow.h) judges both.  Prints `KIND NAME NUMBER`. */
#include "shadow.h"
#include "interpose/load/modules.h"
#include "interpose/unwind/libunwind.h"
#include "interpose/base/procfs.h"
#include "hold.h"

#include <execinfo.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, WAITERS = 2, THREADS = WORKERS + WAITERS, FRAMES = 256, BASE = 8 };
#define HELD_NS 300000000 /* a thread is held for half a second at most: what took longer says nothing */

/* ---- the threads ---------------------------------------------------------------------------------------------------
 */

static _Thread_local struct shadow shadow;
static struct worker {
    pthread_t thread;
    uint32_t tid;
    const struct shadow *shadow;
    void *base[BASE]; /* return addresses below its first function, by glibc's own backtrace() */
    int base_count;
    bool waits;
    atomic_bool ready;
} worker[THREADS];
static atomic_bool stop;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);
void __cyg_profile_func_enter(void *function, void *site)
{
    (void)function;
    unsigned at = shadow.depth;
    shadow.depth = at + 1; /* first: a signal in between has its own place */
    shadow.site[at % SHADOW_DEPTH] = site;
    shadow.entered++;
}
void __cyg_profile_func_exit(void *function, void *site)
{
    (void)function;
    (void)site;
    shadow.site[(shadow.depth - 1) % SHADOW_DEPTH] = NULL;
    shadow.depth--;
}

static void *work(void *context)
{
    struct worker *self = context;
    unsigned seed = (unsigned)(self - worker) * 7919;
    self->tid = (uint32_t)syscall(SYS_gettid);
    self->shadow = &shadow;
    self->base_count = backtrace(self->base, BASE);
    work_begin();
    atomic_store(&self->ready, true);
    while (!atomic_load(&stop)) {
        seed = seed * 1664525u + 1013904223u;
        if (self->waits)
            work_wait(seed >> 8);
        else
            work_once(seed >> 8);
    }
    return NULL;
}

/* ---- one moment ----------------------------------------------------------------------------------------------------
 */

struct stack {
    uint64_t pc[FRAMES];
    unsigned count;
    bool ended, guessed;
    uint64_t ns; /* sum of processor time */
};
struct totals {
    uint64_t frames, whole, missed, wrong, ns;
};
static struct kind {
    const char *name;
    uint64_t moments, guessed, confirmed;
    struct totals ours, theirs, ours_guessed, theirs_guessed;
} kinds[2] = {{.name = "working"}, {.name = "waiting"}};

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void walk_ours(struct ipo_cursor at, struct stack *out)
{
    uint64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);
    out->count = 0;
    out->ended = false;
    do
        out->pc[out->count++] = at.pc;
    while (out->count < FRAMES && ipo_unwind_by_tables(&at, &out->ended));
    out->guessed = at.guessed;
    out->ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}
static void walk_theirs(struct ipo_cursor at, struct stack *out)
{
    uint64_t begun = now_ns(CLOCK_THREAD_CPUTIME_ID);
    out->count = 0;
    out->ended = false;
    do {
        struct ipo_cursor caller = {0};
        out->pc[out->count++] = at.pc;
        if (!ipo_libunwind_step(&at, &caller))
            break;
        out->ended = !caller.pc;
        at = caller;
    } while (out->count < FRAMES && !out->ended);
    out->ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static unsigned occurrences(const uint64_t *pc, unsigned count, uint64_t of)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        n += pc[i] == of;
    return n;
}

/* Return addresses of the program's account that the stack lacks. */
static unsigned missed(const struct stack *stack, const struct stack *account)
{
    unsigned at = 1, lacking = 0;
    for (unsigned i = 0; i < account->count; i++) {
        unsigned found = at;
        while (found < stack->count && stack->pc[found] != account->pc[i])
            found++;
        if (found < stack->count)
            at = found + 1;
        else
            lacking++;
    }
    return lacking;
}

/* Frames that neither the program's account nor the other unwinder has. */
static unsigned wrong(const struct stack *stack, const struct stack *account, const struct stack *other)
{
    unsigned bad = 0;
    for (unsigned i = 1; i < stack->count; i++) {
        uint64_t pc = stack->pc[i];
        unsigned nth = occurrences(stack->pc + 1, i, pc), told = occurrences(account->pc, account->count, pc);
        bad += nth > told && nth > occurrences(other->pc, other->count, pc);
    }
    return bad;
}

static void tell(const char *who, const struct stack *stack)
{
    fprintf(stderr, "  %s%s%s\n", who, stack->ended ? "" : ", cut short", stack->guessed ? ", guessed" : "");
    for (unsigned i = 0; i < stack->count; i++) {
        const struct ipo_module *module = ipo_module_of(stack->pc[i]);
        fprintf(stderr, "    %#" PRIx64 " %s+%#" PRIx64 "\n", stack->pc[i], module ? module->path : "?",
                module ? stack->pc[i] - module->begin : 0);
    }
}

static void add(struct totals *to, const struct stack *stack, const struct stack *account, const struct stack *other)
{
    to->frames += stack->count;
    to->whole += stack->ended;
    to->missed += missed(stack, account);
    to->wrong += wrong(stack, account, other);
    to->ns += stack->ns;
}

static void judge(struct kind *kind, const struct stack *account, const struct stack *ours, const struct stack *theirs)
{
    static unsigned told;
    bool bad = missed(ours, account) || wrong(ours, account, theirs);
    if (bad && told++ < 5) {
        fprintf(stderr, "%s: the stacks differ\n", kind->name);
        tell("ours", ours);
        tell("libunwind", theirs);
        tell("the program", account);
    }
    kind->moments++;
    kind->confirmed += account->count;
    kind->guessed += ours->guessed;
    add(ours->guessed ? &kind->ours_guessed : &kind->ours, ours, account, theirs);
    add(ours->guessed ? &kind->theirs_guessed : &kind->theirs, theirs, account, ours);
}

/* The program's own account of its stack, innermost first. */
static void read_account(const struct worker *whom, struct stack *out)
{
    const struct shadow *of = whom->shadow;
    out->count = 0;
    out->ended = true;
    out->guessed = false;
    for (unsigned i = of->depth; i-- > 0;)
        if (of->site[i % SHADOW_DEPTH])
            out->pc[out->count++] = (uint64_t)(uintptr_t)of->site[i % SHADOW_DEPTH];
    for (int i = 1; i < whom->base_count; i++) /* path without the place that asked */
        out->pc[out->count++] = (uint64_t)(uintptr_t)whom->base[i];
}

/* False: the thread was not there to be looked at, or went on meanwhile. */
static bool look(struct kind *kind, const struct worker *whom)
{
    static struct stack account, ours, theirs;
    struct ipo_task task, again;
    struct ipo_cursor at = {0};
    unsigned entered = whom->shadow->entered;
    if (!ipo_task_read(whom->tid, &task) || (whom->waits && (task.running || !task.placed)))
        return false;
    uint64_t begun = now_ns(CLOCK_MONOTONIC);
    if (whom->waits) {
        at.pc = task.pc;
        at.exact = true;
        ipo_cursor_set(&at, IPO_REG_SP, task.sp);
    } else if (!hold_thread(&task, &at)) {
        return false;
    }
    read_account(whom, &account);
    if (kind->moments & 1) {
        walk_theirs(at, &theirs);
        walk_ours(at, &ours);
    } else {
        walk_ours(at, &ours);
        walk_theirs(at, &theirs);
    }
    bool in_time = now_ns(CLOCK_MONOTONIC) - begun < HELD_NS;
    if (whom->waits)
        in_time = ipo_task_read(whom->tid, &again) && again.sp == task.sp && again.pc == task.pc &&
                  whom->shadow->entered == entered;
    else
        hold_release();
    if (in_time)
        judge(kind, &account, &ours, &theirs);
    return in_time;
}

/* ---- complete stacks --------------------------------------------------------------------------------------------- */

static void print(const struct kind *kind)
{
    const struct {
        const char *who;
        const struct totals *of;
    } rows[] = {{"ours", &kind->ours},
                {"libunwind", &kind->theirs},
                {"ours_guessed", &kind->ours_guessed},
                {"libunwind_guessed", &kind->theirs_guessed}};
    printf("%s moments %" PRIu64 "\n%s guessed %" PRIu64 "\n", kind->name, kind->moments, kind->name, kind->guessed);
    printf("%s confirmed %" PRIu64 "\n", kind->name, kind->confirmed);
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct totals *of = rows[i].of;
        const char *who = rows[i].who;
        printf("%s %s.frames %" PRIu64 "\n%s %s.whole %" PRIu64 "\n", kind->name, who, of->frames, kind->name, who,
               of->whole);
        printf("%s %s.missed %" PRIu64 "\n%s %s.wrong %" PRIu64 "\n", kind->name, who, of->missed, kind->name, who,
               of->wrong);
        printf("%s %s.ns %" PRIu64 "\n", kind->name, who, of->ns);
    }
}

int main(int count, char **arguments)
{
    uint64_t wanted = count > 1 ? strtoull(arguments[1], NULL, 10) : 1000;
    srand(count > 2 ? (unsigned)atoi(arguments[2]) : 1);
    ipo_libunwind_start("libunwind");
    if (!hold_begin())
        return 2;
    for (unsigned i = 0; i < THREADS; i++) {
        worker[i].waits = i >= WORKERS;
        if (pthread_create(&worker[i].thread, NULL, work, &worker[i]))
            return 2;
        while (!atomic_load(&worker[i].ready))
            usleep(1000);
    }
    ipo_modules_read();
    for (uint64_t tries = 0; tries < 100 * wanted && kinds[0].moments + kinds[1].moments < 2 * wanted; tries++) {
        usleep((unsigned)rand() % 1500);
        const struct worker *whom = &worker[rand() % THREADS];
        struct kind *kind = &kinds[whom->waits];
        if (kind->moments >= wanted)
            continue;
        if (!whom->waits && rand() % 3 == 0) /* interrupted anywhere, and then held in its handler */
            syscall(SYS_tgkill, getpid(), whom->tid, SIGUSR1 + rand() % 2 * (SIGUSR2 - SIGUSR1));
        look(kind, whom);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(worker[i].thread, NULL);
    hold_end();
    print(&kinds[0]);
    print(&kinds[1]);
    return 0;
}
