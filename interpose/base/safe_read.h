/* Reads of memory that may not be there: a wrong address gives false, not a crash.  No lock, no allocation; may be
 * called in a signal handler.  Keeps errno. */
#ifndef IPO_SAFE_READ_H
#define IPO_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool ipo_safe_read(uint64_t address, void *out, size_t size);
/* A pointer-sized word; 0 if it cannot be read. */
uint64_t ipo_safe_read_word(uint64_t address);
/* At most `size` bytes, as many as there are. */
size_t ipo_safe_read_some(uint64_t address, void *out, size_t size);

#endif
