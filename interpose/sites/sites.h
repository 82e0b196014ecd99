/* Call sites: the record path notes addresses, and our own thread finds their names. */
#pragma once

#include <stdint.h>

/* The number of a call site is its address.  Where a library was unloaded and another one has its addresses, the bits
 * from TRC_SITE_SHIFT on count the libraries before. */
#define IPO_SITE_LIVES 127u

/* Returns these bits of the numbers of a path's sites, a byte a site, the first in the lowest.  `address`: return
 * addresses on the calling thread's stack.  Record path; a system call where a library was unloaded since a site was
 * met last. */
uint64_t ipo_site_lives(const uint64_t *address, unsigned count);

/* Notes a call site by its number, if it is new and there is room.  Record path: no lock, no system call. */
void ipo_site_seen(uint64_t number);

/* Writes definitions of the noted sites that have none yet: function, offset and module.  Reads files; takes no loader
 * lock.  Returns at once where another thread is at it.  Our own thread, and the thread that ends the recording. */
void ipo_sites_resolve(void);

/* Does what ipo_sites_resolve does, but waits for another thread that is at it, 0.2 s at most.  Threads that call
 * dlclose. */
void ipo_sites_settle(void);

/* Makes each site be compared with the object at its address when it is met again: a library was unloaded.  Any
 * thread. */
void ipo_sites_doubt(void);
