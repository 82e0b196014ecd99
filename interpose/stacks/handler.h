/* Parts that our signal handlers share. */
#pragma once

#include "interpose/arch/arch.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether a disposition is this handler, SIG_DFL or SIG_IGN. */
static inline bool ipo_action_is(const struct sigaction *action, void (*handler)(int))
{
    return action->sa_handler == handler;
}

/* Whether a signal is for an instruction that cannot be carried out: when the handler returns it comes again. */
static inline bool ipo_is_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
}

/* Passes a signal on to the disposition behind ours.  The kernel gives the context to every handler, also without
 * SA_SIGINFO.  `delivered`: the kernel called our handler. */
static inline __attribute__((always_inline)) void ipo_hand_on(const struct sigaction *to, int number, siginfo_t *info,
                                                              void *context, bool delivered)
{
    if (!ipo_action_is(to, SIG_DFL) && !ipo_action_is(to, SIG_IGN)) {
        IPO_JUMP(to->sa_sigaction, number, info, context);
    } else if (ipo_action_is(to, SIG_DFL)) {
        /* A fault happens again on return, any other signal is sent again; it is blocked until then. */
        sigaction(number, to, NULL);
        if (!delivered || info->si_code <= 0 || !ipo_is_fault(number))
            (syscall)(SYS_tgkill, getpid(), (syscall)(SYS_gettid), number);
    }
}
