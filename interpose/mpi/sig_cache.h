/* The signature cache: a call from the same call site with the same argument words has the same signature, so that it
 * need not be described again (communicator, world ranks, type sizes).  Only for calls whose signature depends on the
 * words alone, not on what arrays hold.  Each thread has its own rows.  Whatever may give a handle a new meaning makes
 * all rows stale (ipo_cache_forget).  All functions: record path of the thread that owns the rows. */
#ifndef IPO_SIG_CACHE_H
#define IPO_SIG_CACHE_H

#include "interpose/mpi/abi.h"
#include "interpose/mpi/record.h"

/* How often all rows became stale: the upper half of the word that arms the wrappers. */
static inline uint64_t ipo_cache_epoch(void)
{
    return __atomic_load_n((const uint64_t *)(const void *)ipo_armed, __ATOMIC_RELAXED) & ~(uint64_t)UINT32_MAX;
}
/* The stamp of rows that are not stale; never 0, which marks a free row. */
static inline uint64_t ipo_cache_stamp(void)
{
    return ipo_cache_epoch() | 1;
}

/* Call site and call in one word: the upper bits of an address are not used. */
static inline uint64_t ipo_cache_site(uint64_t site, enum ipo_call_id id)
{
    return site ^ (uint64_t)id << 54;
}

/* The row for a call site and the two arguments that vary most from call to call. */
static inline struct ipo_cached *ipo_cache_at(struct ipo_thread *thread, uint64_t site, uintptr_t first,
                                              uintptr_t second)
{
    uint64_t hash = site + first * 33 + second * 7;
    return &thread->cache[(hash ^ hash >> 8) % IPO_CACHE_ROWS];
}

/* The row for a call with these arguments; NULL: it is not cached. */
static inline struct ipo_cached *ipo_cache_place(const struct ipo_frame *frame, const struct ipo_call *call,
                                                 const uintptr_t *args)
{
    if (!call->remembered || frame->key == IPO_NO_KEY)
        return NULL;
    if (!call->cache_words)
        return ipo_cache_at(frame->thread, frame->site, frame->key, 0);
    for (unsigned i = 0; i < call->buffers; i++)
        if (__builtin_expect(args[call->buffer[i]] == ipo_abi.in_place, 0))
            return NULL;
    return ipo_cache_at(frame->thread, frame->site, args[call->cache_key[0]], args[call->cache_key[1]]);
}

/* Whether the row holds exactly this call; then frame->sig, comm and index are filled in. */
static inline bool ipo_cache_recall(struct ipo_frame *frame, const struct ipo_call *call, enum ipo_call_id id,
                                    const uintptr_t *args, const struct ipo_cached *cached)
{
    uint64_t differ = (cached->site ^ ipo_cache_site(frame->site, id)) | (cached->stamp ^ ipo_cache_stamp());
    if (differ)
        return false;
    differ = cached->version ^ cached->state->version;
    differ |= cached->state->use->sig.call ^ (uint32_t)id; /* a site that is a line of Python may have any bits */
    if (!call->cache_words)
        differ |= cached->word[0] ^ frame->key;
    for (unsigned i = 0; i < call->cache_words; i++)
        differ |= cached->word[call->cache_word[i]] ^ args[call->cache_word[i]];
    if (__builtin_expect(differ != 0, 0))
        return false;
    frame->sig = cached->state->use->sig;
    frame->comm = cached->comm;
    frame->index = cached->index;
    return true;
}

/* Stores a described call in its row.  `stamp` was read before the call was described: if describing it made rows
 * stale, this one is stale too. */
static inline void ipo_cache_keep(const struct ipo_frame *frame, const uintptr_t *args, struct ipo_cached *cached,
                                  uint64_t stamp)
{
    cached->site = ipo_cache_site(frame->site, (enum ipo_call_id)frame->sig.call);
    cached->stamp = stamp;
    cached->comm = frame->comm;
    cached->index = frame->index;
    cached->state = &frame->thread->stream.state[frame->index];
    cached->version = cached->state->version;
    cached->word[0] = frame->key;
    for (unsigned i = 0; i < frame->call->cache_words; i++)
        cached->word[frame->call->cache_word[i]] = args[frame->call->cache_word[i]];
}

#endif
