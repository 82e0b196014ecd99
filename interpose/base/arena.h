/* Memory of the recorder's own tables.  It is taken from the system in pieces, is used again, and is never given
 * back to the system.  Any thread, also on the record path: no lock, and no system call but for a new piece.  Keeps
 * errno. */
#pragma once

#include "interpose/base/ours.h"
#include <stddef.h>

/* A zeroed block of at least `bytes`, aligned to 64 bytes; NULL if memory is short.  The caller owns it until it calls
 * ipo_arena_release. */
void *ipo_arena_get(size_t bytes);
/* Releases a block back; `bytes` as they were asked for.  NULL does nothing.  The block's first eight bytes change at
 * once, so a reader that still has the pointer must not trust them. */
void ipo_arena_release(void *memory, size_t bytes);
