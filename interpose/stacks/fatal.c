#include "interpose/base/oldglibc.h"
#include "interpose/stacks/fatal.h"
#include "interpose/stacks/guard.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/state.h"
#include "interpose/mpi/record.h"
#include "interpose/stacks/registers.h"
#include "interpose/stacks/stacks.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_S 3 /* for our thread to write the stacks; it may be stuck itself */

static const struct {
    int number;
    const char *why;
} signals[] = {{SIGSEGV, "killed by SIGSEGV"},
               {SIGFPE, "killed by SIGFPE"},
               {SIGILL, "killed by SIGILL"},
               {SIGABRT, "killed by SIGABRT"}};
#define SIGNALS (sizeof signals / sizeof *signals)

static struct sigaction before[SIGNALS];
static bool mine[SIGNALS];
static struct ipo_crash crash;
static const char *crash_why;
enum { NOTHING, CRASHED, TAKING, TAKEN };
static atomic_int state;

static size_t index_of(int number)
{
    size_t i = 0;
    while (i + 1 < SIGNALS && signals[i].number != number)
        i++;
    return i;
}

/* In the thread that crashed, on whatever stack it has left: system calls and stores only. */
void ipo_fatal_seen(int number, void *context)
{
    int kept = errno, nothing = NOTHING;
    /* A child's death, forked or by vfork, is not this process's. */
    if ((*ipo_armed || *ipo_told_armed) && ipo_process.pid == (uint32_t)getpid() &&
        atomic_compare_exchange_strong(&state, &nothing, CRASHED + 100)) {
        crash.tid = (uint32_t)syscall(SYS_gettid);
        crash.signal = number;
        crash_why = number == SIGBUS ? "killed by SIGBUS" : signals[index_of(number)].why;
        ipo_registers_of(context, &crash.at);
        atomic_store(&state, CRASHED);
        ipo_heartbeat_wake();
    }
    if ((*ipo_armed || *ipo_told_armed) && crash.tid == (uint32_t)syscall(SYS_gettid)) {
        struct timespec begin, now, pause = {.tv_nsec = 100000000};
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int seen; (seen = atomic_load(&state)) != TAKEN;) {
            clock_gettime(CLOCK_MONOTONIC, &now);
            if (now.tv_sec - begin.tv_sec >= PATIENCE_S)
                break;
            syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, seen, &pause, NULL, 0);
        }
    }
    errno = kept;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    size_t i = index_of(number);
    ipo_fatal_seen(number, context);
    if (before[i].sa_flags & SA_SIGINFO) {
        before[i].sa_sigaction(number, info, context);
        return;
    }
    if (before[i].sa_handler != SIG_DFL && before[i].sa_handler != SIG_IGN) {
        before[i].sa_handler(number);
        return;
    }
    /* As if we had not been there: a fault happens again on return, a signal that was sent is sent again; it is blocked
     * until this handler returns. */
    sigaction(number, &before[i], NULL);
    if (info->si_code <= 0 || number == SIGABRT)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

/* The libraries whose handlers only print where the process was. */
static bool is_library_handler(const struct sigaction *action)
{
    static const char *const known[] = {"libopen-pal", "libmpi", "libucs", "libpsm2", "libmca", "libprrte"};
    uintptr_t address = action->sa_flags & SA_SIGINFO ? (uintptr_t)action->sa_sigaction : (uintptr_t)action->sa_handler;
    Dl_info info;
    if (!dladdr((void *)address, &info) || !info.dli_fname)
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(info.dli_fname, known[i]))
            return true;
    return false;
}

void ipo_fatal_start(void)
{
    for (size_t i = 0; ipo_process.options.stacks && i < SIGNALS; i++) {
        if (sigaction(signals[i].number, NULL, &before[i]))
            continue;
        bool is_default = !(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_DFL;
        bool ignored = !(before[i].sa_flags & SA_SIGINFO) && before[i].sa_handler == SIG_IGN;
        if (ignored || (!is_default && !is_library_handler(&before[i])))
            continue;
        /* What the library asked for holds for its handler too: its mask, and which stack it runs on. */
        struct sigaction ours = {.sa_sigaction = on_signal, .sa_mask = before[i].sa_mask};
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (is_default ? 0 : before[i].sa_flags & ~SA_RESETHAND);
        mine[i] = !sigaction(signals[i].number, &ours, NULL);
    }
    struct sigaction bus;
    if (ipo_process.options.stacks && ipo_guard_behind(&bus))
        ipo_guard_tell(is_library_handler(&bus));
}

void ipo_fatal_round(void)
{
    int crashed = CRASHED;
    if (!atomic_compare_exchange_strong(&state, &crashed, TAKING))
        return;
    ipo_stacks_take(TRC_STACK_FATAL, crash_why, 0, &crash);
    atomic_store(&state, TAKEN);
    syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 64, NULL, NULL, 0);
}

void ipo_fatal_stop(void)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (mine[i] && !sigaction(signals[i].number, NULL, &now) && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_signal)
            sigaction(signals[i].number, &before[i], NULL);
        mine[i] = false;
    }
    ipo_guard_quiet();
}
