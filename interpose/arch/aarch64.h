/* aarch64, with the names of x86_64.h. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "interpose/arch/chained.h"

#define IPO_OLD_GLIBC "GLIBC_2.17"

#define IPO_RELOCATES_SLOT(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#define IPO_RELOCATES_DATA(type) ((type) == R_AARCH64_ABS64)

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* The counter has steps of 10 to 40 ns on many machines: CLOCK_MONOTONIC is read. */
#define IPO_HAS_TSC      0
#define IPO_CLOCK_SOURCE ""

/* Never called. */
static inline uint64_t ipo_tsc(void)
{
    return 0;
}

/* ---- registers and frames ---------------------------------------------------------------------------------------- */

enum { IPO_REGS = 33, IPO_REG_FP = 29, IPO_REG_SP = 31, IPO_REG_RA = 30, IPO_REG_PC = 32 };

enum { IPO_FOREIGN_REGS = IPO_REGS };
#define IPO_REGISTER(foreign) ((foreign) < IPO_REGS ? (foreign) : IPO_REGS)

#define IPO_LIBUNWIND         "aarch64"
#define IPO_PREFERS_LIBUNWIND 0

/* The upper bits may be a signature of pointer authentication. */
#define IPO_ADDRESS_BITS 0x0000ffffffffffffu

#define IPO_FRAME_HERE __builtin_frame_address(0)
enum { IPO_FRAME_CALLER = 0, IPO_FRAME_RETURN = 1, IPO_FRAME_WORDS = 2 };

#define IPO_FRAME_TO_STACK (-1)

#define IPO_HAS_BACK_CHAIN 0

#define IPO_STACK_TO_SIGINFO 0u

/* X0 to X30 and the stack pointer. */
static inline unsigned ipo_context_registers(const ucontext_t *context, uint64_t *reg, uint64_t *pc)
{
    for (unsigned i = 0; i < 31; i++)
        reg[i] = context->uc_mcontext.regs[i];
    reg[IPO_REG_SP] = context->uc_mcontext.sp;
    *pc = context->uc_mcontext.pc;
    return 32;
}

#define IPO_SAMPLED 0x1ffffffffu
enum { IPO_SAMPLED_REGS = 33 };
/* Stores them as ipo_context_registers does. */
static inline unsigned ipo_sampled_registers(const uint64_t *sampled, uint64_t *reg, uint64_t *pc)
{
    for (unsigned i = 0; i < 32; i++)
        reg[i] = sampled[i];
    *pc = sampled[32];
    return 32;
}

#define IPO_JUMP(function, ...) (function)(__VA_ARGS__)
