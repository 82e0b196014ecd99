/* The loader's lock.  A walk over loaded objects may meet one that another thread is loading: it is mapped, but not yet
 * relocated.  To change its slots then would crash the program. */
#pragma once

#include <link.h>

/* Calls `what(with)` while no other thread loads or unloads an object.  Waits for threads that do; code that they load
 * may in turn wait for a call of MPI.  So it may be called only by our own thread, inside the program's call of the
 * loader, or inside an Init.  A call inside another one runs at once. */
void ipo_loader_run(void (*what)(void *), void *with);

/* Walks as dl_iterate_phdr does, with its callback and result.  That function's lock stays locked in a child that is
 * forked meanwhile, which then hangs in its next dlopen.  So walks wait for forks and forks for walks, a second at
 * most. */
int ipo_loader_walk(int (*look)(struct dl_phdr_info *, size_t, void *), void *with);
/* Makes forks wait for walks.  Once, before there are threads of ours. */
void ipo_loader_start(void);
