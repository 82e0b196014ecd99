/* NCCL by its profiler plugin interface, which libtrace.so has in versions 1 to 6: algorithm, protocol and channels
 * of every operation, which parts of its kernel have begun, and, where nothing else sees the calls, the calls.
 *
 * ipo_nccl_getenv names us to NCCL.  Versions differ in the layout of a descriptor (below), in whether functions and
 * types are numbers or names, and in the parameters of init.  Source: plugins/profiler and
 * src/include/plugin/profiler of NCCL 2.23 to 2.30. */
#include "interpose/core/facts.h"
#include "interpose/cuda/gpu_ops.h"
#include "interpose/nccl/profiler.h"
#include "interpose/nccl/hooks.h"
#include "interpose/load/objects.h"
#include "interpose/base/text.h"

#include <errno.h>

enum { COLL = 1 << 1, P2P = 1 << 2, KERNEL_CHANNEL = 1 << 6, GROUP_API = 1 << 8, COLL_API = 1 << 9, P2P_API = 1 << 10 };

/* Offsets in a descriptor; 0: it does not have this.  A descriptor begins with the type (one byte up to version 4,
 * then 8); at 8 is the parent's handle, at 16 the rank. */
struct layout {
    uint8_t hash, func, count, root, type, channels, algorithm, protocol;
};
static const struct layout coll[7] = {
    [1] = {32, 48, 72, 80, 84, 104, 106, 107}, [2] = {32, 48, 72, 80, 88, 104, 112, 120},
    [3] = {32, 48, 72, 80, 88, 96, 104, 112},  [4] = {0, 32, 56, 64, 72, 80, 88, 96},
    [5] = {0, 32, 56, 64, 72, 80, 88, 96},     [6] = {0, 32, 56, 64, 72, 80, 88, 96}};
static const struct layout p2p[7] =
    {/* root: the peer */
     [1] = {32, 40, 64, 72, 56, 0, 0, 0}, [2] = {32, 40, 64, 72, 56, 0, 0, 0}, [3] = {32, 40, 64, 72, 56, 0, 0, 0},
     [4] = {0, 24, 48, 56, 40, 60, 0, 0}, [5] = {0, 24, 48, 56, 40, 60, 0, 0}, [6] = {0, 24, 48, 56, 40, 60, 0, 0}};
static const struct layout coll_api = {0, 24, 32, 48, 40, 0, 0, 0}, p2p_api = {0, 24, 32, 0, 40, 0, 0, 0};
enum { GROUP_DEPTH = 28, NAMES_FROM = 2, API_FROM = 5 };

/* The numbers of version 1. */
static const char *const functions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                        "AllReduce", "?",      "Send",      "Recv"};
static const char *const algorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};

/* ncclDataType_t by name and number. */
static const struct {
    const char *name;
    uint8_t bytes;
} types[] = {{"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
             {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
             {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- contexts and events, in rings without allocation.  An event whose kernel runs keeps its place.  Parts of a
 * kernel have no place: their handle is their event's, + 1. */

struct context { /* state of a communicator of one rank */
    atomic_bool used;
    uint64_t hash;
    int rank, size;
    const void *object; /* address in the object of its NCCL */
    struct ipo_comm *comm;
};
static struct context contexts[256];

struct event {
    _Atomic uint64_t number; /* number of the event: a handle is a number that outlives the event's place */
    int kind;
    struct context *context;
    struct ipo_profiler_event call;
    ipo_gpu_op op;
    atomic_uint begun, ended; /* parts of its kernel */
    uint8_t channels;
};
static struct event events[1024];
static _Atomic uint64_t next_event = 1;
static __thread int group_depth; /* depth of the group that runs on this thread, by GROUP_API */

#define TRIES 64u
static bool is_running(const struct event *event)
{
    unsigned ended = atomic_load_explicit(&event->ended, memory_order_relaxed);
    return event->op && event->channels && ended < event->channels && ipo_gpu_op_of(event->op);
}

static bool is_part(const void *handle)
{
    return (uintptr_t)handle & 1;
}
static struct event *find_event(const void *handle)
{
    uint64_t number = (uintptr_t)handle >> 1;
    struct event *event = &events[number % COUNT(events)];
    return number && atomic_load_explicit(&event->number, memory_order_acquire) == number ? event : NULL;
}

static struct event *make_event(int kind, struct context *context, void **handle)
{
    uint64_t number = atomic_fetch_add_explicit(&next_event, 1, memory_order_relaxed);
    for (unsigned tries = 0; tries < TRIES && is_running(&events[number % COUNT(events)]); tries++)
        number = atomic_fetch_add_explicit(&next_event, 1, memory_order_relaxed);
    struct event *event = &events[number % COUNT(events)];
    atomic_store_explicit(&event->number, 0, memory_order_relaxed);
    event->kind = kind;
    event->context = context;
    event->call.open = false;
    event->op = 0;
    event->channels = 0;
    atomic_store_explicit(&event->begun, 0, memory_order_relaxed);
    atomic_store_explicit(&event->ended, 0, memory_order_relaxed);
    atomic_store_explicit(&event->number, number, memory_order_release);
    *handle = (void *)(uintptr_t)(number << 1);
    return event;
}

/* ---- reading a descriptor */

static uint64_t read_u64(const char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}
static int32_t read_i32(const char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}
static const char *read_name(const char *descriptor, unsigned at, int version, const char *const *names, size_t n)
{
    unsigned index = (unsigned char)descriptor[at];
    const char *name =
        version < NAMES_FROM ? (index < n ? names[index] : NULL) : (const char *)(uintptr_t)read_u64(descriptor + at);
    return at && name ? name : "";
}
static uint64_t count_bytes(const char *descriptor, const struct layout *layout, int version)
{
    uint64_t count = read_u64(descriptor + layout->count);
    unsigned char index = (unsigned char)descriptor[layout->type];
    if (version < NAMES_FROM)
        return index < COUNT(types) ? count * types[index].bytes : TRC_BYTES_UNKNOWN;
    const char *name = (const char *)(uintptr_t)read_u64(descriptor + layout->type);
    for (size_t i = 0; name && i < COUNT(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return count * types[i].bytes;
    return TRC_BYTES_UNKNOWN;
}

/* ---- calls */

/* Up to version 3 only descriptors have the rank. */
static void learn_rank(struct context *context, const char *descriptor, const struct layout *layout)
{
    if (!layout->hash || context->hash)
        return;
    context->hash = read_u64(descriptor + layout->hash);
    context->rank = read_i32(descriptor + 16);
    context->comm = ipo_nccl_comm_reported(context->hash, context->rank);
    context->size = context->comm ? context->comm->size : 0;
}

/* Whether another hook sees the calls of this communicator. */
static bool is_seen_by_others(const struct context *context)
{
    return ipo_nccl_hook_is_live(IPO_HOOK_SYMBOLS, context->object) ||
           ipo_nccl_hook_is_live(IPO_HOOK_NVTX, context->object);
}

/* Begins the record of a call that no other hook sees. */
static void open_call(struct event *event, const char *descriptor, const struct layout *layout, int version)
{
    struct context *context = event->context;
    const char *name = read_name(descriptor, layout->func, version, functions, COUNT(functions));
    int row = ipo_profiler_row(name, true);
    if (row < 0 || is_seen_by_others(context) || ipo_profiler_is_wrapped() ||
        !ipo_profiler_start(context->rank, context->size, context->hash))
        return;
    struct ipo_profiler_event *call = &event->call;
    memset(call, 0, sizeof *call);
    call->id = (enum ipo_nccl_id)row;
    int32_t root = layout->root ? read_i32(descriptor + layout->root) : -1;
    ipo_profiler_set(call, NCCL_ROLE_COUNT, count_bytes(descriptor, layout, version));
    ipo_profiler_set_partner(call, (uintptr_t)root);
    if (!context->comm)
        context->comm = ipo_nccl_comm_define(context->hash, context->rank, context->size, NULL, IPO_NO_CALL);
    ipo_profiler_open(call, context->comm, context->object);
    if (call->open && group_depth > 1) {
        call->frame.sig.flags |= TRC_SIG_GROUPED;
        call->frame.index = trc_stream_intern(&call->frame.thread->stream, &call->frame.sig);
    }
}

/* Writes how NCCL does an operation of a size, as a fact, once for each way: "ncclAllReduce 65536 B" : "RING LL, 2
 * channels". */
static void write_how(const struct event *event, const char *descriptor, const struct layout *layout, int version)
{
    static _Atomic uint64_t said[256];
    const char *algorithm = read_name(descriptor, layout->algorithm, version, algorithms, COUNT(algorithms));
    const char *protocol = read_name(descriptor, layout->protocol, version, protocols, COUNT(protocols));
    const char *name = read_name(descriptor, layout->func, version, functions, COUNT(functions));
    if (!*algorithm || !*ipo_profiler_armed)
        return;
    uint64_t bytes = count_bytes(descriptor, layout, version), key = 5381;
    for (const char *at = name; *at; at++)
        key = key * 33 ^ (unsigned char)*at;
    key = (key * 33 ^ bytes) * 33 + (uint64_t)event->context->size;
    key = (key * 33 ^ (unsigned char)algorithm[0] ^ (uint64_t)(unsigned char)algorithm[1] << 8) * 33;
    key = ((key ^ (uint64_t)strlen(algorithm) << 16 ^ strlen(protocol)) * 33 ^ event->channels) | 1;
    uint64_t before = atomic_load_explicit(&said[key % COUNT(said)], memory_order_relaxed);
    if (before == key)
        return;
    if (before) /* event whose place is taken: not written, in place of again and again */
        return;
    atomic_store_explicit(&said[key % COUNT(said)], key, memory_order_relaxed);
    struct ipo_text what = {0}, how = {0};
    ipo_text_add(&what, "nccl.how nccl");
    ipo_text_add(&what, name);
    ipo_text_add(&what, " ");
    ipo_text_add_number(&what, bytes);
    ipo_text_add(&what, event->context->size > 0 ? " B of " : " B");
    if (event->context->size > 0)
        ipo_text_add_number(&what, (uint64_t)event->context->size);
    ipo_text_add(&how, algorithm);
    ipo_text_add(&how, " ");
    ipo_text_add(&how, protocol);
    ipo_text_add(&how, ", ");
    ipo_text_add_number(&how, event->channels);
    ipo_text_add(&how, " channels");
    ipo_fact(what.text, how.text);
}

/* The operation of an event in the table: the oldest one with the same call and size that is not known to have started.
 * When a group is launched, the call that runs is another one. */
static ipo_gpu_op find_operation(const struct event *event, const char *descriptor, const struct layout *layout,
                                 int version)
{
    struct context *context = event->context;
    if (!context->comm) /* NVTX defines it after our init */
        context->comm = ipo_nccl_comm_reported(context->hash, context->rank);
    const struct ipo_comm *comm = context->comm;
    const char *name = read_name(descriptor, layout->func, version, functions, COUNT(functions));
    int row = ipo_profiler_row(name, true);
    return comm && row >= 0
               ? ipo_gpu_op_oldest(comm->id, IPO_NCCL_NUMBER(row), count_bytes(descriptor, layout, version))
               : 0;
}

/* ---- functions that NCCL calls */

static int start_event(struct context *context, void **handle, const char *descriptor, int version)
{
    int kept = errno;
    int type = version < API_FROM ? (unsigned char)descriptor[0] : (int)read_u64(descriptor);
    *handle = NULL;
    if (!context || !*ipo_profiler_armed)
        return 0;
    if (type == COLL || type == P2P) {
        const struct layout *layout = type == COLL ? &coll[version] : &p2p[version];
        struct event *event = make_event(type, context, handle);
        event->channels = layout->channels ? (uint8_t)descriptor[layout->channels] : 0;
        learn_rank(context, descriptor, layout);
        if (type == COLL)
            write_how(event, descriptor, layout, version);
        if (version < API_FROM)
            open_call(event, descriptor, layout, version);
        if (ipo_nccl_hook_allowed(IPO_HOOK_CHANNELS))
            event->op = find_operation(event, descriptor, layout, version);
    } else if (type == COLL_API || type == P2P_API) {
        open_call(make_event(type, context, handle), descriptor, type == COLL_API ? &coll_api : &p2p_api, version);
    } else if (type == GROUP_API) {
        make_event(type, context, handle);
        group_depth = read_i32(descriptor + GROUP_DEPTH);
    } else if (type == KERNEL_CHANNEL) {
        uint64_t parent = read_u64(descriptor + 8);
        struct event *of = find_event((const void *)(uintptr_t)parent);
        *handle = of ? (void *)(uintptr_t)(parent | 1) : NULL;
        ipo_nccl_hook_live(IPO_HOOK_CHANNELS, context->object);
        if (of && atomic_fetch_add(&of->begun, 1) == 0)
            ipo_gpu_op_started(of->op, 0, TRC_GPU_BY_PLUGIN);
    }
    errno = kept;
    return 0;
}

static int stop_event(void *handle)
{
    struct event *event = find_event(handle);
    int kept = errno;
    if (!event || !*ipo_profiler_armed) /* a forked child must not write to its parent's file */
        return 0;
    if (is_part(handle)) {
        if (atomic_fetch_add(&event->ended, 1) + 1 >= event->channels && event->channels)
            ipo_gpu_op_completed(event->op, 0, TRC_GPU_BY_PLUGIN);
    } else {
        ipo_profiler_close(&event->call);
        if (event->kind == GROUP_API)
            group_depth = 0;
    }
    errno = kept;
    return 0;
}

static int end_context(struct context *context)
{
    if (context) {
        if (context->comm && *ipo_profiler_armed && !is_seen_by_others(context))
            ipo_nccl_comm_forget(context->comm);
        context->comm = NULL;
        atomic_store(&context->used, false);
    }
    return 0;
}

static int begin_context(void **out, uint64_t hash, int *mask, const char *name, int size, int rank, const void *caller)
{
    int kept = errno;
    *out = NULL;
    *mask = 0;
    for (size_t i = 0; i < COUNT(contexts) && !*out; i++)
        if (!atomic_exchange(&contexts[i].used, true))
            *out = &contexts[i];
    struct context *context = *out;
    if (!context || ipo_process.options.disable || !ipo_profiler_start(rank, size, hash)) {
        if (context)
            atomic_store(&context->used, false);
        *out = NULL;
        errno = kept;
        return 0; /* NCCL reports nothing if there is no mask */
    }
    context->hash = hash;
    context->rank = rank;
    context->size = size;
    context->object = ipo_object_base(caller);
    context->comm = hash ? ipo_nccl_comm_reported(hash, rank) : NULL;
    ipo_nccl_hook_live(IPO_HOOK_PLUGIN, context->object);
    if (hash && !context->comm && !is_seen_by_others(context))
        context->comm = ipo_nccl_comm_define(hash, rank, size, name, IPO_NO_CALL);
    *mask = COLL | P2P | GROUP_API | COLL_API | P2P_API;
    if (ipo_nccl_hook_allowed(IPO_HOOK_CHANNELS))
        *mask |= KERNEL_CHANNEL;
    errno = kept;
    return 0;
}

static int ignore_state(void *handle, int state, void *more)
{
    (void)handle, (void)state, (void)more;
    return 0;
}

/* ---- the versions */

struct plugin {
    const char *name;
    ipo_function init, start, stop_event, state, finalize;
};

#define VERSION(n, parameters, hash_, named, size_, rank_)                                                             \
    static int init_v##n parameters                                                                                    \
    {                                                                                                                  \
        return begin_context(out, hash_, mask, named, size_, rank_, __builtin_return_address(0));                      \
    }                                                                                                                  \
    static int start_v##n(void *context, void **handle, const char *descriptor)                                        \
    {                                                                                                                  \
        return start_event(context, handle, descriptor, n);                                                            \
    }                                                                                                                  \
    extern const struct plugin ncclProfiler_v##n;                                                                      \
    __attribute__((visibility("default"))) const struct plugin ncclProfiler_v##n = {"hpctop",                          \
                                                                                    (ipo_function)init_v##n,           \
                                                                                    (ipo_function)start_v##n,          \
                                                                                    (ipo_function)stop_event,          \
                                                                                    (ipo_function)ignore_state,        \
                                                                                    (ipo_function)end_context};

#define PLAIN (void **out, int *mask)
#define FOURTH                                                                                                         \
    (void **out, int *mask, const char *name, uint64_t hash, int nodes __attribute__((unused)), int size, int rank,    \
     void *log __attribute__((unused)))
#define FIFTH                                                                                                          \
    (void **out, uint64_t hash, int *mask, const char *name, int nodes __attribute__((unused)), int size, int rank,    \
     void *log __attribute__((unused)))
VERSION(1, PLAIN, 0, NULL, 0, -1)
VERSION(2, PLAIN, 0, NULL, 0, -1)
VERSION(3, PLAIN, 0, NULL, 0, -1)
VERSION(4, FOURTH, hash, name, size, rank)
VERSION(5, FIFTH, hash, name, size, rank)
VERSION(6, FIFTH, hash, name, size, rank)
