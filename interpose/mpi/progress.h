/* Has this process moved?  For our own thread. */
#ifndef IPO_PROGRESS_H
#define IPO_PROGRESS_H

#include <stdint.h>

/* How many calls this process has completed that move data or wait; those of polling and negotiation are left out. */
uint64_t ipo_progress(void);

/* The name of a call that some thread is inside for more than 50 times what it ever took there, and for `floor_ticks`
 * at least; NULL: there is none. */
const char *ipo_overdue(uint64_t floor_ticks);

#endif
