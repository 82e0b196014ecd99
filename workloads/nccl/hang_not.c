/* hang_not MODE SECONDS: healthy programs on NCCL that could be taken for hung.
 *   long    kernels of 0.7 s between ncclAllReduce calls
 *   behind  kernels of 4 s on all ranks at once
 *   late    one rank comes 0.7 s late each time, a different one in turn
 *   deep    200 operations at a time on the stream, then one wait; with messages around the ring in groups
 *   streams two communicators on two streams, in opposite order on odd ranks: allowed, since streams are independent
 *   graph   the collective is captured once and then launched as a graph
 *   unblock a communicator that does not block
 *   reset   cudaDeviceReset, and everything anew, each time */
#include <mpi.h>
#include <nccl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N 1024

static int me, n;
static ncclComm_t comm, other;
static cudaStream_t stream, second;
static float *a, *b;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}
static void kernel(void *ms)
{
    pause_ms((long)(size_t)ms);
}
static int all_reduce(ncclComm_t on, cudaStream_t at)
{
    return ncclAllReduce(a, b, N, ncclFloat32, ncclSum, on, at) != ncclSuccess;
}

static int long_kernels(int round)
{
    (void)round;
    int bad = cudaLaunchHostFunc(stream, kernel, (void *)700) || all_reduce(comm, stream);
    return bad || cudaStreamSynchronize(stream);
}
static int behind(int round)
{
    (void)round;
    int bad = cudaLaunchHostFunc(stream, kernel, (void *)4000) || all_reduce(comm, stream);
    return bad || cudaStreamSynchronize(stream);
}
static int late(int round)
{
    if (round % n == me)
        pause_ms(700);
    return all_reduce(comm, stream) || cudaStreamSynchronize(stream);
}
static int deep(int round)
{
    int bad = 0;
    (void)round;
    for (int i = 0; i < 200; i++)
        bad |= all_reduce(comm, stream);
    for (int i = 0; i < 20; i++) {
        ncclGroupStart();
        bad |= ncclSend(a, N, ncclFloat32, (me + 1) % n, comm, stream);
        bad |= ncclRecv(b, N, ncclFloat32, (me + n - 1) % n, comm, stream);
        bad |= ncclGroupEnd();
    }
    return bad || cudaStreamSynchronize(stream);
}
static int streams(int round)
{
    (void)round;
    int bad = me % 2 ? all_reduce(other, second) || all_reduce(comm, stream)
                     : all_reduce(comm, stream) || all_reduce(other, second);
    pause_ms(5);
    return bad || cudaStreamSynchronize(stream) || cudaStreamSynchronize(second);
}
static int graph(int round)
{
    static cudaGraphExec_t exec;
    if (round == 0) {
        cudaGraph_t captured;
        if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) || all_reduce(comm, stream))
            return 1;
        pause_ms(100); /* asking for events meanwhile would spoil the capture */
        if (cudaStreamEndCapture(stream, &captured) || cudaGraphInstantiate(&exec, captured, 0))
            return 1;
    }
    return all_reduce(comm, stream) || cudaGraphLaunch(exec, stream) || cudaStreamSynchronize(stream);
}
static int unblock(int round)
{
    ncclResult_t state;
    (void)round;
    ncclResult_t result = ncclAllReduce(a, b, N, ncclFloat32, ncclSum, other, stream);
    if (result != ncclInProgress && result != ncclSuccess)
        return 1;
    while (ncclCommGetAsyncError(other, &state) == ncclSuccess && state == ncclInProgress)
        usleep(1000);
    return state || cudaStreamSynchronize(stream);
}

static int make(ncclComm_t *out, int blocking)
{
    ncclUniqueId id;
    ncclResult_t state = ncclSuccess;
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = blocking;
    ncclResult_t result = ncclCommInitRankConfig(out, n, id, me, &config);
    while (result == ncclInProgress && ncclCommGetAsyncError(*out, &state) == ncclSuccess && state == ncclInProgress)
        usleep(1000);
    return (result && result != ncclInProgress) || state;
}

static int make_all(int blocking)
{
    return cudaSetDevice(0) || make(&comm, 1) || make(&other, blocking) || cudaStreamCreate(&stream) ||
           cudaStreamCreate(&second) || cudaMalloc((void **)&a, N * sizeof *a) ||
           cudaMalloc((void **)&b, N * sizeof *b);
}

static int reset(int round)
{
    /* More operations first than a watcher may keep, so that after the reset none is new. */
    for (int i = 0; i < (round ? 1 : 600); i++)
        if (all_reduce(comm, stream) || all_reduce(other, stream) || cudaStreamSynchronize(stream))
            return 1;
    pause_ms(round % 2 ? 0 : 60); /* time enough to see that they are complete, or not */
    ncclCommDestroy(other);
    ncclCommDestroy(comm);
    cudaFree(a);
    cudaFree(b);
    return cudaDeviceReset() || make_all(1);
}

static const struct {
    const char *name;
    int (*run)(int round);
} modes[] = {{"long", long_kernels}, {"late", late},       {"deep", deep},   {"streams", streams},
             {"graph", graph},       {"unblock", unblock}, {"reset", reset}, {"behind", behind}};

int main(int argc, char **argv)
{
    int bad = 0, mode = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; argc > 2 && i < (int)(sizeof modes / sizeof *modes); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            mode = i;
    if (mode < 0 || make_all(strcmp(argv[1], "unblock") != 0))
        return 2;
    double end = MPI_Wtime() + atof(argv[2]);
    for (int round = 0, more = 1; more && !bad; round++) {
        bad = modes[mode].run(round);
        more = MPI_Wtime() < end;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ncclCommDestroy(other);
    ncclCommDestroy(comm);
    MPI_Finalize();
    return bad;
}
