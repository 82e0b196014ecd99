/* ppc64le (Power8 and newer, ELFv2), with the names of x86_64.h. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "interpose/arch/chained.h"

#define IPO_OLD_GLIBC "GLIBC_2.17"

#define IPO_RELOCATES_SLOT(type) ((type) == R_PPC64_JMP_SLOT || (type) == R_PPC64_GLOB_DAT)
#define IPO_RELOCATES_DATA(type) ((type) == R_PPC64_ADDR64)

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* The time base has 512 MHz and is the same on all cores. */
#define IPO_HAS_TSC      1
#define IPO_CLOCK_SOURCE "timebase"

/* The time base. */
static inline uint64_t ipo_tsc(void)
{
    return __builtin_ppc_get_timebase();
}

/* ---- registers and frames ---------------------------------------------------------------------------------------- */

/* R0 to R31, the link register, the program counter. */
enum { IPO_REGS = 34, IPO_REG_FP = 31, IPO_REG_SP = 1, IPO_REG_RA = 32, IPO_REG_PC = 33 };

/* 65: the link register.  67: the kernel's tables for a signal's frame have the program counter there.  114: libunwind
 * has it there. */
enum { IPO_FOREIGN_REGS = 115 };
#define IPO_REGISTER(foreign)                                                                                          \
    ((foreign) < 32                        ? (foreign)                                                                 \
     : (foreign) == 65                     ? IPO_REG_RA                                                                \
     : (foreign) == 67 || (foreign) == 114 ? IPO_REG_PC                                                                \
                                           : IPO_REGS)

#define IPO_LIBUNWIND         "ppc64"
#define IPO_PREFERS_LIBUNWIND 1

#define IPO_ADDRESS_BITS UINT64_MAX

/* A function stores its return address in its caller's frame, where the chain continues. */
#define IPO_FRAME_HERE __builtin_dwarf_cfa()
enum { IPO_FRAME_CALLER = 0, IPO_FRAME_RETURN = 2, IPO_FRAME_WORDS = 3 };

#define IPO_FRAME_TO_STACK 0

#define IPO_HAS_BACK_CHAIN 1

/* Kernels differ in the place of the siginfo_t: this is the context's, whose first word is the number of no signal. */
#define IPO_STACK_TO_SIGINFO 128u

/* R0 to R31 and the link register. */
static inline unsigned ipo_context_registers(const ucontext_t *context, uint64_t *reg, uint64_t *pc)
{
    enum { NIP = 32, LINK = 36 };
    for (unsigned i = 0; i < 32; i++)
        reg[i] = context->uc_mcontext.gp_regs[i];
    reg[IPO_REG_RA] = context->uc_mcontext.gp_regs[LINK];
    *pc = context->uc_mcontext.gp_regs[NIP];
    return 33;
}

/* R0 to R31, NIP and LINK. */
#define IPO_SAMPLED 0x11ffffffffu
enum { IPO_SAMPLED_REGS = 34 };
/* Stores them as ipo_context_registers does. */
static inline unsigned ipo_sampled_registers(const uint64_t *sampled, uint64_t *reg, uint64_t *pc)
{
    for (unsigned i = 0; i < 32; i++)
        reg[i] = sampled[i];
    *pc = sampled[32];
    reg[IPO_REG_RA] = sampled[33];
    return 33;
}

/* gcc makes a jump of a last call to a function of the same file only, since others need an address of data in R2; the
 * code that has called ours by its address loads its own R2 anew. */
static __attribute__((noipa, unused)) long ppc64le_jump(long a, long b, long c, long d, long e, long f, long g,
                                                        void *to)
{
    register long r3 __asm__("3") = a, r4 __asm__("4") = b, r5 __asm__("5") = c, r6 __asm__("6") = d;
    register long r7 __asm__("7") = e, r8 __asm__("8") = f, r9 __asm__("9") = g;
    register void *r12 __asm__("12") = to;
    __asm__ volatile("mtctr 12\n\tbctr"
                     : "+r"(r3)
                     : "r"(r4), "r"(r5), "r"(r6), "r"(r7), "r"(r8), "r"(r9), "r"(r12)
                     : "ctr", "memory");
    return r3;
}
#define IPO_JUMP(function, ...)                                                                                        \
    ((__typeof__((function)(__VA_ARGS__)))ppc64le_padded(function, __VA_ARGS__, 0, 0, 0, 0, 0, 0, 0))
#define ppc64le_padded(function, a, b, c, d, e, f, g, ...)                                                             \
    ppc64le_jump((long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f), (long)(g), (void *)(function))
