/* Machine code of a function, instruction by instruction: which functions it calls, and whether it has a loop.  Others
 * than usual instructions are IPO_STEP_UNKNOWN, and prove nothing.  Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ipo_step_kind {
    IPO_STEP_UNKNOWN,
    IPO_STEP_PLAIN,
    IPO_STEP_JUMP, /* target: an address; perhaps on a condition */
    IPO_STEP_CALL, /* target: of the function */
    IPO_STEP_SLOT  /* target: where the function's address lies */
};

/* One instruction. */
struct ipo_step {
    enum ipo_step_kind kind;
    uint32_t length; /* in bytes */
    uint64_t target; /* an address */
};

/* Decodes the instruction at `address`; `code` holds its first `left` bytes. */
struct ipo_step ipo_code_step(const uint8_t *code, size_t left, uint64_t address);

/* Returns the address of the slot that an entry of a procedure linkage table jumps by; 0: it is none. */
uint64_t ipo_code_plt_slot(const uint8_t *code, size_t left, uint64_t address);

/* Counts the direct calls of (and jumps to) `target` in `size` bytes of code at `address`, `most` at most. */
unsigned ipo_code_callers(const uint8_t *code, size_t size, uint64_t address, uint64_t target, unsigned most);
