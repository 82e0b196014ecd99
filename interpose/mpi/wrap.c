/* The wrappers, expanded from the call table.  All arguments travel as machine words, which is what the calling
 * conventions of x86-64 and aarch64 Linux do with ints, pointers and handles alike.  A wrapper looks its call up among
 * the thread's cached calls, with the columns of its row as constants; a call that is not found is described. */
#include "interpose/mpi/arity.h"
#include "interpose/mpi/leave.h"
#include "interpose/mpi/resolve.h"

/* The arguments out of the frame, where ipo_enter may have put a status of its own. */
#define X0
#define X1  frame.args[0]
#define X2  X1, frame.args[1]
#define X3  X2, frame.args[2]
#define X4  X3, frame.args[3]
#define X5  X4, frame.args[4]
#define X6  X5, frame.args[5]
#define X7  X6, frame.args[6]
#define X8  X7, frame.args[7]
#define X9  X8, frame.args[8]
#define X10 X9, frame.args[9]
#define X11 X10, frame.args[10]
#define X12 X11, frame.args[11]
#define X13 X12, frame.args[12]
#define X14 X13, frame.args[13]
#define X15 X14, frame.args[14]

#define CALL_REAL(arity, name) ((int (*)(P##arity))ipo_real[IPO_##name])(X##arity)

#define WRAP(arity, name, core, opclass, roles)                                                                        \
    int ipo_w_##name(P##arity);                                                                                        \
    int ipo_w_##name(P##arity)                                                                                         \
    {                                                                                                                  \
        static const struct ipo_row_facts row = {IPO_##name, TRC_OP_##opclass, TRC_COLLECTIVE_##opclass, arity};       \
        struct ipo_frame frame;                                                                                        \
        IPO_FRAME_MARK(&frame);                                                                                        \
        S##arity(frame.args);                                                                                          \
        if (ipo_quick_kind(row, roles, #name)) {                                                                       \
            struct ipo_cached *cached;                                                                                 \
            if (__builtin_expect(ipo_cache_find(&frame, IPO_CALLER_STACK, IPO_CALLER_FRAME, row, roles, &cached) &&    \
                                     ipo_prepare_cached(&frame, row, roles),                                           \
                                 1)) {                                                                                 \
                ipo_begin_cached(&frame, row, roles, cached);                                                          \
                return ipo_leave_quickly(&frame, row, roles, #name, cached, CALL_REAL(arity, name));                   \
            }                                                                                                          \
            IPO_FRAME_ORIGIN(&frame);                                                                                  \
            if (ipo_quick_varies(row, roles) && ipo_cache_vary(&frame, IPO_##name, cached)) {                          \
                ipo_begin_cached(&frame, row, roles, cached);                                                          \
                return ipo_leave_quickly(&frame, row, roles, #name, cached, CALL_REAL(arity, name));                   \
            }                                                                                                          \
        }                                                                                                              \
        IPO_FRAME_ORIGIN(&frame);                                                                                      \
        if (__builtin_expect(!ipo_enter(&frame, IPO_##name, frame.args), 0))                                           \
            return ((int (*)(P##arity))ipo_resolved(IPO_##name, __builtin_return_address(0)))(X##arity);               \
        return ipo_leave(&frame, frame.args, CALL_REAL(arity, name));                                                  \
    }                                                                                                                  \
    EXPORT_##core(arity, name)

#define EXPORT_OPT(arity, name)
#define EXPORT_CORE(arity, name) __attribute__((visibility("default"), alias("ipo_w_" #name))) int MPI_##name(P##arity);

#define CALL(arity, name, core, result, opclass, roles) UNLESS_PASS(opclass)(WRAP(arity, name, core, opclass, roles))
#include "interpose/mpi/mpi_calls.def"
#undef CALL

const ipo_function ipo_wrapper[IPO_CALLS] = {
#define CALL(arity, name, core, result, opclass, roles)                                                                \
    UNLESS_PASS(opclass)([IPO_##name] = (ipo_function)ipo_w_##name, )
#include "interpose/mpi/mpi_calls.def"
#undef CALL
};
