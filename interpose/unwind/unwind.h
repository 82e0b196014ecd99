/* From one frame to its caller, by the call frame information (.eh_frame) that compilers write for exceptions.  All
 * memory is read by ipo_safe_read: if the stack changes meanwhile the result is short or wrong, but nothing crashes.
 * No lock is taken and no library is needed.  Our own thread only, after ipo_modules_read. */
#ifndef IPO_UNWIND_H
#define IPO_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* DWARF register numbers: x86-64 0..15 (6 frame pointer, 7 stack pointer), aarch64 0..31 (29, 31). */
#if defined(__x86_64__)
enum { IPO_REGS = 17, IPO_REG_FP = 6, IPO_REG_SP = 7, IPO_REG_RA = 16 };
#else
enum { IPO_REGS = 33, IPO_REG_FP = 29, IPO_REG_SP = 31, IPO_REG_RA = 30 };
#endif

/* A frame: its registers, as far as they are known. */
struct ipo_cursor {
    uint64_t pc;
    uint64_t reg[IPO_REGS];
    uint64_t known; /* bit n: reg[n] is known */
    bool exact;     /* pc is the next instruction, not a return address: the first frame, or an interrupted one */
    bool guessed;   /* a frame was found by a search for return addresses */
};

/* Moves to the caller's frame.  False: there is no caller (*ended), or it cannot be found. */
bool ipo_unwind_step(struct ipo_cursor *cursor, bool *ended);

/* Sets a register that is known now. */
static inline void ipo_cursor_set(struct ipo_cursor *cursor, unsigned reg, uint64_t value)
{
    cursor->reg[reg] = value;
    cursor->known |= (uint64_t)1 << reg;
}

#endif
