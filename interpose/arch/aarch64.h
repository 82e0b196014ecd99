/* aarch64, with the names of x86_64.h. */
#ifndef IPO_ARCH_AARCH64_H
#define IPO_ARCH_AARCH64_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#define IPO_OLD_GLIBC "GLIBC_2.17"

#define IPO_RELOCATES_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#define IPO_RELOCATES_DATA(type) ((type) == R_AARCH64_ABS64)

#define IPO_OLD_SYSTEM_CALLS(CALL)

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* The counter has steps of 10 to 40 ns on many machines: CLOCK_MONOTONIC is read. */
#define IPO_HAS_TSC 0

/* Never called. */
static inline uint64_t ipo_tsc(void)
{
    return 0;
}

/* ---- registers and frames ---------------------------------------------------------------------------------------- */

enum { IPO_REGS = 33, IPO_REG_FP = 29, IPO_REG_SP = 31, IPO_REG_RA = 30, IPO_REG_PC = 32 };

/* The upper bits may be a signature of pointer authentication. */
#define IPO_ADDRESS_BITS 0x0000ffffffffffffu

#define IPO_FRAME_TO_STACK 0u

#define IPO_STACK_TO_SIGINFO 0u

#define IPO_HAS_FRAME_CHAIN 1

/* X0 to X30 and the stack pointer. */
static inline unsigned ipo_context_registers(const ucontext_t *context, uint64_t *reg, uint64_t *pc)
{
    for (unsigned i = 0; i < 31; i++)
        reg[i] = context->uc_mcontext.regs[i];
    reg[IPO_REG_SP] = context->uc_mcontext.sp;
    *pc = context->uc_mcontext.pc;
    return 32;
}

/* A call with a context is taken for the kernel's: its frame is at no fixed distance. */
static inline bool ipo_is_called_by_kernel(const char *frame, const void *context)
{
    (void)frame;
    return context != NULL;
}

/* ---- instructions ------------------------------------------------------------------------------------------------ */

enum { IPO_CALL_BYTES = 4, IPO_JUMP_BYTES = 4 };

/* Never called, since frames are chained. */
static inline bool ipo_decode_call(uint64_t to, const uint8_t code[IPO_CALL_BYTES], uint64_t *target, uint64_t *slot)
{
    (void)to, (void)code, (void)target, (void)slot;
    return false;
}

/* Never called. */
static inline uint64_t ipo_decode_jump(uint64_t address, const uint8_t entry[IPO_JUMP_BYTES])
{
    (void)address, (void)entry;
    return 0;
}

#endif
