/* Programs that die, leave, or are ended from outside. */
#include "field.h"
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static volatile int zero;
static int *volatile nothing;

__attribute__((noinline)) static void update_cell(int *cell)
{
    *cell = 7;
}

__attribute__((noinline)) static double descend(double x, int depth)
{
    volatile double here[512];
    here[depth % 512] = x;
    return descend(x + 1, depth + 1) + here[depth % 512];
}

/* A deadlock of ranks 0 and 1, and everybody else behind it; seen after the batch system. */
static void deadlock(void)
{
    int x = 0;
    warm(20);
    if (rank < 2)
        MPI_Recv(&x, 1, MPI_INT, 1 - rank, 4, WORLD, NO_STATUS);
    warm(20);
}

static void segv(void)
{
    warm(20);
    if (rank == 2)
        update_cell(nothing);
    warm(2000);
}

static void assertion(void)
{
    warm(20);
    assert(rank != 1 || zero);
    warm(2000);
}

static void overflow(void)
{
    warm(20);
    if (rank == 3)
        printf("%f\n", descend(0, 0));
    warm(2000);
}

static void divide(void)
{
    warm(20);
    if (rank == 0)
        zero = size / zero; /* not rank, which is known to be 0 here */
    warm(2000);
}

static void bus(void)
{
    warm(20);
    if (rank == 2) {
        int fd = open("short", O_CREAT | O_RDWR, 0600);
        char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        page[5000] = 1;
    }
    warm(2000);
}

static void killed(void)
{
    warm(20);
    if (rank == 1)
        kill(getpid(), SIGKILL);
    warm(2000);
}

static void alarmed(void)
{
    warm(20);
    if (rank == 1) {
        alarm(1);
        work(100);
    }
    warm(2000);
}

static void cpu_limit(void)
{
    warm(20);
    struct rlimit limit = {1, 2};
    if (rank == 2) {
        setrlimit(RLIMIT_CPU, &limit);
        work(100);
    }
    warm(2000);
}

/* Out of memory, with the check that good programs make. */
static void oom_checked(void)
{
    warm(20);
    struct rlimit limit = {3ul << 30, 3ul << 30};
    setrlimit(RLIMIT_AS, &limit);
    for (size_t n = 1 << 20; rank == 2; n *= 2) {
        void *more = malloc(n);
        if (!more) {
            fprintf(stderr, "rank %d: out of memory\n", rank);
            MPI_Abort(WORLD, 3);
        }
    }
    warm(2000);
}

static void oom_unchecked(void)
{
    warm(20);
    struct rlimit limit = {3ul << 30, 3ul << 30};
    setrlimit(RLIMIT_AS, &limit);
    for (size_t n = 1 << 20; rank == 1; n *= 2)
        *(volatile char *)malloc(n) = 1;
    warm(2000);
}

static void by_exit(void)
{
    warm(20);
    if (rank == 2)
        exit(1);
    warm(2000);
}

static void by_exit0(void)
{
    warm(20);
    if (rank == 1)
        exit(0);
    warm(2000);
}

static void by__exit(void)
{
    warm(20);
    if (rank == 3)
        _exit(4);
    warm(2000);
}

static void by_quick_exit(void)
{
    warm(20);
    if (rank == 2)
        quick_exit(3);
    warm(2000);
}

static void by_abort_call(void)
{
    warm(20);
    if (rank == 1)
        MPI_Abort(WORLD, 5);
    warm(2000);
}

static void by_error(void)
{
    int x = 0;
    warm(20);
    if (rank == 2)
        MPI_Send(&x, 1, MPI_INT, size + 3, 1, WORLD);
    warm(2000);
}

static void truncated(void)
{
    int x[100] = {0};
    warm(20);
    if (rank == 0)
        MPI_Send(x, 100, MPI_INT, 1, 1, WORLD);
    if (rank == 1)
        MPI_Recv(x, 10, MPI_INT, 0, 1, WORLD, NO_STATUS);
    warm(2000);
}

/* All leave by exit() in the middle of everything: a licence that ran out. */
static void all_exit(void)
{
    warm(20);
    exit(0);
}

/* A thread dies of a bad pointer while its rank waits in MPI. */
static void *bad_thread(void *unused)
{
    nap(1);
    update_cell(nothing);
    return unused;
}

static void segv_thread(void)
{
    pthread_t t;
    warm(20);
    if (rank == 1)
        pthread_create(&t, NULL, bad_thread, NULL);
    warm(2000);
}

/* Is ended from outside while it is well. */
static void well(void)
{
    warm(100000);
}

/* The same, where one rank computes for long when it is ended. */
static void well_uneven(void)
{
    warm(100);
    if (rank == 1)
        work(600);
    MPI_Barrier(WORLD);
}

FIELD_PROGRAMS({"deadlock", deadlock, 0}, {"segv", segv, 0}, {"assertion", assertion, 0}, {"overflow", overflow, 0},
               {"divide", divide, 0}, {"bus", bus, 0}, {"killed", killed, 0}, {"alarmed", alarmed, 0},
               {"cpu_limit", cpu_limit, 0}, {"oom_checked", oom_checked, 0}, {"oom_unchecked", oom_unchecked, 0},
               {"exit", by_exit, 0}, {"exit0", by_exit0, 0}, {"_exit", by__exit, 0}, {"quick_exit", by_quick_exit, 0},
               {"abort_call", by_abort_call, 0}, {"error", by_error, 0}, {"truncated", truncated, 0},
               {"all_exit", all_exit, 0}, {"segv_thread", segv_thread, MPI_THREAD_MULTIPLE}, {"well", well, 0},
               {"well_uneven", well_uneven, 0})
