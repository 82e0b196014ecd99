#include "interpose/mpi/leave.h"
#include "interpose/mpi/describe.h"
#include "interpose/mpi/emit.h"
#include "interpose/mpi/starts.h"

/* Whether the thread that begins the call ends it, and nothing has made the row stale meanwhile. */
static inline bool is_as_begun(const struct ipo_frame *frame, const struct ipo_cached *cached)
{
    return frame->thread == ipo_thread_current && cached->stamp == ipo_armed_word() && ipo_cache_stands(cached);
}

/* Appends and counts the event of the cached call where its duration, or the gap before it, is long. */
static __attribute__((noinline)) bool put_long_event(const struct ipo_frame *frame, const struct ipo_cached *cached,
                                                     bool collective, uint64_t end)
{
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_sig_state *state = cached->state;
    trc_count(stream->page, state->row, state->use, end - frame->begin);
    trc_stream_put(stream, state, collective, frame->begin, end, collective ? frame->sequence : 0);
    return true;
}

/* Appends and counts the event of the cached call. */
static inline __attribute__((always_inline)) bool put_event(const struct ipo_frame *frame,
                                                            const struct ipo_cached *cached, bool collective)
{
    const uint64_t end = ipo_ticks_armed();
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_thread *live = &stream->page->thread;
    struct trc_sig_state *state = cached->state;
    if (__builtin_expect(!is_as_begun(frame, cached) || !trc_stream_ready(stream, state), 0))
        return false;
    live->last_end = end;
    live->last = cached->index + 1;
    return trc_stream_record(stream, state, collective, frame->begin, end, collective ? frame->sequence : 0) ||
           put_long_event(frame, cached, collective, end);
}

/* Marks the thread and its live page as outside of the call. */
static inline bool end_call(struct ipo_thread *thread)
{
    __atomic_store_n(&thread->stream.page->thread.inside, 0, __ATOMIC_RELEASE);
    thread->mark = NULL;
    return true;
}

bool ipo_leave_event(const struct ipo_frame *frame, const struct ipo_cached *cached)
{
    return put_event(frame, cached, false) && end_call(frame->thread);
}

bool ipo_leave_collective(const struct ipo_frame *frame, const struct ipo_cached *cached)
{
    return put_event(frame, cached, true) && end_call(frame->thread);
}

bool ipo_leave_recv(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t status, int source,
                    int tag)
{
    const struct trc_sig *sig = &cached->state->use->sig;
    if ((sig->flags & TRC_SIG_P2P_IN) &&
        (ipo_abi.count_at < 0 || !ipo_status_known || !ipo_arrived_as(status, source, tag, sig->received)))
        return false;
    return put_event(frame, cached, false) && end_call(frame->thread);
}

/* An event and its request; `collective` is a constant. */
static inline __attribute__((always_inline)) bool leave_started(const struct ipo_frame *frame,
                                                                const struct ipo_cached *cached, uintptr_t variable,
                                                                int source, int tag, bool collective)
{
    struct ipo_thread *thread = frame->thread;
    if (__builtin_expect(!variable, 0) || !put_event(frame, cached, collective))
        return false;
    ipo_note_start(thread, variable, &cached->state->use->sig, true, cached->index, cached->comm, source, tag);
    return end_call(thread);
}

bool ipo_leave_started(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t variable, int source,
                       int tag)
{
    return leave_started(frame, cached, variable, source, tag, false);
}

bool ipo_leave_started_collective(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t variable)
{
    return leave_started(frame, cached, variable, 0, 0, true);
}

bool ipo_leave_poll(const struct ipo_frame *frame, const struct ipo_cached *cached)
{
    const uint64_t begin = frame->begin, end = ipo_ticks_armed();
    struct ipo_thread *thread = frame->thread;
    struct trc_stream *stream = &thread->stream;
    if (__builtin_expect(!is_as_begun(frame, cached) || !trc_completion_known(stream, cached->state), 0))
        return false;
    const uint32_t index = cached->state->completed_as; /* of a call that can poll: the signature of its polls */
    struct trc_thread *live = &stream->page->thread;
    live->last_end = end;
    live->last = index + 1;
    trc_stream_count(stream, index, end - begin);
    trc_stream_fold(stream, index, begin, end);
    return end_call(thread);
}

bool ipo_leave_wait_all(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t array, uint32_t n,
                        uintptr_t statuses)
{
    struct ipo_thread *thread = frame->thread;
    if (!put_event(frame, cached, false))
        return false;
    ipo_complete_range(thread, array, 0, n, statuses);
    return end_call(thread);
}

bool ipo_leave_wait(struct ipo_frame *frame, const struct ipo_cached *cached, enum ipo_call_id id,
                    const uintptr_t *args)
{
    const struct ipo_call *call = frame->call = &ipo_calls[id];
    if (ipo_found_nothing(call, args))
        return ipo_leave_poll(frame, cached);
    if (!put_event(frame, cached, false))
        return false;
    frame->failed = frame->poll = false;
    frame->status = ipo_arg(call, args, ipo_has(call, ROLE_STATUS_OUT) ? ROLE_STATUS_OUT : ROLE_STATUSES_OUT);
    ipo_complete_requests(frame, args);
    return end_call(frame->thread);
}
