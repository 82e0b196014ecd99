/* Steps from one frame to its caller, by the call frame information (.eh_frame) that compilers write for exceptions.
 * All memory is read by ipo_safe_read: if the stack changes meanwhile the result is short or wrong, but nothing
 * crashes.  No lock is taken and no library is needed.  Our own thread only, after ipo_modules_read. */
#pragma once

#include "interpose/arch/arch.h"

#include <stdbool.h>
#include <stdint.h>

/* A frame: its registers, as far as they are known. */
struct ipo_cursor {
    uint64_t pc;
    uint64_t reg[IPO_REGS];
    uint64_t known; /* bit n: reg[n] is known */
    bool exact;     /* pc is the next instruction, not a return address: the first frame, or an interrupted one */
    bool guessed;   /* a frame was found by a search for return addresses */
};

/* Moves to the caller's frame, by libunwind where that unwinds.  False: there is no caller (*ended), or it cannot be
 * found. */
bool ipo_unwind_step(struct ipo_cursor *cursor, bool *ended);
/* Moves as ipo_unwind_step does, never by libunwind. */
bool ipo_unwind_by_tables(struct ipo_cursor *cursor, bool *ended);

/* Sets a register that is known now. */
static inline void ipo_cursor_set(struct ipo_cursor *cursor, unsigned reg, uint64_t value)
{
    cursor->reg[reg] = value;
    cursor->known |= (uint64_t)1 << reg;
}

/* The caller of the function whose frame is at `frame`, by the two words there. */
static inline struct ipo_cursor ipo_cursor_above(uint64_t frame, const uint64_t word[IPO_FRAME_WORDS])
{
    struct ipo_cursor caller = {.pc = word[IPO_FRAME_RETURN] & IPO_ADDRESS_BITS};
    if (!IPO_HAS_BACK_CHAIN)
        ipo_cursor_set(&caller, IPO_REG_FP, word[IPO_FRAME_CALLER]);
    if (IPO_FRAME_TO_STACK >= 0)
        ipo_cursor_set(&caller, IPO_REG_SP, frame + (uint64_t)IPO_FRAME_TO_STACK);
    return caller;
}
