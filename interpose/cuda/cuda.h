/* The CUDA driver, as far as events need it: libcuda.so.1, where the process has it loaded already.  Never loaded by
 * us: a process that has NCCL communicators has it, whatever its CUDA runtime is and however that is linked. */
#pragma once

#include "interpose/mpi/calls.h"
#include <stdbool.h>
#include <stdint.h>

/* CUresult, as far as it matters here.  Source: cuda.h of CUDA 11 to 13. */
enum {
    IPO_CUDA_SUCCESS = 0,
    IPO_CUDA_DEINITIALIZED = 4,
    IPO_CUDA_INVALID_CONTEXT = 201,
    IPO_CUDA_INVALID_HANDLE = 400,
    IPO_CUDA_NOT_READY = 600,
    IPO_CUDA_CONTEXT_IS_DESTROYED = 709,
    IPO_CUDA_CAPTURE_FIRST = 900, /* cudaErrorStreamCapture..: 900 to 908 */
    IPO_CUDA_CAPTURE_LAST = 908
};
enum { IPO_CUDA_DISABLE_TIMING = 2, IPO_CUDA_CAPTURE_RELAXED = 2 };

/* The driver's functions; handles are machine words.  OPTIONAL: older drivers lack it. */
#define IPO_CUDA_CALLS(CALL, OPTIONAL)                                                                                 \
    CALL(cuCtxGetCurrent, uintptr_t *context)                                                                          \
    CALL(cuCtxPushCurrent, uintptr_t context)                                                                          \
    CALL(cuCtxPopCurrent, uintptr_t *context)                                                                          \
    CALL(cuStreamGetCtx, uintptr_t stream, uintptr_t *context)                                                         \
    CALL(cuStreamIsCapturing, uintptr_t stream, int *status)                                                           \
    CALL(cuEventCreate, uintptr_t *event, unsigned flags)                                                              \
    CALL(cuEventRecord, uintptr_t event, uintptr_t stream)                                                             \
    CALL(cuEventQuery, uintptr_t event)                                                                                \
    OPTIONAL(cuThreadExchangeStreamCaptureMode, int *mode)                                                             \
    OPTIONAL(cuCtxGetId, uintptr_t context, unsigned long long *id)

struct ipo_cuda {
#define CALL(name, ...) int (*name)(__VA_ARGS__);
    IPO_CUDA_CALLS(CALL, CALL)
#undef CALL
};

/* The driver's functions.  NULL while the library is not loaded, and if it lacks a function.  Any thread; the first
 * calls ask the loader. */
const struct ipo_cuda *ipo_cuda(void);
