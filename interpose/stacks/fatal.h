/* The end of the process by a signal: it is noted, with stacks where the process has brought it about.  Our handler is
 * installed only where the disposition is the default one, or a handler of the MPI library, which prints a backtrace;
 * never where the program has a handler of its own.  It passes the signal on, so that the process ends as it would have
 * ended. */
#pragma once

#include "interpose/stacks/stacks.h"

#include <signal.h>

/* Installs the handlers.  Once, at the end of the first Init, in the program's thread. */
void ipo_fatal_start(void);

/* Records the stacks if a thread waits for them in the handler.  Our own thread, each round. */
void ipo_fatal_round(void);

/* Notes that the process is about to die of signal `number`, asks our thread for stacks and waits for them, 3 s at
 * most.  In the handler, with its arguments. */
void ipo_fatal_seen(int number, const siginfo_t *info, void *context);
/* Asks our thread for a snapshot, once in the life of the process, and waits for it, 3 s at most.  `why` is a constant;
 * `crash` is copied.  Any thread, also in a handler. */
void ipo_fatal_record(enum trc_stack_reason reason, const char *why, const struct ipo_crash *crash);

/* Notes which signals still come to our handler.  Our own thread, once a second. */
void ipo_fatal_watch(void);

/* Restores the dispositions that are still ours.  At Finalize. */
void ipo_fatal_stop(void);

/* For guard.c: the disposition to show the program where `seen` is installed: its own in place of ours. */
const struct sigaction *ipo_fatal_shown(int number, const struct sigaction *seen);

/* For guard.c: the program has installed `set`.  Where that is the disposition behind ours, ours is installed again. */
void ipo_fatal_again(int number, const struct sigaction *set);
