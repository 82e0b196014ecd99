/* libcudart of the double: device memory is host memory, a stream is a thread that works through a queue. */
#include "tests/gpu_double/include/cuda_runtime.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    cudaHostFn_t run;
    void *user;
    struct work *next;
};
struct CUstream_st {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct work *first, *last;
    unsigned long queued, done;
    int ends;
};
struct CUevent_st {
    atomic_ulong recorded, reached;
};

static void *work_through(void *of)
{
    cudaStream_t stream = of;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (!stream->first && !stream->ends)
            pthread_cond_wait(&stream->change, &stream->lock);
        struct work *work = stream->first;
        if (!work)
            break;
        stream->first = work->next;
        pthread_mutex_unlock(&stream->lock);
        work->run(work->user);
        free(work);
        pthread_mutex_lock(&stream->lock);
        stream->done++;
        pthread_cond_broadcast(&stream->change);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    cudaStream_t made = calloc(1, sizeof *made);
    if (!made)
        return cudaErrorMemoryAllocation;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->change, NULL);
    if (pthread_create(&made->thread, NULL, work_through, made)) {
        free(made);
        return cudaErrorMemoryAllocation;
    }
    *stream = made;
    return cudaSuccess;
}

static cudaStream_t default_stream;
static void make_default_stream(void)
{
    if (cudaStreamCreate(&default_stream))
        abort();
}
static cudaStream_t meant(cudaStream_t stream)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (stream)
        return stream;
    pthread_once(&once, make_default_stream);
    return default_stream;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    struct work *work = malloc(sizeof *work);
    if (!work)
        return cudaErrorMemoryAllocation;
    *work = (struct work){function, user, NULL};
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    *(stream->first ? &stream->last->next : &stream->first) = work;
    stream->last = work;
    stream->queued++;
    pthread_cond_broadcast(&stream->change);
    pthread_mutex_unlock(&stream->lock);
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    int idle = stream->done == stream->queued;
    pthread_mutex_unlock(&stream->lock);
    return idle ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    stream = meant(stream);
    pthread_mutex_lock(&stream->lock);
    unsigned long until = stream->queued;
    while (stream->done < until)
        pthread_cond_wait(&stream->change, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream)
        return cudaErrorInvalidValue;
    pthread_mutex_lock(&stream->lock);
    stream->ends = 1;
    pthread_cond_broadcast(&stream->change);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    free(stream);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = calloc(1, sizeof **event);
    return *event ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void reach(void *event)
{
    atomic_fetch_add(&((cudaEvent_t)event)->reached, 1);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    atomic_fetch_add(&event->recorded, 1);
    return cudaLaunchHostFunc(stream, reach, event);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return atomic_load(&event->reached) == atomic_load(&event->recorded) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (cudaEventQuery(event))
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaEventSynchronize(event);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 8;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device)
{
    return device < 0 ? cudaErrorInvalidValue : cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    *pointer = malloc(bytes ? bytes : 1);
    return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void *pointer)
{
    free(pointer);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    (void)kind;
    cudaStreamSynchronize(NULL);
    memmove(to, from, bytes);
    return cudaSuccess;
}
