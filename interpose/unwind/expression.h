/* DWARF expressions, as unwinding tables use them: PLT entries, signal trampolines, realigned stacks. */
#pragma once

#include "interpose/unwind/unwind.h"

/* Evaluates the expression of `length` bytes at `address` with the registers of a frame.  `first`: the first value
 * on its stack; NULL: none.  False: an operation or a register is not known, or memory cannot be read. */
bool ipo_expression(const struct ipo_cursor *cursor, uint64_t address, uint64_t length, const uint64_t *first,
                    uint64_t *out);
