/* The line that ranks without a record leave in the trace folder (interpose/load/unseen.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Writes the first such line of a folder to `out`, `size` bytes, without its end; "" where there is none.  Returns
 * whether there is one.  Any thread. */
bool ana_unseen(const char *folder, char *out, size_t size);
