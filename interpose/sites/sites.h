/* Call sites: addresses seen by the record path, named off it. */
#ifndef IPO_SITES_H
#define IPO_SITES_H

#include <stdint.h>

/* A call site that may be new.  Record path: remembers the address if there is room. */
void ipo_site_seen(uint64_t address);

/* Remembers the sites of the calls that threads are inside now: of one that never returns the record path knows none.
 * For the heartbeat thread. */
void ipo_sites_open(void);

/* Writes definitions for the sites that have none yet: function by the dynamic symbol table, module by its file.  For
 * the heartbeat thread and the end; never on the record path, since the loader's lock is taken. */
void ipo_sites_resolve(void);

#endif
