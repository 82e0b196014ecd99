#include "interpose/stacks/fatal.h"
#include "interpose/stacks/stacks_impl.h"
#include "interpose/stacks/handler.h"
#include "interpose/core/heartbeat.h"
#include "interpose/core/own.h"
#include "interpose/core/state.h"
#include "interpose/base/safe_read.h"
#include "trace/writer/now.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>

#define PATIENCE_S  3 /* limit of the handler's wait for our thread, which may hang itself */
#define BELOW_STACK 65536

static const struct {
    int number;
    const char *why; /* NULL: it comes from outside, and no stacks are taken */
} signals[] = {{SIGSEGV, "killed by SIGSEGV"},
               {SIGFPE, "killed by SIGFPE"},
               {SIGILL, "killed by SIGILL"},
               {SIGABRT, "killed by SIGABRT"},
               {SIGSYS, "killed by SIGSYS"},
               {SIGXCPU, "killed by SIGXCPU"},
               {SIGXFSZ, "killed by SIGXFSZ"},
               {SIGPIPE, "killed by SIGPIPE"},
               {SIGALRM, "killed by SIGALRM"},
               {SIGTERM, NULL},
               {SIGINT, NULL},
               {SIGHUP, NULL},
               {SIGQUIT, NULL},
               {SIGUSR1, NULL},
               {SIGUSR2, NULL}};
#define SIGNALS (sizeof signals / sizeof *signals)

static struct sigaction before[SIGNALS];
static bool mine[SIGNALS]; /* our handler was installed, and not yet removed */
static struct ipo_crash crash;
static enum trc_stack_reason crash_reason;
static const char *crash_why;
enum { NOTHING, CLAIMED, CRASHED, TAKING, TAKEN };
static atomic_int state;
static atomic_bool gave_up; /* our thread hangs: no handler waits for it again */

static size_t find_index(int number)
{
    size_t i = 0;
    while (i + 1 < SIGNALS && signals[i].number != number)
        i++;
    return i; /* the last row for any other number */
}

/* Runs in the thread that ends the process, maybe on the rest of its stack: system calls and stores only. */
void ipo_fatal_record(enum trc_stack_reason reason, const char *why, const struct ipo_crash *from)
{
    int kept = errno, nothing = NOTHING;
    if (trc_must_not_ask() || !atomic_load(&ipo_own_runs)) /* nobody would answer */
        return;
    uint32_t tid = (uint32_t)syscall(SYS_gettid);
    if (ipo_process.options.stacks && atomic_compare_exchange_strong(&state, &nothing, CLAIMED)) {
        crash = *from;
        crash_reason = reason;
        crash_why = why;
        atomic_store(&state, CRASHED);
        ipo_heartbeat_wake();
    }
    if (atomic_load(&state) >= CRASHED && crash.tid == tid) {
        const struct timespec pause = {.tv_nsec = 100000000};
        const uint64_t begin = trc_now_ns();
        for (int seen; (seen = atomic_load(&state)) != TAKEN;) {
            if (atomic_load(&gave_up) || trc_now_ns() - begin >= PATIENCE_S * 1000000000ull) {
                atomic_store(&gave_up, true);
                break;
            }
            syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, seen, &pause, NULL, 0);
        }
    }
    errno = kept;
}

/* Whether a fault came because the thread's stack was full: nothing is where its stack pointer leads, or the fault was
 * right below it. */
static bool is_overflow(int number, const siginfo_t *info, const struct ipo_cursor *at)
{
    uint64_t sp = at->reg[IPO_REG_SP], address = info ? (uint64_t)(uintptr_t)info->si_addr : 0, word;
    if (number != SIGSEGV || !info || info->si_code <= 0)
        return false;
    return (address < sp && sp - address <= BELOW_STACK) || !ipo_safe_read(sp, &word, sizeof word);
}

void ipo_fatal_seen(int number, const siginfo_t *info, void *context)
{
    int kept = errno;
    const char *why = number == SIGBUS ? "killed by SIGBUS" : signals[find_index(number)].why;
    struct ipo_crash here = {.tid = (uint32_t)syscall(SYS_gettid), .signal = number};
    /* A forked child's death (also after vfork) is not this process's. */
    const bool ours = ipo_process.pid == (uint32_t)syscall(SYS_getpid);
    if (ours)
        ipo_ending_signal(number, info);
    if (ours && (*ipo_armed || *ipo_profiler_armed)) {
        ipo_registers_of(context, &here.at);
        here.overflow = is_overflow(number, info, &here.at);
        if (why)
            ipo_fatal_record(TRC_STACK_FATAL, why, &here);
    }
    errno = kept;
}

/* Raises the signal again, as it came, to the handler that is behind ours: when we return. */
static void send_again(int number, siginfo_t *info)
{
    if (!ipo_is_fault(number) || info->si_code <= 0)
        (syscall)(SYS_rt_tgsigqueueinfo, getpid(), (syscall)(SYS_gettid), number, info);
}

static void handle_signal(int number, siginfo_t *info, void *context)
{
    const struct sigaction *to = &before[find_index(number)];
    bool delivered = ipo_is_called_by_kernel(IPO_FRAME_HERE, context);
    if (delivered)
        ipo_fatal_seen(number, info, context);
    /* Ours runs on a stack for handlers where the program has set one.  The library's is called where it expects. */
    if (delivered && number == SIGSEGV && !ipo_action_is(to, SIG_DFL) && !(to->sa_flags & SA_ONSTACK)) {
        sigaction(number, to, NULL);
        send_again(number, info);
        return;
    }
    if (delivered && (to->sa_flags & SA_RESETHAND)) {
        struct sigaction none = *to; /* flags and mask stay */
        none.sa_handler = SIG_DFL;
        sigaction(number, &none, NULL);
    }
    ipo_hand_on(to, number, info, context, delivered); /* jumps, as in guard.c */
}

/* Installs our handler with the mask, stack and flags of the one behind it. */
static bool install_handler(size_t i)
{
    struct sigaction ours = {.sa_sigaction = handle_signal, .sa_mask = before[i].sa_mask};
    ours.sa_flags = SA_SIGINFO | (ipo_action_is(&before[i], SIG_DFL) ? 0 : before[i].sa_flags & ~SA_RESETHAND);
    if (ipo_action_is(&before[i], SIG_DFL) || signals[i].number == SIGSEGV)
        ours.sa_flags |= SA_ONSTACK;
    return !sigaction(signals[i].number, &ours, NULL);
}

const struct sigaction *ipo_fatal_shown(int number, const struct sigaction *seen)
{
    size_t i = find_index(number);
    return signals[i].number == number && seen->sa_sigaction == handle_signal ? &before[i] : seen;
}

/* Nothing in a child that shares our memory (vfork): it sets its own dispositions. */
void ipo_fatal_again(int number, const struct sigaction *set)
{
    int kept = errno;
    size_t i = find_index(number);
    bool again = signals[i].number == number && mine[i] &&
                 (set->sa_handler == before[i].sa_handler || ipo_action_is(set, SIG_DFL));
    if (again && ipo_process.pid == (uint32_t)getpid() && !sigaction(number, NULL, &before[i]))
        install_handler(i);
    errno = kept;
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
    ipo_ending_start();
    for (size_t i = 0; ipo_process.options.stacks && i < SIGNALS; i++) {
        if (sigaction(signals[i].number, NULL, &before[i]))
            continue;
        if (ipo_action_is(&before[i], SIG_IGN) ||
            (!ipo_action_is(&before[i], SIG_DFL) && !is_library_handler(&before[i])))
            continue;
        mine[i] = install_handler(i);
    }
    struct sigaction bus;
    if (ipo_process.options.stacks && ipo_guard_behind(&bus))
        ipo_guard_report(is_library_handler(&bus));
    ipo_fatal_watch();
}

/* Whether our handler is the one that is installed. */
static bool is_in_front(size_t i)
{
    struct sigaction now;
    return mine[i] && !sigaction(signals[i].number, NULL, &now) && (now.sa_flags & SA_SIGINFO) &&
           now.sa_sigaction == handle_signal;
}

void ipo_fatal_watch(void)
{
    uint64_t watched = 0;
    for (size_t i = 0; i < SIGNALS; i++)
        watched |= (uint64_t)is_in_front(i) << (signals[i].number - 1);
    ipo_ending_watch(watched);
}

void ipo_fatal_round(void)
{
    int crashed = CRASHED;
    if (!atomic_compare_exchange_strong(&state, &crashed, TAKING))
        return;
    ipo_stacks_write(crash_reason, crash_why, 0, &crash);
    atomic_store(&state, TAKEN);
    syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 64, NULL, NULL, 0);
}

/* Handlers of errors stay: exit handlers and destructors run after MPI_Finalize, and may crash. */
void ipo_fatal_stop(void)
{
    for (size_t i = 0; i < SIGNALS; i++) {
        const bool stays = ipo_is_fault(signals[i].number) || signals[i].number == SIGABRT;
        if (!stays && is_in_front(i))
            sigaction(signals[i].number, &before[i], NULL);
        mine[i] = false;
    }
    ipo_guard_quiet();
}
