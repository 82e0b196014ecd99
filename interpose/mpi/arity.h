/* Parameters and arguments of wrappers by their number: P3 is `w a0, w a1, w a2`, A3 is `a0, a1, a2`.  Every word of
 * a call is a machine word (wrap.c says why).  For the files that expand a call table. */
#pragma once

#include "interpose/mpi/unless_pass.h"

#include <stdint.h>

typedef uintptr_t w;

#define P0  void
#define P1  w a0
#define P2  P1, w a1
#define P3  P2, w a2
#define P4  P3, w a3
#define P5  P4, w a4
#define P6  P5, w a5
#define P7  P6, w a6
#define P8  P7, w a7
#define P9  P8, w a8
#define P10 P9, w a9
#define P11 P10, w a10
#define P12 P11, w a11
#define P13 P12, w a12
#define P14 P13, w a13
#define P15 P14, w a14

#define A0
#define A1  a0
#define A2  A1, a1
#define A3  A2, a2
#define A4  A3, a3
#define A5  A4, a4
#define A6  A5, a5
#define A7  A6, a6
#define A8  A7, a7
#define A9  A8, a8
#define A10 A9, a9
#define A11 A10, a10
#define A12 A11, a11
#define A13 A12, a12
#define A14 A13, a13
#define A15 A14, a14

/* S3 is `args[0] = a0, args[1] = a1, args[2] = a2`. */
#define S0(args)  (void)(args)
#define S1(args)  S0(args), (args)[0] = a0
#define S2(args)  S1(args), (args)[1] = a1
#define S3(args)  S2(args), (args)[2] = a2
#define S4(args)  S3(args), (args)[3] = a3
#define S5(args)  S4(args), (args)[4] = a4
#define S6(args)  S5(args), (args)[5] = a5
#define S7(args)  S6(args), (args)[6] = a6
#define S8(args)  S7(args), (args)[7] = a7
#define S9(args)  S8(args), (args)[8] = a8
#define S10(args) S9(args), (args)[9] = a9
#define S11(args) S10(args), (args)[10] = a10
#define S12(args) S11(args), (args)[11] = a11
#define S13(args) S12(args), (args)[12] = a12
#define S14(args) S13(args), (args)[13] = a13
#define S15(args) S14(args), (args)[14] = a14
