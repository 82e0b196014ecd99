#include "interpose/stacks/stacks_impl.h"
#include "interpose/stacks/fatal.h"
#include "interpose/stacks/handler.h"
#include "interpose/core/state.h"

#include <errno.h>

/* The disposition that the program believes to be installed.  Several entries are used in turn, so that a handler which
 * interrupts a change reads a whole one. */
struct theirs {
    struct sigaction action;
    bool is_reported; /* fatal.c's, when the signal is about to end the process */
};
#define TURNS 16u
static struct theirs turns[TURNS];
static atomic_uint next_turn;
static _Atomic(struct theirs *) theirs; /* NULL: our handler was never installed */
static struct sigaction first;          /* handler before ours */
static atomic_bool reporting;

static void handle_bus(int number, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == handle_bus;
}
/* Installs our handler with the mask, stack and flags of the one behind it. */
static void install_handler(const struct sigaction *behind)
{
    struct sigaction ours = {.sa_sigaction = handle_bus, .sa_mask = behind->sa_mask};
    ours.sa_flags = SA_SIGINFO | (behind->sa_flags & ~SA_RESETHAND) | (ipo_action_is(behind, SIG_DFL) ? SA_ONSTACK : 0);
    sigaction(SIGBUS, &ours, NULL);
}

static void remember_theirs(const struct sigaction *action)
{
    struct theirs *turn = &turns[atomic_fetch_add(&next_turn, 1) % TURNS];
    turn->action = *action;
    turn->is_reported = ipo_action_is(action, SIG_DFL);
    atomic_store(&theirs, turn);
}

/* Installs our handler in front of the current one.  An ignored signal stays ignored, also for programs that are
 * executed. */
static void install_in_front(void)
{
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) || is_ours(&now))
        return;
    if (!atomic_load(&theirs))
        first = now;
    remember_theirs(&now);
    if (!ipo_action_is(&now, SIG_IGN))
        install_handler(&now);
}

static void handle_bus(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    bool delivered = ipo_is_called_by_kernel(IPO_FRAME_HERE, context);
    if (info && info->si_code > 0 && trc_writer_fault(&ipo_process.writer, (uintptr_t)info->si_addr)) {
        ipo_process_disarm();
        errno = kept;
        return;
    }
    const struct theirs *turn = atomic_load(&theirs);
    const struct sigaction *to = delivered ? &turn->action : &first;
    if (delivered && turn->is_reported && atomic_load(&reporting))
        ipo_fatal_seen(number, info, context);
    if (delivered && (to->sa_flags & SA_RESETHAND)) {
        struct sigaction none = turn->action; /* flags and mask stay */
        none.sa_handler = SIG_DFL;
        remember_theirs(&none);
        install_handler(&none);
    }
    errno = kept;
    ipo_hand_on(to, number, info, context, delivered); /* jumps: a handler that prints a backtrace does not show ours */
}

void ipo_guard_start(void)
{
    install_in_front();
    struct sigaction now;
    ipo_process.writer.guarded = !sigaction(SIGBUS, NULL, &now) && is_ours(&now);
}

bool ipo_guard_behind(struct sigaction *action)
{
    const struct theirs *turn = atomic_load(&theirs);
    if (turn)
        *action = turn->action;
    return turn != NULL;
}

void ipo_guard_report(bool is_library_handler)
{
    struct theirs *turn = atomic_load(&theirs);
    if (turn)
        turn->is_reported |= is_library_handler;
    atomic_store(&reporting, true);
}

void ipo_guard_quiet(void)
{
    atomic_store(&reporting, false);
}

/* ---- the program's calls: they are made, and then our handler is installed in front again */

static bool is_guarded(int number)
{
    return number == SIGBUS && atomic_load(&theirs);
}
/* Nothing in a child that shares our memory (vfork): it sets its own dispositions. */
static void restore_front(int number)
{
    int kept = errno;
    if (is_guarded(number) && ipo_process.pid == (uint32_t)getpid())
        install_in_front();
    errno = kept;
}

static int guard_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    struct sigaction seen;
    const struct theirs *was = is_guarded(number) ? atomic_load(&theirs) : NULL;
    if (!was) {
        int failed = sigaction(number, action, &seen);
        if (!failed && old)
            *old = *ipo_fatal_shown(number, &seen);
        if (!failed && action)
            ipo_fatal_again(number, action);
        return failed;
    }
    struct sigaction shown = was->action;
    int failed = sigaction(number, action, &seen);
    if (failed)
        return failed;
    if (action)
        restore_front(number);
    shown.sa_flags = (shown.sa_flags & ~SA_RESTART) | (seen.sa_flags & SA_RESTART); /* siginterrupt changes ours */
    if (old)
        *old = is_ours(&seen) ? shown : seen;
    return 0;
}

typedef void (*handler)(int);
static handler guard_signal_by(handler (*real)(int, handler), int number, handler to)
{
    const struct theirs *was = is_guarded(number) ? atomic_load(&theirs) : NULL;
    if (!was) {
        handler seen = real(number, to);
        struct sigaction now = {.sa_handler = seen}, set = {.sa_handler = to};
        if (seen == SIG_ERR)
            return seen;
        ipo_fatal_again(number, &set);
        return ipo_fatal_shown(number, &now)->sa_handler;
    }
    handler shown = was->action.sa_handler, seen = real(number, to);
    if (seen == SIG_ERR)
        return seen;
    restore_front(number);
    return seen == (handler)(uintptr_t)handle_bus ? shown : seen;
}
extern handler __sysv_signal(int number, handler to);
extern handler old_sigset(int number, handler to) __asm__("sigset"); /* headers warn of it */
static handler guard_signal(int number, handler to)
{
    return guard_signal_by(signal, number, to);
}
static handler guard_sysv_signal(int number, handler to)
{
    return guard_signal_by(__sysv_signal, number, to);
}
static handler guard_sigset(int number, handler to)
{
    return guard_signal_by(old_sigset, number, to);
}

void (*ipo_guard_wrapper_of(enum ipo_libc row))(void)
{
    typedef void (*function)(void);
    return row == IPO_LIBC_sigaction                              ? (function)guard_sigaction
           : row == IPO_LIBC_signal || row == IPO_LIBC_bsd_signal ? (function)guard_signal
           : row == IPO_LIBC_sigset                               ? (function)guard_sigset
           : row == IPO_LIBC___sysv_signal                        ? (function)guard_sysv_signal
                                                                  : NULL;
}
