/* For make bench: an NCCL and a CUDA driver whose functions do nothing, so that only the recorder is counted.
 * -DDRIVER makes the driver, else NCCL; -DPROGRAM the program: nccl_empty events|calls|group|comms N. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef DRIVER
#define CU(name, ...)                                                                                                  \
    int name(__VA_ARGS__);                                                                                             \
    int name(__VA_ARGS__)
CU(cuCtxGetCurrent, void **context)
{
    *context = (void *)8;
    return 0;
}
CU(cuCtxPushCurrent_v2, void *context)
{
    return context == NULL;
}
CU(cuCtxPopCurrent_v2, void **context)
{
    *context = (void *)8;
    return 0;
}
CU(cuStreamGetCtx, void *stream, void **context)
{
    (void)stream;
    *context = (void *)8;
    return 0;
}
CU(cuStreamIsCapturing, void *stream, int *status)
{
    (void)stream;
    *status = 0;
    return 0;
}
CU(cuEventCreate, void **event, unsigned flags)
{
    (void)flags;
    *event = (void *)16;
    return 0;
}
CU(cuEventRecord, void *event, void *stream)
{
    (void)event, (void)stream;
    return 0;
}
CU(cuEventQuery, void *event)
{
    return event == NULL;
}
#else
#include "tests/gpu_double/include/nccl.h"
#ifndef PROGRAM
ncclResult_t ncclGetVersion(int *version)
{
    *version = 22809;
    return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 1, sizeof *id);
    return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
    (void)n, (void)id, (void)rank;
    *comm = (ncclComm_t)(void *)64;
    return ncclSuccess;
}
ncclResult_t ncclCommInitAll(ncclComm_t *comm, int n, const int *list)
{
    (void)comm, (void)n, (void)list;
    return ncclInvalidUsage;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    (void)comm;
    *count = 1;
    return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void *a, void *b, size_t n, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream)
{
    (void)a, (void)b, (void)n, (void)type, (void)op, (void)comm, (void)stream;
    return ncclSuccess;
}
ncclResult_t ncclSend(const void *a, size_t n, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream)
{
    (void)a, (void)n, (void)type, (void)peer, (void)comm, (void)stream;
    return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return comm ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclGroupStart(void)
{
    return ncclSuccess;
}
ncclResult_t ncclGroupEnd(void)
{
    return ncclSuccess;
}
#else
static long anonymous_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *in = fopen("/proc/self/status", "r");
    while (in && fgets(line, sizeof line, in))
        sscanf(line, "RssAnon: %ld", &kb);
    if (in)
        fclose(in);
    return kb;
}

/* Makes and destroys n communicators: prints their memory. */
static int comms(ncclUniqueId id, long n)
{
    long before = 0;
    ncclComm_t comm;
    for (long i = 0; i < n; i++) {
        if (i == 10000)
            before = anonymous_kb();
        memcpy(&id, &i, sizeof i);
        if (ncclCommInitRank(&comm, 2, id, 0) || ncclSend(&i, 1, ncclInt8, 1, comm, NULL) || ncclCommDestroy(comm))
            return 3;
    }
    printf("{\"calls\": %ld, \"grown_kb\": %ld}\n", n, anonymous_kb() - before);
    return 0;
}

/* `events`: the driver is loaded, as a CUDA runtime would have done. */
int main(int argc, char **argv)
{
    ncclUniqueId id;
    ncclComm_t comm;
    float data[16];
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (argc > 1 && strcmp(argv[1], "comms") == 0)
        return ncclGetUniqueId(&id) ? 2 : comms(id, n);
    if (n <= 0 || (strcmp(argv[1], "calls") != 0 && !dlopen("libcuda.so.1", RTLD_NOW)))
        return 2;
    if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 1, id, 0))
        return 2;
    for (long i = 0; i < n; i++) {
        if (strcmp(argv[1], "group") == 0 && i % 10 == 0)
            ncclGroupStart();
        if (ncclAllReduce(data, data, 16, ncclFloat32, ncclSum, comm, (cudaStream_t)(void *)4096))
            return 3;
        if (strcmp(argv[1], "group") == 0 && i % 10 == 9)
            ncclGroupEnd();
    }
    printf("{\"calls\": %ld}\n", n);
    return 0;
}
#endif
#endif
