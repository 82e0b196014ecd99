/* Replays one cycle after the other, over all ranks of a set: the words each puts in, the result, and the effect on
 * tensors.  Results common to all ranks are taken from the first rank that has them. */
#include "trace/horovod/horovod_impl.h"
#include <stdlib.h>

#define NO_SHUTDOWN 1u
#define NO_UNCACHED 2u
#define NO_INVALID  4u
#define STALL_NS    1000000000

struct round {
    struct ana_hvd_set *set;
    struct hvd_work *work;
    uint64_t cycle;
    int64_t end_ns;
    bool root_answered; /* something that the root had asked for by name was agreed on */
    size_t member;      /* sender of the list being read */
    const struct hvd_contribution *said;
};

/* ---- words ------------------------------------------------------------------------------------------------------ */

static size_t words_of(const struct hvd_contribution *said, const uint8_t **in, const uint8_t **out)
{
    size_t n = said->size / 16;
    *in = said->bytes;
    *out = said->bytes + n * 8;
    return n < TRC_ROUND_WORDS ? n : TRC_ROUND_WORDS;
}
static uint64_t word_at(const uint8_t *bytes, size_t i)
{
    uint64_t word;
    memcpy(&word, bytes + 8 * i, sizeof word);
    return word;
}

/* Number of words with ready bits: all, but half while Horovod's timeline is on. */
static size_t ready_words(const struct hvd_work *work, size_t n)
{
    size_t expected = (work->cache.bits + HVD_STATUS_BITS + 63) / 64;
    return n == 2 * expected ? expected : n;
}

static void ask_for_shutdown(const struct round *r, size_t m, int64_t ns)
{
    struct ana_hvd_rank *rank = &r->set->rank[m];
    if (rank->wants_shutdown)
        return;
    rank->wants_shutdown = true;
    rank->shutdown_ns = ns;
    rank->shutdown_cycle = r->cycle;
}

static void ask_by_name(const struct round *r, size_t m, int64_t ns)
{
    struct ana_hvd_rank *rank = &r->set->rank[m];
    if (rank->asks && !r->work->member[m].answered)
        return;
    r->work->member[m].answered = false;
    rank->asks = true;
    rank->asks_cycle = r->cycle;
    rank->asks_ns = ns;
}

static void put_in(struct round *r, size_t m, const struct hvd_contribution *said)
{
    struct hvd_member *member = &r->work->member[m];
    struct ana_hvd_rank *rank = &r->set->rank[m];
    const uint8_t *in, *out;
    size_t n = words_of(said, &in, &out);
    if (n == 0)
        return;
    size_t ready = ready_words(r->work, n);
    uint64_t status = word_at(in, 0);
    if (!(status & NO_SHUTDOWN))
        ask_for_shutdown(r, m, said->begin_ns);
    member->asking = !(status & NO_UNCACHED);
    member->words_cycle = r->cycle;
    if (member->asking)
        ask_by_name(r, m, said->begin_ns);
    size_t set = 0;
    for (size_t i = 0; i < ready; i++)
        set += (size_t)__builtin_popcountll(i == 0 ? word_at(in, 0) & ~7ull : word_at(in, i));
    bool all = set > 0 && set == r->work->cache.used;
    rank->maybe_joined = m == 0 && all && (rank->maybe_joined || !(status & NO_UNCACHED));
    if (rank->maybe_joined) { /* joined, or has submitted all: bits that stay set when others change will tell */
        memset(member->in, 0, sizeof member->in);
        return;
    }
    for (size_t i = 0; i < ready; i++) {
        uint64_t word = word_at(in, i), fresh = word & ~member->in[i];
        member->in[i] = word;
        if (i == 0)
            fresh &= ~7ull;
        for (; fresh && !rank->joined; fresh &= fresh - 1) {
            uint32_t bit = (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(fresh)) - HVD_STATUS_BITS;
            int32_t t = hvd_tensor_at_bit(r->set, r->work, bit);
            if (t >= 0)
                hvd_submit(r->set, r->work, t, m, r->cycle, said->begin_ns, 0);
        }
    }
    for (size_t i = ready; i < TRC_ROUND_WORDS; i++)
        member->in[i] = 0;
}

/* Applies the common hits of a round in which nobody asked by name. */
static void apply_hits(struct round *r, const uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t word = word_at(out, i);
        if (i == 0)
            word &= ~7ull;
        for (; word; word &= word - 1) {
            uint32_t bit = (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(word)) - HVD_STATUS_BITS;
            int32_t t = hvd_tensor_at_bit(r->set, r->work, bit);
            if (t < 0)
                continue;
            ana_hvd_cache_touch(&r->work->cache, bit);
            hvd_agree(r->set, r->work, t, r->cycle, r->end_ns, false, NULL);
        }
    }
}

static void drop_bits(struct round *r, const struct hvd_contribution *said)
{
    const uint8_t *in, *out;
    size_t n = words_of(said, &in, &out);
    for (size_t i = 0; i < n; i++)
        for (uint64_t word = word_at(out, i); word; word &= word - 1)
            ana_hvd_cache_drop(&r->work->cache, (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(word)));
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void add_request(void *user, const struct ana_hvd_entry *entry)
{
    struct round *r = user;
    if (entry->op == ANA_HVD_JOIN) {
        r->set->rank[r->member].joined = true;
        r->set->rank[r->member].joined_ns = r->said->begin_ns;
        return;
    }
    int32_t t = hvd_tensor_of(r->set, r->work, entry->name, entry->name_size);
    if (t < 0)
        return;
    hvd_learn(&r->set->tensor[t], entry);
    hvd_submit(r->set, r->work, t, r->member, r->cycle, r->said->begin_ns, hvd_form_of(r->set, r->work, entry));
}

static void apply_response(void *user, const struct ana_hvd_entry *entry)
{
    struct round *r = user;
    if (entry->op == ANA_HVD_JOIN) {
        for (size_t m = 0; m < r->set->ranks; m++)
            r->set->rank[m].joined = false;
        r->set->rank[0].maybe_joined = false;
        r->root_answered = true; /* it has joined, too */
        return;
    }
    int32_t t = hvd_tensor_of(r->set, r->work, entry->name, entry->name_size);
    if (t < 0)
        return;
    bool refused = entry->op == ANA_HVD_ERROR;
    if (!refused)
        hvd_learn(&r->set->tensor[t], entry);
    bool cached = entry->op == ANA_HVD_ALLREDUCE || entry->op == ANA_HVD_ALLGATHER || entry->op == ANA_HVD_ADASUM ||
                  entry->op == ANA_HVD_ALLTOALL;
    r->root_answered |= hvd_agree(r->set, r->work, t, r->cycle, r->end_ns, true, refused ? entry : NULL);
    if (cached && entry->devices == r->set->ranks)
        ana_hvd_cache_put(&r->work->cache, t);
}

/* ---- one cycle -------------------------------------------------------------------------------------------------- */

static const struct hvd_contribution *head_of(const struct hvd_member *member)
{
    return member->queue_at < member->queued ? &member->queue[member->queue_at] : NULL;
}

/* The next cycle among all members, and when it ended; UINT64_MAX: there is none. */
static uint64_t next_cycle(const struct ana_hvd_set *set, const struct hvd_work *work, int64_t *end_ns)
{
    uint64_t cycle = UINT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t m = 0; m < set->ranks; m++) {
        const struct hvd_contribution *said = head_of(&work->member[m]);
        if (!said || said->cycle > cycle)
            continue;
        if (said->cycle < cycle)
            *end_ns = INT64_MIN;
        cycle = said->cycle;
        if (said->end_ns > *end_ns)
            *end_ns = said->end_ns;
    }
    return cycle;
}

/* Calls `take` for each member with a record of this kind in this cycle; returns the first such record. */
static const struct hvd_contribution *for_each_member(struct round *r, uint32_t kind,
                                                      void (*take)(struct round *, size_t m))
{
    const struct hvd_contribution *first = NULL;
    for (size_t m = 0; m < r->set->ranks; m++) {
        struct hvd_member *member = &r->work->member[m];
        for (size_t i = member->queue_at; i < member->queued && member->queue[i].cycle == r->cycle; i++) {
            if (member->queue[i].kind != kind)
                continue;
            first = first ? first : &member->queue[i];
            r->said = &member->queue[i];
            r->member = m;
            if (take)
                take(r, m);
        }
    }
    return first;
}

/* Finds a stall.  The recorder writes every round that lasts long: who began it last held up the others. */
static void find_stall(struct round *r)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    size_t culprit = 0;
    for (size_t m = 0; m < r->set->ranks; m++) {
        const struct hvd_member *member = &r->work->member[m];
        for (size_t i = member->queue_at; i < member->queued && member->queue[i].cycle == r->cycle; i++) {
            const struct hvd_contribution *said = &member->queue[i];
            if (said->kind != TRC_ROUND_AND)
                continue;
            if (said->begin_ns < first)
                first = said->begin_ns;
            if (said->begin_ns > last) {
                last = said->begin_ns;
                culprit = m;
            }
        }
    }
    if (last < first || last - first < STALL_NS)
        return;
    r->set->stall.begin_ns = first;
    r->set->stall.end_ns = last;
    r->set->stall.cycle = r->cycle;
    r->set->stall.member = culprit;
}

static void apply_words(struct round *r, size_t m)
{
    put_in(r, m, r->said);
}
static void add_requests(struct round *r, size_t m)
{
    bool shutdown = false;
    ana_hvd_requests(r->said->bytes, r->said->size, add_request, r, &shutdown);
    if (shutdown)
        ask_for_shutdown(r, m, r->said->begin_ns);
}

/* Whether others still wait for something by name: then the root may have asked for that, too. */
static bool names_pending(const struct round *r)
{
    for (size_t i = 0; r->set->pending && i < r->set->tensors; i++)
        if (r->set->tensor[i].pending && ana_hvd_cache_bit(&r->work->cache, (int32_t)i) == ANA_HVD_NO_BIT)
            return true;
    return false;
}

static void play_cycle(struct round *r)
{
    bool shutdown = false;
    r->root_answered = false;
    for_each_member(r, TRC_ROUND_REQUEST, add_requests); /* first: who joins has all bits set from this very cycle on */
    const struct hvd_contribution *round = for_each_member(r, TRC_ROUND_AND, apply_words);
    r->set->cache |= round != NULL;
    find_stall(r);
    const struct hvd_contribution *invalid = for_each_member(r, TRC_ROUND_OR, NULL);
    const struct hvd_contribution *answer = for_each_member(r, TRC_ROUND_RESPONSE, NULL);
    struct hvd_member *root = &r->work->member[0];
    if (answer && root->asking && root->words_cycle != r->cycle) /* the same words as before are not said again */
        ask_by_name(r, 0, answer->begin_ns);
    const uint8_t *in, *out;
    size_t n = round ? words_of(round, &in, &out) : 0;
    if (n && !answer && (word_at(out, 0) & NO_UNCACHED)) {
        apply_hits(r, out, ready_words(r->work, n));
        if (invalid)
            drop_bits(r, invalid);
    } else {
        if (invalid)
            drop_bits(r, invalid);
        if (answer) {
            r->work->cache.capacity = r->set->cache ? r->work->cache.capacity : 0;
            ana_hvd_responses(answer->bytes, answer->size, apply_response, r, &shutdown);
            bool asked = !shutdown;
            for (size_t m = 0; m < r->set->ranks; m++)
                asked |= r->set->rank[m].wants_shutdown;
            if (!asked) /* nobody else did */
                ask_for_shutdown(r, 0, answer->begin_ns);
        }
        if (r->root_answered) {
            root->answered = true;
            r->set->rank[0].asks &= names_pending(r); /* else that was all of it, as far as is known */
        }
    }
    if (r->work->cache.dropped) /* the bits are about to get other meanings */
        for (size_t m = 0; m < r->set->ranks; m++)
            memset(r->work->member[m].in, 0, sizeof r->work->member[m].in);
    ana_hvd_cache_end_cycle(&r->work->cache);
}

void hvd_rounds(struct ana_hvd_set *set, struct hvd_work *work, int64_t horizon_ns)
{
    struct round r = {.set = set, .work = work};
    while ((r.cycle = next_cycle(set, work, &r.end_ns)) != UINT64_MAX && r.end_ns <= horizon_ns) {
        play_cycle(&r);
        for (size_t m = 0; m < set->ranks; m++) {
            struct hvd_member *member = &work->member[m];
            while (head_of(member) && head_of(member)->cycle <= r.cycle)
                free(member->queue[member->queue_at++].bytes);
            if (member->queue_at == member->queued)
                member->queue_at = member->queued = 0;
        }
        work->cycle = r.cycle + 1;
    }
}
