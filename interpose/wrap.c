/* The wrappers, expanded from the call table.  No wrapper holds logic: all arguments travel as machine words, which is
 * what the calling conventions of x86-64 and aarch64 Linux do with ints, pointers and handles alike. */
#include "interpose/calls.h"
#include "interpose/repeat.h"
#include "interpose/resolve.h"

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

/* The same out of the array, where describing the call may have put a status of ours. */
#define X0
#define X1  a[0]
#define X2  X1, a[1]
#define X3  X2, a[2]
#define X4  X3, a[3]
#define X5  X4, a[4]
#define X6  X5, a[5]
#define X7  X6, a[6]
#define X8  X7, a[7]
#define X9  X8, a[8]
#define X10 X9, a[9]
#define X11 X10, a[10]
#define X12 X11, a[11]
#define X13 X12, a[12]
#define X14 X13, a[13]
#define X15 X14, a[14]

#define WRAP(arity, name, core, opclass, roles)                                                                        \
    int ipo_w_##name(P##arity);                                                                                        \
    int ipo_w_##name(P##arity)                                                                                         \
    {                                                                                                                  \
        struct ipo_frame frame;                                                                                        \
        struct ipo_repeat repeat;                                                                                      \
        w a[(arity) + 1] = {A##arity};                                                                                 \
        frame.address = __builtin_frame_address(0);                                                                    \
        frame.site = (uint64_t)(uintptr_t)__builtin_return_address(0);                                                 \
        if (ipo_repeats(TRC_OP_##opclass, #name, roles) &&                                                             \
            ipo_repeat_enter(&repeat, &frame, IPO_##name, TRC_OP_##opclass, roles, arity, a)) {                        \
            int result = ((int (*)(P##arity))ipo_real[IPO_##name])(X##arity);                                          \
            ipo_repeat_leave(&repeat, &frame, IPO_##name, TRC_OP_##opclass, roles, a, result);                         \
            return result;                                                                                             \
        }                                                                                                              \
        if (__builtin_expect(!ipo_enter(&frame, IPO_##name, a), 0))                                                    \
            return ((int (*)(P##arity))ipo_resolved(IPO_##name))(A##arity);                                            \
        int result = ((int (*)(P##arity))ipo_real[IPO_##name])(X##arity);                                              \
        ipo_leave(&frame, a, result);                                                                                  \
        return result;                                                                                                 \
    }                                                                                                                  \
    EXPORT_##core(arity, name)

#define EXPORT_OPT(arity, name)
#define EXPORT_CORE(arity, name) __attribute__((visibility("default"), alias("ipo_w_" #name))) int MPI_##name(P##arity);

/* WRAP for every row whose class is not PASS. */
#define SECOND_(a, b, ...) b
#define SECOND(...)        SECOND_(__VA_ARGS__)
#define PROBE_PASS         ~, 1
#define IS_PASS(opclass)   SECOND(PROBE_##opclass, 0, ~)
#define UNLESS_0(...)      __VA_ARGS__
#define UNLESS_1(...)
#define UNLESS_(pass) UNLESS_##pass
#define UNLESS(pass)  UNLESS_(pass)

#define CALL(arity, name, core, result, opclass, roles)                                                                \
    UNLESS(IS_PASS(opclass))(WRAP(arity, name, core, opclass, roles))
#include "interpose/mpi_calls.def"
#undef CALL

#define NONE_0(name) (ipo_function) ipo_w_##name
#define NONE_1(name) 0
#define NONE_(pass)  NONE_##pass
#define NONE(pass)   NONE_(pass)
const ipo_function ipo_wrapper[IPO_CALLS] = {
#define CALL(arity, name, core, result, opclass, roles) NONE(IS_PASS(opclass))(name),
#include "interpose/mpi_calls.def"
#undef CALL
};
