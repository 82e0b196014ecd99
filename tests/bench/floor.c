/* The floor of what recording a call can cost: two clock reads and one 32-byte store into a mapped file, nothing else.
 * With JUST_CLOCK: two clock reads alone.
 * A shim to preload, for `make bench` only: it knows the calls of selfcall and pingpong and one MPI.  The file is
 * floor-<pid>.bin in the folder that FLOOR_DIR names (default: the working folder); it is removed at once. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined __x86_64__
#include <x86intrin.h>
#define CLOCK() __rdtsc()
#else
#include <time.h>
static uint64_t CLOCK(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif

#define STEP ((size_t)16 << 20)

struct record {
    uint64_t begin, end;
    uint32_t call, peer;
    uint64_t bytes;
};

static struct record *next, *stop;
static int file = -1;
static size_t size;

/* Maps the next 16 MiB.  A benchmark may give up where a tracer must not. */
static void grow(void)
{
    if (file < 0) {
        char path[4096];
        const char *folder = getenv("FLOOR_DIR");
        snprintf(path, sizeof path, "%s/floor-%d.bin", folder ? folder : ".", (int)getpid());
        file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        unlink(path);
    }
    if (file < 0 || ftruncate(file, (off_t)(size + STEP)) != 0)
        abort();
    if (size > 0)
        munmap((char *)stop - STEP, STEP);
    void *map = mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)size);
    if (map == MAP_FAILED)
        abort();
    next = map;
    stop = next + STEP / sizeof *next;
    size += STEP;
}

static inline void archive(uint64_t begin, uint32_t call, int peer, uint64_t bytes)
{
#ifdef JUST_CLOCK
    static volatile uint64_t last;
    last = CLOCK() - begin;
    return;
#endif
    if (next == stop)
        grow();
    *next++ = (struct record){begin, CLOCK(), call, (uint32_t)peer, bytes};
}

static inline uint64_t volume(int count, MPI_Datatype type)
{
    int one;
    PMPI_Type_size(type, &one);
    return (uint64_t)count * (uint64_t)one;
}

#define SHIM(id, name, types, names, peer, bytes)                                                                      \
    int MPI_##name types                                                                                               \
    {                                                                                                                  \
        uint64_t begin = CLOCK();                                                                                      \
        int result = PMPI_##name names;                                                                                \
        archive(begin, id, peer, bytes);                                                                               \
        return result;                                                                                                 \
    }

SHIM(1, Comm_rank, (MPI_Comm c, int *r), (c, r), -1, 0)
SHIM(2, Iprobe, (int s, int t, MPI_Comm c, int *f, MPI_Status *u), (s, t, c, f, u), s, 0)
SHIM(3, Allreduce, (const void *a, void *b, int n, MPI_Datatype d, MPI_Op o, MPI_Comm c), (a, b, n, d, o, c), -1,
     volume(n, d))
SHIM(4, Irecv, (void *b, int n, MPI_Datatype d, int s, int t, MPI_Comm c, MPI_Request *r), (b, n, d, s, t, c, r), s,
     volume(n, d))
SHIM(5, Isend, (const void *b, int n, MPI_Datatype d, int s, int t, MPI_Comm c, MPI_Request *r), (b, n, d, s, t, c, r),
     s, volume(n, d))
SHIM(6, Waitall, (int n, MPI_Request *r, MPI_Status *u), (n, r, u), -1, 0)
SHIM(7, Send, (const void *b, int n, MPI_Datatype d, int s, int t, MPI_Comm c), (b, n, d, s, t, c), s, volume(n, d))
SHIM(8, Recv, (void *b, int n, MPI_Datatype d, int s, int t, MPI_Comm c, MPI_Status *u), (b, n, d, s, t, c, u), s,
     volume(n, d))
