/* Cached call, from its wrapper: the records before the real call, and after it.  Record path. */
#pragma once

#include "interpose/mpi/cached.h"
#include "interpose/mpi/comms.h"

/* After the real call, each writes and counts what a call of its kind comes to, and returns `result`, the real call's;
 * ipo_leave_cached does so for an unusual one. */
/* A call that just has an event. */
int ipo_leave_event(struct ipo_frame *frame, const struct ipo_cached *cached, int result);
/* A collective. */
int ipo_leave_collective(struct ipo_frame *frame, const struct ipo_cached *cached, int result);
/* `status`: a status that the call has filled; `envelope`: source and tag among the arguments. */
int ipo_leave_recv(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t status,
                   const uintptr_t *envelope);
/* A call that starts a request.  `variable`: address of the request. */
int ipo_leave_started(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t variable);
/* A nonblocking receive.  `envelope`: source and tag among the arguments. */
int ipo_leave_posted(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t variable,
                     const uintptr_t *envelope);
/* A collective that starts a request. */
int ipo_leave_started_collective(struct ipo_frame *frame, const struct ipo_cached *cached, int result,
                                 uintptr_t variable);
/* A call that succeeded and found nothing. */
int ipo_leave_poll(struct ipo_frame *frame, const struct ipo_cached *cached);
/* Before a Wait or Test of `n` requests at `array`: saves their handles, which the call overwrites.  False: no
 * memory. */
static inline bool ipo_save_handles(struct ipo_thread *thread, uintptr_t array, uint32_t n)
{
    if (__builtin_expect(!ipo_thread_scratch(thread, n), 0))
        return false;
    if (__builtin_expect(ipo_abi.handle_bytes == 8, 1))
        for (uint32_t i = 0; i < n; i++) /* atomic, so that the compiler makes no call of memcpy of it */
            thread->requests[i] = __atomic_load_n((const uintptr_t *)array + i, __ATOMIC_RELAXED);
    else
        for (uint32_t i = 0; i < n; i++)
            thread->requests[i] = ipo_handle_at(array, i);
    return true;
}
/* After it: `n` requests at `array` have completed, with `statuses` (0: none). */
int ipo_leave_wait_all(struct ipo_frame *frame, const struct ipo_cached *cached, int result, uintptr_t array,
                       uint32_t n, uintptr_t statuses);
/* After it, where not all need have completed. */
int ipo_leave_wait(struct ipo_frame *frame, const struct ipo_cached *cached, int result);

/* Whether what the call overwrites could be saved. */
IPO_CONSTANT bool ipo_prepare_cached(struct ipo_frame *frame, struct ipo_row_facts row, const char *roles)
{
    const uintptr_t *args = frame->args;
    if (row.opclass != TRC_OP_WAIT && row.opclass != TRC_OP_TEST)
        return true;
    return ipo_save_handles(frame->thread, args[ipo_requests_at(row, roles)], ipo_count_requests(row, roles, args));
}

/* Before the real call: marks the thread and its live page as inside the call.  May replace an ignored status among the
 * arguments by the thread's own. */
IPO_CONSTANT void ipo_begin_cached(struct ipo_frame *frame, struct ipo_row_facts row, const char *roles,
                                   const struct ipo_cached *cached)
{
    struct ipo_thread *thread = frame->thread;
    struct trc_thread *live = &thread->stream.page->thread;
    const unsigned one = ipo_letter_at(row, roles, ROLE_STATUS_OUT), all = ipo_letter_at(row, roles, ROLE_STATUSES_OUT);
    const bool wants = row.opclass != TRC_OP_PROBE;
    if (wants && one != IPO_ABSENT && frame->args[one] == ipo_abi.status_ignore)
        frame->args[one] = (uintptr_t)thread->statuses;
    if (wants && all != IPO_ABSENT && frame->args[all] == ipo_abi.statuses_ignore)
        frame->args[all] = (uintptr_t)thread->statuses;
    frame->id = row.id;
    thread->outer_site = frame->site;
    thread->outer = frame;
    if (row.collective)
        live->inside_sequence = frame->sequence = cached->comm->sequence++;
    live->inside_since = frame->begin = ipo_ticks_armed();
    __atomic_store_n(&live->inside, cached->inside, __ATOMIC_RELEASE);
}

/* Whether the call found nothing, by its flag; `at`: the flag's position. */
IPO_CONSTANT bool ipo_flag_is_off(const struct ipo_frame *frame, unsigned at, int result)
{
    return at != IPO_ABSENT && !result && !*(const int *)frame->args[at];
}

/* After the real call.  Returns its result. */
IPO_CONSTANT int ipo_leave_quickly(struct ipo_frame *frame, struct ipo_row_facts row, const char *roles,
                                   const char *name, const struct ipo_cached *cached, int result)
{
    const enum ipo_quick kind = ipo_quick_kind(row, roles, name);
    const unsigned source = ipo_letter_at(row, roles, ROLE_SOURCE), flag = ipo_letter_at(row, roles, ROLE_FLAG_OUT),
                   one = ipo_letter_at(row, roles, ROLE_STATUS_OUT),
                   status = one != IPO_ABSENT ? one : ipo_letter_at(row, roles, ROLE_STATUSES_OUT),
                   request = ipo_letter_at(row, roles, ROLE_REQUEST_OUT);
    const uintptr_t *args = frame->args, *envelope = args + (source == IPO_ABSENT ? 0 : source);
    switch (kind) {
    case IPO_QUICK_RECV:
        return ipo_leave_recv(frame, cached, result, args[status], envelope);
    case IPO_QUICK_STARTED:
        if (row.collective)
            return ipo_leave_started_collective(frame, cached, result, args[request]);
        return source == IPO_ABSENT ? ipo_leave_started(frame, cached, result, args[request])
                                    : ipo_leave_posted(frame, cached, result, args[request], envelope);
    case IPO_QUICK_PROBE:
        return ipo_flag_is_off(frame, flag, result) ? ipo_leave_poll(frame, cached)
                                                    : ipo_leave_event(frame, cached, result);
    case IPO_QUICK_WAIT:
        if (ipo_letter_at(row, roles, ROLE_INDEX_OUT) != IPO_ABSENT ||
            ipo_letter_at(row, roles, ROLE_INDICES_OUT) != IPO_ABSENT)
            return ipo_leave_wait(frame, cached, result);
        if (ipo_flag_is_off(frame, flag, result))
            return ipo_leave_poll(frame, cached);
        return ipo_leave_wait_all(frame, cached, result, args[ipo_requests_at(row, roles)],
                                  ipo_count_requests(row, roles, args), args[status]);
    default:
        return row.collective ? ipo_leave_collective(frame, cached, result) : ipo_leave_event(frame, cached, result);
    }
}
