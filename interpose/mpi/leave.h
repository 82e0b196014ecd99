/* A cached call, from its wrapper: what is written before the real call, and after it.  Record path. */
#ifndef IPO_LEAVE_H
#define IPO_LEAVE_H

#include "interpose/mpi/cached.h"
#include "interpose/mpi/comms.h"

/* After the real call succeeded, each writes and counts what a call of its kind comes to.  False: the call is unusual
 * and nothing was written; ipo_leave_cached does the rest. */
/* A call that just has an event. */
bool ipo_leave_event(const struct ipo_frame *frame, const struct ipo_cached *cached);
/* A collective. */
bool ipo_leave_collective(const struct ipo_frame *frame, const struct ipo_cached *cached);
/* `status`: a status that the call has filled; `source`, `tag`: arguments. */
bool ipo_leave_recv(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t status, int source,
                    int tag);
/* A call that starts a request.  `variable`: address of the request; `source`, `tag`: arguments of a receive. */
bool ipo_leave_started(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t variable, int source,
                       int tag);
/* A collective that starts a request. */
bool ipo_leave_started_collective(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t variable);
/* A call that found nothing. */
bool ipo_leave_poll(const struct ipo_frame *frame, const struct ipo_cached *cached);
/* Before a Wait or Test of `n` requests at `array`: saves their handles, which the call overwrites.  False: no
 * memory. */
static inline bool ipo_save_handles(struct ipo_thread *thread, uintptr_t array, uint32_t n)
{
    if (__builtin_expect(!ipo_thread_scratch(thread, n), 0))
        return false;
    for (uint32_t i = 0; i < n; i++)
        thread->requests[i] = ipo_handle_at(array, i);
    return true;
}
/* After it: `n` requests at `array` have completed, with `statuses` (0: none). */
bool ipo_leave_wait_all(const struct ipo_frame *frame, const struct ipo_cached *cached, uintptr_t array, uint32_t n,
                        uintptr_t statuses);
/* After it, where not all need have completed. */
bool ipo_leave_wait(struct ipo_frame *frame, const struct ipo_cached *cached, enum ipo_call_id id,
                    const uintptr_t *args);

/* Whether what the call overwrites could be saved. */
IPO_CONSTANT bool ipo_prepare_cached(struct ipo_frame *frame, struct ipo_row_facts row, const char *roles,
                                     const uintptr_t *args)
{
    if (row.opclass != TRC_OP_WAIT && row.opclass != TRC_OP_TEST)
        return true;
    return ipo_save_handles(frame->thread, args[ipo_requests_at(row, roles)], ipo_count_requests(row, roles, args));
}

/* Before the real call: marks the thread and its live page as inside the call.  May replace an ignored status among
 * `args` by the thread's own. */
IPO_CONSTANT void ipo_begin_cached(struct ipo_frame *frame, struct ipo_row_facts row, const char *roles,
                                   const struct ipo_cached *cached, uintptr_t *args)
{
    struct ipo_thread *thread = frame->thread;
    struct trc_thread *live = &thread->stream.page->thread;
    const unsigned one = ipo_letter_at(row, roles, ROLE_STATUS_OUT), all = ipo_letter_at(row, roles, ROLE_STATUSES_OUT);
    const bool wants = row.opclass != TRC_OP_PROBE;
    if (wants && one != IPO_ABSENT && args[one] == ipo_abi.status_ignore)
        args[one] = (uintptr_t)thread->statuses;
    if (wants && all != IPO_ABSENT && args[all] == ipo_abi.statuses_ignore)
        args[all] = (uintptr_t)thread->statuses;
    thread->mark = frame->address;
    thread->outer = frame;
    thread->outer_site = frame->site;
    if (row.collective)
        live->inside_sequence = frame->sequence = cached->comm->sequence++;
    live->inside_since = frame->begin = ipo_ticks_armed();
    __atomic_store_n(&live->inside, cached->index + 1, __ATOMIC_RELEASE);
}

/* After the real call.  False: it is unusual (ipo_leave_cached). */
IPO_CONSTANT bool ipo_leave_quickly(struct ipo_frame *frame, struct ipo_row_facts row, const char *roles,
                                    const char *name, const struct ipo_cached *cached, const uintptr_t *args,
                                    int result)
{
    const enum ipo_quick kind = ipo_quick_kind(row, roles, name);
    const unsigned source = ipo_letter_at(row, roles, ROLE_SOURCE), tag = ipo_letter_at(row, roles, ROLE_RECEIVE_TAG),
                   flag = ipo_letter_at(row, roles, ROLE_FLAG_OUT), one = ipo_letter_at(row, roles, ROLE_STATUS_OUT),
                   status = one != IPO_ABSENT ? one : ipo_letter_at(row, roles, ROLE_STATUSES_OUT);
    if (__builtin_expect(result != 0, 0))
        return false;
    switch (kind) {
    case IPO_QUICK_RECV:
        return ipo_leave_recv(frame, cached, args[status], (int)args[source], (int)args[tag]);
    case IPO_QUICK_STARTED:
        if (row.collective)
            return ipo_leave_started_collective(frame, cached, args[ipo_letter_at(row, roles, ROLE_REQUEST_OUT)]);
        return ipo_leave_started(frame, cached, args[ipo_letter_at(row, roles, ROLE_REQUEST_OUT)],
                                 source == IPO_ABSENT ? 0 : (int)args[source], tag == IPO_ABSENT ? 0 : (int)args[tag]);
    case IPO_QUICK_PROBE:
        return flag == IPO_ABSENT || *(const int *)args[flag] ? ipo_leave_event(frame, cached)
                                                              : ipo_leave_poll(frame, cached);
    case IPO_QUICK_WAIT:
        if (ipo_letter_at(row, roles, ROLE_INDEX_OUT) != IPO_ABSENT ||
            ipo_letter_at(row, roles, ROLE_INDICES_OUT) != IPO_ABSENT)
            return ipo_leave_wait(frame, cached, row.id, args);
        if (flag != IPO_ABSENT && !*(const int *)args[flag])
            return ipo_leave_poll(frame, cached);
        return ipo_leave_wait_all(frame, cached, args[ipo_requests_at(row, roles)],
                                  ipo_count_requests(row, roles, args), args[status]);
    default:
        return row.collective ? ipo_leave_collective(frame, cached) : ipo_leave_event(frame, cached);
    }
}

#endif
