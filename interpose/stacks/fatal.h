/* Stacks when the process dies of a signal.  Where the program has a handler of its own nothing is touched; where the
 * disposition is the default one, or the MPI library's (which prints a backtrace), ours runs first and then hands on:
 * the process ends as it would have ended. */
#ifndef IPO_FATAL_H
#define IPO_FATAL_H

#include <signal.h>

void ipo_fatal_start(void); /* at the end of the first Init, in the program's thread */
void ipo_fatal_round(void); /* our own thread, each round: takes the stacks if a thread waits for them in its handler */
void ipo_fatal_seen(int number, void *context); /* the process is about to die of it, in the thread that has it */
void ipo_fatal_stop(void);                      /* at Finalize: puts back what is still ours */

/* For guard.c: the program sees its own disposition where ours is, and ours goes in front again when the program puts
 * that back. */
const struct sigaction *ipo_fatal_shown(int number, const struct sigaction *seen);
void ipo_fatal_again(int number, const struct sigaction *set);

#endif
