/* Stacks when the process dies of a signal.  Our handler is installed only where the disposition is the default one, or
 * a handler of the MPI library, which prints a backtrace; never where the program has a handler of its own.  It passes
 * the signal on, so that the process ends as it would have ended. */
#ifndef IPO_FATAL_H
#define IPO_FATAL_H

#include <signal.h>

/* Installs the handlers.  Once, at the end of the first Init, in the program's thread. */
void ipo_fatal_start(void);

/* Takes the stacks if a thread waits for them in the handler.  Our own thread, each round. */
void ipo_fatal_round(void);

/* Asks our thread for stacks and waits for them, 3 s at most: the process is about to die of signal `number`, whose
 * context is `context`.  In the handler. */
void ipo_fatal_seen(int number, void *context);

/* Restores the dispositions that are still ours.  At Finalize. */
void ipo_fatal_stop(void);

/* For guard.c: the disposition to show the program where `seen` is installed: its own in place of ours. */
const struct sigaction *ipo_fatal_shown(int number, const struct sigaction *seen);

/* For guard.c: the program has installed `set`.  Where that is the disposition behind ours, ours is installed again. */
void ipo_fatal_again(int number, const struct sigaction *set);

#endif
