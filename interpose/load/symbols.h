/* Names out of a module's own symbol table: the loader knows only exported functions, and main() rarely is one.  Maps
 * the file for the time of the call: not on the record path. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name of the function of the file `module` that holds `offset`, in bytes from its load address, to `out`.
 * Without one and if `near` is not NULL, writes the last exported function that begins before it, and sets *near.
 * Returns the distance from the function's start, in bytes; UINT64_MAX if no such function is known. */
uint64_t ipo_symbol_of(const char *module, uint64_t offset, char *out, size_t out_size, bool *near);

/* Returns whether the function of the file `module` that holds `offset` does nothing but call MPI, as its machine code
 * proves: no loop, one call of MPI beside questions such as MPI_Comm_rank, no other call, and at least two calls in the
 * file that lead to it. */
bool ipo_symbol_forwards(const char *module, uint64_t offset);

/* Writes the build id of the file `module` to `out` in hexadecimal digits.  False: it has none. */
bool ipo_build_id_of(const char *module, char *out, size_t out_size);
