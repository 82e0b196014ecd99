#include "tests/gpu_double/tells.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int tells_version(void)
{
    const char *wanted = getenv("GPU_DOUBLE_NCCL_VERSION");
    return wanted ? atoi(wanted) : 22809;
}

/* ---- hashes: one that is fed pieces of up to 8 bytes from 2.26 on, a byte at a time before */

static void feed(uint64_t state[2], const void *bytes, size_t size)
{
    state[0] ^= size;
    for (const char *at = bytes; size > 0;) {
        size_t n = size < 8 ? size : 8;
        uint64_t piece = 0;
        memcpy(&piece, at, n);
        state[0] += state[1];
        state[1] ^= state[0];
        state[0] = (state[0] ^ state[0] >> 31) * 0x9de62bbc8cef3ce3u;
        state[1] = (state[1] ^ state[1] >> 32) * 0x485cd6311b599e79u;
        state[0] += piece;
        at += n;
        size -= n;
    }
}
static uint64_t result(const uint64_t state[2])
{
    uint64_t hash = (state[0] ^ state[0] >> 31) * 0xbac3bd562846de6bu + state[1];
    return (hash ^ hash >> 32) * 0x995a187a14e7b445u;
}

uint64_t tells_hash(const void *id, size_t size)
{
    if (tells_version() < 22600) {
        uint64_t hash = 5381;
        for (size_t i = 0; i < size; i++)
            hash = hash * 33 ^ (uint64_t)((const signed char *)id)[i];
        return hash;
    }
    uint64_t state[2] = {1, 1};
    feed(state, id, size);
    return result(state);
}

uint64_t tells_combined_hash(uint64_t a, uint64_t b)
{
    uint64_t state[2] = {1, 1};
    feed(state, &a, sizeof a);
    feed(state, &b, sizeof b);
    return result(state);
}

uint64_t tells_child_hash(uint64_t parent, int children, int color)
{
    if (tells_version() < 22600) {
        char text[64];
        int n = snprintf(text, sizeof text, "%016lx-%d", (unsigned long)parent, color);
        return tells_hash(text, (size_t)n);
    }
    uint64_t state[2] = {1, 1};
    feed(state, &parent, sizeof parent);
    feed(state, &children, sizeof children);
    feed(state, &color, sizeof color);
    return result(state);
}

/* ---- the profiler plugin */

enum {
    GROUP = 1,
    COLL = 2,
    P2P = 4,
    KERNEL_CHANNEL = 64,
    GROUP_API = 256,
    COLL_API = 512,
    P2P_API = 1024,
    LAUNCH = 2048
};
static const char *const names[] = {"AllReduce", "Broadcast", "Reduce",  "AllGather", "ReduceScatter",
                                    "AlltoAll",  "Gather",    "Scatter", "Send",      "Recv"};
static const uint8_t numbers[] = {4, 0, 1, 2, 3, 5, 5, 5, 6, 7}; /* of version 1 */
static const char *const types[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                                    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
enum { SEND = 8 };

struct descriptor {
    union {
        uint8_t small;
        uint64_t large;
    } type;
    void *parent;
    int rank;
    union {
        struct {
            const char *name;
            uint64_t hash, sequence;
            uint8_t func;
            const void *send;
            void *receive;
            size_t count;
            int root;
            uint8_t type;
            uint32_t op;
            size_t traffic;
            uint8_t channels, warps, algorithm, protocol;
            int collnet, nvls;
        } coll_1;
        struct {
            const char *name;
            uint64_t hash, sequence;
            const char *func;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *type;
            size_t traffic;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll_2;
        struct {
            const char *name;
            uint64_t hash, sequence;
            const char *func;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *type;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
        } coll_3;
        struct {
            uint64_t sequence;
            const char *func;
            const void *send;
            void *receive;
            size_t count;
            int root;
            const char *type;
            uint8_t channels, warps;
            const char *algorithm, *protocol;
            void *group;
        } coll_4;
        struct {
            const char *name;
            uint64_t hash;
            uint8_t func;
            void *buffer;
            uint8_t type;
            size_t count;
            int peer;
        } p2p_1;
        struct {
            const char *name;
            uint64_t hash;
            const char *func;
            void *buffer;
            const char *type;
            size_t count;
            int peer;
        } p2p_2;
        struct {
            const char *func;
            void *buffer;
            const char *type;
            size_t count;
            int peer;
            uint8_t channels;
            void *group;
        } p2p_4;
        struct {
            bool captured;
            int depth;
        } group_api;
        struct {
            const char *func;
            size_t count;
            const char *type;
            int root;
            void *stream;
            bool captured;
        } coll_api;
        struct {
            const char *func;
            size_t count;
            const char *type;
            void *stream;
            bool captured;
        } p2p_api;
        struct {
            void *stream;
        } launch;
        struct {
            uint8_t channel;
            uint64_t timer;
        } kernel;
    } of;
};

static struct {
    const char *name;
    void (*init)(void); /* init by version, see below */
    int (*start)(void *context, void **handle, const struct descriptor *descriptor);
    int (*stop)(void *handle);
    int (*state)(void *handle, int state, const void *more);
    int (*finalize)(void *context);
} * plugin;
static int version, mask; /* version and events of the plugin */

static void find_plugin(void)
{
    const char *name = getenv("NCCL_PROFILER_PLUGIN");
    int release = tells_version(), newest = release < 22300   ? 0
                                            : release < 22400 ? 1
                                            : release < 22600 ? 2
                                            : release < 22700 ? 3
                                            : release < 22800 ? 4
                                            : release < 22900 ? 5
                                                              : 6;
    name = name ? name : "libnccl-profiler.so";
    void *library = newest ? dlopen(strcasecmp(name, "STATIC_PLUGIN") == 0 ? NULL : name, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (version = newest; library && version > 0 && !plugin; version -= !plugin) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
        plugin = dlsym(library, symbol);
    }
}

static void *init(void *of)
{
    struct tells_comm *comm = of;
    typedef int (*first)(void **, int *);
    typedef int (*fourth)(void **, int *, const char *, uint64_t, int, int, int, void *);
    typedef int (*fifth)(void **, uint64_t, int *, const char *, int, int, int, void *);
    if (version <= 3)
        ((first)plugin->init)(&comm->context, &mask);
    else if (version == 4)
        ((fourth)plugin->init)(&comm->context, &mask, NULL, comm->hash, 1, comm->n, comm->rank, NULL);
    else
        ((fifth)plugin->init)(&comm->context, comm->hash, &mask, NULL, 1, comm->n, comm->rank, NULL);
    return NULL;
}

void tells_init(struct tells_comm *comm, uint64_t hash, int n, int rank)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_t job; /* communicators are made by a thread of NCCL's */
    pthread_once(&once, find_plugin);
    *comm = (struct tells_comm){.hash = hash, .n = n, .rank = rank};
    if (plugin && !pthread_create(&job, NULL, init, comm))
        pthread_join(job, NULL);
}

void tells_finalize(struct tells_comm *comm)
{
    if (plugin && comm->context)
        plugin->finalize(comm->context);
    comm->context = NULL;
}

/* One rank has no kernel, and nothing to tell. */
static void start(const struct tells_op *op, int wanted, void **handle, void *parent, struct descriptor d)
{
    *handle = NULL;
    if (!plugin || !op->comm->context || op->comm->n == 1 || !(mask & wanted))
        return;
    if (version >= 5)
        d.type.large = (uint64_t)(wanted & -wanted);
    else
        d.type.small = (uint8_t)(wanted & -wanted);
    d.parent = parent;
    d.rank = op->comm->rank;
    plugin->start(op->comm->context, handle, &d);
}
static void stop(void **handle)
{
    if (plugin && *handle)
        plugin->stop(*handle);
    *handle = NULL;
}

static _Thread_local void *group; /* API event of the group */

void tells_call(struct tells_op *op, int depth)
{
    struct descriptor d = {0};
    if (version < 5)
        return;
    if (!group) {
        d.of.group_api.depth = depth + 1;
        start(op, GROUP_API | COLL_API | P2P_API | COLL | P2P | KERNEL_CHANNEL, &group, NULL, d);
        if (group)
            plugin->state(group, 23, NULL);
    }
    memset(&d, 0, sizeof d);
    if (op->kind >= SEND) {
        d.of.p2p_api.func = names[op->kind];
        d.of.p2p_api.count = op->count;
        d.of.p2p_api.type = types[op->type];
        d.of.p2p_api.stream = op->stream;
    } else {
        d.of.coll_api.func = names[op->kind];
        d.of.coll_api.count = op->count;
        d.of.coll_api.type = types[op->type];
        d.of.coll_api.root = op->root;
        d.of.coll_api.stream = op->stream;
    }
    /* the lowest bit names the event, any bit turns it on */
    int on = op->kind >= SEND ? P2P_API : COLL_API;
    if (mask & (on | COLL | P2P | KERNEL_CHANNEL))
        start(op, on, &op->api, group, d);
}
void tells_called(struct tells_op *op)
{
    if (op->api)
        plugin->stop(op->api); /* stays the parent of the launched work */
}
void tells_group_ends(void)
{
    if (group)
        plugin->state(group, 24, NULL);
}
void tells_group_ended(void)
{
    stop(&group);
}

static void describe_coll(const struct tells_op *op, struct descriptor *d)
{
    uint64_t sequence = op->comm->sequence[op->kind]++;
    static const uint8_t channels = 2;
#define COMMON(v)                                                                                                      \
    d->of.v.sequence = sequence;                                                                                       \
    d->of.v.send = op->send;                                                                                           \
    d->of.v.receive = op->receive;                                                                                     \
    d->of.v.count = op->count;                                                                                         \
    d->of.v.root = op->root;                                                                                           \
    d->of.v.channels = channels;                                                                                       \
    d->of.v.warps = 16
#define TEXTS(v)                                                                                                       \
    d->of.v.func = names[op->kind];                                                                                    \
    d->of.v.type = types[op->type];                                                                                    \
    d->of.v.algorithm = op->count > 1024 ? "TREE" : "RING";                                                            \
    d->of.v.protocol = op->count > 1024 ? "SIMPLE" : "LL"
    if (version == 1) {
        COMMON(coll_1);
        d->of.coll_1.hash = op->comm->hash;
        d->of.coll_1.func = numbers[op->kind];
        d->of.coll_1.type = (uint8_t)op->type;
        d->of.coll_1.op = (uint32_t)op->op;
        d->of.coll_1.algorithm = op->count > 1024 ? 0 : 1;
        d->of.coll_1.protocol = op->count > 1024 ? 2 : 0;
    } else if (version == 2) {
        COMMON(coll_2);
        TEXTS(coll_2);
        d->of.coll_2.hash = op->comm->hash;
    } else if (version == 3) {
        COMMON(coll_3);
        TEXTS(coll_3);
        d->of.coll_3.hash = op->comm->hash;
    } else {
        COMMON(coll_4);
        TEXTS(coll_4);
    }
}
static void describe_p2p(const struct tells_op *op, struct descriptor *d)
{
#define BOTH(v)                                                                                                        \
    d->of.v.buffer = op->receive;                                                                                      \
    d->of.v.count = op->count;                                                                                         \
    d->of.v.peer = op->root
    if (version == 1) {
        BOTH(p2p_1);
        d->of.p2p_1.hash = op->comm->hash;
        d->of.p2p_1.func = numbers[op->kind];
        d->of.p2p_1.type = (uint8_t)op->type;
    } else if (version <= 3) {
        BOTH(p2p_2);
        d->of.p2p_2.hash = op->comm->hash;
        d->of.p2p_2.func = names[op->kind];
        d->of.p2p_2.type = types[op->type];
    } else {
        BOTH(p2p_4);
        d->of.p2p_4.func = names[op->kind];
        d->of.p2p_4.type = types[op->type];
        d->of.p2p_4.channels = 2;
    }
}

/* AlltoAll, Gather and Scatter are many messages, which are not reported here. */
void tells_launch(struct tells_op *op)
{
    struct descriptor d = {0};
    bool message = op->kind >= SEND;
    if (!plugin || (op->kind >= 5 && !message))
        return;
    (message ? describe_p2p : describe_coll)(op, &d);
    start(op, message ? P2P : COLL, &op->task, version >= 5 ? op->api : NULL, d);
    op->channel[0] = op->task; /* parent of its parts */
}
void tells_launched(struct tells_op *op)
{
    struct descriptor d = {0};
    void *launch;
    if (version >= 5) {
        d.of.launch.stream = op->stream;
        start(op, LAUNCH, &launch, group, d);
        stop(&launch);
    }
    stop(&op->task);
}

void tells_begun(struct tells_op *op)
{
    void *parent = op->channel[0];
    for (int i = 0; version >= 3 && i < 2; i++) {
        struct descriptor d = {0};
        d.of.kernel.channel = (uint8_t)i;
        op->channel[i] = NULL;
        if (parent)
            start(op, KERNEL_CHANNEL, &op->channel[i], parent, d);
    }
}
void tells_ended(struct tells_op *op)
{
    uint64_t timer = 12345;
    for (int i = 0; version >= 3 && i < 2; i++) {
        if (op->channel[i] && version >= 4)
            plugin->state(op->channel[i], 22, &timer);
        stop(&op->channel[i]);
    }
}
