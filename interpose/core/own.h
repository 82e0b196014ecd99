/* Threads of our own.  They take no signal: what the program blocks stays blocked, and its handlers run where they
 * would without us.  They end when only they are left. */
#ifndef IPO_OWN_H
#define IPO_OWN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Finds what starting threads takes; asks the loader, so not in a thread that must never wait for it. */
void ipo_own_prepare(void);
/* False: there can be none. */
bool ipo_own_thread(const char *name, void *(*run)(void *), void *argument);
bool ipo_is_own(uint32_t tid);

/* Whether every thread of the program has ended; for one of our threads, which is to end then. */
bool ipo_own_alone(void);
extern __attribute__((visibility("hidden")))
atomic_bool ipo_own_ending; /* for the others: set by the one that saw it */

#endif
