/* Shared parts of the double's NCCL: a communicator, and the memory that its processes share. */
#ifndef GPU_DOUBLE_NCCL_INSIDE_H
#define GPU_DOUBLE_NCCL_INSIDE_H

#include "tests/gpu_double/core.h"
#include "tests/gpu_double/include/nccl.h"
#include "tests/gpu_double/tells.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOT ((size_t)32768) /* bytes that a rank shows the others at a time */
#define BOX  ((size_t)8192)  /* bytes of a message under way */

struct signature { /* arguments that all ranks must agree on */
    uint64_t kind, count, type, root;
};
struct slot {
    atomic_ullong phase, host_phase;
    struct signature said;
    int color, key;
    char data[SLOT];
};
struct box {
    atomic_size_t full; /* bytes in it; 0: empty */
    char data[BOX];
};
struct region {
    atomic_int attached;
    struct slot slot[];
    /* followed by struct box [n * n], of (from, to) */
};
struct ncclComm {
    struct region *region;
    struct box *boxes;
    uint64_t key;
    uint64_t hash;  /* NCCL's name for it */
    uint64_t magic; /* origin, which names the communicators that grow out of it */
    int rank, n, splits;
    struct tells_comm tells;
    unsigned long long phase, host_phase;
    atomic_bool aborted;
    atomic_int error;
    bool blocking;
    atomic_int busy; /* launches and beginnings that a thread of ours still works on */
};
/* Groups that are open on this thread. */
int fgpu_nccl_depth(void);
void fgpu_nccl_pause(void);
/* Waits until all ranks have come; false: aborted. */
bool fgpu_nccl_meet(ncclComm_t comm, bool host);
/* Goes on by a thread of ours, which takes one from comm->busy at its end. */
ncclResult_t fgpu_nccl_later(ncclComm_t comm, void *(*what)(void *), void *of);

/* Calls: pncclX is the function, ncclX a weak name for it, as in the real library. */
#define NCCL(name, ...)                                                                                                \
    ncclResult_t pnccl##name(__VA_ARGS__);                                                                             \
    ncclResult_t nccl##name(__VA_ARGS__) __attribute__((weak, alias("pnccl" #name)));                                  \
    ncclResult_t pnccl##name(__VA_ARGS__)

#endif
