/* Private to outside*.c: a thread that is read. */
#pragma once

#include "tui/sources/outside.h"
#include "tui/sources/outside_python.h"

#define TUI_OUTSIDE_COPY (256u << 10) /* most bytes of a running thread's stack that are copied while it is stopped */

#if defined(__x86_64__)
/* The last register is the program counter, which unwinding rules of a PLT need. */
enum { TUI_OUTSIDE_REGISTERS = 17, TUI_OUTSIDE_SP = 7, TUI_OUTSIDE_LINK = 0 };
#elif defined(__aarch64__)
enum { TUI_OUTSIDE_REGISTERS = 32, TUI_OUTSIDE_SP = 31, TUI_OUTSIDE_LINK = 0 };
#elif defined(__powerpc64__)
enum { TUI_OUTSIDE_REGISTERS = 32, TUI_OUTSIDE_SP = 1, TUI_OUTSIDE_LINK = 65 };
#endif

/* Registers that a function leaves as they were, and the stack pointer, by DWARF's numbers; a bit of `known` each. */
struct tui_outside_saved {
    uint32_t known;
    Dwarf_Word reg[16];
};

struct tui_outside {
    int pid, tid;
    Dwfl *dwfl;
    bool stops;   /* it was told to, and is to be let go */
    bool pending; /* stack not read yet */
    bool whole;   /* all registers are known: it runs */
    uint64_t pc;
    Dwarf_Word reg[TUI_OUTSIDE_REGISTERS + 1];
    uint64_t stack; /* address of the copied part of its stack */
    size_t copied;
    char copy[TUI_OUTSIDE_COPY];
    struct tui_outside_saved saved[TUI_OUTSIDE_FRAMES]; /* registers saved by each native frame */
    struct tui_outside_stack *out;
    struct tui_outside_python python;
};

/* Arguments in registers; most bytes of a function. */
enum { TUI_OUTSIDE_IN_REGISTERS = 6, TUI_OUTSIDE_CODE = 16384, TUI_OUTSIDE_ON_STACK = 4 };

/* Places in which a function's first instructions store its arguments.  Stack addresses are relative to the address
 * behind the return address. */
struct tui_outside_entry {
    int holds[16];                          /* argument that a register holds, by the processor's number; -1: none */
    int64_t slot[TUI_OUTSIDE_IN_REGISTERS]; /* address of a copy; 0: none */
    int64_t depth;                          /* bytes that the stack has grown by */
    int64_t frame;                          /* the same when rbp was set; 0: it is no frame pointer */
};

/* Follows the first instructions of a function, with 16 readable bytes behind it, up to a branch or one that is not
 * known. */
struct tui_outside_entry tui_outside_decode_entry(const uint8_t *code, size_t size);
/* Whether one instruction only of a function, with 16 readable bytes behind it, may write a register, the first move;
 * TUI_OUTSIDE_ON_STACK: the memory at that offset from the stack pointer. */
bool tui_outside_keeps(const uint8_t *code, size_t size, int reg, int64_t offset);
/* Reads memory of a process: the copied part of its stack, else as it is now. */
bool tui_outside_memory(const struct tui_outside *process, uint64_t address, void *out, size_t size);
/* Keeps the registers of the frame with that number. */
void tui_outside_save(struct tui_outside *process, Dwfl_Frame *state, size_t frame);
/* Reads the arguments of the call that the stack is inside, before Python's frames are in it. */
void tui_outside_read_arguments(const struct tui_outside *process, struct tui_outside_stack *stack);
