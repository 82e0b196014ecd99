/* The wrappers of NCCL, expanded from its call table.  No wrapper holds logic; see mpi/wrap.c. */
#include "interpose/mpi/arity.h"
#include "interpose/nccl/state.h"

/* ncclUniqueId: the only argument that is passed by value and larger than a word. */
struct unique_id {
    char bytes[128];
};

/* Parameters with an id as the third; the array of arguments has its address. */
#define ID_P4 w a0, w a1, struct unique_id a2, w a3
#define ID_P5 ID_P4, w a4
#define ID_W4 a0, a1, (w)&a2, a3
#define ID_W5 ID_W4, a4

#define BODY(arity, name, function, copied, parameters, arguments, ...)                                                \
    int function parameters;                                                                                           \
    int function parameters                                                                                            \
    {                                                                                                                  \
        struct ipo_frame frame;                                                                                        \
        w a[(arity) + 1] = {__VA_ARGS__};                                                                              \
        IPO_FRAME_MARK(&frame), IPO_FRAME_ORIGIN(&frame);                                                              \
        frame.copy = copied;                                                                                           \
        if (!ipo_nccl_enter(&frame, IPO_NCCL_##name, a))                                                               \
            return (                                                                                                   \
                (int(*) parameters)ipo_nccl_pass(frame.copy, IPO_NCCL_##name, (const void *)(w)frame.site))arguments;  \
        int result = ((int(*) parameters)frame.copy->real[IPO_NCCL_##name])arguments;                                  \
        ipo_nccl_leave(&frame, IPO_NCCL_##name, a, result);                                                            \
        return result;                                                                                                 \
    }

#define WRAP(arity, name, how, parameters, arguments, ...)                                                             \
    BODY(arity, name, ipo_nccl_w0_##name, &ipo_nccl_copies[0], parameters, arguments, __VA_ARGS__)                     \
    BODY(arity, name, ipo_nccl_w1_##name, &ipo_nccl_copies[1], parameters, arguments, __VA_ARGS__)                     \
    BODY(arity, name, ipo_nccl_w2_##name, &ipo_nccl_copies[2], parameters, arguments, __VA_ARGS__)                     \
    how(arity, name, parameters, arguments, __VA_ARGS__)

/* The exported names: which copy is called is found at each call. */
#define PATCH(...)
#define EXPORT(arity, name, parameters, arguments, ...)                                                                \
    __attribute__((visibility("default"))) BODY(arity, name, nccl##name, NULL, parameters, arguments, __VA_ARGS__)

#define ASYNC_BODY(name, function, copied)                                                                             \
    static int function(w a0, w a1)                                                                                    \
    {                                                                                                                  \
        const void *site = __builtin_return_address(0);                                                                \
        int result = ((int (*)(w, w))ipo_nccl_pass(copied, IPO_NCCL_##name, site))(a0, a1);                            \
        ipo_nccl_state_async(copied, a0, (const int *)a1, result);                                                     \
        return result;                                                                                                 \
    }

#define NCCL(arity, name, how, opclass, moves, roles)                                                                  \
    UNLESS_PASS(opclass)(WRAP(arity, name, how, (P##arity), (A##arity), A##arity))
#define NCCL_ID(arity, name, how, opclass, moves, roles) WRAP(arity, name, how, (ID_P##arity), (A##arity), ID_W##arity)
#define NCCL_ASYNC(arity, name, how, opclass, moves, roles)                                                            \
    ASYNC_BODY(name, ipo_nccl_w0_##name, &ipo_nccl_copies[0])                                                          \
    ASYNC_BODY(name, ipo_nccl_w1_##name, &ipo_nccl_copies[1])                                                          \
    ASYNC_BODY(name, ipo_nccl_w2_##name, &ipo_nccl_copies[2])
#include "interpose/nccl/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
#undef NCCL_ASYNC

const ipo_function ipo_nccl_wrapper[IPO_NCCL_COPIES][IPO_NCCL_CALLS] = {
#define NCCL(arity, name, how, opclass, moves, roles)                                                                  \
    UNLESS_PASS(opclass)                                                                                               \
    ([0][IPO_NCCL_##name] = (ipo_function)ipo_nccl_w0_##name, [1][IPO_NCCL_##name] = (ipo_function)ipo_nccl_w1_##name, \
     [2][IPO_NCCL_##name] = (ipo_function)ipo_nccl_w2_##name, )
#define NCCL_ID    NCCL
#define NCCL_ASYNC NCCL
#include "interpose/nccl/nccl_calls.def"
#undef NCCL
#undef NCCL_ID
#undef NCCL_ASYNC
};
