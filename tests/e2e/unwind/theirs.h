/* The stack of a held thread by libunwind, from the same registers, memory and tables as ours. */
#ifndef THEIRS_H
#define THEIRS_H

#include "interpose/unwind/unwind.h"

/* Once. */
bool theirs_begin(void);
/* Frames from `from` up, at most `max`, the first itself among them.  *ended: up to the thread's first function. */
unsigned theirs_walk(const struct ipo_cursor *from, uint64_t *pc, unsigned max, bool *ended);

#endif
