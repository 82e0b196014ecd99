/* libnccl of the double: what a program sees of NCCL, without a GPU.  Calls return when the work is on the stream; the
 * stream's thread moves the data, through memory that the processes of a communicator share.  A collective that a rank
 * does not enter, or enters with other arguments, never ends, as on a GPU. */
#include "tests/gpu_double/nccl_inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum kind { ALLREDUCE, BROADCAST, REDUCE, ALLGATHER, REDUCE_SCATTER, ALLTOALL, GATHER, SCATTER, SEND, RECV };

/* A collective is: givers, takers, whether a taker gets all data of a giver or its own n-th part, and whether data are
 * reduced into one or laid side by side. */
static const struct {
    bool root_gives, root_takes, in_parts, reduces;
} shape[] = {[ALLREDUCE] = {false, false, false, true}, [BROADCAST] = {true, false, false, false},
             [REDUCE] = {false, true, false, true},     [ALLGATHER] = {false, false, false, false},
             [ALLTOALL] = {false, false, true, false},  [REDUCE_SCATTER] = {false, false, true, true},
             [GATHER] = {false, true, false, false},    [SCATTER] = {true, false, true, false}};

struct task {
    enum kind kind;
    const char *send;
    char *receive;
    size_t count, done;
    int type, op, root; /* root, or the peer */
    ncclComm_t comm;
    cudaStream_t stream;
    bool blocked; /* broken by a fault: never gives anything */
    long delay_ms;
    struct tells_op tells;
    struct task *next;
};

static _Thread_local int depth;
int fgpu_nccl_depth(void)
{
    return depth;
}
static _Thread_local struct task *pending, **pending_end;

static size_t size_of(int type)
{
    static const size_t size[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && (size_t)type < sizeof size / sizeof *size ? size[type] : 0;
}

void fgpu_nccl_pause(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

bool fgpu_nccl_meet(ncclComm_t comm, bool host)
{
    unsigned long long mine = host ? ++comm->host_phase : ++comm->phase;
    struct slot *slot = comm->region->slot;
    atomic_store(host ? &slot[comm->rank].host_phase : &slot[comm->rank].phase, mine);
    for (int r = 0; r < comm->n; r++)
        while (atomic_load(host ? &slot[r].host_phase : &slot[r].phase) < mine) {
            if (atomic_load(&comm->aborted))
                return false;
            fgpu_nccl_pause();
        }
    return true;
}

/* ---- reductions */

#define COMBINE(type)                                                                                                  \
    for (size_t i = 0; i < bytes / sizeof(type); i++) {                                                                \
        type a, b;                                                                                                     \
        memcpy(&a, to + i * sizeof a, sizeof a);                                                                       \
        memcpy(&b, from + i * sizeof b, sizeof b);                                                                     \
        a = op == ncclProd  ? (type)(a * b)                                                                            \
            : op == ncclMax ? (a > b ? a : b)                                                                          \
            : op == ncclMin ? (a < b ? a : b)                                                                          \
                            : (type)(a + b);                                                                           \
        memcpy(to + i * sizeof a, &a, sizeof a);                                                                       \
    }
static void combine(char *to, const char *from, size_t bytes, int type, int op)
{
    switch (type) {
    case ncclInt8:
        COMBINE(int8_t) break;
    case ncclUint8:
        COMBINE(uint8_t) break;
    case ncclInt32:
        COMBINE(int32_t) break;
    case ncclUint32:
        COMBINE(uint32_t) break;
    case ncclInt64:
        COMBINE(int64_t) break;
    case ncclUint64:
        COMBINE(uint64_t) break;
    case ncclFloat32:
        COMBINE(float) break;
    case ncclFloat64:
        COMBINE(double) break;
    default:
        abort(); /* half precision: refused when the task was made */
    }
}

/* ---- work of the stream's thread */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool exchange(const struct task *t)
{
    ncclComm_t comm = t->comm;
    struct slot *slot = comm->region->slot, *mine = &slot[comm->rank];
    const size_t block = t->count * size_of(t->type), given = shape[t->kind].in_parts ? block * (size_t)comm->n : block;
    const bool gives = !shape[t->kind].root_gives || comm->rank == t->root;
    const bool takes = !shape[t->kind].root_takes || comm->rank == t->root;
    const size_t from =
        shape[t->kind].in_parts ? block * (size_t)comm->rank : 0; /* offset into the data of each giver */
    for (size_t at = 0; at == 0 || at < given; at += SLOT) {
        size_t n = least(SLOT, given - at);
        mine->said = (struct signature){t->kind, t->count, (uint64_t)t->type, (uint64_t)t->root};
        if (gives)
            memcpy(mine->data, t->send + at, n);
        if (!fgpu_nccl_meet(comm, false))
            return false;
        for (int r = 0; r < comm->n; r++)
            if (memcmp(&slot[r].said, &mine->said, sizeof mine->said) != 0)
                while (!atomic_load(&comm->aborted)) /* kernels that do not fit each other */
                    fgpu_nccl_pause();
        bool first = true;
        for (int r = 0; takes && r < comm->n; r++) {
            if (shape[t->kind].root_gives && r != t->root)
                continue;
            size_t begin = at > from ? at : from, end = least(at + n, from + block);
            bool side_by_side = !shape[t->kind].reduces && !shape[t->kind].root_gives;
            char *to = t->receive + (side_by_side ? block * (size_t)r : 0) + begin - from;
            if (begin < end && (first || !shape[t->kind].reduces))
                memcpy(to, slot[r].data + begin - at, end - begin);
            else if (begin < end)
                combine(to, slot[r].data + begin - at, end - begin, t->type, t->op);
            first = false;
        }
        if (!fgpu_nccl_meet(comm, false))
            return false;
    }
    return true;
}

/* One step of a message; true: it is through. */
static bool step(struct task *t)
{
    ncclComm_t comm = t->comm;
    int from = t->kind == SEND ? comm->rank : t->root, to = t->kind == SEND ? t->root : comm->rank;
    struct box *box = &comm->boxes[from * comm->n + to];
    size_t bytes = t->count * size_of(t->type), full = atomic_load(&box->full);
    if (t->done < bytes && t->kind == SEND && !full) {
        size_t n = least(BOX, bytes - t->done);
        memcpy(box->data, t->send + t->done, n);
        t->done += n;
        atomic_store(&box->full, n);
    } else if (t->done < bytes && t->kind == RECV && full) {
        memcpy(t->receive + t->done, box->data, least(full, bytes - t->done));
        t->done += full;
        atomic_store(&box->full, 0);
    }
    return t->done >= bytes;
}

/* The kernel of a launch group: its collectives, then its messages all at once. */
static void run(void *launch)
{
    struct task *tasks = launch;
    bool going = true;
    for (struct task *t = tasks; t; t = t->next)
        tells_begun(&t->tells);
    for (struct task *t = tasks; t && going; t = t->next) {
        t->done = 0;
        if (t->delay_ms)
            nanosleep(&(struct timespec){t->delay_ms / 1000, t->delay_ms % 1000 * 1000000}, NULL);
        while (t->blocked && !atomic_load(&t->comm->aborted))
            fgpu_nccl_pause();
        going = t->kind == SEND || t->kind == RECV || exchange(t);
    }
    for (bool open = going; open;) {
        open = false;
        for (struct task *t = tasks; t; t = t->next)
            if (t->kind == SEND || t->kind == RECV)
                open |= !step(t) && !atomic_load(&t->comm->aborted);
        if (open)
            fgpu_nccl_pause();
    }
    for (struct task *t = tasks; t; t = t->next)
        tells_ended(&t->tells);
}

static void drop(void *launch)
{
    for (struct task *t = launch; t;) {
        struct task *next = t->next;
        free(t);
        t = next;
    }
}

/* Kernel names, as the profiler shows them: mangled, and no more than the first operation of the group. */
static const char *kernel_name(enum kind kind)
{
#define ARGS "24ncclDevKernelArgsStorageILm4096EE"
    static const char *const name[] = {
        [ALLREDUCE] = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL" ARGS,
        [BROADCAST] = "_Z31ncclDevKernel_Broadcast_RING_LL" ARGS,
        [REDUCE] = "_Z36ncclDevKernel_Reduce_Sum_f32_RING_LL" ARGS,
        [ALLGATHER] = "_Z31ncclDevKernel_AllGather_RING_LL" ARGS,
        [REDUCE_SCATTER] = "_Z43ncclDevKernel_ReduceScatter_Sum_f32_RING_LL" ARGS,
    };
    return kind <= REDUCE_SCATTER && name[kind] ? name[kind] : "_Z22ncclDevKernel_SendRecv" ARGS;
}

/* Faults on demand (core.h), of the N-th operation of the process (from 0):
 *   error:RANK:N     returns an error          block:RANK:N     begins and never gives anything
 *   async:RANK:N     as block, and ncclCommGetAsyncError says ncclRemoteError      delay:RANK:0:MS  all take that
 * longer */
static bool faulty(const char *kind, long number)
{
    long n, more;
    return fgpu_fault(kind, &n, &more) && n == number;
}

/* ---- calls */

struct kernel {
    ncclComm_t comm;
    cudaStream_t stream;
    fgpu_context context;
    struct task *tasks;
};
static bool put(const struct kernel *k)
{
    for (struct task *t = k->tasks; t; t = t->next)
        tells_launch(&t->tells);
    for (struct task *t = k->tasks; t; t = t->next)
        tells_launched(&t->tells);
    return fgpu_put(
        k->stream,
        (struct fgpu_work){
            .kind = FGPU_KERNEL, .name = kernel_name(k->tasks->kind), .run = run, .user = k->tasks, .drop = drop});
}

/* Launches later, by a thread of ours, where the communicator does not block. */
static void *put_later(void *of)
{
    struct kernel *k = of;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    fgpu_make_current(k->context);
    put(k);
    atomic_fetch_sub(&k->comm->busy, 1);
    free(k);
    return NULL;
}
ncclResult_t fgpu_nccl_later(ncclComm_t comm, void *(*what)(void *), void *of)
{
    pthread_t thread;
    atomic_fetch_add(&comm->busy, 1);
    if (pthread_create(&thread, NULL, what, of))
        return ncclSystemError;
    pthread_detach(thread);
    return ncclInProgress;
}

static ncclResult_t launch(void)
{
    ncclResult_t result = ncclSuccess;
    tells_group_ends();
    while (pending) {
        struct kernel k = {pending->comm, pending->stream, fgpu_current(), NULL};
        struct task **end = &k.tasks, **at = &pending;
        while (*at) {
            struct task *t = *at;
            if (t->comm == k.comm) {
                *at = t->next;
                t->next = NULL;
                *end = t;
                end = &t->next;
            } else {
                at = &t->next;
            }
        }
        struct kernel *copy = k.comm->blocking ? NULL : malloc(sizeof *copy);
        if (copy) {
            *copy = k;
            result = fgpu_nccl_later(k.comm, put_later, copy);
        } else if (!put(&k)) {
            return ncclUnhandledCudaError;
        }
    }
    tells_group_ended();
    return result;
}

static ncclResult_t begin_task(struct task like)
{
    static atomic_long operations;
    long n, more;
    if (!like.comm || !size_of(like.type) || (shape[like.kind % SEND].reduces && size_of(like.type) == 2))
        return ncclInvalidArgument;
    if (like.root < 0 || like.root >= like.comm->n || (shape[like.kind % SEND].reduces && like.op >= ncclAvg))
        return ncclInvalidArgument;
    long number = atomic_fetch_add(&operations, 1);
    if (faulty("error", number))
        return ncclSystemError;
    struct task *t = malloc(sizeof *t);
    if (!t)
        return ncclSystemError;
    *t = like;
    bool fails = faulty("async", number);
    if (fails)
        atomic_store(&like.comm->error, ncclRemoteError);
    t->blocked = fails || faulty("block", number);
    if (fgpu_fault("delay", &n, &more))
        t->delay_ms = more;
    if (!pending)
        pending_end = &pending;
    *pending_end = t;
    pending_end = &t->next;
    t->tells = (struct tells_op){&t->comm->tells, (int)t->kind, t->count,  t->type, t->op, t->root,
                                 t->send,         t->receive,   t->stream, NULL,    NULL,  {NULL, NULL}};
    tells_call(&t->tells, depth);
    tells_called(&t->tells);
    return depth ? ncclSuccess : launch();
}

/* Calls with their NVTX ranges. */
static ncclResult_t enqueue(struct task like)
{
    static const char *const name[] = {"ncclAllReduce",     "ncclBroadcast", "ncclReduce", "ncclAllGather",
                                       "ncclReduceScatter", "ncclAlltoAll",  "ncclGather", "ncclScatter",
                                       "ncclSend",          "ncclRecv"};
    bool plain = like.kind == ALLGATHER || like.kind == ALLTOALL;
    bool reduces = like.kind == ALLREDUCE || like.kind == REDUCE_SCATTER;
    tells_push_data(name[like.kind], like.comm ? like.comm->hash : 0, like.count * size_of(like.type),
                    plain     ? -1
                    : reduces ? like.op
                              : like.root);
    ncclResult_t result = begin_task(like);
    tells_pop();
    return result;
}

NCCL(GroupStart, void)
{
    tells_push("ncclGroupStart");
    depth++;
    tells_pop();
    return ncclSuccess;
}
NCCL(GroupEnd, void)
{
    if (depth == 0)
        return ncclInvalidUsage;
    tells_push("ncclGroupEnd");
    ncclResult_t result = --depth ? ncclSuccess : launch();
    tells_pop();
    return result;
}

#define COLLECTIVE(kind_, op_, root_)                                                                                  \
    enqueue((struct task){.kind = kind_,                                                                               \
                          .send = send,                                                                                \
                          .receive = receive,                                                                          \
                          .count = count,                                                                              \
                          .type = type,                                                                                \
                          .op = op_,                                                                                   \
                          .root = root_,                                                                               \
                          .comm = comm,                                                                                \
                          .stream = stream})
#define DATA const void *send, void *receive, size_t count, int type
#define ON   ncclComm_t comm, cudaStream_t stream
NCCL(AllReduce, DATA, int op, ON)
{
    return COLLECTIVE(ALLREDUCE, op, 0);
}
NCCL(AllReduceConfig, DATA, int op, ON, const void *config) /* configured from 2.31 on, like all others */
{
    (void)config;
    return COLLECTIVE(ALLREDUCE, op, 0);
}
NCCL(Broadcast, DATA, int root, ON)
{
    return COLLECTIVE(BROADCAST, 0, root);
}
NCCL(Bcast, void *buffer, size_t count, int type, int root, ON)
{
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream); /* called by its public name, as NCCL does */
}
NCCL(Reduce, DATA, int op, int root, ON)
{
    return COLLECTIVE(REDUCE, op, root);
}
NCCL(AllGather, DATA, ON)
{
    return COLLECTIVE(ALLGATHER, 0, 0);
}
NCCL(ReduceScatter, DATA, int op, ON)
{
    return COLLECTIVE(REDUCE_SCATTER, op, 0);
}
NCCL(AlltoAll, DATA, ON)
{
    return COLLECTIVE(ALLTOALL, 0, 0);
}
NCCL(Gather, DATA, int root, ON)
{
    return COLLECTIVE(GATHER, 0, root);
}
NCCL(Scatter, DATA, int root, ON)
{
    return COLLECTIVE(SCATTER, 0, root);
}
NCCL(Send, const void *send, size_t count, int type, int peer, ON)
{
    void *receive = NULL;
    return COLLECTIVE(SEND, 0, peer);
}
NCCL(Recv, void *receive, size_t count, int type, int peer, ON)
{
    const void *send = NULL;
    return COLLECTIVE(RECV, 0, peer);
}
