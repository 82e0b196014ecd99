/* A repeated call: most calls of a program were made before, by the same thread, from the same place, with the same
 * words.  Their signature is in the thread's memory (memo.h), and what is left to do is in line in the wrapper, where
 * the compiler knows the row: ipo_repeat_enter and ipo_repeat_leave do in their case what ipo_enter and ipo_leave do
 * in all cases.  Anything unusual goes there. */
#ifndef IPO_REPEAT_H
#define IPO_REPEAT_H

#include "interpose/mpi/describe.h"
#include "interpose/mpi/memo.h"
#include "interpose/core/state.h"

#define IPO_INLINE static inline __attribute__((always_inline))

/* ---- facts of a row; constants where `roles` is a literal */

IPO_INLINE bool ipo_role_in(const char *roles, char role)
{
    return __builtin_strchr(roles, role) != NULL;
}
IPO_INLINE unsigned ipo_role_at(const char *roles, char role)
{
    const char *found = __builtin_strchr(roles, role);
    return found ? (unsigned)(found - roles) : 0;
}

IPO_INLINE bool ipo_is_completion(enum trc_opclass opclass)
{
    return opclass == TRC_OP_WAIT || opclass == TRC_OP_TEST;
}

/* The classes that ipo_repeat_leave knows, of rows that ipo_calls_prepare gave a memory. */
IPO_INLINE bool ipo_repeats(enum trc_opclass opclass, const char *name, const char *roles)
{
    bool known = opclass == TRC_OP_SEND || opclass == TRC_OP_SSEND || opclass == TRC_OP_RECV ||
                 opclass == TRC_OP_SENDRECV || opclass == TRC_OP_ISEND || opclass == TRC_OP_ISSEND ||
                 opclass == TRC_OP_IRECV || opclass == TRC_OP_PROBE || opclass == TRC_OP_COMM ||
                 ipo_is_completion(opclass) || (opclass >= TRC_OP_BARRIER && opclass <= TRC_OP_EXSCAN);
    const char *too_much = ipo_is_completion(opclass) ? "wJ" : IPO_NOT_MEMORABLE "u";
    return known && !__builtin_strpbrk(roles, too_much) && !__builtin_strstr(name, "_init");
}
IPO_INLINE bool ipo_is_collective(enum trc_opclass opclass)
{
    return opclass >= TRC_OP_BARRIER && opclass <= TRC_OP_EXSCAN;
}

IPO_INLINE bool ipo_is_in_place(const char *roles, char role, const uintptr_t *args)
{
    return ipo_role_in(roles, role) && args[ipo_role_at(roles, role)] == ipo_abi.in_place;
}

/* ---- before */

/* What the wrapper keeps of a repeated call. */
struct ipo_repeat {
    struct ipo_thread *thread;
    const struct ipo_memo *memo;
    uint64_t begin, end, sequence;
};

/* Wait and Test families: the handles before the call overwrites them, and what decides the signature (memo.h).  False:
 * not the usual case. */
IPO_INLINE bool ipo_repeat_requests(struct ipo_thread *thread, enum trc_opclass opclass, const char *roles,
                                    const uintptr_t *args, uint64_t *key)
{
    bool one = ipo_role_in(roles, 'Q');
    uintptr_t array = args[one ? ipo_role_at(roles, 'Q') : ipo_role_at(roles, 'y')];
    int n = one ? 1 : (int)args[ipo_role_at(roles, 'l')];
    if (__builtin_expect(!array || n <= 0 || (uint32_t)n > thread->scratch || !ipo_process.usual, 0))
        return false;
    uintptr_t *requests = thread->requests, *stop = requests + n;
    const uintptr_t *wide = (const uintptr_t *)array;
    if (ipo_abi.handle_bytes == 8)
        for (; requests < stop; requests++, wide++) /* atomic: copied here, not by memcpy() */
            __atomic_store_n(requests, *wide, __ATOMIC_RELAXED);
    else
        for (int i = 0; i < n; i++)
            __atomic_store_n(&requests[i], ipo_handle_at(array, (unsigned)i), __ATOMIC_RELAXED);
    *key = one && opclass == TRC_OP_WAIT ? ipo_wait_key(thread, ipo_request_find(thread->requests[0])) : 0;
    return *key != IPO_NO_KEY;
}

/* A status that the program ignores is one of ours. */
IPO_INLINE bool ipo_repeat_status(struct ipo_thread *thread, enum trc_opclass opclass, const char *roles,
                                  uintptr_t *args)
{
    const char role = ipo_role_in(roles, 'S') ? 'S' : 'Z';
    if (!ipo_role_in(roles, role))
        return true;
    if (!ipo_is_completion(opclass) && __builtin_expect(!thread->scratch || !ipo_status_known, 0))
        return false;
    uintptr_t *status = &args[ipo_role_at(roles, role)];
    if (*status == (role == 'S' ? ipo_abi.status_ignore : ipo_abi.statuses_ignore))
        *status = (uintptr_t)thread->statuses;
    return true;
}

/* False: not one; nothing was done. */
IPO_INLINE bool ipo_repeat_enter(struct ipo_repeat *repeat, struct ipo_frame *frame, enum ipo_call_id id,
                                 enum trc_opclass opclass, const char *roles, unsigned arity, uintptr_t *args)
{
    struct ipo_thread *thread = ipo_thread_current;
    const uint64_t armed = ipo_armed_word();
    if (__builtin_expect(!thread || thread->mark, 0))
        return false;
    uint64_t key = 0;
    if (ipo_is_completion(opclass) && !ipo_repeat_requests(thread, opclass, roles, args, &key))
        return false;
    const struct ipo_memo *memo =
        ipo_is_completion(opclass)
            ? ipo_memo_at(thread, frame->site, key, 0)
            : ipo_memo_at(thread, frame->site, args[IPO_MEMO_FIRST(roles)], args[IPO_MEMO_SECOND(roles)]);
    __asm__("" : "+r"(memo)); /* one address, not two that the compiler goes on with */
    uint64_t differ = (memo->site ^ ipo_memo_site(frame->site, id)) | (memo->stamp ^ armed);
    if (__builtin_expect(differ != 0, 0))
        return false;
    differ = memo->version ^ memo->state->version;
#define WORD(i) (arity > (i) && ipo_role_in(IPO_MEMO_ROLES, roles[i]) ? memo->word[i] ^ args[i] : 0)
    if (ipo_is_completion(opclass)) {
        differ |= memo->word[0] ^ key;
    } else {
        differ |= WORD(0) | WORD(1) | WORD(2) | WORD(3) | WORD(4) | WORD(5);
        differ |= WORD(6) | WORD(7) | WORD(8) | WORD(9) | WORD(10);
    }
#undef WORD
    if (__builtin_expect(differ != 0, 0))
        return false;
    if (ipo_is_collective(opclass) && (ipo_is_in_place(roles, 'b', args) || ipo_is_in_place(roles, 'B', args)))
        return false;
    if (opclass != TRC_OP_PROBE && !ipo_repeat_status(thread, opclass, roles, args))
        return false;
    thread->mark = frame->address;
    thread->outer = frame;
    thread->outer_site = frame->site;
    struct trc_thread *live = &thread->stream.page->thread;
    repeat->thread = thread;
    repeat->memo = memo;
    repeat->sequence = 0;
    if (ipo_is_collective(opclass))
        live->inside_sequence = repeat->sequence = memo->comm->sequence++;
    live->inside_since = repeat->begin = IPO_TSC();
    __atomic_store_n(&live->inside, memo->index + 1, __ATOMIC_RELEASE);
    return true;
}

/* What the call was given and will not be found in the memory: kept for afterwards. */
IPO_INLINE bool ipo_is_kept(enum trc_opclass opclass, char role)
{
    return ipo_is_completion(opclass) || !ipo_role_in(IPO_MEMO_ROLES, role);
}
IPO_INLINE void ipo_repeat_keep(uintptr_t *kept, const uintptr_t *args, enum trc_opclass opclass, const char *roles,
                                unsigned arity)
{
#define KEEP(i)                                                                                                        \
    if (arity > (i) && ipo_is_kept(opclass, roles[i])) {                                                               \
        kept[i] = args[i];                                                                                             \
        __asm__ volatile("" : "+m"(kept[i])); /* there, not in registers that the call has to save */                  \
    }
    KEEP(0)
    KEEP(1) KEEP(2) KEEP(3) KEEP(4) KEEP(5) KEEP(6) KEEP(7) KEEP(8) KEEP(9) KEEP(10) KEEP(11) KEEP(12) KEEP(13) KEEP(14)
#undef KEEP
}

/* ---- after */

/* An argument after the call. */
IPO_INLINE uintptr_t ipo_repeat_arg(const struct ipo_repeat *repeat, const uintptr_t *kept, enum trc_opclass opclass,
                                    const char *roles, char role)
{
    if (!ipo_role_in(roles, role))
        return 0;
    return (ipo_is_kept(opclass, role) ? kept : repeat->memo->word)[ipo_role_at(roles, role)];
}

/* The unusual: as ipo_leave does, with the frame that ipo_enter would have filled. */
void ipo_repeat_odd(const struct ipo_repeat *repeat, struct ipo_frame *frame, enum ipo_call_id id, uintptr_t *kept,
                    int result);

/* The event of a call that took long, or came long after the one before; and counts it. */
void ipo_repeat_long(struct trc_stream *stream, struct trc_sig_state *state, uint32_t index, bool collective,
                     uint64_t begin, uint64_t end, uint64_t sequence);

/* Some of several requests have completed. */
void ipo_repeat_complete(const struct ipo_repeat *repeat, struct ipo_frame *frame, enum ipo_call_id id,
                         const uintptr_t *args);

/* A poll that found nothing goes to the fold it belongs to; false: there is none yet. */
IPO_INLINE bool ipo_repeat_poll(struct trc_stream *stream, const struct trc_sig_state *state, uint64_t begin,
                                uint64_t end)
{
    uint32_t poll = state->completed_as;
    if (__builtin_expect(!trc_completion_known(stream, state), 0))
        return false;
    trc_stream_fold(stream, poll, begin, end);
    trc_stream_count(stream, poll, end - begin);
    stream->page->thread.last = poll + 1;
    return true;
}

/* What arrived is what the signature says. */
IPO_INLINE bool ipo_as_remembered(const struct trc_sig *sig, uintptr_t status, int source, int tag)
{
    if (!(sig->flags & TRC_SIG_P2P_IN))
        return true;
    return ipo_abi.count_at >= 0 && ipo_arrived_as(status, source, tag, sig->received);
}

/* The request that a send or receive has started. */
IPO_INLINE void ipo_repeat_fill(struct ipo_request *request, const struct ipo_repeat *repeat, enum ipo_call_id id,
                                enum trc_opclass opclass, const char *roles, uint64_t number)
{
    const struct ipo_memo *memo = repeat->memo;
    request->flags = opclass == TRC_OP_IRECV ? IPO_REQUEST_RECEIVES : 0;
    request->thread = repeat->thread->stream.page->thread.index;
    request->number = number;
    memcpy(&request->index, &memo->index, sizeof request->index + sizeof request->version);
    if (opclass == TRC_OP_IRECV) {
        request->source = (int)memo->word[ipo_role_at(roles, 's')];
        request->tag = (int)memo->word[ipo_role_at(roles, 'T')];
    }
    request->charge = id;
    request->comm = memo->comm;
    request->sig = *memo->state->sig;
}
IPO_INLINE void ipo_repeat_started(const struct ipo_repeat *repeat, enum ipo_call_id id, enum trc_opclass opclass,
                                   const char *roles, const uintptr_t *kept)
{
    struct ipo_thread *thread = repeat->thread;
    const uintptr_t variable = kept[ipo_role_at(roles, 'q')], handle = ipo_handle_at(variable, 0);
    const uint64_t number = thread->stream.page->thread.starts++;
    if (__builtin_expect(ipo_process.concurrent, 0))
        goto unusual;
    if (handle - ipo_abi.shared < ipo_abi.shared_span) {
        struct ipo_request *request = ipo_shared_at(thread, thread->shared_end);
        if (__builtin_expect(!request || thread->shared_end - thread->shared_first == IPO_SHARED, 0))
            goto unusual;
        ipo_repeat_fill(request, repeat, id, opclass, roles, number);
        request->variable = variable;
        thread->shared_end++;
        return;
    }
    const uint32_t at = ipo_request_favourite(handle);
    if (__builtin_expect(atomic_load_explicit(&ipo_requests.keys[at], memory_order_relaxed) != 0, 0))
        goto unusual;
    ipo_repeat_fill(&ipo_requests.slots[at], repeat, id, opclass, roles, number);
    atomic_store_explicit(&ipo_requests.keys[at], handle, memory_order_release);
    return;
unusual:
    ipo_request_started(thread, repeat->memo->comm, repeat->memo->index, variable,
                        (int)repeat->memo->word[ipo_role_at(roles, 's')],
                        (int)repeat->memo->word[ipo_role_at(roles, 'T')], number);
}

/* False: an unusual case, for ipo_repeat_odd. */
IPO_INLINE bool ipo_repeat_leave(struct ipo_repeat *repeat, struct ipo_frame *frame, enum ipo_call_id id,
                                 enum trc_opclass opclass, const char *roles, const uintptr_t *kept, int result)
{
    const uint64_t end = repeat->end = IPO_TSC();
    struct ipo_thread *thread = repeat->thread;
    struct trc_stream *stream = &thread->stream;
    struct trc_sig_state *state = repeat->memo->state;
    const uint32_t index = repeat->memo->index;
#define ARG(role) ipo_repeat_arg(repeat, kept, opclass, roles, role)
    bool usual = ((uint32_t)result | (*ipo_armed ^ IPO_ARMED)) == 0;
    bool poll = false;
    if (opclass == TRC_OP_PROBE || opclass == TRC_OP_TEST) {
        const char found = ipo_role_in(roles, 'g') ? 'g' : 'o';
        poll = ipo_role_in(roles, found) && usual && !*(const int *)ARG(found);
    }
    if (poll)
        usual = ipo_repeat_poll(stream, state, repeat->begin, end);
    else
        usual = usual && trc_stream_ready(stream, state);
    if (opclass == TRC_OP_RECV || opclass == TRC_OP_SENDRECV)
        usual = usual && ipo_as_remembered(state->sig, ARG('S'), (int)ARG('s'), (int)ARG('T'));
    if (__builtin_expect(!usual, 0))
        return false;
    struct trc_thread *live = &stream->page->thread;
    if (!poll) {
        if (!trc_stream_record(stream, state, index, ipo_is_collective(opclass), repeat->begin, end, repeat->sequence))
            ipo_repeat_long(stream, state, index, ipo_is_collective(opclass), repeat->begin, end, repeat->sequence);
        live->last = index + 1;
    }
    live->last_end = end;
    if (ipo_is_completion(opclass) && !poll && !ipo_role_in(roles, 'i') && !ipo_role_in(roles, 'o')) {
        bool one = ipo_role_in(roles, 'Q'), many = ipo_role_in(roles, 'Z');
        ipo_complete_from(thread, ARG(one ? 'Q' : 'y'), 0, one ? 1 : (uint32_t)ARG('l'), ARG(many ? 'Z' : 'S'));
    } else if (ipo_is_completion(opclass) && !poll) {
        struct ipo_repeat copy = *repeat;
        ipo_repeat_complete(&copy, frame, id, kept);
    }
    if (ipo_role_in(roles, 'q'))
        ipo_repeat_started(repeat, id, opclass, roles, kept);
#undef ARG
    __atomic_store_n(&live->inside, 0, __ATOMIC_RELEASE);
    thread->mark = NULL;
    return true;
}

#endif
