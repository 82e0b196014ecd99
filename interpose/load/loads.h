/* What the program loads while it runs: our own thread, and the program's calls of the loader, are where slots are
 * looked at and where the loader is asked.  Calls of MPI are not: what is being loaded may wait for them. */
#ifndef IPO_LOADS_H
#define IPO_LOADS_H

#include <stdbool.h>
#include <stdint.h>

/* Starts our thread: after Init, which may need the memory more. */
void ipo_loads_live(void);

/* In the program's dlsym of a handle: what it has just loaded is ready, and not called yet. */
void ipo_loads_check(void);

/* Has our thread call `what`, under the loader's lock.  False: it could not yet, since somebody is loading, and it will
 * be called later; or there is no such thread. */
bool ipo_loads_ask(void (*what)(uintptr_t), uintptr_t with);

#endif
