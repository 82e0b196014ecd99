/* probe WHAT LIBCUPTI: what CUDA and CUPTI do on this machine, one line `name value` each.  Not run under libtrace.so:
 * these are the facts that it relies on. records     the kernels' records: their size, name and stream unfinished  a
 * kernel that runs while it is looked for external    which kinds of record a correlation id from outside needs cost
 * what events and records cost */
#include "busy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DRIVER = 4, KERNEL = 10, EXTERNAL = 39, NOT_READY = 600 };

static void *cupti;
static int kernels, unended, started, externals, drivers;
static long record_bytes, stream_of_record, buffers;
static char name_of_kernel[128];

static void *of_cupti(const char *name)
{
    return cupti ? dlsym(cupti, name) : NULL;
}
#define CUPTI(type, name) ((int(*) type)(uintptr_t)of_cupti(name))

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = aligned_alloc(8, *size = 1 << 20);
    *records = 0;
    buffers++;
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    char *record = NULL, *before = NULL;
    uint32_t kind_before = 0;
    while (CUPTI((uint8_t *, size_t, char **), "cuptiActivityGetNextRecord")(buffer, valid, &record) == 0) {
        uint32_t kind, id;
        uint64_t start, end;
        const char *name;
        memcpy(&kind, record, sizeof kind);
        if (kind == KERNEL) {
            memcpy(&start, record + 16, sizeof start);
            memcpy(&end, record + 24, sizeof end);
            memcpy(&id, record + 48, sizeof id);
            memcpy(&name, record + 104, sizeof name);
            kernels++;
            unended += end == 0;
            started += end == 0 && start != 0;
            stream_of_record = id;
            snprintf(name_of_kernel, sizeof name_of_kernel, "%s", name ? name : "?");
            if (before && kind_before == KERNEL)
                record_bytes = record - before;
        }
        externals += kind == EXTERNAL;
        drivers += kind == DRIVER;
        before = record;
        kind_before = kind;
    }
    free(buffer);
}

static int enable(void)
{
    if (!cupti || CUPTI((void *, void *), "cuptiActivityRegisterCallbacks")((void *)(uintptr_t)requested,
                                                                            (void *)(uintptr_t)completed)) {
        printf("error no CUPTI: %s\n", cupti ? "it refuses callbacks" : dlerror());
        return 1;
    }
    int error = CUPTI((int), "cuptiActivityEnable")(KERNEL);
    if (error)
        printf("error CUPTI refuses records of kernels (%d)\n", error);
    return error;
}

static void flush(unsigned forced)
{
    CUPTI((unsigned), "cuptiActivityFlushAll")(forced);
}

static int records(cudaStream_t stream)
{
    uint32_t id = 0;
    void *context = NULL, *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (enable())
        return 1;
    for (int i = 0; i < 20; i++)
        if (busy(stream, 100))
            return 1;
    cudaStreamSynchronize(stream);
    flush(0);
    int (*current)(void **) = driver ? (int (*)(void **))(uintptr_t)dlsym(driver, "cuCtxGetCurrent") : NULL;
    int (*number)(void *, void *, uint8_t, uint32_t *) =
        CUPTI((void *, void *, uint8_t, uint32_t *), "cuptiGetStreamIdEx");
    if (current && number && !current(&context))
        number(context, stream, 0, &id);
    printf("kernels %d\nrecord_bytes %ld\nname %s\nstream_of_record %ld\nstream_of_call %u\n", kernels, record_bytes,
           name_of_kernel, stream_of_record, id);
    return 0;
}

static int unfinished(cudaStream_t stream)
{
    cudaEvent_t start, stop;
    if (enable() || cudaEventCreateWithFlags(&start, cudaEventDisableTiming) ||
        cudaEventCreateWithFlags(&stop, cudaEventDisableTiming))
        return 1;
    int bad = busy(stream, 1000);
    cudaStreamSynchronize(stream);
    cudaEventRecord(start, stream);
    bad |= busy(stream, 3000000);
    cudaEventRecord(stop, stream);
    usleep(500000);
    printf("start_event %d\nstop_event %d\n", (int)cudaEventQuery(start), (int)cudaEventQuery(stop));
    flush(0);
    printf("flush_kernels %d\nflush_unended %d\n", kernels, unended);
    flush(1);
    printf("forced_kernels %d\nforced_unended %d\nforced_with_start %d\n", kernels, unended, started);
    cudaStreamSynchronize(stream);
    int before = kernels;
    flush(1);
    printf("told_again %d\nstop_event_afterwards %d\n", kernels - before, (int)cudaEventQuery(stop));
    return bad;
}

/* 307: cuLaunchKernel, 652: cuLaunchKernelEx (cupti_driver_cbid.h of CUDA 13). */
static int external(cudaStream_t stream)
{
    int (*one)(uint32_t, uint8_t) = CUPTI((uint32_t, uint8_t), "cuptiActivityEnableDriverApi");
    int (*push)(int, uint64_t) = CUPTI((int, uint64_t), "cuptiActivityPushExternalCorrelationId");
    int (*pop)(int, uint64_t *) = CUPTI((int, uint64_t *), "cuptiActivityPopExternalCorrelationId");
    uint64_t last;
    if (enable())
        return 1;
    if (!one || !push || !pop) {
        printf("error this CUPTI has no cuptiActivityEnableDriverApi (12.5 and later have)\n");
        return 1;
    }
    printf("enable_external %d\n", CUPTI((int), "cuptiActivityEnable")(EXTERNAL));
    printf("enable_cuLaunchKernel %d\n", one(307, 1));
    printf("enable_cuLaunchKernelEx %d\n", one(652, 1));
    push(3, 42);
    int bad = busy(stream, 100);
    pop(3, &last);
    cudaStreamSynchronize(stream);
    flush(0);
    printf("kernels %d\nexternal_records %d\ndriver_records %d\n", kernels, externals, drivers);
    return bad;
}

/* Seconds a kernel, of `n` that do nothing for long. */
static double tiny(cudaStream_t stream, int n)
{
    double begin = now_s();
    for (int i = 0; i < n; i++) {
        if (busy(stream, 0))
            return -1;
        if (i % 500 == 499)
            cudaStreamSynchronize(stream);
    }
    cudaStreamSynchronize(stream);
    return (now_s() - begin) / n;
}

static int cost(cudaStream_t stream, int n)
{
    cudaEvent_t event[2];
    if (cudaEventCreate(&event[0]) || cudaEventCreateWithFlags(&event[1], cudaEventDisableTiming))
        return 1;
    for (int kind = 0; kind < 2; kind++) {
        cudaEventRecord(event[kind], stream);
        cudaStreamSynchronize(stream);
        double begin = now_s();
        for (int i = 0; i < n; i++)
            cudaEventRecord(event[kind], stream);
        printf("event_record_%s_ns %.0f\n", kind ? "plain" : "timed", (now_s() - begin) / n * 1e9);
        cudaStreamSynchronize(stream);
        begin = now_s();
        for (int i = 0; i < n; i++)
            cudaEventQuery(event[kind]);
        printf("event_query_%s_ns %.0f\n", kind ? "plain" : "timed", (now_s() - begin) / n * 1e9);
    }
    tiny(stream, 1000);
    double without = tiny(stream, n);
    printf("kernel_ns %.0f\n", without * 1e9);
    if (enable())
        return 1;
    tiny(stream, 1000);
    double with = tiny(stream, n), begin = now_s();
    flush(0);
    printf("kernel_with_cupti_ns %.0f\nflush_ms %.3f\nrecords %d\n", with * 1e9, (now_s() - begin) * 1e3, kernels);
    return with < 0 || without < 0;
}

int main(int argc, char **argv)
{
    cudaStream_t stream;
    const char *what = argc > 2 ? argv[1] : "";
    if (argc < 3 || cudaSetDevice(0) || cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))
        return 2;
    cupti = dlopen(argv[2], RTLD_NOW);
    busy(stream, 1); /* CUDA is up */
    cudaStreamSynchronize(stream);
    return strcmp(what, "records") == 0      ? records(stream)
           : strcmp(what, "unfinished") == 0 ? unfinished(stream)
           : strcmp(what, "external") == 0   ? external(stream)
           : strcmp(what, "cost") == 0       ? cost(stream, argc > 3 ? atoi(argv[3]) : 20000)
                                             : 2;
}
