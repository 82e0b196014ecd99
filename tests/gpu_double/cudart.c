/* libcudart of the double: the runtime's calls on the core's streams.  As the real one it opens the driver's library
 * at its first call (GPU_DOUBLE_DRIVER=0: it does without). */
#include "tests/gpu_double/include/cuda_runtime.h"
#include "tests/gpu_double/core.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Thread_local cudaError_t last;

static cudaError_t say(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last = error;
    return error;
}
static cudaError_t good(bool is)
{
    return say(is ? cudaSuccess : cudaErrorMemoryAllocation);
}

static void initialise(void *driver)
{
    int (*init)(unsigned) = driver ? (int (*)(unsigned))(uintptr_t)dlsym(driver, "cuInit") : NULL;
    if (init)
        init(0);
}
static void load_driver(void)
{
    const char *wanted = getenv("GPU_DOUBLE_DRIVER");
    void *driver = wanted && strcmp(wanted, "0") == 0 ? NULL : dlopen("libcuda.so.1", RTLD_NOW);
    if (driver) /* symbol of every copy of the runtime, static ones too */
        dlsym(driver, "cuGetProcAddress_v2");
    initialise(driver);
}
static void begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_driver);
    if (!fgpu_current())
        fgpu_make_current(fgpu_context_of(0));
}

/* ---- devices and memory */

cudaError_t cudaGetDeviceCount(int *count)
{
    begin();
    *count = FGPU_DEVICES;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    begin();
    if (!fgpu_context_of(device))
        return say(cudaErrorInvalidDevice);
    fgpu_make_current(fgpu_context_of(device));
    return cudaSuccess;
}
cudaError_t cudaDeviceReset(void)
{
    begin();
    fgpu_reset();
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    begin();
    *device = fgpu_device_of(fgpu_current());
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    begin();
    return good((*pointer = malloc(bytes ? bytes : 1)) != NULL);
}
cudaError_t cudaFree(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}

struct copy {
    void *to;
    const void *from;
    size_t bytes;
    int value; /* -1: a copy */
};
static void move(void *of)
{
    const struct copy *c = of;
    if (c->value < 0)
        memmove(c->to, c->from, c->bytes);
    else
        memset(c->to, c->value, c->bytes);
}
static cudaError_t put_copy(struct copy copy, cudaMemcpyKind kind, cudaStream_t stream)
{
    begin();
    struct copy *c = malloc(sizeof *c);
    if (!c)
        return say(cudaErrorMemoryAllocation);
    *c = copy;
    return good(fgpu_put(stream, (struct fgpu_work){.kind = copy.value < 0 ? FGPU_COPY : FGPU_SET,
                                                    .bytes = copy.bytes,
                                                    .copy_kind = kind,
                                                    .run = move,
                                                    .user = c,
                                                    .drop = free}));
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream)
{
    return put_copy((struct copy){to, from, bytes, -1}, kind, stream);
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    return put_copy((struct copy){to, NULL, bytes, value & 255}, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, NULL);
    return error ? error : cudaStreamSynchronize(NULL);
}

/* ---- streams */

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    begin();
    return good((*stream = fgpu_stream_make()) != NULL);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    return cudaStreamCreate(stream);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    begin();
    return good(fgpu_put(stream, (struct fgpu_work){.kind = FGPU_HOST, .run = function, .user = user}));
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    begin();
    return fgpu_idle(stream) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    begin();
    fgpu_drain(stream);
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize(void)
{
    fgpu_drain_all();
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream)
        return say(cudaErrorInvalidValue);
    fgpu_stream_end(stream);
    return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    return good(fgpu_wait_for(stream, event));
}

/* ---- a kernel that only takes time: the one thing here that the real runtime lacks */

static void busy(void *of)
{
    unsigned long us = (unsigned long)(uintptr_t)of;
    struct timespec rest = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (nanosleep(&rest, &rest))
        ;
}
cudaError_t fgpu_busy(cudaStream_t stream, const char *name, unsigned long us)
{
    begin();
    return good(fgpu_put(
        stream, (struct fgpu_work){.kind = FGPU_KERNEL, .name = name, .run = busy, .user = (void *)(uintptr_t)us}));
}

/* ---- events */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    begin();
    return good((*event = fgpu_event_make(!(flags & cudaEventDisableTiming))) != NULL);
}
cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    begin();
    return good(fgpu_record(event, stream));
}
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (!fgpu_allowed())
        return say(cudaErrorStreamCaptureUnsupported);
    return fgpu_reached(event) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (cudaEventQuery(event) == cudaErrorNotReady)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    return fgpu_elapsed(from, to, ms) ? cudaSuccess : say(cudaErrorInvalidValue);
}
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    fgpu_event_end(event);
    return cudaSuccess;
}

/* ---- graphs: the captured work is the graph, and its instance too */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    begin();
    return fgpu_capture(stream, (enum fgpu_capture_mode)mode) ? cudaSuccess : say(cudaErrorStreamCaptureUnsupported);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = fgpu_capture_end(stream);
    return *graph ? cudaSuccess : say(cudaErrorStreamCaptureInvalidated);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    *status = fgpu_is_capturing(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    (void)flags;
    *exec = (cudaGraphExec_t)graph;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    begin();
    return good(fgpu_graph_launch((fgpu_graph)exec, stream));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return exec ? cudaSuccess : say(cudaErrorInvalidValue);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    fgpu_graph_end(graph);
    return cudaSuccess;
}

/* ---- errors */

cudaError_t cudaGetLastError(void)
{
    cudaError_t was = last;
    last = cudaSuccess;
    return was;
}
cudaError_t cudaPeekAtLastError(void)
{
    return last;
}
const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error of the double";
}
