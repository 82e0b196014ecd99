/* Declarations that cupti.c, cupti_buffers.c, cupti_handles.c and cupti_others.c share; for no other file. */
#pragma once

#include "interpose/mpi/calls.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*ipo_cupti_requested)(uint8_t **buffer, size_t *size, size_t *records);
typedef void (*ipo_cupti_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* CUPTI's functions: ASK(name, parameters).  A call of one of the second and third list shows that another profiler
 * uses CUPTI; these rows name their arguments, too. */
#define IPO_CUPTI_CALLED(ASK)                                                                                          \
    ASK(GetVersion, (uint32_t * version))                                                                              \
    ASK(GetTimestamp, (uint64_t * now))                                                                                \
    ASK(GetContextId, (void *context, uint32_t *id))                                                                   \
    ASK(GetStreamIdEx, (void *context, void *stream, uint8_t per_thread, uint32_t *id))                                \
    ASK(ActivityEnable, (int kind))                                                                                    \
    ASK(ActivityDisable, (int kind))                                                                                   \
    ASK(ActivityFlushAll, (uint32_t flag))                                                                             \
    ASK(ActivityGetNextRecord, (uint8_t * buffer, size_t valid, void **record))                                        \
    ASK(ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))
#define IPO_CUPTI_REGISTER(ASK)                                                                                        \
    ASK(ActivityRegisterCallbacks, (ipo_cupti_requested ask, ipo_cupti_completed done), ask, done)
#define IPO_CUPTI_FOREIGN(ASK)                                                                                         \
    ASK(ActivityRegisterTimestampCallback, (uint64_t(*now)(void)), now)                                                \
    ASK(Subscribe, (void *subscriber, void *callback, void *user), subscriber, callback, user)                         \
    ASK(Subscribe_v2, (void *subscriber, void *callback, void *user, void *params), subscriber, callback, user,        \
        params)                                                                                                        \
    ASK(Finalize, (void))

/* Set before the state is ON; afterwards only read. */
struct ipo_cupti_calls {
#define ASK(name, parameters, ...) int(*name) parameters;
    IPO_CUPTI_CALLED(ASK)
    IPO_CUPTI_REGISTER(ASK)
    IPO_CUPTI_FOREIGN(ASK)
#undef ASK
    int (*stream_context)(void *stream, void **context);    /* cuStreamGetCtx */
    int (*stream_id)(void *stream, unsigned long long *id); /* cuStreamGetId, from CUDA 12 on */
    int (*current_context)(void **context);                 /* cuCtxGetCurrent */
    int (*is_capturing)(void *stream, int *status);         /* cuStreamIsCapturing */
};
extern IPO_OURS struct ipo_cupti_calls ipo_cupti;

enum ipo_cupti_state { IPO_CUPTI_OFF, IPO_CUPTI_STARTING, IPO_CUPTI_ON, IPO_CUPTI_STEPPING, IPO_CUPTI_NEVER };
extern IPO_OURS atomic_int ipo_cupti_state;
extern IPO_OURS __thread bool ipo_cupti_own; /* the thread's call of CUPTI is ours */

enum { IPO_CUPTI_KINDS = 3 };
extern IPO_OURS const int ipo_cupti_kinds[IPO_CUPTI_KINDS];
#define IPO_CUPTI_FLUSH_FORCED 1u

/* ---- cupti.c */

/* Writes the fact "gpu.kernels": `what` and `more`.  Off the record path. */
void ipo_cupti_fact(const char *what, const char *more);
/* Waits while another thread is starting CUPTI, two seconds at most. */
void ipo_cupti_settle(void);

/* ---- cupti_buffers.c */

/* Registers our clock, if CUPTI takes one, and the functions that give it buffers.  False: it takes no buffers. */
bool ipo_cupti_register_buffers(void);
/* Whether that was done. */
bool ipo_cupti_gave_buffers(void);
/* Writes the buffers that CUPTI has filled to the trace.  Our own thread. */
void ipo_cupti_write_completed(void);
/* Registers the clock that CUPTI uses by itself. */
void ipo_cupti_put_clock_back(void);
/* Whether a buffer is one of ours.  Any thread. */
bool ipo_cupti_is_ours(uint8_t *buffer);
/* Makes one of our buffers free again.  Any thread. */
void ipo_cupti_release_buffer(uint8_t *buffer);

/* ---- cupti_others.c */

/* The name of the first call that another profiler made before CUPTI was started; NULL: none. */
const char *ipo_cupti_others_call(void);
