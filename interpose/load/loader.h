/* The loader's lock.  Who walks over the loaded objects meets those that another thread is just loading: mapped, and
 * not yet relocated.  Who changes their slots then ends the program. */
#ifndef IPO_LOADER_H
#define IPO_LOADER_H

#include <link.h>

/* Calls `what` while no other thread loads or unloads an object; waits for those that do, and what they load may in
 * turn wait for a call of MPI.  So only in our own thread, or where the program is calling the loader, or inside an
 * Init. Inside another such call it is called at once. */
void ipo_loader_run(void (*what)(void *), void *with);

/* dl_iterate_phdr.  It holds a lock that fork leaves locked in the child, which then hangs in its next dlopen: so a
 * walk waits for forks under way, and a fork for walks, but not for ever. */
int ipo_loader_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *with);
void ipo_loader_start(void); /* before there are threads of ours */

#endif
