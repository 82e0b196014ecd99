/* A memory of arguments: a call from the same place with the same words has the same signature, so that describing it
 * (communicator, world ranks, type sizes) can be left out.  Only for calls whose signature depends on words alone, not
 * on what arrays hold.  Whatever can give a handle a new meaning makes all memories stale. */
#ifndef IPO_MEMO_H
#define IPO_MEMO_H

#include "interpose/abi.h"
#include "interpose/record.h"

extern IPO_OURS _Atomic uint32_t ipo_memo_epoch;

/* A communicator, window, file or datatype was made or freed. */
static inline void ipo_memo_forget(void)
{
    atomic_fetch_add_explicit(&ipo_memo_epoch, 1, memory_order_relaxed);
}

/* The place for a call with these arguments, or NULL if it is not one to remember. */
static inline struct ipo_memo *ipo_memo_place(const struct ipo_frame *frame, const struct ipo_call *call,
                                              const uintptr_t *args)
{
    if (!call->memo_words)
        return NULL;
    for (unsigned i = 0; i < call->buffers; i++)
        if (__builtin_expect(args[call->buffer[i]] == ipo_abi.in_place, 0))
            return NULL;
    uint64_t hash = frame->site + args[call->memo_key[0]] * 33 + args[call->memo_key[1]] * 7;
    return &frame->thread->memo[(hash ^ hash >> 8) % IPO_MEMOS];
}

/* Whether the place holds this very call; then frame->sig, comm and index are filled in. */
static inline bool ipo_memo_recall(struct ipo_frame *frame, const struct ipo_call *call, const uintptr_t *args,
                                   const struct ipo_memo *memo)
{
    const struct trc_stream *stream = &frame->thread->stream;
    uint64_t differ = (memo->site ^ frame->site) |
                      (memo->epoch ^ atomic_load_explicit(&ipo_memo_epoch, memory_order_relaxed)) |
                      (memo->version ^ stream->state[memo->index].version);
    for (unsigned i = 0; i < call->memo_words; i++)
        differ |= memo->word[i] ^ args[call->memo_word[i]];
    if (__builtin_expect(differ != 0, 0) || memo->call != call)
        return false;
    frame->sig = stream->page->sigs[memo->index];
    frame->comm = memo->comm;
    frame->index = memo->index;
    return true;
}

static inline void ipo_memo_keep(const struct ipo_frame *frame, const uintptr_t *args, struct ipo_memo *memo,
                                 uint32_t epoch)
{
    memo->call = frame->call;
    memo->site = frame->site;
    memo->epoch = epoch;
    memo->comm = frame->comm;
    memo->index = frame->index;
    memo->version = frame->thread->stream.state[frame->index].version;
    for (unsigned i = 0; i < frame->call->memo_words; i++)
        memo->word[i] = args[frame->call->memo_word[i]];
}

#endif
