/* profiler: a program that profiles itself with CUPTI for a while, as torch.profiler does: it registers callbacks of
 * its own in the midst of a run.  It fails unless it gets back the buffers that it gave and no others, with the records
 * of exactly the all-reduces it made meanwhile, and times of the clock that CUPTI has when nobody registers one. With
 * the argument `first` it does so before anything else, and with `dlsym` it looks CUPTI's functions up.  Truth: BEFORE
 * + MEANWHILE ncclAllReduce of 64 B. */
#include "truth.h"
#include <cupti.h>
#include <dlfcn.h>
#include <mpi.h>
#include <nccl.h>
#include <stdbool.h>
#include <time.h>

#define BEFORE    7
#define MEANWHILE 5
#define SIZE      65536

static uint8_t *given[64];
static int gave, kernels, foreign;
static uint64_t early = UINT64_MAX;

static void requested(uint8_t **buffer, size_t *size, size_t *records)
{
    *buffer = given[gave++ % 64] = aligned_alloc(8, SIZE);
    *size = SIZE;
    *records = 0;
}

static void completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    (void)context, (void)stream, (void)size;
    int mine = 0;
    for (int i = 0; i < 64; i++)
        mine |= given[i] == buffer;
    foreign += !mine;
    CUpti_Activity *record = NULL;
    while (mine && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        uint64_t start;
        memcpy(&start, (const char *)record + 16, sizeof start); /* CUpti_ActivityKernel4 .. 10 */
        early = start < early ? start : early;
        kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    }
}

static uint64_t realtime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static CUptiResult (*take)(CUpti_BuffersCallbackRequestFunc,
                           CUpti_BuffersCallbackCompleteFunc) = cuptiActivityRegisterCallbacks;

static int begin(void)
{
    return take(requested, completed) || cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

static void answer(int n)
{
    truth_frame(n);
    for (int r = 0; r < n; r++)
        truth_call(r, "MPI_Bcast", 1, r == 0 ? 128 : 0, r == 0 ? 0 : 128);
    truth_each(n, "ncclCommInitRank", 1, 0, 0);
    truth_each(n, "ncclCommDestroy", 1, 0, 0);
    truth_each(n, "ncclAllReduce", BEFORE + MEANWHILE, (BEFORE + MEANWHILE) * 64, (BEFORE + MEANWHILE) * 64);
}

int main(int argc, char **argv)
{
    int me, n, bad = 0;
    bool first = argc > 1 && strcmp(argv[1], "first") == 0;
    if (argc > 1 && strcmp(argv[1], "dlsym") == 0) {
        void *library = dlopen("libcupti.so.13", RTLD_NOW);
        void *found = library ? dlsym(library, "cuptiActivityRegisterCallbacks") : NULL;
        memcpy(&take, &found, sizeof found);
    }
    if (!take || (first && begin()))
        return 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ncclUniqueId id;
    ncclComm_t comm;
    cudaStream_t stream;
    float *device;
    cudaSetDevice(0);
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (ncclCommInitRank(&comm, n, id, me) || cudaStreamCreate(&stream) || cudaMalloc((void **)&device, 64))
        return 2;
    for (int i = 0; i < BEFORE; i++)
        ncclAllReduce(device, device, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
    uint64_t from = realtime();
    if (first) {
        cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        bad |= kernels != BEFORE;
        kernels = 0;
        early = UINT64_MAX;
    } else if (begin()) {
        return 3;
    }
    for (int i = 0; i < MEANWHILE; i++)
        ncclAllReduce(device, device, 16, ncclFloat32, ncclSum, comm, stream);
    cudaStreamSynchronize(stream);
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    uint64_t to = realtime();
    ncclCommDestroy(comm);
    if (foreign || kernels != MEANWHILE || early < from || early > to) {
        printf("rank %d: %d kernels of %d, %d buffers of somebody else, the first %s\n", me, kernels, MEANWHILE,
               foreign,
               early < from ? "too early"
               : early > to ? "too late"
                            : "in time");
        bad = 1;
    }
    if (me == 0) {
        answer(n);
        bad |= truth_write(n);
    }
    MPI_Finalize();
    return bad;
}
