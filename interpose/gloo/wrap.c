/* The functions of Gloo and PyTorch that libtrace.so exports.  None holds logic, and none is an end for an exception,
 * which passes through them. */
#include "interpose/gloo/gloo.h"

typedef uintptr_t w;
#define EXPORT __attribute__((visibility("default")))
#define CALLER ((const void *)__builtin_return_address(0))

/* The types of the real functions. */
#define GLOO(name, symbol, ...)                                                                                        \
    void symbol(w options);                                                                                            \
    typedef void name##_type(w options);
#define HOOK(name, symbol, parameters)                                                                                 \
    void symbol parameters;                                                                                            \
    typedef void name##_type parameters;
#define MESSAGE(name, symbol, class, parameters)                                                                       \
    w symbol parameters;                                                                                               \
    typedef w name##_type parameters;
#include "interpose/gloo/gloo_calls.def"
#undef GLOO
#undef HOOK

#define REAL(name) ((name##_type *)ipo_gloo_real(IPO_GLOO_##name, CALLER))

/* A collective: `comm` and `options` as in ipo_gloo_enter. */
#define RECORD(name, id, comm, options, ...)                                                                           \
    do {                                                                                                               \
        struct ipo_frame frame;                                                                                        \
        IPO_FRAME_MARK(&frame), IPO_FRAME_ORIGIN(&frame);                                                              \
        name##_type *real = REAL(name);                                                                                \
        bool recorded = ipo_gloo_enter(&frame, IPO_GLOO_##id, comm, options, NULL);                                    \
        IPO_GLOO_CALL(recorded, &frame, real(__VA_ARGS__));                                                            \
        if (recorded)                                                                                                  \
            ipo_gloo_leave(&frame, NULL);                                                                              \
    } while (0)

#define GLOO(name, symbol, ...)                                                                                        \
    EXPORT void symbol(w options)                                                                                      \
    {                                                                                                                  \
        RECORD(name, name, ipo_gloo_comm(*(const w *)options), options, options);                                      \
    }

static inline __attribute__((always_inline)) void add_prefix(w store, const w *prefix, const w *inner)
{
    ipo_gloo_prefix(store, (const char *)*prefix, *inner); /* old and new strings of libstdc++ begin so */
}
#define HOOK(name, symbol, parameters)           EXPORT void symbol parameters BODY_##name
#define MESSAGE(name, symbol, class, parameters) EXPORT w symbol parameters BODY_##name
/* Wraps a step of a message; `done` is an expression of the real function's result, evaluated before the step ends. */
#define STEP(name, message, done, ...)                                                                                 \
    {                                                                                                                  \
        struct ipo_frame frame;                                                                                        \
        IPO_FRAME_MARK(&frame), IPO_FRAME_ORIGIN(&frame);                                                              \
        name##_type *real = REAL(name);                                                                                \
        bool recorded = ipo_gloo_enter_message(&frame, IPO_GLOO_##name, message);                                      \
        w result;                                                                                                      \
        IPO_GLOO_CALL(recorded, &frame, result = real(__VA_ARGS__));                                                   \
        if (recorded) {                                                                                                \
            done;                                                                                                      \
            ipo_gloo_leave(&frame, NULL);                                                                              \
        }                                                                                                              \
        return result;                                                                                                 \
    }
#define BODY_send     STEP(send, ipo_gloo_post(buffer, to, slot, offset, bytes), , buffer, to, slot, offset, bytes)
#define BODY_waitSend STEP(waitSend, ipo_gloo_posted(buffer), , buffer, to, timeout)
#define BODY_recv                                                                                                      \
    {                                                                                                                  \
        int source = -1;                                                                                               \
        from = from ? from : &source;                                                                                  \
        STEP(recv, ipo_gloo_posted(buffer), ipo_gloo_came_from(&frame, *from), buffer, from, timeout)                  \
    }
#define BODY_post_recv                                                                                                 \
    {                                                                                                                  \
        ipo_gloo_post(buffer, from, slot, offset, bytes);                                                              \
        REAL(post_recv)(buffer, from, slot, offset, bytes);                                                            \
    }
#define BODY_post_recv_any                                                                                             \
    {                                                                                                                  \
        ipo_gloo_post(buffer, -1, slot, offset, bytes);                                                                \
        REAL(post_recv_any)(buffer, from, slot, offset, bytes);                                                        \
    }
#define BODY_make_context                                                                                              \
    {                                                                                                                  \
        REAL(make_context)(context, rank, size, base);                                                                 \
        ipo_gloo_context(context, rank, size);                                                                         \
    }
#define CONNECT(name)                                                                                                  \
    {                                                                                                                  \
        RECORD(name, connectFullMesh, ipo_gloo_comm(context), 0, context, store, device);                              \
        ipo_gloo_connected(context);                                                                                   \
    }
#define BODY_connectFullMesh        CONNECT(connectFullMesh)
#define BODY_connectFullMesh_shared CONNECT(connectFullMesh_shared)
#define BODY_make_group                                                                                                \
    {                                                                                                                  \
        ipo_gloo_group_begin(group, *store, rank, size);                                                               \
        REAL(make_group)(group, store, rank, size, options);                                                           \
        ipo_gloo_group_end();                                                                                          \
    }
#define PREFIX(name)                                                                                                   \
    {                                                                                                                  \
        add_prefix(store, prefix, inner);                                                                              \
        REAL(name)(store, prefix, inner);                                                                              \
    }
#define BODY_add_prefix                PREFIX(add_prefix)
#define BODY_add_prefix_by_address     PREFIX(add_prefix_by_address)
#define BODY_add_prefix_old            PREFIX(add_prefix_old)
#define BODY_add_prefix_old_by_address PREFIX(add_prefix_old_by_address)
#define BODY_enqueue                                                                                                   \
    {                                                                                                                  \
        struct ipo_frame frame;                                                                                        \
        IPO_FRAME_MARK(&frame), IPO_FRAME_ORIGIN(&frame);                                                              \
        ipo_gloo_enqueue(&frame, group, *work);                                                                        \
        REAL(enqueue)(group, work);                                                                                    \
    }
#define EXECUTE(name)                                                                                                  \
    {                                                                                                                  \
        struct ipo_gloo_run run;                                                                                       \
        ipo_gloo_run_begin(&run, *work);                                                                               \
        REAL(name)(work);                                                                                              \
        ipo_gloo_run_end();                                                                                            \
    }
#define BODY_execute          EXECUTE(execute)
#define BODY_execute_by_value EXECUTE(execute_by_value)
#include "interpose/gloo/gloo_calls.def"
