/* Threads of our own. None runs before the first Init has returned, nor after the last Finalize has: the program may
 * be alone then (namespaces, limits on processes, forks). They take no signal but SIGBUS: what the program blocks
 * stays blocked, and its handlers run where they would without us. They end when no other threads are left. */
#pragma once

#include "interpose/base/ours.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Makes a detached thread call `run` with `argument`: at once, or when ipo_own_start is called, each time.  `name` is
 * its name for the system, valid for ever.  False: it cannot be started.  Off the record path. */
bool ipo_own_thread(const char *name, void *(*run)(void *), void *argument);

/* Starts all threads asked for, and the threads that ipo_own_end has ended; later ones start at once.  Asks the
 * loader.  In the program's thread. */
void ipo_own_start(void);

/* Asks all our threads to end.  Any thread. */
void ipo_own_leave(void);

/* Asks all our threads to end and waits until they have left the kernel's list, half a second at most.  False: one has
 * not.  In the program's thread. */
bool ipo_own_end(void);

/* Waits so long, or until our threads must end.  For a thread of ours. */
void ipo_own_pause(uint64_t ns);

/* Whether the Linux thread `tid` is one of ours.  Any thread. */
bool ipo_is_own(uint32_t tid);

/* Whether every thread of the program has ended.  For a thread of ours, which then calls ipo_own_leave and ends. */
bool ipo_own_alone(void);

/* Whether threads of ours may run (1); each reads it and ends at 0. */
extern IPO_OURS atomic_int ipo_own_runs;
