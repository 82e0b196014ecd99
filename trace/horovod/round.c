/* Replays one cycle after the other, over all ranks of a set: what each puts in, what comes out, and what that means
 * for tensors.  What is common to all ranks is taken from the first rank that has it. */
#include "trace/horovod/horovod_impl.h"
#include "trace/horovod/wire.h"
#include "trace/util/text.h"
#include "trace/util/hash.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATUS_BITS   3u
#define NO_SHUTDOWN   1u
#define NO_UNCACHED   2u
#define NO_INVALID    4u
#define STALL_NS      1000000000
#define TENSORS_MAX   65536u
#define SAME_NAME_MAX 16u

struct round {
    struct ana_hvd_set *set;
    struct hvd_work *work;
    uint64_t cycle;
    int64_t end_ns;
    bool root_answered; /* something that the root had asked for by name was agreed on */
    size_t member;      /* whose list is read */
    const struct hvd_said *said;
};

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static bool add_tensor(struct ana_hvd_set *set, struct hvd_work *work, const char *name, size_t size)
{
    if (!hvd_cells(work->cells, set->ranks))
        return false;
    if (set->tensors == work->tensor_room) {
        size_t room = work->tensor_room ? work->tensor_room * 2 : 64;
        struct ana_hvd_tensor *grown = room <= TENSORS_MAX ? realloc(set->tensor, room * sizeof *grown) : NULL;
        if (!grown)
            return false;
        set->tensor = grown;
        work->tensor_room = room;
    }
    struct ana_hvd_tensor t = {.dtype = -1, .agreed_ns = ANA_HVD_NEVER, .since_ns = ANA_HVD_NEVER};
    t.name = malloc(2 * size + 2); /* as it is shown, then its bytes as they came */
    t.submitted = calloc(set->ranks, sizeof *t.submitted);
    t.submitted_ns = calloc(set->ranks, sizeof *t.submitted_ns);
    t.submitted_cycle = calloc(set->ranks, sizeof *t.submitted_cycle);
    if (!t.name || !t.submitted || !t.submitted_ns || !t.submitted_cycle) {
        free(t.name);
        free(t.submitted);
        free(t.submitted_ns);
        free(t.submitted_cycle);
        return false;
    }
    memcpy(t.name, name, size);
    t.name[size] = 0;
    trc_clean_text(t.name);
    memcpy(t.name + size + 1, name, size);
    for (size_t m = 0; m < set->ranks; m++)
        t.submitted_ns[m] = ANA_HVD_NEVER;
    set->tensor[set->tensors++] = t;
    return true;
}

/* The number of a tensor by its name; -1 when there can be no more. */
static int32_t tensor_of(struct ana_hvd_set *set, struct hvd_work *work, const char *name, size_t size)
{
    uint64_t hash = ana_hash(name, size);
    for (uint64_t same = 0; same < SAME_NAME_MAX; same++) {
        uint32_t *found = ana_map_find(&work->names, hash, same, size);
        if (found && memcmp(set->tensor[*found].name + size + 1, name, size) == 0)
            return (int32_t)*found;
        if (found)
            continue;
        if (!add_tensor(set, work, name, size) || !(found = ana_map_add(&work->names, hash, same, size)))
            return -1;
        *found = (uint32_t)set->tensors - 1;
        return (int32_t)*found;
    }
    return -1;
}

static int32_t tensor_at_bit(struct ana_hvd_set *set, struct hvd_work *work, uint32_t bit)
{
    if (bit < work->cache.bits && work->cache.tensor[bit] >= 0)
        return work->cache.tensor[bit];
    char name[40];
    int n = snprintf(name, sizeof name, "tensor at bit %u", bit);
    int32_t t = tensor_of(set, work, name, (size_t)n);
    if (t >= 0)
        ana_hvd_cache_assume(&work->cache, bit, t);
    set->names_lost = true;
    return t;
}

/* ---- what was agreed on ----------------------------------------------------------------------------------------- */

static void count_lateness(struct round *r, const struct ana_hvd_tensor *t)
{
    uint64_t first = UINT64_MAX;
    int64_t first_ns = INT64_MAX;
    for (size_t m = 0; m < r->set->ranks; m++)
        if (t->submitted[m] == ANA_HVD_YES && t->submitted_cycle[m] < first) {
            first = t->submitted_cycle[m];
            first_ns = t->submitted_ns[m];
        }
    if (first == UINT64_MAX)
        return;
    for (size_t m = 0; m < r->set->ranks; m++) {
        if (t->submitted[m] != ANA_HVD_YES)
            continue;
        double cycles = (double)(t->submitted_cycle[m] - first);
        double ms = t->submitted_ns[m] > first_ns ? (double)(t->submitted_ns[m] - first_ns) / 1e6 : 0;
        if (cycles > r->work->member[m].late_cycles)
            r->work->member[m].late_cycles = cycles;
        if (ms > r->work->member[m].late_ms)
            r->work->member[m].late_ms = ms;
    }
    if (r->work->batch++ == 0 || first < r->work->batch_first) {
        r->work->batch_first = first;
        r->work->batch_begin_ns = first_ns;
    }
}

static void agree_tensor(struct round *r, int32_t tensor, bool by_name)
{
    struct ana_hvd_tensor *t = &r->set->tensor[tensor];
    struct hvd_member *root = &r->work->member[0];
    if (by_name && t->submitted[0] != ANA_HVD_YES && root->uncached_open && root->uncached_cycle <= r->cycle) {
        r->root_answered = true;
        t->submitted[0] = ANA_HVD_YES; /* its requests are on no wire, but it must have submitted by then */
        t->submitted_cycle[0] = root->uncached_cycle;
        t->submitted_ns[0] = root->uncached_ns;
    }
    count_lateness(r, t);
    r->work->pending -= t->pending;
    t->pending = false;
    t->done++;
    t->step = r->set->steps + 1;
    r->work->batch_end = r->cycle;
    r->work->batch_end_ns = r->end_ns;
    t->agreed_ns = r->set->agreed_ns = r->end_ns;
    for (size_t m = 0; m < r->set->ranks; m++)
        if (t->submitted[m] != ANA_HVD_YES)
            t->submitted_ns[m] = ANA_HVD_NEVER;
    memset(t->submitted, ANA_HVD_NO, r->set->ranks);
    uint32_t bit = ana_hvd_cache_bit(&r->work->cache, tensor);
    for (size_t m = 0; bit != ANA_HVD_NO_BIT && m < r->set->ranks; m++)
        r->work->member[m].in[(bit + STATUS_BITS) / 64] &= ~(1ull << (bit + STATUS_BITS) % 64);
}

void hvd_end_step(struct ana_hvd_set *set, struct hvd_work *work)
{
    if (work->batch == 0)
        return;
    size_t last = 0, second = SIZE_MAX;
    for (size_t m = 1; m < set->ranks; m++)
        if (work->member[m].late_cycles > work->member[last].late_cycles)
            last = m;
    for (size_t m = 0; m < set->ranks; m++)
        if (m != last && (second == SIZE_MAX || work->member[m].late_cycles > work->member[second].late_cycles))
            second = m;
    struct hvd_member *late = &work->member[last];
    bool told = second != SIZE_MAX && late->late_cycles > work->member[second].late_cycles;
    struct ana_hvd_step step = {.first_cycle = work->batch_first,
                                .end_cycle = work->batch_end,
                                .begin_ns = work->batch_begin_ns,
                                .end_ns = work->batch_end_ns,
                                .tensors = work->batch,
                                .last_rank = told ? (uint32_t)last : UINT32_MAX,
                                .cycles = late->late_cycles,
                                .ms = late->late_ms};
    size_t place = set->steps % HVD_STEPS;
    if (work->step)
        work->step[place] = work->step[place + HVD_STEPS] = step;
    set->steps++;
    set->kept_steps = !work->step ? 0 : set->steps < HVD_STEPS ? set->steps : HVD_STEPS;
    set->step = work->step ? work->step + (set->steps <= HVD_STEPS ? 0 : (set->steps % HVD_STEPS)) : NULL;
    for (size_t m = 0; m < set->ranks; m++) {
        struct hvd_member *member = &work->member[m];
        struct ana_hvd_rank *rank = &set->rank[m];
        rank->steps++;
        member->sum_cycles += member->late_cycles;
        member->sum_ms += member->late_ms;
        if (told && m == last) {
            rank->last++;
            member->last_sum_cycles += member->late_cycles;
            member->last_sum_ms += member->late_ms;
        }
        rank->late_cycles = member->sum_cycles / (double)rank->steps;
        rank->late_ms = member->sum_ms / (double)rank->steps;
        rank->last_cycles = rank->last ? member->last_sum_cycles / (double)rank->last : 0;
        rank->last_ms = rank->last ? member->last_sum_ms / (double)rank->last : 0;
        member->late_cycles = member->late_ms = 0;
    }
    work->batch = 0;
}

static void submit_tensor(struct round *r, int32_t tensor, size_t member, int64_t ns)
{
    struct ana_hvd_tensor *t = &r->set->tensor[tensor];
    if (t->submitted[member] == ANA_HVD_YES)
        return; /* asked for anew after its cache entry was dropped: it has waited since the first time */
    if (t->step == r->set->steps + 1) /* the second time in this step: so it is the next one */
        hvd_end_step(r->set, r->work);
    t->submitted[member] = ANA_HVD_YES;
    t->submitted_ns[member] = ns;
    t->submitted_cycle[member] = r->cycle;
    if (!t->pending) {
        t->pending = true;
        t->since_ns = ns;
        r->work->pending++;
    }
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static size_t words_of(const struct hvd_said *said, const uint8_t **in, const uint8_t **out)
{
    size_t n = said->size / 16;
    *in = said->bytes;
    *out = said->bytes + n * 8;
    return n < TRC_SAID_WORDS ? n : TRC_SAID_WORDS;
}
static uint64_t word_at(const uint8_t *bytes, size_t i)
{
    uint64_t word;
    memcpy(&word, bytes + 8 * i, sizeof word);
    return word;
}

/* Words that carry ready bits: all, but half of them while Horovod's timeline is on. */
static size_t ready_words(const struct hvd_work *work, size_t n)
{
    size_t expected = (work->cache.bits + STATUS_BITS + 63) / 64;
    return n == 2 * expected ? expected : n;
}

static void put_in(struct round *r, size_t m, const struct hvd_said *said)
{
    struct hvd_member *member = &r->work->member[m];
    struct ana_hvd_rank *rank = &r->set->rank[m];
    const uint8_t *in, *out;
    size_t n = words_of(said, &in, &out);
    if (n == 0)
        return;
    size_t ready = ready_words(r->work, n);
    uint64_t status = word_at(in, 0);
    if (!(status & NO_SHUTDOWN) && !rank->wants_shutdown) {
        rank->wants_shutdown = true;
        rank->shutdown_ns = said->begin_ns;
        rank->shutdown_cycle = r->cycle;
    }
    if (!(status & NO_UNCACHED) && !member->uncached_open) {
        member->uncached_open = true;
        member->uncached_cycle = r->cycle;
        member->uncached_ns = said->begin_ns;
    }
    size_t set = 0;
    for (size_t i = 0; i < ready; i++)
        set += (size_t)__builtin_popcountll(i == 0 ? word_at(in, 0) & ~7ull : word_at(in, i));
    bool all = set > 0 && set == r->work->cache.used;
    member->maybe_joined = m == 0 && all && (member->maybe_joined || !(status & NO_UNCACHED));
    for (size_t i = 0; i < ready; i++) {
        uint64_t word = word_at(in, i), fresh = word & ~member->in[i];
        member->in[i] = word;
        if (i == 0)
            fresh &= ~7ull;
        for (; fresh && !rank->joined && !member->maybe_joined; fresh &= fresh - 1) {
            uint32_t bit = (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(fresh)) - STATUS_BITS;
            int32_t t = tensor_at_bit(r->set, r->work, bit);
            if (t >= 0)
                submit_tensor(r, t, m, said->begin_ns);
        }
    }
    for (size_t i = ready; i < TRC_SAID_WORDS; i++)
        member->in[i] = 0;
}

/* Takes the common hits of a round in which nobody asked by name. */
static void take_hits(struct round *r, const uint8_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t word = word_at(out, i);
        if (i == 0)
            word &= ~7ull;
        for (; word; word &= word - 1) {
            uint32_t bit = (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(word)) - STATUS_BITS;
            int32_t t = tensor_at_bit(r->set, r->work, bit);
            if (t < 0)
                continue;
            ana_hvd_cache_touch(&r->work->cache, bit);
            agree_tensor(r, t, false);
        }
    }
}

static void drop_bits(struct round *r, const struct hvd_said *said)
{
    const uint8_t *in, *out;
    size_t n = words_of(said, &in, &out);
    for (size_t i = 0; i < n; i++)
        for (uint64_t word = word_at(out, i); word; word &= word - 1)
            ana_hvd_cache_drop(&r->work->cache, (uint32_t)(i * 64 + (unsigned)__builtin_ctzll(word)));
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void learn_tensor(struct ana_hvd_tensor *t, const struct ana_hvd_entry *entry)
{
    if (entry->op >= 0 && entry->op < ANA_HVD_OPS)
        t->op = (enum ana_hvd_op)entry->op;
    t->dtype = entry->dtype;
    if (entry->elements)
        t->elements = entry->elements;
}

static void take_request(void *user, const struct ana_hvd_entry *entry)
{
    struct round *r = user;
    if (entry->op == ANA_HVD_JOIN) {
        r->set->rank[r->member].joined = true;
        return;
    }
    int32_t t = tensor_of(r->set, r->work, entry->name, entry->name_size);
    if (t < 0)
        return;
    learn_tensor(&r->set->tensor[t], entry);
    submit_tensor(r, t, r->member, r->said->begin_ns);
}

static void take_response(void *user, const struct ana_hvd_entry *entry)
{
    struct round *r = user;
    if (entry->op == ANA_HVD_JOIN) {
        for (size_t m = 0; m < r->set->ranks; m++)
            r->set->rank[m].joined = false;
        r->work->member[0].maybe_joined = false;
        r->root_answered = true; /* it has joined, too */
        return;
    }
    int32_t t = tensor_of(r->set, r->work, entry->name, entry->name_size);
    if (t < 0)
        return;
    if (entry->op != ANA_HVD_ERROR)
        learn_tensor(&r->set->tensor[t], entry);
    bool cached = entry->op == ANA_HVD_ALLREDUCE || entry->op == ANA_HVD_ALLGATHER || entry->op == ANA_HVD_ADASUM ||
                  entry->op == ANA_HVD_ALLTOALL;
    agree_tensor(r, t, true);
    if (cached && entry->devices == r->set->ranks)
        ana_hvd_cache_put(&r->work->cache, t);
}

/* ---- one cycle -------------------------------------------------------------------------------------------------- */

static const struct hvd_said *head_of(const struct hvd_member *member)
{
    return member->queue_at < member->queued ? &member->queue[member->queue_at] : NULL;
}

/* The next cycle among all members, and when it ended; UINT64_MAX: there is none. */
static uint64_t next_cycle(const struct ana_hvd_set *set, const struct hvd_work *work, int64_t *end_ns)
{
    uint64_t cycle = UINT64_MAX;
    *end_ns = INT64_MIN;
    for (size_t m = 0; m < set->ranks; m++) {
        const struct hvd_said *said = head_of(&work->member[m]);
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

/* Calls `take` for each member that said something of this kind in this cycle; returns the first of these. */
static const struct hvd_said *take_each(struct round *r, uint32_t kind, void (*take)(struct round *, size_t m))
{
    const struct hvd_said *first = NULL;
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
            const struct hvd_said *said = &member->queue[i];
            if (said->kind != TRC_SAID_AND)
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

static void take_words(struct round *r, size_t m)
{
    put_in(r, m, r->said);
}
static void take_requests(struct round *r, size_t m)
{
    bool shutdown = false;
    (void)m;
    ana_hvd_requests(r->said->bytes, r->said->size, take_request, r, &shutdown);
}

static void play_cycle(struct round *r)
{
    bool shutdown = false;
    r->root_answered = false;
    take_each(r, TRC_SAID_REQUEST, take_requests); /* first: who joins has all bits set from this very cycle on */
    const struct hvd_said *round = take_each(r, TRC_SAID_AND, take_words);
    r->set->cache |= round != NULL;
    find_stall(r);
    const struct hvd_said *invalid = take_each(r, TRC_SAID_OR, NULL);
    const struct hvd_said *answer = take_each(r, TRC_SAID_RESPONSE, NULL);
    const uint8_t *in, *out;
    size_t n = round ? words_of(round, &in, &out) : 0;
    if (n && !answer && (word_at(out, 0) & NO_UNCACHED)) {
        take_hits(r, out, ready_words(r->work, n));
        if (invalid)
            drop_bits(r, invalid);
    } else {
        if (invalid)
            drop_bits(r, invalid);
        if (answer) {
            r->work->cache.capacity = r->set->cache ? r->work->cache.capacity : 0;
            ana_hvd_responses(answer->bytes, answer->size, take_response, r, &shutdown);
        }
        if (r->root_answered) /* all of it, as far as can be told */
            r->work->member[0].uncached_open = false;
    }
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
