/* x86-64. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* Version of symbols that are in every glibc. */
#define IPO_OLD_GLIBC "GLIBC_2.2.5"

/* Relocations of GOT slots, and of words of data that hold an address. */
#define IPO_RELOCATES_SLOT(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#define IPO_RELOCATES_DATA(type) ((type) == R_X86_64_64)

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* 1: the processor has a counter of time worth reading, where the kernel's clock source has this name. */
#define IPO_HAS_TSC      1
#define IPO_CLOCK_SOURCE "tsc"

/* The counter of time, in ticks.  Any thread, record path. */
static inline uint64_t ipo_tsc(void)
{
    return __builtin_ia32_rdtsc();
}

/* ---- registers and frames ---------------------------------------------------------------------------------------- */

/* Registers by DWARF's numbers: how many, frame pointer, stack pointer, return address, program counter. */
enum { IPO_REGS = 17, IPO_REG_FP = 6, IPO_REG_SP = 7, IPO_REG_RA = 16, IPO_REG_PC = 16 };

/* Number here of a register that DWARF or libunwind gives a number below IPO_FOREIGN_REGS; IPO_REGS: none of ours. */
enum { IPO_FOREIGN_REGS = IPO_REGS };
#define IPO_REGISTER(foreign) ((foreign) < IPO_REGS ? (foreign) : IPO_REGS)

/* Name of the processor in libunwind, and whether that unwinds unless HPCTOP_UNWIND says otherwise. */
#define IPO_LIBUNWIND         "x86_64"
#define IPO_PREFERS_LIBUNWIND 0

/* Bits of a return address that are the address. */
#define IPO_ADDRESS_BITS UINT64_MAX

/* Address of a function's frame, in the function itself, and words there: the caller's frame, the return address. */
#define IPO_FRAME_HERE __builtin_frame_address(0)
enum { IPO_FRAME_CALLER = 0, IPO_FRAME_RETURN = 1, IPO_FRAME_WORDS = 2 };

/* Bytes from a frame's address to the caller's stack pointer after the return; -1: not known. */
#define IPO_FRAME_TO_STACK 16

/* 1: the word at the stack pointer is the caller's stack pointer, in every function that has a frame. */
#define IPO_HAS_BACK_CHAIN 0

/* Bytes from the stack pointer that a signal's handler returns with to the siginfo_t that the kernel has stored. */
#define IPO_STACK_TO_SIGINFO 304u

/* 1: functions chain their frames as a rule, so that the caller of a function without tables is found by them. */
#define IPO_HAS_FRAME_CHAIN 0

/* Stores the registers of a signal handler's context and returns how many: numbers 0 to the result - 1. */
static inline unsigned ipo_context_registers(const ucontext_t *context, uint64_t *reg, uint64_t *pc)
{
    static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++)
        reg[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    *pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    return 16;
}

/* Registers that perf_event_open samples: a mask of its own numbers, and how many these are. */
#define IPO_SAMPLED 0xff01ffu
enum { IPO_SAMPLED_REGS = 17 };
/* Stores them, in the order of that mask, as ipo_context_registers does. */
static inline unsigned ipo_sampled_registers(const uint64_t *sampled, uint64_t *reg, uint64_t *pc)
{
    static const uint8_t order[16] = {0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16}; /* 8: RIP */
    for (unsigned i = 0; i < 16; i++)
        reg[i] = sampled[order[i]];
    *pc = sampled[8];
    return 16;
}

/* Whether the kernel has called our handler: then the frame above `frame` is the signal's.  A handler that was
 * installed in front of ours calls it from a frame of its own, perhaps without information and context. */
static inline bool ipo_is_called_by_kernel(const char *frame, const void *context)
{
    return frame + 16 == context;
}

/* Calls a function as the last act of another one, by a jump: `function` finds its caller's return address and stack.
 * At most seven arguments, words. */
#define IPO_JUMP(function, ...) (function)(__VA_ARGS__)

/* ---- instructions ------------------------------------------------------------------------------------------------ */

enum { IPO_CALL_BYTES = 7 /* before a return address */, IPO_JUMP_BYTES = 11 /* entry of the PLT */ };

/* Decodes the call instruction before the return address `to`: its target, or the address of the word that contains the
 * target; both 0: a register has it.  False: no call. */
static inline bool ipo_decode_call(uint64_t to, const uint8_t code[IPO_CALL_BYTES], uint64_t *target, uint64_t *slot)
{
    *target = *slot = 0;
    int32_t distance;
    memcpy(&distance, code + 3, 4);
    if (code[2] == 0xe8)
        *target = to + (uint64_t)(int64_t)distance;
    else if (code[1] == 0xff && code[2] == 0x15) /* call *distance(%rip) */
        *slot = to + (uint64_t)(int64_t)distance;
    else
        return (code[5] == 0xff && (code[6] & 0x38) == 0x10) || (code[4] == 0xff && (code[5] & 0x38) == 0x10);
    return true;
}

/* The slot that an entry of the PLT at this address jumps through, [endbr64] [bnd] jmp *distance(%rip); 0: it is
 * something else. */
static inline uint64_t ipo_decode_jump(uint64_t address, const uint8_t entry[IPO_JUMP_BYTES])
{
    int32_t distance;
    size_t at = entry[0] == 0xf3 && entry[1] == 0x0f && entry[2] == 0x1e ? 4 : 0;
    at += entry[at] == 0xf2;
    if (entry[at] != 0xff || entry[at + 1] != 0x25)
        return 0;
    memcpy(&distance, entry + at + 2, 4);
    return address + at + 6 + (uint64_t)(int64_t)distance;
}
