/* hang MODE: programs on NCCL that hang, one for each way.  Every rank goes through four ncclAllReduce of 1024 floats
 * on a communicator of all ranks; each mode has its consequence beside it.  "odd" is rank 1. Truth: see the table in
 * tests/e2e/nccl_hangs.py. */
#include <mpi.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ODD 1
#define N   1024

static int me, n;
static ncclComm_t comm, other;
static cudaStream_t stream, second;
static float *a, *b;

static void forever(void *unused)
{
    (void)unused;
    for (;;)
        pause();
}

static void all_reduce(ncclComm_t on, cudaStream_t at)
{
    if (ncclAllReduce(a, b, N, ncclFloat32, ncclSum, on, at))
        printf("an error\n");
}

static void make(ncclComm_t *out)
{
    ncclUniqueId id;
    if (me == 0)
        ncclGetUniqueId(&id);
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (ncclCommInitRank(out, n, id, me))
        exit(2);
}

/* The odd one computes, or so it says. */
static void missing(void)
{
    if (me == ODD)
        forever(NULL);
    all_reduce(comm, stream);
}
static void in_mpi(void)
{
    int got;
    if (me == ODD)
        MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    all_reduce(comm, stream);
}
/* The odd one is in NCCL, the others in MPI. */
static void barrier(void)
{
    if (me != ODD)
        MPI_Barrier(MPI_COMM_WORLD);
    all_reduce(comm, stream);
}
static void operation(void)
{
    if (me == ODD)
        ncclAllGather(a, b, N, ncclFloat32, comm, stream);
    else
        all_reduce(comm, stream);
}
static void count(void)
{
    ncclAllReduce(a, b, me == ODD ? N / 2 : N, ncclFloat32, ncclSum, comm, stream);
}
static void type(void)
{
    ncclAllReduce(a, b, N, me == ODD ? ncclInt32 : ncclFloat32, ncclSum, comm, stream);
}
static void root(void)
{
    ncclBroadcast(a, b, N, ncclFloat32, me == ODD ? 1 : 0, comm, stream);
}
/* One stream: the first rank on one communicator is behind on the other. */
static void order(void)
{
    all_reduce(me == ODD ? other : comm, stream);
    all_reduce(me == ODD ? comm : other, stream);
}
/* The host waits in between, so that the second is not called. */
static void order_host(void)
{
    all_reduce(me == ODD ? other : comm, stream);
    cudaStreamSynchronize(stream);
    all_reduce(me == ODD ? comm : other, stream);
}
/* Something else on the odd one's stream never ends. */
static void blocked(void)
{
    if (me == ODD)
        cudaLaunchHostFunc(stream, forever, NULL);
    all_reduce(comm, stream);
}
/* All call, and nothing comes: by a fault of the double (GPU_DOUBLE_FAULT). */
static void plain(void)
{
    all_reduce(comm, stream);
}
/* The same, looked for errors meanwhile, as frameworks do. */
static void watched(void)
{
    ncclResult_t error = ncclSuccess;
    all_reduce(comm, stream);
    while (cudaStreamQuery(stream)) {
        ncclCommGetAsyncError(comm, &error);
        usleep(20000);
    }
}
/* The odd one gives its communicator up, the others go on with it. */
static void gives_up(void)
{
    if (me != ODD) {
        all_reduce(comm, stream);
        return;
    }
    ncclCommAbort(comm);
    forever(NULL);
}
/* Rank 0 waits for a message that the odd one does not send. */
static void message(void)
{
    if (me == 0)
        ncclRecv(b, N, ncclFloat32, ODD, comm, stream);
}
static void init(void)
{
    if (me == ODD)
        forever(NULL);
    make(&other);
}

static const struct {
    const char *name;
    void (*run)(void);
} modes[] = {{"missing", missing},       {"in_mpi", in_mpi},   {"barrier", barrier}, {"operation", operation},
             {"count", count},           {"type", type},       {"root", root},       {"order", order},
             {"order_host", order_host}, {"blocked", blocked}, {"plain", plain},     {"watched", watched},
             {"gives_up", gives_up},     {"message", message}};

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    cudaSetDevice(0);
    make(&comm);
    if (strncmp(mode, "order", 5) == 0)
        make(&other);
    if (cudaStreamCreate(&stream) || cudaStreamCreate(&second) || cudaMalloc((void **)&a, N * sizeof *a * (size_t)n) ||
        cudaMalloc((void **)&b, N * sizeof *b * (size_t)n))
        return 2;
    for (int i = 0; i < 4; i++) {
        all_reduce(comm, stream);
        cudaStreamSynchronize(stream);
    }
    if (strcmp(mode, "init") == 0)
        init();
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, mode) == 0)
            modes[i].run();
    cudaStreamSynchronize(stream);
    MPI_Barrier(MPI_COMM_WORLD);
    ncclCommDestroy(comm);
    MPI_Finalize();
    return 0;
}
