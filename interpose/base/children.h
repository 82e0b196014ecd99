/* Child processes: their time on a processor, and whether one sleeps.  Our own thread only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns the time on a processor, in units of 10 ms, of all living descendants of this process, `pid`, and of
 * children that descendants have waited for.  0: none, or the kernel does not list them.  A few system calls for each
 * thread and child. */
uint64_t ipo_children_ticks(uint32_t pid);

/* Whether a living descendant of this process, `pid`, is in a sleep of the kernel.  False, too, where the kernel does
 * not tell.  As many system calls. */
bool ipo_children_sleep(uint32_t pid);
