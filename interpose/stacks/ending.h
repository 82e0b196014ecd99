/* Notes of the process on its own end: the signal that ends it and who sent it, or the code that it leaves with.
 * The notes are words in the head of the file (struct trc_end).  Nothing relies on them. */
#ifndef IPO_ENDING_H
#define IPO_ENDING_H

#include "interpose/base/ours.h"
#include "interpose/load/names.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Begins to note: finds the functions needed later, and hooks exit() for its code.  Once, in the program's thread. */
void ipo_ending_start(void);

/* Writes which signals would be noted, a bit each. */
void ipo_ending_watch(uint64_t signals);

/* Notes that a signal ends this process.  False: the end was noted before, or is not this process's.  In the
 * handler. */
bool ipo_ending_signal(int number, const siginfo_t *info);

/* The wrapper for exit, _exit, _Exit and quick_exit; NULL for other names. */
void (*ipo_ending_wrapper_of(enum ipo_libc row))(void);

#endif
