/* Record path of NCCL's calls, the counterpart of ipo_enter and ipo_leave for MPI's.  A call returns when its work is
 * on a stream, so its times are the host's: TRC_SIG_ENQUEUE says so. */
#include "interpose/nccl/nccl.h"
#include "interpose/cuda/cupti.h"
#include "interpose/nccl/state.h"
#include "interpose/nccl/hooks.h"
#include "interpose/core/facts.h"
#include "interpose/mpi/cached.h"
#include "interpose/mpi/pcontrol.h"
#include "interpose/mpi/alone.h"
#include "interpose/sites/python_site.h"
#include "interpose/sites/sites.h"
#include "interpose/load/slots.h"
#include "interpose/base/text.h"

#include <errno.h>

/* Factors of count x size, for the root and for the others; N: the communicator's size. */
enum { N = -1 };
static const struct {
    int8_t sent, root_sent, received, root_received;
} moves[] = {
    [IPO_MOVES_ALLREDUCE] = {1, 1, 1, 1},      [IPO_MOVES_BROADCAST] = {0, 1, 1, 0},
    [IPO_MOVES_REDUCE] = {1, 1, 0, 1},         [IPO_MOVES_ALLGATHER] = {1, 1, N, N},
    [IPO_MOVES_REDUCE_SCATTER] = {N, N, 1, 1}, [IPO_MOVES_ALLTOALL] = {N, N, N, N},
    [IPO_MOVES_GATHER] = {1, 1, 0, N},         [IPO_MOVES_SCATTER] = {0, N, 1, 1},
    [IPO_MOVES_SEND] = {1, 1, 0, 0},           [IPO_MOVES_RECV] = {0, 0, 1, 1},
};
_Static_assert(sizeof moves / sizeof *moves == IPO_MOVES_RECV + 1, "a row each");

static uint64_t scale_bytes(int8_t factor, uint64_t bytes, const struct ipo_comm *comm)
{
    if (bytes == TRC_BYTES_UNKNOWN || (factor == N && (!comm || comm->size <= 0)))
        return TRC_BYTES_UNKNOWN;
    return bytes * (uint64_t)(factor == N ? comm->size : factor);
}

static int32_t get_world_rank(const struct ipo_comm *comm, uintptr_t rank)
{
    return comm ? ipo_world_rank(comm, (int)rank) : TRC_PEER_UNKNOWN;
}

static void describe_data(struct ipo_frame *frame, const struct ipo_nccl_call *call, const uintptr_t *args)
{
    struct trc_sig *sig = &frame->sig;
    const struct ipo_comm *comm = frame->comm;
    uint64_t count = 0, root = UINT64_MAX;
    uint32_t type = 0;
    const int8_t *factor = &moves[call->moves].sent;
    for (unsigned i = 0; i < call->arity; i++)
        switch (call->roles[i]) {
        case NCCL_ROLE_COUNT:
            count = args[i];
            break;
        case NCCL_ROLE_TYPE:
            type = (uint32_t)args[i];
            break;
        case NCCL_ROLE_ROOT:
            root = (uint32_t)args[i];
            sig->peer = get_world_rank(comm, args[i]);
            break;
        case NCCL_ROLE_DESTINATION:
            sig->peer = get_world_rank(comm, args[i]);
            break;
        case NCCL_ROLE_STREAM:
            sig->object = ipo_cupti_stream(args[i]);
            break;
        case NCCL_ROLE_SOURCE:
            sig->source = get_world_rank(comm, args[i]);
            break;
        default:
            break;
        }
    if (call->moves == IPO_MOVES_NONE)
        return;
    uint64_t bytes = count == TRC_BYTES_UNKNOWN ? count : ipo_nccl_bytes(type, count);
    bool is_root = comm && root == (uint64_t)comm->rank;
    for (int received = 0; received < 2; received++, factor += 2) {
        bool depends = factor[0] != factor[1] && !comm; /* root's rank decides */
        *(received ? &sig->received : &sig->sent) =
            depends ? TRC_BYTES_UNKNOWN : scale_bytes(factor[is_root], bytes, comm);
    }
}

static void describe_call(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    struct ipo_thread *thread = frame->thread;
    frame->sig = (struct trc_sig){.call = IPO_NCCL_NUMBER(id),
                                  .peer = TRC_PEER_NONE,
                                  .tag = TRC_TAG_NONE,
                                  .source = TRC_PEER_NONE,
                                  .rtag = TRC_TAG_NONE,
                                  .site = ipo_path_site(frame->path, frame->site),
                                  .path = frame->path->id};
    if (thread->nccl_depth > (id == IPO_NCCL_GroupEnd))
        frame->sig.flags |= TRC_SIG_GROUPED;
    if (call->opclass == TRC_OP_NCCL_INIT && frame->copy)
        frame->comm = ipo_nccl_comm_coming(frame->copy, id, args);
    if (!frame->comm && frame->copy)
        frame->comm = ipo_nccl_comm(frame->copy, ipo_nccl_arg(call, args, NCCL_ROLE_COMM));
    frame->sig.comm = frame->comm ? frame->comm->id : 0;
    if (frame->comm && (call->opclass == TRC_OP_NCCL_INIT || call->opclass == TRC_OP_NCCL_COLL)) {
        frame->sig.flags |= TRC_SIG_COLL;
        frame->sequence = frame->comm->sequence++;
    }
    bool blocks = call->opclass != TRC_OP_NCCL_INIT ||
                  ipo_nccl_config_blocks((const char *)ipo_nccl_arg(call, args, NCCL_ROLE_CONFIG));
    bool returns_early = call->opclass == TRC_OP_NCCL_INIT && (thread->nccl_depth > 0 || !blocks);
    if (ipo_nccl_is_data(id) || returns_early)
        frame->sig.flags |= TRC_SIG_ENQUEUE;
    describe_data(frame, call, args);
}

/* ---- beginning */

/* Writes what the trace says of a copy of NCCL, once. */
static void write_copy_facts(const struct ipo_nccl_copy *copy)
{
    static atomic_uint written;
    unsigned mine = 1u << (copy - ipo_nccl_copies), before = atomic_fetch_or(&written, mine);
    if (before & mine)
        return;
    struct ipo_text text = {0};
    bool old = copy->version < 10000; /* versions until 2.8 had a digit less */
    ipo_text_add_number(&text, (uint64_t)(copy->version / (old ? 1000 : 10000)));
    ipo_text_add(&text, ".");
    ipo_text_add_number(&text, (uint64_t)(copy->version % (old ? 1000 : 10000) / 100));
    ipo_text_add(&text, ".");
    ipo_text_add_number(&text, (uint64_t)(copy->version % 100));
    if (before) { /* a second copy in the process */
        ipo_text_add(&text, " ");
        ipo_text_add(&text, copy->object);
        ipo_fact("nccl.also", text.text);
        return;
    }
    ipo_fact("nccl", text.text);
    ipo_nccl_hooks_report();
}

/* The slow path: the first calls of all, and exported calls that are only an occasion to search for NCCL. */
static __attribute__((noinline, cold)) bool begin_recording(struct ipo_frame *frame, enum ipo_nccl_id id,
                                                            const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    int kept = errno;
    struct ipo_nccl_copy *called = ipo_nccl_resolve((const void *)(uintptr_t)frame->site);
    if (!frame->copy)
        frame->copy = called;
    bool good = frame->copy != NULL;
    if (good && (call->exported || call->opclass == TRC_OP_NCCL_INIT))
        ipo_patch_slots();
    good = good && call->opclass != TRC_OP_LOOK && frame->copy->real[id] && ipo_nccl_hook_allowed(IPO_HOOK_SYMBOLS);
    const void *unique = (const void *)ipo_nccl_arg(call, args, NCCL_ROLE_UNIQUE_ID);
    if (good && !*ipo_nccl_armed)
        good = call->opclass == TRC_OP_NCCL_INIT &&
               ipo_start_alone(
                   (int)ipo_nccl_arg(call, args, NCCL_ROLE_RANK), (int)ipo_nccl_arg(call, args, NCCL_ROLE_SIZE),
                   unique && id != IPO_NCCL_CommGrow ? ipo_nccl_hash(unique, frame->copy->version) : 0, IPO_NCCL_ALONE);
    if (good && call->opclass == TRC_OP_NCCL_INIT) {
        write_copy_facts(frame->copy);
        ipo_cupti_start(false);
    }
    if (good)
        ipo_nccl_hook_live(IPO_HOOK_SYMBOLS, frame->copy->base);
    errno = kept;
    return good;
}

/* The stamp of a cache entry: call, epoch of the cache, and what else decides the signature. */
static uint64_t make_stamp(const struct ipo_frame *frame, enum ipo_nccl_id id)
{
    return ipo_cache_epoch() | (uint32_t)id | (uint64_t)(frame->thread->nccl_depth > 0) << 24 |
           (uint64_t)frame->nested << 25;
}

/* Whether the cache has a data call: then communicator, index and sequence are filled in.  frame->cached: its row. */
static bool recall_call(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    struct ipo_nccl_own *own = ipo_nccl_is_data(id) ? ipo_nccl_own(frame->thread) : NULL;
    if (!own)
        return false;
    const uint8_t *at = call->at;
    uint64_t hash = frame->site + frame->stack + args[at[IPO_AT_COUNT]] * 33 + args[at[IPO_AT_PEER]] * 7 +
                    (args[at[IPO_AT_COMM]] * 0x9e3779b97f4a7c15u >> 32); /* one call site may serve many devices */
    struct ipo_nccl_cached *cached = frame->cached = &own->cache[(hash ^ hash >> 6) % IPO_NCCL_CACHE_ROWS];
    uint64_t differ = (cached->site ^ frame->site) | (cached->stamp ^ make_stamp(frame, id)) |
                      ((uintptr_t)cached->copy ^ (uintptr_t)frame->copy);
    differ |= (cached->count ^ args[at[IPO_AT_COUNT]]) | (cached->type ^ args[at[IPO_AT_TYPE]]) |
              (cached->op ^ args[at[IPO_AT_OP]]) | (cached->root ^ args[at[IPO_AT_ROOT]]) |
              (cached->peer ^ args[at[IPO_AT_PEER]]) | (cached->handle ^ args[at[IPO_AT_COMM]]) |
              (cached->stream ^ args[at[IPO_AT_STREAM]]);
    if (differ || cached->version != cached->state->version || cached->object != ipo_cupti_stream(cached->stream))
        return false;
    if (frame->path ? frame->path != cached->path
                    : !ipo_path_is(cached->path, frame->site, frame->stack, &frame->caller))
        return false;
    frame->comm = cached->comm;
    frame->index = cached->index;
    if (call->opclass == TRC_OP_NCCL_COLL && frame->comm)
        frame->sequence = frame->comm->sequence++;
    return true;
}

static __attribute__((noinline)) void remember(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args,
                                               uint64_t stamp)
{
    struct ipo_nccl_cached *cached = frame->cached;
    const uint8_t *at = ipo_nccl_calls[id].at;
    cached->site = frame->site;
    cached->path = frame->path;
    cached->stamp = stamp;
    cached->copy = frame->copy;
    cached->count = args[at[IPO_AT_COUNT]];
    cached->type = args[at[IPO_AT_TYPE]];
    cached->op = args[at[IPO_AT_OP]];
    cached->root = args[at[IPO_AT_ROOT]];
    cached->peer = args[at[IPO_AT_PEER]];
    cached->handle = args[at[IPO_AT_COMM]];
    cached->stream = args[at[IPO_AT_STREAM]];
    cached->comm = frame->comm;
    cached->index = frame->index;
    cached->state = &frame->thread->stream.state[frame->index];
    cached->version = cached->state->version;
    cached->object = frame->sig.object;
    cached->collective = frame->sig.flags & TRC_SIG_COLL;
    cached->known = false;
}

/* Describes a call that the cache does not have. */
static __attribute__((noinline)) void describe_new(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    uint64_t stamp = frame->cached ? make_stamp(frame, id) : 0;
    if (!frame->path)
        frame->path = ipo_path_of(frame->site, frame->stack, frame->caller);
    describe_call(frame, id, args);
    if (frame->nested) /* MPI's own use of NCCL */
        frame->sig.flags |= TRC_SIG_NESTED;
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
    if (frame->cached)
        remember(frame, id, args, stamp);
}

/* Notes that the thread is inside this call, and since when. */
static void enter_call(struct ipo_thread *thread, struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    frame->cached = NULL;
    if (!frame->copy || !recall_call(frame, id, args))
        describe_new(frame, id, args);
    frame->begin = ipo_ticks();
    if (!frame->nested) {
        struct trc_thread *live = &thread->stream.page->thread;
        live->inside_sequence = frame->sequence;
        live->inside_since = frame->begin;
        __atomic_store_n(&live->inside, frame->index + 1, __ATOMIC_RELEASE);
    }
}

/* Recording is switched off, or call paths are lines of Python. */
static __attribute__((noinline, cold)) void enter_unusual(struct ipo_frame *frame)
{
    if (*ipo_nccl_armed & IPO_ARMED_OFF)
        ipo_pcontrol_follow();
    else if (*ipo_nccl_armed == IPO_ARMED_CAREFULLY && ipo_process.options.python)
        frame->path = ipo_python_path(&frame->site);
}

bool ipo_nccl_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    const struct ipo_nccl_call *call = &ipo_nccl_calls[id];
    bool usual = *ipo_nccl_armed && frame->copy && frame->copy->real[id] && call->opclass != TRC_OP_NCCL_INIT;
    if (__builtin_expect(!usual, 0) && !begin_recording(frame, id, args))
        return false;
    struct ipo_thread *thread = ipo_thread_self();
    if (__builtin_expect(!thread, 0))
        return false;
    int kept = errno;
    frame->path = NULL;
    frame->nested = ipo_is_inside(thread, frame);
    if (frame->nested && thread->nccl == thread->outer)
        return false; /* NCCL calls its own public names */
    if (__builtin_expect(*ipo_nccl_armed != IPO_ARMED, 0))
        enter_unusual(frame);
    frame->thread = thread;
    frame->call = NULL;
    frame->comm = NULL;
    frame->sequence = 0;
    frame->poll = false;
    if (!frame->nested) {
        if (__builtin_expect(thread->outer != NULL, 0))
            ipo_call_left(thread);
        thread->outer = thread->nccl = frame;
        thread->outer_site = ((const uint64_t *)frame->address)[IPO_FRAME_RETURN];
    }
    enter_call(thread, frame, id, args);
    ipo_nccl_state_enter(frame, id, args);
    if (frame->gpu_launch)
        frame->begin = ipo_ticks(); /* the call's time does not include recording its events */
    errno = kept;
    return true;
}

/* ---- afterwards */

/* Follows what the call changed: groups and communicators. */
static __attribute__((noinline)) void follow_call(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args)
{
    struct ipo_thread *thread = frame->thread;
    switch (id) {
    case IPO_NCCL_GroupStart:
        thread->nccl_depth += !frame->failed;
        break;
    case IPO_NCCL_GroupEnd:
        thread->nccl_depth -= thread->nccl_depth > 0;
        if (thread->nccl_depth == 0)
            ipo_nccl_comms_of_group(frame->failed);
        break;
    case IPO_NCCL_CommDestroy:
    case IPO_NCCL_CommAbort:
        if (!frame->failed)
            ipo_nccl_comm_freed(args[0]);
        break;
    default:
        if (ipo_nccl_calls[id].opclass == TRC_OP_NCCL_INIT && !frame->failed) {
            bool has_id = ipo_nccl_arg(&ipo_nccl_calls[id], args, NCCL_ROLE_UNIQUE_ID) || id == IPO_NCCL_CommGrow;
            ipo_nccl_comm_made(frame->copy, id, args, has_id ? frame->comm : NULL);
            ipo_nccl_state_start(has_id ? frame->comm : NULL);
        }
    }
}

/* Does the work of ipo_emit, inlined for a call that the cache had. */
static inline void emit_call(struct ipo_frame *frame)
{
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_sig_state *state = &stream->state[frame->index];
    struct trc_thread *live = &stream->page->thread;
    if (!frame->cached || frame->failed || frame->cached->version != state->version ||
        !trc_stream_ready(stream, state)) {
        ipo_emit(frame);
        return;
    }
    bool collective = frame->cached->collective;
    trc_stream_put(stream, state, collective, frame->begin, frame->end, frame->sequence);
    trc_stream_count(stream, frame->index, frame->end - frame->begin);
    live->last_end = frame->end;
    live->last = frame->index + 1;
}

void ipo_nccl_leave(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, int result)
{
    struct trc_stream *stream = &frame->thread->stream;
    frame->end = ipo_ticks();
    if (__builtin_expect(!*ipo_nccl_armed, 0))
        return;
    if (__builtin_expect(frame->thread != ipo_thread_current, 0)) {
        ipo_thread_moved();
        return;
    }
    int kept = errno;
    frame->result = result;
    frame->failed = result != IPO_NCCL_SUCCESS && result != IPO_NCCL_IN_PROGRESS;
    if (__builtin_expect(frame->failed, 0)) {
        if (frame->cached)
            frame->sig = *trc_stream_sig(stream, frame->index);
        frame->sig.flags |= TRC_SIG_FAILED;
        frame->sig.sent = frame->sig.received = 0;
        frame->index = trc_stream_intern(stream, &frame->sig);
    }
    if (frame->nested)
        trc_stream_event(stream, frame->index, frame->begin, frame->end, frame->sequence);
    else
        emit_call(frame);
    ipo_nccl_state_leave(frame, id, args);
    if (!ipo_nccl_is_data(id))
        follow_call(frame, id, args);
    if (!frame->nested) {
        __atomic_store_n(&stream->page->thread.inside, 0, __ATOMIC_RELEASE);
        frame->thread->outer = frame->thread->nccl = NULL;
    }
    errno = kept;
}

/* ---- events of the plugin and NVTX */

bool ipo_nccl_event_enter(struct ipo_frame *frame, enum ipo_nccl_id id, const uintptr_t *args, struct ipo_comm *comm,
                          const void *site)
{
    struct ipo_thread *thread = ipo_thread_self();
    if (!thread)
        return false;
    frame->address = __builtin_frame_address(0);
    frame->site = (uint64_t)(uintptr_t)site;
    frame->stack = frame->caller = 0;
    frame->path = &ipo_path_none;
    ipo_site_seen(frame->site);
    frame->nested = ipo_is_inside(thread, frame);
    frame->thread = thread;
    frame->call = NULL;
    frame->comm = comm;
    frame->copy = NULL;
    frame->sequence = 0;
    frame->poll = frame->failed = false;
    int kept = errno;
    enter_call(thread, frame, id, args);
    ipo_nccl_state_event(frame, id, args);
    errno = kept;
    return true;
}

void ipo_nccl_event_leave(struct ipo_frame *frame, enum ipo_nccl_id id)
{
    struct ipo_thread *thread = frame->thread;
    frame->end = ipo_ticks();
    if (!*ipo_profiler_armed)
        return;
    ipo_nccl_state_event_leave(frame);
    if (frame->nested)
        trc_stream_event(&thread->stream, frame->index, frame->begin, frame->end, frame->sequence);
    else
        ipo_emit(frame);
    thread->nccl_depth += id == IPO_NCCL_GroupStart;
    thread->nccl_depth -= id == IPO_NCCL_GroupEnd && thread->nccl_depth > 0;
    if (!frame->nested)
        __atomic_store_n(&thread->stream.page->thread.inside, 0, __ATOMIC_RELEASE);
}
