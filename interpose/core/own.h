/* Threads of our own.  They take no signal but SIGBUS: what the program blocks stays blocked, and its handlers run
 * where they would without us.  They end when no other threads are left. */
#ifndef IPO_OWN_H
#define IPO_OWN_H

#include "interpose/base/ours.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Finds the functions that start a thread.  Asks the loader: not in a thread that must never wait for its lock. */
void ipo_own_prepare(void);

/* Starts a detached thread that calls `run` with `argument`.  `name` is its name for the system, valid for ever. 
 * False: it cannot be started.  Off the record path. */
bool ipo_own_thread(const char *name, void *(*run)(void *), void *argument);

/* Whether the Linux thread `tid` is one of ours.  Any thread. */
bool ipo_is_own(uint32_t tid);

/* Whether every thread of the program has ended.  For a thread of ours, which then sets ipo_own_ending and ends. */
bool ipo_own_alone(void);

/* Has all our threads end, and waits for that, two seconds at most.  False: one has not.  In the program's thread. */
bool ipo_own_end(void);

/* Set when our threads must end, as when only they are left; each of them reads it and ends. */
extern IPO_OURS atomic_bool ipo_own_ending;

#endif
