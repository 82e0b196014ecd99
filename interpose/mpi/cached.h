/* Cached calls: a call from the same place with the same deciding arguments has the same signature, so it is described
 * once (communicator, world ranks, type sizes).  Each thread has its own table.  A row is valid while its stamp equals
 * the word that arms the wrappers, so one comparison covers "not armed", "stale" and "Python".  All functions: record
 * path of the thread that owns the table. */
#pragma once

#include "interpose/mpi/abi.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/quick.h"
#include "interpose/mpi/record.h"

/* The word that arms the wrappers: the state below, the number of invalidations above. */
static inline uint64_t ipo_armed_word(void)
{
    return __atomic_load_n((const uint64_t *)(const void *)ipo_armed, __ATOMIC_RELAXED);
}
/* Number of invalidations of the cached calls, in the upper half. */
static inline uint64_t ipo_cache_epoch(void)
{
    return ipo_armed_word() & ~(uint64_t)UINT32_MAX;
}
/* Returns the stamp of answers of MPI that hold until the next invalidation; never 0. */
static inline uint64_t ipo_cache_stamp(void)
{
    return ipo_cache_epoch() | IPO_ARMED;
}
/* The stamp of rows that their wrappers find now; 0 marks a free row.  While recording is off it has the bits that say
 * so: a row is found by its wrapper only after the general path, where the thread's stream is switched off. */
static inline uint64_t ipo_row_stamp(void)
{
    return (ipo_armed_word() & ~(uint64_t)IPO_ARMED_HOW) | IPO_ARMED;
}

/* Call site and call in one word: the upper bits of an address are not used. */
static inline uint64_t ipo_cache_site(uint64_t site, enum ipo_call_id id)
{
    return site ^ (uint64_t)id << 54;
}

/* Origin, by which the table tells calls from different places apart: calls of one site from different callers have
 * different stack pointers as a rule. */
static inline uint64_t ipo_cache_origin(uint64_t site, uintptr_t stack)
{
    return site + stack;
}

/* Adds a deciding argument to the hash of a call, which starts with its origin. */
static inline uint64_t ipo_cache_mix(uint64_t hash, uintptr_t word)
{
    return hash * 5 + word;
}

/* Returns the memory of the last call from a place. */
static inline struct ipo_recent *ipo_recent_of(struct ipo_thread *thread, uint64_t site, uintptr_t stack)
{
    const uint64_t origin = ipo_cache_origin(site, stack);
    return &thread->recent[(origin ^ origin >> 6) % IPO_RECENT];
}

/* The row of a hash. */
static inline struct ipo_cached *ipo_cache_row(struct ipo_thread *thread, uint64_t hash)
{
    const uint64_t mask = (IPO_CACHE_ROWS - 1) * sizeof *thread->cache;
    return (struct ipo_cached *)(void *)((char *)thread->cache + ((hash ^ hash << 7) & mask));
}

/* Whether the row still has its signature in the thread's table. */
static inline bool ipo_cache_is_valid(const struct ipo_cached *cached)
{
    return cached->version == cached->state->version;
}

/* Buffers that are MPI_IN_PLACE, one bit each: the key of a collective. */
static inline uint64_t ipo_cache_in_place(const struct ipo_call *call, const uintptr_t *args)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < call->buffers; i++)
        bits = bits * 2 + (args[call->buffer[i]] == ipo_abi.in_place);
    return bits;
}

#define IPO_NO_SUM UINTPTR_MAX /* equal to no sum of counts */

/* Word by which an array of counts decides a signature: their sum, and the rank's own count.  IPO_NO_SUM: they do not
 * fit, or belong to the groups of an intercommunicator.  `large`: they have 64 bits. */
static inline uintptr_t ipo_sum_word(const struct ipo_comm *comm, uintptr_t array, bool large)
{
    uint64_t sum = 0, own = 0;
    if (!comm || comm->remote_size > 0)
        return IPO_NO_SUM;
    for (int32_t i = 0; array && i < comm->size; i++) {
        const int64_t n = large ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
        const uint64_t count = n > 0 ? (uint64_t)n : 0;
        sum += count;
        own = i == comm->rank ? count : own;
    }
    return sum >> 31 ? IPO_NO_SUM : sum << 32 | own;
}

/* Sum word of an argument; MPI ignores counts of what is sent from MPI_IN_PLACE, which `key` has. */
static inline uintptr_t ipo_sum_of(const struct ipo_comm *comm, char role, uint64_t key, uintptr_t array, bool large)
{
    return role == ROLE_SEND_COUNTS && key ? 0 : ipo_sum_word(comm, array, large);
}

/* Sum word `i` of a call with these arguments. */
static inline uintptr_t ipo_sum_at(const struct ipo_call *call, const struct ipo_comm *comm, uint64_t key,
                                   const uintptr_t *args, unsigned i)
{
    return ipo_sum_of(comm, call->roles[call->sum[i]], key, args[call->sum[i]], call->large);
}

/* The row for a call with these arguments; NULL: the call is not cached. */
static inline struct ipo_cached *ipo_cache_place(const struct ipo_frame *frame, const struct ipo_call *call,
                                                 const uintptr_t *args)
{
    if (!call->remembered || frame->key == IPO_NO_KEY)
        return NULL;
    uint64_t hash = ipo_cache_mix(ipo_cache_origin(frame->site, frame->stack), frame->key);
    for (unsigned i = 0; i < call->cache_words; i++)
        hash = ipo_cache_mix(hash, args[call->cache_word[i]]);
    return ipo_cache_row(frame->thread, hash);
}

/* The entry for the signature of a request in the table of the thread that started it, this one; NULL: another thread
 * did, or the table has dropped it. */
static inline struct trc_sig_state *ipo_find_start(const struct ipo_thread *thread, const struct ipo_request *request)
{
    struct trc_sig_state *state = request->state;
    bool own = request->thread == thread->stream.page->thread.index && request->version != 0;
    return own && state->version == request->version ? state : NULL;
}

/* The key of a wait for a request, by its signature (completion.c); IPO_NO_KEY: it must be described. */
static inline uint64_t ipo_wait_key(const struct ipo_thread *thread, const struct ipo_request *request)
{
    const struct trc_sig_state *state = ipo_find_start(thread, request);
    return state ? (uint64_t)request->version << 32 | (trc_state_index(&thread->stream, state) + 1) : IPO_NO_KEY;
}

/* Whether calls of a row have a key but 0. */
IPO_CONSTANT bool ipo_quick_has_key(struct ipo_row_facts row, const char *roles)
{
    bool has = row.opclass == TRC_OP_WAIT || row.opclass == TRC_OP_TEST;
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        has = has || ipo_is_buffer(row.opclass, roles[i]);
    return has;
}

/* The key of a call from its wrapper; IPO_NO_KEY: it must be described. */
IPO_CONSTANT uint64_t ipo_quick_key(const struct ipo_thread *thread, struct ipo_row_facts row, const char *roles,
                                    const uintptr_t *args)
{
    uint64_t key = 0;
    if (row.opclass == TRC_OP_WAIT || row.opclass == TRC_OP_TEST) {
        const bool one = ipo_letter_at(row, roles, ROLE_REQUEST_INOUT) != IPO_ABSENT;
        const uintptr_t array = args[ipo_requests_at(row, roles)];
        if (!ipo_process.usual || !array)
            return IPO_NO_KEY;
        if (row.opclass == TRC_OP_TEST || !one)
            return 0;
        const uintptr_t handle = ipo_handle_at(array, 0);
        if (handle - ipo_abi.shared < ipo_abi.shared_span)
            return 0; /* finished requests share a signature with unknown ones */
        const struct ipo_request *request = ipo_request_find(handle);
        return request ? ipo_wait_key(thread, request) : IPO_NO_KEY;
    }
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        if (ipo_is_buffer(row.opclass, roles[i]))
            key = key * 2 + (args[i] == ipo_abi.in_place);
    return key;
}

/* Caches the call of a wrapper, in the row that its arguments give, by the last call from the same place: it has the
 * same path and arguments but for sizes, tags and partners.  False: it has not. */
bool ipo_cache_vary(struct ipo_frame *frame, enum ipo_call_id id, struct ipo_cached *row);

/* Whether calls of a row have arguments that ipo_cache_vary allows to differ. */
IPO_CONSTANT bool ipo_quick_varies(struct ipo_row_facts row, const char *roles)
{
    bool varies = false;
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        if (ipo_is_summed(row.opclass, roles[i]))
            return false;
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        varies = varies || ipo_varies(roles[i]);
    return varies;
}

/* Sets *place to the row of the cached calls for a wrapper whose row and letters these are, as ipo_cache_place.
 * Returns whether it is equal in all that decides: else there is no such cached call, or it must be entered with more
 * care.  `stack`, `caller`: registers of the calling code. */
IPO_CONSTANT bool ipo_cache_find(struct ipo_frame *frame, uintptr_t stack, const uintptr_t *caller,
                                 struct ipo_row_facts row, const char *roles, struct ipo_cached **place)
{
    const uintptr_t *args = frame->args;
    struct ipo_thread *thread = frame->thread = ipo_thread_current;
    const uint64_t key = ipo_quick_key(thread, row, roles, args);
    uint64_t hash = ipo_cache_mix(ipo_cache_origin(frame->site, stack), key);
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        if (ipo_decides(roles[i]))
            hash = ipo_cache_mix(hash, args[i]);
    const struct ipo_cached *cached = *place = ipo_cache_row(thread, hash);
    if (cached->site != ipo_cache_site(frame->site, row.id) || cached->stamp != ipo_armed_word() || thread->outer ||
        !ipo_cache_is_valid(cached) || (ipo_quick_has_key(row, roles) && cached->key != key))
        return false;
    unsigned n = 0;
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        if (ipo_decides(roles[i]) && cached->word[n++] != args[i])
            return false;
#pragma GCC unroll 16
    for (unsigned i = 0; i < row.arity; i++)
        if (ipo_is_summed(row.opclass, roles[i]) &&
            cached->word[n++] != ipo_sum_of(cached->comm, roles[i], key, args[i], ipo_calls[row.id].large))
            return false;
    return ipo_path_is(cached->path, frame->site, stack, caller);
}

/* Whether the row holds exactly this call; then frame->sig, comm and index are filled in. */
static inline bool ipo_cache_recall(struct ipo_frame *frame, const struct ipo_call *call, enum ipo_call_id id,
                                    const uintptr_t *args, struct ipo_cached *cached)
{
    const uint64_t stamp = ipo_row_stamp();
    if (cached->site != ipo_cache_site(frame->site, id) || !cached->stamp || (cached->stamp ^ stamp) >> 32 ||
        !ipo_cache_is_valid(cached))
        return false;
    uint64_t differ = cached->key ^ frame->key;
    differ |= cached->state->use->sig.call ^ (uint32_t)id; /* a site that is a line of Python may have any bits */
    for (unsigned i = 0; i < call->cache_words; i++)
        differ |= cached->word[i] ^ args[call->cache_word[i]];
    for (unsigned i = 0; i < call->sums && !differ; i++)
        differ |= cached->word[call->cache_words + i] ^ ipo_sum_at(call, cached->comm, cached->key, args, i);
    if (__builtin_expect(differ != 0, 0))
        return false;
    if (frame->path ? frame->path != cached->path
                    : !ipo_path_is(cached->path, frame->site, frame->stack, &frame->caller))
        return false;
    cached->stamp = stamp;
    frame->path = cached->path;
    frame->sig = cached->state->use->sig;
    frame->comm = cached->comm;
    frame->index = cached->inside - 1;
    return true;
}

/* Stores a described call in its row.  `stamp` was read before the call was described: if describing it made rows
 * stale, this one is stale too. */
static inline void ipo_cache_store(const struct ipo_frame *frame, const uintptr_t *args, struct ipo_cached *cached,
                                   uint64_t stamp)
{
    cached->site = ipo_cache_site(frame->site, (enum ipo_call_id)frame->sig.call);
    cached->stamp = stamp;
    cached->comm = frame->comm;
    cached->inside = frame->index + 1;
    cached->state = &frame->thread->stream.state[frame->index];
    cached->version = cached->state->version;
    cached->key = frame->key;
    cached->path = frame->path;
    for (unsigned i = 0; i < frame->call->cache_words; i++)
        cached->word[i] = args[frame->call->cache_word[i]];
    for (unsigned i = 0; i < frame->call->sums; i++) {
        const uintptr_t sum = ipo_sum_at(frame->call, frame->comm, frame->key, args, i);
        cached->word[frame->call->cache_words + i] = sum;
        cached->stamp = sum == IPO_NO_SUM ? 0 : cached->stamp;
    }
    ipo_recent_of(frame->thread, frame->site, frame->stack)->cached = cached;
}
