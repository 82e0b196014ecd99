/* Memory of the recorder's own tables: taken from the system in pieces, never given back to it, but used again.
 * Lock-free; no system call but for a new piece. */
#ifndef IPO_ARENA_H
#define IPO_ARENA_H

#include "interpose/base/ours.h"
#include <stddef.h>

/* Zeroed, aligned to 64 bytes; NULL if there is none. */
void *ipo_arena_get(size_t bytes);
/* Takes it back: as many bytes as were asked for.  NULL is nothing.  Its first eight bytes change at once. */
void ipo_arena_give(void *memory, size_t bytes);

#endif
