/* Call sites: the record path notes addresses, and our own thread finds their names. */
#ifndef IPO_SITES_H
#define IPO_SITES_H

#include <stdint.h>

/* Notes a call site, if it is new and there is room.  Record path: no lock, no system call. */
void ipo_site_seen(uint64_t address);

/* Notes the sites of the calls that threads are inside now: the record path notes a call only when it returns.  Our own
 * thread. */
void ipo_sites_open(void);

/* Writes definitions of the noted sites that have none yet: function, offset and module.  Reads files; takes no loader
 * lock.  Our own thread, and the thread that ends the recording. */
void ipo_sites_resolve(void);

#endif
