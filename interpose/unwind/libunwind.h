/* Steps by libunwind in place of our own reader of tables: on processors whose header prefers it, or where
 * HPCTOP_UNWIND asks for it.  The library is found at run time.  It asks us for memory, registers and tables (its
 * remote interface), so it takes no lock of the loader and reads nothing that may be gone. */
#pragma once

#include "interpose/unwind/unwind.h"

/* Loads libunwind if it shall unwind: `wanted` is "libunwind", or "" and the processor prefers it.  False: ours does.
 * Once, in the program's thread, where a library may be loaded. */
bool ipo_libunwind_start(const char *wanted);

/* Fills `caller` with the caller's frame; its pc is 0 where there is none.  False: libunwind does not unwind here, or
 * found no table, or a register is not known.  As ipo_unwind_step. */
bool ipo_libunwind_step(const struct ipo_cursor *cursor, struct ipo_cursor *caller);
