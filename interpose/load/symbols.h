/* Names of functions out of a module's full symbol table: the loader knows only the exported ones, and main() of most
 * programs is not.  For the heartbeat thread: maps files. */
#ifndef IPO_SYMBOLS_H
#define IPO_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name of the function of `module` that holds `offset` (from the module's load address) to `out` and returns
 * how far into it the offset lies; UINT64_MAX if no such function is known. */
uint64_t ipo_symbol_of(const char *module, uint64_t offset, char *out, size_t out_size);

/* The module's build id in hexadecimal digits; false if it has none. */
bool ipo_build_id_of(const char *module, char *out, size_t out_size);

#endif
