/* Enter, leave, emit: what every recorded call goes through. */
#include "interpose/mpi/emit.h"
#include "interpose/mpi/record.h"
#include "interpose/mpi/start.h"
#include "interpose/mpi/describe.h"
#include "interpose/sites/python_site.h"
#include "interpose/sites/sites.h"
#include "interpose/mpi/cached.h"
#include "interpose/mpi/multi_mpi.h"
#include "interpose/mpi/pcontrol.h"

#include <errno.h>

/* A call in a process that is not armed: the first Init arms it, all other calls are passed through. */
static __attribute__((noinline, cold)) bool enter_unarmed(const struct ipo_frame *frame, const struct ipo_call *call)
{
    if (call->opclass != TRC_OP_INIT)
        return false;
    int kept = errno;
    bool started = ipo_mpi_start((const void *)(uintptr_t)frame->site);
    errno = kept;
    return started;
}

/* The slow path: the process is not armed, recording is switched off, or lines of Python are call sites. */
static __attribute__((noinline, cold)) bool enter_slow(struct ipo_frame *frame, const struct ipo_call *call)
{
    if (!*ipo_armed && !enter_unarmed(frame, call))
        return false;
    if (!ipo_is_active(frame->site))
        return false;
    if (*ipo_armed & IPO_ARMED_OFF)
        return ipo_pcontrol_follow();
    if (*ipo_armed == IPO_ARMED_CAREFULLY && ipo_process.options.python)
        frame->path = ipo_python_path(&frame->site);
    return true;
}

/* Whether a signature may be cached.  A call on an unknown communicator is described after MPI has accepted it; one on
 * the communicator of a loop may be a negotiation round next time. */
static bool is_cacheable(const struct ipo_frame *frame)
{
    if (!ipo_has(frame->call, ROLE_COMM) || !frame->call->describe)
        return true;
    bool collective = trc_opclass_category(frame->call->opclass) == TRC_CAT_COLLECTIVE;
    return frame->comm && !(collective && frame->comm->negotiation);
}

/* Describes a call as its class is described, and the data that it moves. */
static void describe_class(struct ipo_frame *frame, uintptr_t *args)
{
    frame->thread->moves[0] = frame->thread->moves[1] = 0;
    frame->call->describe(frame, args);
    if (trc_opclass_moves_data((enum trc_opclass)frame->call->opclass))
        frame->sig.object = ipo_data_number(frame, args);
}

/* The native path of a call; remembered, since many calls are never cached. */
static const struct ipo_path *find_path(const struct ipo_frame *frame)
{
    const struct ipo_path **recent = &ipo_recent_of(frame->thread, frame->site, frame->stack)->path;
    const struct ipo_path *path = __atomic_load_n(recent, __ATOMIC_RELAXED); /* another thread may drop it */
    if (path && path->site[0] == frame->site && ipo_path_is(path, frame->site, frame->stack, &frame->caller))
        return path;
    path = ipo_path_of(frame->site, frame->stack, frame->caller);
    __atomic_store_n(recent, path, __ATOMIC_RELAXED);
    return path;
}

/* Begins the signature of a call whose path is known. */
static void begin_sig(struct ipo_frame *frame, enum ipo_call_id id)
{
    frame->sig = ipo_plain_sig((uint32_t)id, ipo_path_site(frame->path, frame->site));
    frame->sig.path = frame->path->id;
}

/* The signature of a call under way of whose datatype MPI has not been asked yet: how much it moves is not known. */
static __attribute__((noinline, cold)) uint32_t intern_unsized(const struct ipo_frame *frame)
{
    struct trc_sig sig = frame->sig;
    if (trc_opclass_moves_data((enum trc_opclass)frame->call->opclass))
        sig.sent = sig.received = TRC_BYTES_UNKNOWN;
    return trc_stream_intern(&frame->thread->stream, &sig);
}

/* Fills signature, communicator and index of a call, from the cache or from the arguments. */
static inline void describe_call(struct ipo_frame *frame, const struct ipo_call *call, enum ipo_call_id id,
                                 uintptr_t *args)
{
    if (call->prepare)
        call->prepare(frame, args);
    if (call->buffers)
        frame->key = ipo_cache_in_place(call, args);
    struct ipo_cached *cached = ipo_cache_place(frame, call, args);
    if (cached && ipo_cache_recall(frame, call, id, args, cached)) {
        if (frame->sig.flags & TRC_SIG_COLL)
            frame->sequence = frame->comm->sequence++;
        return;
    }
    uint64_t stamp = ipo_row_stamp();
    if (!frame->path)
        frame->path = find_path(frame);
    begin_sig(frame, id);
    frame->thread->sizes = IPO_SIZES_KNOWN_ONLY;
    if (call->describe)
        describe_class(frame, args);
    frame->late = frame->thread->sizes == IPO_SIZES_MISSED;
    frame->thread->sizes = IPO_SIZES_ASKED;
    frame->index = __builtin_expect(frame->late, 0) ? intern_unsized(frame)
                                                    : trc_stream_intern(&frame->thread->stream, &frame->sig);
    if (cached && is_cacheable(frame) && !frame->late)
        ipo_cache_store(frame, args, cached, stamp);
}

/* A call inside another one is recorded with a flag and not counted.  Handles that it makes or frees are followed. */
static __attribute__((noinline, cold)) void enter_nested(struct ipo_frame *frame, enum ipo_call_id id,
                                                         const uintptr_t *args)
{
    if (frame->call->opclass == TRC_OP_ABORT)
        ipo_mpi_aborting((int)ipo_arg(frame->call, args, ROLE_LEVEL));
    ipo_save_handle(frame, args);
    ipo_site_seen(frame->site);
    frame->sig = ipo_plain_sig(id, frame->site);
    frame->sig.flags = TRC_SIG_NESTED;
    if (trc_opclass_category(frame->call->opclass) == TRC_CAT_COLLECTIVE && ipo_has(frame->call, ROLE_COMM)) {
        struct ipo_comm *comm = ipo_comm(ipo_arg(frame->call, args, ROLE_COMM));
        if (comm) /* it takes a number among the others' collectives */
            comm->sequence++;
    }
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
    frame->sequence = frame->thread->stream.page->thread.nested; /* of a call around it, which a callback made, too */
    frame->thread->stream.page->thread.nested = (uint16_t)(frame->index + 1);
    frame->begin = ipo_ticks();
}

bool ipo_enter(struct ipo_frame *frame, enum ipo_call_id id, uintptr_t *args)
{
    const struct ipo_call *call = &ipo_calls[id];
    frame->path = NULL; /* a native one, which is looked for when it is needed */
    if (__builtin_expect(*ipo_armed != IPO_ARMED, 0) ? !enter_slow(frame, call) : !ipo_is_active(frame->site))
        return false;
    struct ipo_thread *thread = ipo_thread_self();
    if (__builtin_expect(!thread || !ipo_real[id], 0))
        return false;
    frame->thread = thread;
    frame->call = call;
    frame->comm = NULL;
    frame->sequence = 0;
    frame->poll = frame->late = frame->numbered = false;
    frame->status = 0;
    frame->handle = 0;
    frame->key = 0;
    frame->nested = ipo_is_inside(thread, frame);
    if (__builtin_expect(frame->nested, 0)) {
        if (ipo_is_twin(frame))
            return false;
        enter_nested(frame, id, args);
        return true;
    }
    if (__builtin_expect(thread->outer != NULL, 0))
        ipo_call_left(thread);
    thread->outer = frame;
    thread->outer_site = ((const uint64_t *)frame->address)[IPO_FRAME_RETURN]; /* frame->site may be a line of Python */
    describe_call(frame, call, id, args);
    struct trc_thread *live = &thread->stream.page->thread;
    live->inside_sequence = frame->sequence;
    live->inside_since = frame->begin = ipo_ticks();
    __atomic_store_n(&live->inside, frame->index + 1, __ATOMIC_RELEASE);
    return true;
}

/* Describes a call after MPI has accepted a new communicator or datatypes: now MPI may be asked about them. */
static __attribute__((noinline, cold)) void describe_late(struct ipo_frame *frame, const uintptr_t *args)
{
    const uint64_t stamp = ipo_row_stamp();
    const uint32_t failed = frame->sig.flags & TRC_SIG_FAILED;
    if (failed && (!frame->late || ipo_error_class(frame->result) != ipo_abi.truncate_class))
        return;
    if (ipo_has(frame->call, ROLE_COMM) && !ipo_comm_accepted(ipo_arg(frame->call, args, ROLE_COMM)))
        return;
    struct ipo_cached *cached = ipo_cache_place(frame, frame->call, args);
    begin_sig(frame, (enum ipo_call_id)frame->sig.call);
    describe_class(frame, (uintptr_t *)(uintptr_t)args); /* only `prepare` changes arguments */
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
    if (cached && !failed && is_cacheable(frame))
        ipo_cache_store(frame, args, cached, stamp);
    if (!failed)
        return;
    frame->sig.flags |= failed;
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
}

static void describe_again(struct ipo_frame *frame, const uintptr_t *args)
{
    begin_sig(frame, (enum ipo_call_id)(frame->call - ipo_calls));
    frame->thread->sizes = IPO_SIZES_ASKED;
    if (frame->call->describe)
        describe_class(frame, (uintptr_t *)(uintptr_t)args);
    frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig);
}

static inline bool is_to_describe(const struct ipo_frame *frame)
{
    return frame->late || (!frame->comm && ipo_has(frame->call, ROLE_COMM) && frame->call->describe);
}

static inline void leave_call(struct ipo_frame *frame, const uintptr_t *args, int result)
{
    struct trc_stream *stream = &frame->thread->stream;
    frame->result = result;
    frame->failed = result != 0;
    if (__builtin_expect(frame->failed, 0)) {
        if (frame->sig.flags & TRC_SIG_COLL && frame->comm)
            ipo_collective_failed(frame);
        frame->sig.flags |= TRC_SIG_FAILED;
        frame->index = trc_stream_intern(stream, &frame->sig);
    }
    if (__builtin_expect(is_to_describe(frame), 0)) {
        frame->index = trc_stream_intern(stream, &frame->sig);
        describe_late(frame, args);
    }
    if (frame->call->finish)
        frame->call->finish(frame, args);
    else
        ipo_emit_here(frame);
    __atomic_store_n(&stream->page->thread.inside, 0, __ATOMIC_RELEASE);
    frame->thread->outer = NULL;
}

int ipo_leave(struct ipo_frame *frame, const uintptr_t *args, int result)
{
    frame->end = ipo_ticks();
    if (__builtin_expect(!*ipo_armed, 0))
        return result; /* a child that was forked in a callback returns from its parent's call */
    if (__builtin_expect(frame->thread != ipo_thread_current, 0)) {
        ipo_thread_moved();
        return result;
    }
    if (__builtin_expect(frame->nested, 0)) {
        frame->index = trc_stream_intern(&frame->thread->stream, &frame->sig); /* nested calls may have dropped it */
        trc_stream_event(&frame->thread->stream, frame->index, frame->begin, frame->end, 0);
        frame->thread->stream.page->thread.nested = (uint16_t)frame->sequence;
        if (!result)
            ipo_follow_handles(frame, args);
        return result;
    }
    leave_call(frame, args, result);
    return result;
}

__attribute__((cold)) int ipo_leave_cached(struct ipo_frame *frame, const struct ipo_cached *cached, int result)
{
    const struct ipo_call *call = frame->call = &ipo_calls[frame->id];
    frame->comm = cached->comm;
    frame->index = cached->inside - 1;
    frame->key = cached->key;
    frame->path = cached->path;
    frame->nested = frame->poll = frame->late = false;
    frame->numbered = true;
    frame->handle = 0;
    const enum ipo_role status = ipo_has(call, ROLE_STATUS_OUT) ? ROLE_STATUS_OUT : ROLE_STATUSES_OUT;
    frame->status = ipo_status_known ? ipo_arg(call, frame->args, status) : 0;
    if (frame->thread->outer == frame && ipo_cache_is_valid(cached))
        frame->sig = cached->state->use->sig;
    else /* nested calls dropped it, or a coroutine's: those may have the row */
        describe_again(frame, frame->args);
    return ipo_leave(frame, frame->args, result);
}
