/* Objects that the program loads while it runs.  Slots are read, and the loader is asked, by a thread of our own and
 * inside the program's calls of the loader.  Never inside calls of MPI: what another thread is loading may wait for
 * these. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Starts the thread, at the end of the first Init.  May be called again. */
void ipo_loads_live(void);

/* Reads the slots of objects that were loaded since.  In the program's dlsym of a handle: the object is loaded, and not
 * called yet.  Keeps errno. */
void ipo_loads_check(void);

/* Makes the thread call `what(with)` under the loader's lock, and waits for it, 0.2 s at most.  False: another thread
 * is loading, and it will be called later; or our thread does not run.  Any thread of the program. */
bool ipo_loads_ask(void (*what)(uintptr_t), uintptr_t with);
