/* The one hash of bytes: xxHash's XXH3.  It finds things again within one program, which may write
 * it to a file that only it reads. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The hash of `size` bytes.  Any thread. */
uint64_t ana_hash(const void *bytes, size_t size);
/* The hash of a terminated text; NULL counts as "". */
uint64_t ana_hash_text(const char *text);
