/* Reads of this process's memory that fail where there is none, in place of a crash.  System calls; no lock, no
 * allocation: any thread, also in a signal handler.  errno is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies `size` bytes at `address` to `out`.  False: some cannot be read; the content of `out` is then undefined. */
bool ipo_safe_read(uint64_t address, void *out, size_t size);
/* The eight bytes at `address` as a number; 0 if they cannot be read. */
uint64_t ipo_safe_read_word(uint64_t address);
/* Copies at most `size` bytes at `address` to `out`, up to the first page that cannot be read.  Returns how many. */
size_t ipo_safe_read_some(uint64_t address, void *out, size_t size);

/* Makes all later reads fail: a seccomp filter may end the program for them. */
void ipo_safe_read_refuse(void);
