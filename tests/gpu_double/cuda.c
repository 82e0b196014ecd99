/* libcuda of the double: the driver's calls that a tracer makes, on the core's streams. */
#include "tests/gpu_double/core.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int CUresult;
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
};
#define CU(name, ...)                                                                                                  \
    CUresult name(__VA_ARGS__);                                                                                        \
    CUresult name(__VA_ARGS__)

/* Order of the driver: a library that the environment names is loaded, and told.  GPU_DOUBLE_TELL=late: when somebody
 * else has begun with CUPTI (10 s at most), so that both begin with it at a time. */
static void inject(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH"), *when = getenv("GPU_DOUBLE_TELL");
    for (int i = 0; i < 1000 && when && strcmp(when, "late") == 0 && !atomic_load(&fgpu_cupti_begun); i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
    int (*tell)(void) = library ? (int (*)(void))(uintptr_t)dlsym(library, "InitializeInjection") : NULL;
    if (tell)
        tell();
}
static atomic_bool initialised;
CU(cuInit, unsigned flags)
{
    if (!atomic_exchange(&initialised, true))
        inject();
    return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CU(cuDriverGetVersion, int *version)
{
    *version = 13000;
    return CUDA_SUCCESS;
}
CU(cuDeviceGetCount, int *count)
{
    *count = FGPU_DEVICES;
    return atomic_load(&initialised) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

/* ---- contexts */

CU(cuCtxGetCurrent, fgpu_context *context)
{
    *context = fgpu_current();
    return CUDA_SUCCESS;
}
CU(cuCtxPushCurrent_v2, fgpu_context context)
{
    return fgpu_push(context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CU(cuCtxPopCurrent_v2, fgpu_context *context)
{
    fgpu_context was = fgpu_pop();
    if (context)
        *context = was;
    return was ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CU(cuCtxGetDevice, int *device)
{
    if (!fgpu_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = fgpu_device_of(fgpu_current());
    return CUDA_SUCCESS;
}
CU(cuCtxGetId, fgpu_context context, unsigned long long *id)
{
    *id = fgpu_life_of(context);
    return CUDA_SUCCESS;
}
CU(cuStreamGetId, fgpu_stream stream, unsigned long long *id)
{
    *id = (unsigned long long)fgpu_stream_number(stream);
    return CUDA_SUCCESS;
}
CU(cuStreamGetCtx, fgpu_stream stream, fgpu_context *context)
{
    if ((uintptr_t)stream <= 2 && !fgpu_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = fgpu_stream_context(stream);
    return CUDA_SUCCESS;
}

/* ---- capture */

CU(cuStreamIsCapturing, fgpu_stream stream, int *status)
{
    *status = fgpu_is_capturing(stream);
    return CUDA_SUCCESS;
}
CU(cuThreadExchangeStreamCaptureMode, int *mode)
{
    *mode = (int)fgpu_exchange_mode((enum fgpu_capture_mode) * mode);
    return CUDA_SUCCESS;
}

/* ---- events */

CU(cuEventCreate, fgpu_event *event, unsigned flags)
{
    if (!fgpu_current())
        return CUDA_ERROR_INVALID_CONTEXT;
    *event = fgpu_event_make(!(flags & 2));
    return *event ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CU(cuEventRecord, fgpu_event event, fgpu_stream stream)
{
    if (fgpu_is_stale(event)) { /* a driver may have given the handle to another event by now */
        fprintf(stderr, "gpu double: an event of a context that is gone was to be recorded\n");
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return fgpu_record(event, stream) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
/* GPU_DOUBLE_FAULT=query:RANK:N: the N-th call and all after it never return; lost:RANK:N: they say that a kernel has
 * crashed, as a driver does of everything from then on. */
CU(cuEventQuery, fgpu_event event)
{
    static atomic_long calls;
    long n = 0, more;
    while (fgpu_fault("query", &n, &more) && atomic_fetch_add(&calls, 1) >= n)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    static atomic_long asked;
    if (fgpu_fault("lost", &n, &more) && atomic_fetch_add(&asked, 1) >= n)
        return CUDA_ERROR_LAUNCH_FAILED;
    if (fgpu_is_stale(event))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!fgpu_allowed())
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return fgpu_reached(event) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CU(cuEventElapsedTime_v2, float *ms, fgpu_event from, fgpu_event to)
{
    return fgpu_elapsed(from, to, ms) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CU(cuEventElapsedTime, float *ms, fgpu_event from, fgpu_event to)
{
    return cuEventElapsedTime_v2(ms, from, to);
}
CU(cuEventSynchronize, fgpu_event event)
{
    while (!fgpu_reached(event))
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return CUDA_SUCCESS;
}
CU(cuEventDestroy_v2, fgpu_event event)
{
    fgpu_event_end(event);
    return CUDA_SUCCESS;
}

CU(cuGetErrorString, CUresult error, const char **text)
{
    *text = error ? "an error of the double" : "no error";
    return CUDA_SUCCESS;
}
CU(cuGetProcAddress, const char *name, void **function, int version, uint64_t flags)
{
    char later[128];
    (void)version, (void)flags;
    snprintf(later, sizeof later, "%s_v2", name);
    *function = dlsym(RTLD_DEFAULT, name);
    if (!*function)
        *function = dlsym(RTLD_DEFAULT, later);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
