/* Communicators of the double's NCCL. */
#include "tests/gpu_double/nccl_inside.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

NCCL(GetVersion, int *version)
{
    *version = tells_version();
    return ncclSuccess;
}

NCCL(GetUniqueId, ncclUniqueId *id)
{
    int random = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    tells_push("ncclGetUniqueId");
    bool good = random >= 0 && read(random, id->internal, sizeof id->internal) == (ssize_t)sizeof id->internal;
    close(random);
    tells_pop();
    return good ? ncclSuccess : ncclSystemError;
}

/* `waits`: until all have come. */
static ncclResult_t attach(ncclComm_t *out, uint64_t key, uint64_t hash, int n, int rank, bool waits)
{
    if (n <= 0 || rank < 0 || rank >= n)
        return ncclInvalidArgument;
    char name[64];
    snprintf(name, sizeof name, "/gpu_double-%016llx", (unsigned long long)key);
    size_t slots = sizeof(struct region) + (size_t)n * sizeof(struct slot);
    size_t bytes = slots + (size_t)n * (size_t)n * sizeof(struct box);
    int fd = shm_open(name, O_CREAT | O_RDWR, 0600);
    ncclComm_t comm = calloc(1, sizeof *comm);
    if (fd < 0 || !comm || ftruncate(fd, (off_t)bytes))
        return ncclSystemError;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return ncclSystemError;
    comm->region = memory;
    comm->boxes = (struct box *)(void *)((char *)memory + slots);
    comm->key = key;
    comm->hash = hash;
    tells_init(&comm->tells, hash, n, rank);
    comm->rank = rank;
    comm->n = n;
    comm->blocking = true;
    *out = comm;
    if (atomic_fetch_add(&comm->region->attached, 1) + 1 == n)
        shm_unlink(name);
    while (waits && atomic_load(&comm->region->attached) < n)
        fgpu_nccl_pause();
    return ncclSuccess;
}

static uint64_t key_of(const ncclUniqueId *id)
{
    uint64_t key;
    memcpy(&key, id->internal, sizeof key);
    return key;
}

static ncclResult_t make(const char *name, ncclComm_t *comm, const ncclUniqueId *id, int n, int rank, bool waits)
{
    uint64_t hash = tells_hash(id->internal, sizeof id->internal);
    int version = tells_version();
    version < 22500 ? tells_push_comm(name, hash, n, rank) : tells_push(name);
    ncclResult_t result = attach(comm, key_of(id), hash, n, rank, waits);
    if (result == ncclSuccess)
        (*comm)->magic = key_of(id);
    tells_pop_made(name, hash, 0, n, rank);
    return result;
}
NCCL(CommInitRank, ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
    return make("ncclCommInitRank", comm, &id, n, rank, fgpu_nccl_depth() == 0);
}
static void *all_come(void *of)
{
    ncclComm_t comm = of;
    while (atomic_load(&comm->region->attached) < comm->n)
        fgpu_nccl_pause();
    atomic_fetch_sub(&comm->busy, 1);
    return NULL;
}
NCCL(CommInitRankConfig, ncclComm_t *comm, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    bool blocking = !config || config->blocking != 0;
    if (config && config->magic != 0xcafebeef)
        return ncclInvalidArgument;
    ncclResult_t result = make("ncclCommInitRankConfig", comm, &id, n, rank, fgpu_nccl_depth() == 0 && blocking);
    if (result || blocking)
        return result;
    (*comm)->blocking = false;
    return fgpu_nccl_later(*comm, all_come, *comm);
}
NCCL(CommInitRankScalable, ncclComm_t *comm, int n, int rank, int ids, ncclUniqueId *id, ncclConfig_t *config)
{
    (void)config;
    return ids > 0 ? make("ncclCommInitRankScalable", comm, id, n, rank, fgpu_nccl_depth() == 0) : ncclInvalidArgument;
}
NCCL(CommInitAll, ncclComm_t *comm, int devices, const int *list)
{
    (void)list;
    ncclUniqueId id;
    ncclResult_t result = ncclGetUniqueId(&id);
    for (int i = 0; i < devices && result == ncclSuccess; i++)
        result = attach(&comm[i], key_of(&id), tells_hash(id.internal, sizeof id.internal), devices, i, false);
    return result;
}

NCCL(CommSplit, ncclComm_t comm, int color, int key, ncclComm_t *made, ncclConfig_t *config)
{
    (void)config;
    struct slot *slot = comm->region->slot;
    slot[comm->rank].color = color;
    slot[comm->rank].key = key;
    *made = NULL;
    if (!fgpu_nccl_meet(comm, true))
        return ncclSystemError;
    int n = 0, rank = 0;
    for (int r = 0; r < comm->n; r++) {
        n += slot[r].color == color;
        rank += slot[r].color == color && (slot[r].key < key || (slot[r].key == key && r < comm->rank));
    }
    uint64_t name = (comm->key + (uint64_t)++comm->splits * 1000003 + (uint64_t)color) * 0x9e3779b97f4a7c15u;
    if (!fgpu_nccl_meet(comm, true))
        return ncclSystemError;
    if (color == NCCL_SPLIT_NOCOLOR)
        return ncclSuccess;
    uint64_t hash = tells_child_hash(comm->hash, comm->splits, color);
    tells_push("ncclCommSplit");
    ncclResult_t result = attach(made, name, hash, n, rank, true);
    if (result == ncclSuccess)
        (*made)->magic = hash;
    tells_pop_made("ncclCommSplit", hash, comm->hash, n, rank);
    return result;
}

/* Called by the ranks that stay. */
NCCL(CommShrink, ncclComm_t comm, int *exclude, int count, ncclComm_t *made, ncclConfig_t *config, int flags)
{
    (void)config, (void)flags;
    int rank = comm->rank, n = comm->n - count;
    for (int i = 0; i < count; i++) {
        if (exclude[i] == comm->rank)
            return ncclInvalidArgument;
        rank -= exclude[i] < comm->rank;
    }
    uint64_t name = (comm->key + (uint64_t)++comm->splits * 1000003 + 7) * 0x9e3779b97f4a7c15u;
    uint64_t hash = tells_child_hash(comm->hash, comm->splits, 0);
    tells_push("ncclCommShrink");
    ncclResult_t result = attach(made, name, hash, n, rank, true);
    tells_pop_made("ncclCommShrink", hash, comm->hash, n, rank);
    return result;
}

NCCL(CommGetUniqueId, ncclComm_t comm, ncclUniqueId *id)
{
    uint64_t magic = tells_combined_hash(comm->magic, (uint64_t)comm->splits + 1);
    memset(id, 0, sizeof *id);
    memcpy(id->internal, &magic, sizeof magic);
    return ncclSuccess;
}

/* Members of the old one keep their ranks and pass -1; one old member, and the new ones, have the id. */
NCCL(CommGrow, ncclComm_t comm, int n, const ncclUniqueId *id, int rank, ncclComm_t *made, ncclConfig_t *config)
{
    (void)config;
    if ((comm != NULL) != (rank == -1) || (!comm && !id))
        return ncclInvalidArgument;
    uint64_t magic = comm ? tells_combined_hash(comm->magic, (uint64_t)++comm->splits) : key_of(id);
    uint64_t hash = tells_combined_hash(magic, (uint64_t)n);
    int me = comm ? comm->rank : rank;
    tells_push("ncclCommGrow");
    ncclResult_t result = attach(made, hash, hash, n, me, true);
    if (result == ncclSuccess)
        (*made)->magic = magic;
    tells_pop_made("ncclCommGrow", hash, comm ? comm->hash : 0, n, me);
    return result;
}

NCCL(CommFinalize, ncclComm_t comm)
{
    return comm ? ncclSuccess : ncclInvalidArgument;
}
NCCL(CommDestroy, ncclComm_t comm)
{
    if (comm) {
        tells_push_comm("ncclCommDestroy", comm->hash, comm->n, comm->rank);
        tells_finalize(&comm->tells);
        tells_pop();
    }
    return comm ? ncclSuccess : ncclInvalidArgument; /* the memory stays: a stream may still be in it */
}
NCCL(CommAbort, ncclComm_t comm)
{
    atomic_store(&comm->aborted, true);
    return ncclSuccess;
}
NCCL(CommCount, const ncclComm_t comm, int *count)
{
    *count = comm->n;
    return ncclSuccess;
}
NCCL(CommUserRank, const ncclComm_t comm, int *rank)
{
    *rank = comm->rank;
    return ncclSuccess;
}
NCCL(CommCuDevice, const ncclComm_t comm, int *device)
{
    (void)comm;
    *device = 0;
    return ncclSuccess;
}
NCCL(CommGetAsyncError, ncclComm_t comm, ncclResult_t *error)
{
    *error = atomic_load(&comm->error);
    if (*error == ncclSuccess && atomic_load(&comm->busy))
        *error = ncclInProgress;
    return ncclSuccess;
}
NCCL(CommRegister, const ncclComm_t comm, void *buffer, size_t bytes, void **handle)
{
    (void)comm, (void)bytes;
    *handle = buffer;
    return ncclSuccess;
}
NCCL(CommDeregister, const ncclComm_t comm, void *handle)
{
    (void)comm, (void)handle;
    return ncclSuccess;
}
NCCL(MemAlloc, void **pointer, size_t bytes)
{
    return cudaMalloc(pointer, bytes) ? ncclUnhandledCudaError : ncclSuccess;
}
NCCL(MemFree, void *pointer)
{
    return cudaFree(pointer) ? ncclUnhandledCudaError : ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "no error" : "an error of the double";
}
const char *ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return "";
}
