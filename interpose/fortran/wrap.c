/* The Fortran wrappers, expanded from the call table: one for each row and binding.  They only put their arguments into
 * an array.  All are words: addresses, and the lengths of CHARACTER arguments at the end. */
#include "interpose/fortran/fortran.h"
#include "interpose/mpi/unless_pass.h"

typedef uintptr_t w;

#define P0
#define P1  w a0,
#define P2  P1 w a1,
#define P3  P2 w a2,
#define P4  P3 w a3,
#define P5  P4 w a4,
#define P6  P5 w a5,
#define P7  P6 w a6,
#define P8  P7 w a7,
#define P9  P8 w a8,
#define P10 P9 w a9,
#define P11 P10 w a10,
#define P12 P11 w a11,
#define P13 P12 w a12,

#define A0
#define A1  a0,
#define A2  A1 a1,
#define A3  A2 a2,
#define A4  A3 a3,
#define A5  A4 a4,
#define A6  A5 a5,
#define A7  A6 a6,
#define A8  A7 a7,
#define A9  A8 a8,
#define A10 A9 a9,
#define A11 A10 a10,
#define A12 A11 a11,
#define A13 A12 a12,

#define WRAP(arity, name, binding)                                                                                     \
    void ipo_##binding##_##name(P##arity w ierr, w length, w second);                                                  \
    __attribute__((used)) void ipo_##binding##_##name(P##arity w ierr, w length, w second)                             \
    {                                                                                                                  \
        w words[] = {A##arity ierr, length, second};                                                                   \
        ipo_fortran_call(IPO_##name, IPO_##binding, words, IPO_FRAME_HERE, __builtin_return_address(0),                \
                         __builtin_dwarf_cfa());                                                                       \
    }

#define CALL(arity, name, core, result, opclass, roles)                                                                \
    UNLESS_PASS(opclass)(WRAP(arity, name, F77) WRAP(arity, name, F08) WRAP(arity, name, F08TS))
#include "interpose/mpi/mpi_calls.def"
#undef CALL

/* The wrappers' addresses as distances: 2000 pointers would have to be relocated in every process that loads us.  In
 * assembler, since C has no constant for the distance of two functions. */
#define DISTANCE(name, binding) ".long ipo_" #binding "_" #name " - ipo_fortran_distance\n"
__asm__(".pushsection .rodata\n"
        ".balign 4\n"
        ".hidden ipo_fortran_distance\n"
        ".globl ipo_fortran_distance\n"
        "ipo_fortran_distance:\n"
#define CALL(arity, name, core, result, opclass, roles)                                                                \
    UNLESS_PASS(opclass)                                                                                               \
    (DISTANCE(name, F77) DISTANCE(name, F08) DISTANCE(name, F08TS)) IF_PASS(opclass)(".long 0, 0, 0\n")
#include "interpose/mpi/mpi_calls.def"
#undef CALL
        ".popsection\n");
