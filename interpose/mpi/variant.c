/* Variants of cached calls: a call that differs from the one made last from its place in sizes, tags or partners alone
 * is not described again.  Its signature is that one's with other numbers. */
#include "interpose/mpi/cached.h"
#include "interpose/mpi/comms.h"
#include "interpose/mpi/negotiation.h"

/* A count argument, 32 or 64 bits wide as the call has it. */
static inline int64_t count_of(const struct ipo_call *call, uintptr_t word)
{
    return call->large ? (int64_t)word : (int64_t)(int32_t)word;
}

/* Changes sent and received bytes as the counts change; without data it would be another kind of call. */
static inline bool vary_count(const struct ipo_call *call, uintptr_t was, uintptr_t is, struct trc_sig *sig)
{
    const int64_t from = count_of(call, was), into = count_of(call, is);
    if (from <= 0 || into <= 0)
        return false;
    const uint64_t sent = sig->sent, received = sig->received;
    sig->sent = sent / (uint64_t)from * (uint64_t)into;
    sig->received = received == sent ? sig->sent : received / (uint64_t)from * (uint64_t)into;
    return true;
}

/* Changes one argument that is not as it was.  False: it makes the call another kind of call, as constants of MPI do,
 * which are negative. */
static inline bool vary(const struct ipo_comm *comm, char role, int was, int is, struct trc_sig *sig)
{
    const bool ranks = was >= 0 && is >= 0;
    switch (role) {
    case ROLE_SEND_TAG:
        sig->tag = is;
        return is >= 0;
    case ROLE_RECEIVE_TAG:
        sig->rtag = is;
        return is >= 0;
    case ROLE_DESTINATION:
        sig->peer = ranks ? ipo_world_rank(comm, is) : 0;
        return ranks;
    case ROLE_SOURCE:
        sig->source = ranks ? ipo_world_rank(comm, is) : 0;
        return ranks;
    default:
        return false;
    }
}

/* Changes the signature and the words of `row`, which are those of `like`, into those of a call with these arguments.
 * Counts must all change alike. */
static inline bool vary_row(const struct ipo_call *call, const struct ipo_cached *like, const uintptr_t *args,
                            struct ipo_cached *row, struct trc_sig *sig)
{
    uintptr_t from = 0, into = 0;
    unsigned changed = 0;
    for (unsigned i = 0, words = call->cache_words; i < words; i++) {
        const uintptr_t was = like->word[i], is = args[call->cache_word[i]];
        if (__builtin_expect(was == is, 1))
            continue;
        const char role = call->roles[call->cache_word[i]];
        row->word[i] = is;
        if (role != ROLE_SEND_COUNT && role != ROLE_RECEIVE_COUNT) {
            if (!vary(like->comm, role, (int)was, (int)is, sig))
                return false;
            continue;
        }
        if (changed++ && (was != from || is != into))
            return false;
        from = was;
        into = is;
    }
    return !changed || (changed == call->counts && vary_count(call, from, into, sig));
}

bool ipo_cache_vary(struct ipo_frame *frame, enum ipo_call_id id, struct ipo_cached *row)
{
    struct ipo_thread *thread = frame->thread;
    struct trc_stream *stream = &thread->stream;
    const struct ipo_call *call = &ipo_calls[id];
    TRC_IN_REGISTER(call);
    const struct ipo_cached **recent = &ipo_recent_of(thread, frame->site, frame->stack)->cached, *like = *recent;
    const uint64_t stamp = ipo_armed_word();
    if (!like || like->site != ipo_cache_site(frame->site, id) || like->stamp != stamp || thread->outer ||
        !ipo_cache_is_valid(like) || like->key != ipo_cache_in_place(call, frame->args) ||
        !ipo_path_is(like->path, frame->site, frame->stack, &frame->caller))
        return false;
    if (like->state->use->sig.flags & TRC_SIG_COLL && ipo_negotiation_suspected(frame))
        return false;
    struct trc_sig sig = like->state->use->sig;
    const uint32_t of = like->inside - 1;
    *row = *like;
    row->stamp = 0; /* until it is the row of this call */
    if (!vary_row(call, like, frame->args, row, &sig))
        return false;
    const uint32_t index = trc_stream_variant(stream, of, (uint32_t)(row - thread->cache), &sig);
    row->state = &stream->state[index];
    row->inside = index + 1;
    row->version = row->state->version;
    row->stamp = stamp;
    *recent = row;
    return true;
}
