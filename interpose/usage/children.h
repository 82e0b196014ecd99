/* Processor time of child processes.  Our own thread only. */
#ifndef IPO_CHILDREN_H
#define IPO_CHILDREN_H

#include <stdint.h>

/* Returns the time on a processor, in units of 10 ms, of all living descendants of this process, `pid`, and of
 * children that descendants have waited for.  0: none, or the kernel does not list them.  A few system calls for each
 * thread and child. */
uint64_t ipo_children_ticks(uint32_t pid);

#endif
