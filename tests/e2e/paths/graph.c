/* A random walk through a graph of functions whose frames differ: none, small, large, sized at run time.  Every leaf
 * asks libunwind for its callers, prints their return addresses, and makes one call of MPI.  graph CALLS SEED */
#include <alloca.h>
#include <libunwind.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LEVELS 3
#define NODES  40

#ifdef __aarch64__
#define SHORT_OF 1 /* bytes that libunwind 1.6 takes off a return address there */
#else
#define SHORT_OF 0
#endif

typedef void node(int deep, unsigned *draw);
static node *nodes[NODES];

static unsigned next(unsigned *draw)
{
    return *draw = *draw * 1103515245u + 12345u, *draw >> 8;
}

static __attribute__((noinline)) void leaf(int deep, unsigned *draw)
{
    void *at[LEVELS + 1] = {0};
    int rank, count = unw_backtrace(at, LEVELS + 1);
    printf("callers");
    for (int i = 1; i < count; i++)
        printf(" %p", (char *)at[i] + SHORT_OF);
    printf("\n");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *draw += (unsigned)(rank + deep);
}

static void go_on(int deep, unsigned *draw)
{
    if (deep > 0)
        nodes[next(draw) % NODES](deep - 1, draw);
    else
        leaf(deep, draw);
}

#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")
#define PLAIN(n, size)                                                                                                 \
    static __attribute__((noinline)) void f##n(int deep, unsigned *draw)                                               \
    {                                                                                                                  \
        volatile char room[size];                                                                                      \
        room[0] = (char)deep;                                                                                          \
        go_on(deep, draw);                                                                                             \
        KEEP(room);                                                                                                    \
    }
#define SIZED(n)                                                                                                       \
    static __attribute__((noinline)) void f##n(int deep, unsigned *draw)                                               \
    {                                                                                                                  \
        size_t size = next(draw) % 3000 + 1;                                                                           \
        volatile char *room = alloca(size);                                                                            \
        room[size - 1] = 1;                                                                                            \
        go_on(deep, draw);                                                                                             \
        KEEP(room);                                                                                                    \
    }
#define FOUR(a, b, c, d, size)                                                                                         \
    PLAIN(a, size)                                                                                                     \
    PLAIN(b, size + 8)                                                                                                 \
    PLAIN(c, size * 3)                                                                                                 \
    SIZED(d)
FOUR(0, 1, 2, 3, 1)
FOUR(4, 5, 6, 7, 24)
FOUR(8, 9, 10, 11, 100)
FOUR(12, 13, 14, 15, 1000)
FOUR(16, 17, 18, 19, 5000)
FOUR(20, 21, 22, 23, 2)
FOUR(24, 25, 26, 27, 40)
FOUR(28, 29, 30, 31, 200)
FOUR(32, 33, 34, 35, 400)
FOUR(36, 37, 38, 39, 70000)
static node *nodes[NODES] = {f0,  f1,  f2,  f3,  f4,  f5,  f6,  f7,  f8,  f9,  f10, f11, f12, f13,
                             f14, f15, f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27,
                             f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38, f39};

static int calls;

static void *walk(void *draw)
{
    for (int i = 0; i < calls; i++)
        go_on((int)(next(draw) % 5), draw);
    return NULL;
}

static int compare(const void *a, const void *b) /* a callback of libc */
{
    unsigned draw = (unsigned)(*(const int *)a * 7 + *(const int *)b);
    go_on(1, &draw);
    return *(const int *)a - *(const int *)b;
}

int main(int argc, char **argv)
{
    int level, numbers[] = {3, 1, 2};
    unsigned draw = argc > 2 ? (unsigned)atoi(argv[2]) : 1, other = draw + 1;
    calls = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    walk(&draw);
    qsort(numbers, 3, sizeof *numbers, compare);
    pthread_t thread;
    pthread_create(&thread, NULL, walk, &other);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
