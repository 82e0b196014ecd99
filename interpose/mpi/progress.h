/* Whether this process makes progress, judged by its calls.  For our own thread. */
#pragma once

#include <stdint.h>

/* Returns how many calls that move data or wait this process has completed, without polls and negotiation rounds. */
uint64_t ipo_progress(void);

/* The name of a call that takes longer than 50 times its longest time at that call site, and longer than `floor_ticks`;
 * NULL: no thread is inside such a call. */
const char *ipo_overdue(uint64_t floor_ticks);
