/* A memory of arguments: a call from the same place with the same words has the same signature, so that describing it
 * (communicator, world ranks, type sizes) can be left out.  Only for calls whose signature depends on words alone, not
 * on what arrays hold.  Whatever can give a handle a new meaning makes all memories stale. */
#ifndef IPO_MEMO_H
#define IPO_MEMO_H

#include "interpose/mpi/abi.h"
#include "interpose/mpi/record.h"

/* How often memories went stale, in the upper half of the word that arms the wrappers. */
static inline uint64_t ipo_memo_epoch(void)
{
    return __atomic_load_n((const uint64_t *)(const void *)ipo_armed, __ATOMIC_RELAXED) & ~(uint64_t)UINT32_MAX;
}
/* A memory is good while its stamp is this; never 0, which is that of a free one. */
static inline uint64_t ipo_memo_stamp(void)
{
    return ipo_memo_epoch() | 1;
}

/* Site and call in one word: no address has bits up there. */
static inline uint64_t ipo_memo_site(uint64_t site, enum ipo_call_id id)
{
    return site ^ (uint64_t)id << 54;
}

/* `first` and `second`: the arguments that vary most from call to call. */
static inline struct ipo_memo *ipo_memo_at(struct ipo_thread *thread, uint64_t site, uintptr_t first, uintptr_t second)
{
    uint64_t hash = site + first * 33 + second * 7;
    return &thread->memo[(hash ^ hash >> 8) % IPO_MEMOS];
}

/* The place for a call with these arguments, or NULL if it is not one to remember. */
static inline struct ipo_memo *ipo_memo_place(const struct ipo_frame *frame, const struct ipo_call *call,
                                              const uintptr_t *args)
{
    if (!call->remembered || frame->key == IPO_NO_KEY)
        return NULL;
    if (!call->memo_words)
        return ipo_memo_at(frame->thread, frame->site, frame->key, 0);
    for (unsigned i = 0; i < call->buffers; i++)
        if (__builtin_expect(args[call->buffer[i]] == ipo_abi.in_place, 0))
            return NULL;
    return ipo_memo_at(frame->thread, frame->site, args[call->memo_key[0]], args[call->memo_key[1]]);
}

/* Whether the place holds this very call; then frame->sig, comm and index are filled in. */
static inline bool ipo_memo_recall(struct ipo_frame *frame, const struct ipo_call *call, enum ipo_call_id id,
                                   const uintptr_t *args, const struct ipo_memo *memo)
{
    uint64_t differ = (memo->site ^ ipo_memo_site(frame->site, id)) | (memo->stamp ^ ipo_memo_stamp());
    if (differ)
        return false;
    differ = memo->version ^ memo->state->version;
    differ |= memo->state->sig->call ^ (uint32_t)id; /* a site that is a line of Python may have any bits */
    if (!call->memo_words)
        differ |= memo->word[0] ^ frame->key;
    for (unsigned i = 0; i < call->memo_words; i++)
        differ |= memo->word[call->memo_word[i]] ^ args[call->memo_word[i]];
    if (__builtin_expect(differ != 0, 0))
        return false;
    frame->sig = frame->thread->stream.page->sigs[memo->index];
    frame->comm = memo->comm;
    frame->index = memo->index;
    return true;
}

/* `stamp` as it was before the call was described, for what describing it may have made stale. */
static inline void ipo_memo_keep(const struct ipo_frame *frame, const uintptr_t *args, struct ipo_memo *memo,
                                 uint64_t stamp)
{
    memo->site = ipo_memo_site(frame->site, (enum ipo_call_id)frame->sig.call);
    memo->stamp = stamp;
    memo->comm = frame->comm;
    memo->index = frame->index;
    memo->state = &frame->thread->stream.state[frame->index];
    memo->version = memo->state->version;
    memo->word[0] = frame->key;
    for (unsigned i = 0; i < frame->call->memo_words; i++)
        memo->word[frame->call->memo_word[i]] = args[frame->call->memo_word[i]];
}

#endif
