/* From one frame to its caller, by the call frame information that compilers leave in every module (.eh_frame) for
 * exceptions.  All memory is read by ipo_safe_read, so a stack that changes meanwhile gives a short or a wrong stack and
 * never a crash; no lock is taken and nothing but memory and /proc is needed: no library that a container may lack.
 * For our own thread; one user at a time; ipo_modules_read first. */
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

struct ipo_cursor {
    uint64_t pc;
    uint64_t reg[IPO_REGS];
    uint64_t known; /* bit n: reg[n] is known */
    bool exact;   /* pc is where it will go on, not behind a call: the first frame, or one that a signal interrupted */
    bool guessed; /* a frame was found by looking for return addresses */
};

/* Moves to the caller.  False: there is none (*ended), or it cannot be found. */
bool ipo_unwind_step(struct ipo_cursor *cursor, bool *ended);

static inline void ipo_cursor_set(struct ipo_cursor *cursor, unsigned reg, uint64_t value)
{
    cursor->reg[reg] = value;
    cursor->known |= (uint64_t)1 << reg;
}

#endif
