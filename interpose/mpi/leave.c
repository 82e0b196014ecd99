#include "interpose/mpi/leave.h"
#include "interpose/mpi/complete.h"
#include "interpose/mpi/emit.h"
#include "interpose/mpi/starts.h"
#include "trace/writer/switch.h"

/* Returns whether the thread that begins the call ends it as its outermost one, and nothing has disarmed the wrappers
 * or made the row stale meanwhile.  Then the signature has kept its place: a call under way never gives up its own. */
static inline bool is_as_begun(const struct ipo_thread *thread, const struct ipo_frame *frame,
                               const struct ipo_cached *cached)
{
    return thread->outer == frame && cached->stamp == ipo_armed_word();
}

/* Marks the thread and its live page as outside of the call, which succeeded. */
static inline int end_call(struct ipo_thread *thread, struct trc_thread *live)
{
    __atomic_store_n(&live->inside, 0, __ATOMIC_RELEASE);
    thread->outer = NULL;
    return 0;
}
static inline int end_call_of(struct ipo_thread *thread)
{
    return end_call(thread, &thread->stream.page->thread);
}

/* Appends and counts the event of the cached call where its duration, or the gap before it, is long; ends the call. */
static __attribute__((noinline)) int end_long_call(const struct ipo_frame *frame, struct trc_sig_state *state,
                                                   bool collective, uint64_t end)
{
    struct trc_stream *stream = &frame->thread->stream;
    struct trc_thread *live = &stream->page->thread;
    trc_count(stream, live, state->row, state->use, end - frame->begin);
    trc_stream_put(stream, state, collective, frame->begin, end, collective ? frame->sequence : 0);
    return end_call(frame->thread, live);
}

/* A cached call whose event cannot be put at once.  Returns its thread: recording is off, and nothing is to be done. */
static __attribute__((noinline, cold)) struct ipo_thread *
drop_event(struct ipo_thread *thread, const struct ipo_frame *frame, const struct ipo_cached *cached, int result)
{
    const bool drops = !result && is_as_begun(thread, frame, cached) && thread->stream.off;
    return drops && !trc_stream_switch_on(&thread->stream) ? thread : NULL;
}

/* Whether the event of the cached call can be put at once. */
static inline bool can_put(const struct ipo_thread *thread, const struct ipo_frame *frame,
                           const struct ipo_cached *cached, int result)
{
    return __builtin_expect(!result && is_as_begun(thread, frame, cached), 1) &&
           trc_stream_ready(&thread->stream, cached->state);
}

/* Appends and counts the event of a call with signature `inside` - 1, `state`, if duration and gap are short. */
TRC_INLINE bool put_short(struct ipo_thread *thread, struct trc_thread *live, const struct ipo_frame *frame,
                          uint32_t inside, struct trc_sig_state *state, bool collective, uint64_t end)
{
    live->last_end = end;
    live->last = inside;
    return trc_stream_record(&thread->stream, live, state, collective, frame->begin, end,
                             collective ? frame->sequence : 0);
}

/* Appends and counts the event of the cached call; drops it while recording is off.  Returns its thread; NULL: it is
 * unusual, and nothing was done. */
TRC_INLINE struct ipo_thread *put_event(const struct ipo_frame *frame, const struct ipo_cached *cached, bool collective,
                                        int result, uint64_t end)
{
    struct ipo_thread *thread = ipo_thread_current;
    if (__builtin_expect(!can_put(thread, frame, cached, result), 0))
        return drop_event(thread, frame, cached, result);
    struct trc_thread *live = &thread->stream.page->thread;
    if (!put_short(thread, live, frame, cached->inside, cached->state, collective, end))
        end_long_call(frame, cached->state, collective, end);
    return thread;
}

/* Ends a cached call that cannot be recorded at once. */
static __attribute__((noinline, cold)) int leave_unready(struct ipo_frame *frame, const struct ipo_cached *cached,
                                                         int result)
{
    struct ipo_thread *thread = drop_event(ipo_thread_current, frame, cached, result);
    return thread ? end_call_of(thread) : ipo_leave_cached(frame, cached, result);
}

/* Ends a call that just has an event.  A function is called in its last step alone, so it saves no register. */
TRC_INLINE int leave_event(struct ipo_frame *frame, const struct ipo_cached *cached, bool collective, int result)
{
    const uint64_t end = ipo_ticks_armed();
    struct ipo_thread *thread = ipo_thread_current;
    if (__builtin_expect(!can_put(thread, frame, cached, result), 0))
        return leave_unready(frame, cached, result);
    struct trc_thread *live = &thread->stream.page->thread;
    if (!put_short(thread, live, frame, cached->inside, cached->state, collective, end))
        return end_long_call(frame, cached->state, collective, end);
    return end_call(thread, live);
}

int ipo_leave_event(struct ipo_frame *frame, const struct ipo_cached *cached, int result)
{
    return leave_event(frame, cached, false, result);
}

int ipo_leave_collective(struct ipo_frame *frame, const struct ipo_cached *cached, int result)
{
    return leave_event(frame, cached, true, result);
}

/* Whether the message that a receive has got is the one that was posted. */
static inline bool is_as_posted(const struct ipo_cached *cached, uintptr_t status, const uintptr_t *envelope)
{
    const struct trc_sig *sig = &cached->state->use->sig;
    return !(sig->flags & TRC_SIG_P2P_IN) ||
           (ipo_abi.count_at >= 0 && ipo_status_known &&
            ipo_arrived_as(status, (int)envelope[0], (int)envelope[1], sig->received));
}

int ipo_leave_recv(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t status,
                   const uintptr_t *envelope)
{
    return !result && is_as_posted(cached, status, envelope) ? ipo_leave_event(frame, cached, result)
                                                             : ipo_leave_cached(frame, cached, result);
}

/* Appends the event of a call that starts a request, notes the request, and ends the call.  `envelope`: as in
 * ipo_fill_start. */
static __attribute__((noinline)) int start_slowly(struct ipo_frame *frame, const struct ipo_cached *cached,
                                                  bool collective, int result, uintptr_t variable,
                                                  const uintptr_t *envelope, uint64_t end)
{
    struct ipo_thread *thread = variable ? put_event(frame, cached, collective, result, end) : NULL;
    if (!thread)
        return ipo_leave_cached(frame, cached, result);
    struct trc_sig_state *state = cached->state;
    ipo_note_start(thread, variable, &state->use->sig, true, state, cached->comm, envelope);
    return end_call_of(thread);
}

/* The same where nothing is unusual; a function is called in its last step alone, as in leave_event. */
TRC_INLINE int leave_started(struct ipo_frame *frame, const struct ipo_cached *cached, bool collective, int result,
                             uintptr_t variable, const uintptr_t *envelope)
{
    const uint64_t end = ipo_ticks_armed();
    struct ipo_thread *thread = ipo_thread_current;
    if (__builtin_expect(!variable || !can_put(thread, frame, cached, result), 0))
        return start_slowly(frame, cached, collective, result, variable, envelope, end);
    const uintptr_t handle = ipo_handle_at(variable, 0);
    const bool shared = handle - ipo_abi.shared < ipo_abi.shared_span;
    struct ipo_request *request = ipo_usual_place(thread, handle, shared);
    if (__builtin_expect(!request, 0))
        return start_slowly(frame, cached, collective, result, variable, envelope, end);
    struct trc_thread *live = &thread->stream.page->thread;
    struct trc_sig_state *state = cached->state;
    const uint32_t inside = cached->inside; /* loaded before the request is published: stores then are ordered */
    ipo_fill_start(request, thread, handle, shared, variable, &state->use->sig, live->starts++, state, cached->comm,
                   envelope);
    if (!put_short(thread, live, frame, inside, state, collective, end))
        return end_long_call(frame, state, collective, end);
    return end_call(thread, live);
}

int ipo_leave_started(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t variable)
{
    return leave_started(frame, cached, false, result, variable, NULL);
}

int ipo_leave_posted(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t variable,
                     const uintptr_t *envelope)
{
    return leave_started(frame, cached, false, result, variable, envelope);
}

int ipo_leave_started_collective(struct ipo_frame *frame, const struct ipo_cached *cached, int result,
                                 uintptr_t variable)
{
    return leave_started(frame, cached, true, result, variable, NULL);
}

/* Ends a poll that begins a fold. */
static __attribute__((noinline)) int leave_first_poll(struct ipo_thread *thread, uint32_t index, uint64_t begin,
                                                      uint64_t end)
{
    trc_stream_fold_slow(&thread->stream, index, begin, end);
    return end_call_of(thread);
}

int ipo_leave_poll(struct ipo_frame *frame, const struct ipo_cached *cached)
{
    const uint64_t begin = frame->begin, end = ipo_ticks_armed();
    struct ipo_thread *thread = ipo_thread_current;
    struct trc_stream *stream = &thread->stream;
    if (__builtin_expect(
            !is_as_begun(thread, frame, cached) || !trc_completion_known(stream, cached->state) || stream->off, 0))
        return leave_unready(frame, cached, 0);
    const uint32_t index = cached->state->completed_as; /* signature of the polls of a call that can poll */
    struct trc_thread *live = &stream->page->thread;
    live->last_end = end;
    live->last = index + 1;
    trc_stream_count(stream, index, end - begin);
    return trc_stream_fold_on(stream, index, begin, end) ? end_call(thread, live)
                                                         : leave_first_poll(thread, index, begin, end);
}

int ipo_leave_wait_all(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t array,
                       uint32_t n, uintptr_t statuses)
{
    const uint64_t end = ipo_ticks_armed();
    struct ipo_thread *thread = ipo_thread_current;
    struct trc_thread *live = &thread->stream.page->thread;
    if (__builtin_expect(!can_put(thread, frame, cached, result), 0)) {
        if (!drop_event(thread, frame, cached, result))
            return ipo_leave_cached(frame, cached, result);
    } else if (!put_short(thread, live, frame, cached->inside, cached->state, false, end)) {
        end_long_call(frame, cached->state, false, end);
    }
    ipo_complete_range(thread, live, array, 0, n, statuses);
    return end_call(thread, live);
}

int ipo_leave_wait(struct ipo_frame *frame, const struct ipo_cached *cached, int result)
{
    const struct ipo_call *call = frame->call = &ipo_calls[frame->id];
    if (!result && ipo_found_nothing(call, frame->args))
        return ipo_leave_poll(frame, cached);
    struct ipo_thread *thread = put_event(frame, cached, false, result, ipo_ticks_armed());
    if (__builtin_expect(!thread, 0))
        return ipo_leave_cached(frame, cached, result);
    frame->failed = frame->poll = false;
    frame->status = ipo_arg(call, frame->args, ipo_has(call, ROLE_STATUS_OUT) ? ROLE_STATUS_OUT : ROLE_STATUSES_OUT);
    ipo_complete_requests(frame, frame->args);
    return end_call_of(thread);
}
