/* What our signal handlers have in common. */
#ifndef IPO_HANDLER_H
#define IPO_HANDLER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool ipo_action_is(const struct sigaction *action, void (*handler)(int))
{
    return action->sa_handler == handler;
}

/* The kernel calls a handler so that the frame above it is the signal's; a handler that was put in front of ours, and
 * has kept ours as the old one, calls it from a frame of its own, perhaps without information and context. */
static inline bool ipo_is_called_by_kernel(const char *frame, const void *context)
{
#if defined(__x86_64__)
    return frame + 16 == context;
#else
    (void)frame;
    return context != NULL;
#endif
}

/* As if ours had not been there.  The kernel gives the context to every handler, also without SA_SIGINFO. */
static inline __attribute__((always_inline)) void ipo_hand_on(const struct sigaction *to, int number, siginfo_t *info,
                                                              void *context, bool delivered)
{
    if (!ipo_action_is(to, SIG_DFL) && !ipo_action_is(to, SIG_IGN)) {
        to->sa_sigaction(number, info, context);
    } else if (ipo_action_is(to, SIG_DFL)) {
        /* A fault happens again on return, a signal that was sent is sent again; it is blocked until then. */
        sigaction(number, to, NULL);
        if (!delivered || info->si_code <= 0 || number == SIGABRT)
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
    }
}

#endif
