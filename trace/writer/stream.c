/* Streams: the slow paths of the record path. */
#include "trace/format/uses.h"
#include "trace/writer/region.h"
#include "trace/writer/stream.h"
#include "trace/writer/switch.h"

#define RESERVED_ROWS 40u /* kept for calls that have none */

#define PAGE_BLOCKS  2u  /* blocks of a live page at first */
#define PIECE_MOST   16u /* blocks of a piece of it */
#define STREAM_SHARE 32u /* a chunk of events has at most this part of the file, */
#define STREAM_LEAST 8u  /* blocks always allowed: stacks of threads need as many, and take an old one */

static void begin_piece(struct trc_stream *stream, struct trc_chunk *chunk, size_t head)
{
    uint32_t room = trc_writer_room(stream->writer, chunk);
    memset(chunk + 1, 0, head - sizeof *chunk); /* entries when they are made: the rest is not touched before */
    chunk->committed = (uint32_t)(head - sizeof *chunk);
    stream->piece = chunk;
    stream->entry_at = (unsigned char *)chunk + head;
    stream->entry_stop = (unsigned char *)(chunk + 1) + room;
}

static bool open_page(struct trc_stream *stream, struct trc_writer *writer, uint32_t tid,
                      const struct trc_device_stream *of, const char *name)
{
    unsigned index = atomic_fetch_add(&writer->threads, 1);
    if (index >= TRC_MAX_THREADS)
        return false;
    struct trc_chunk *chunk = trc_writer_alloc(writer, TRC_CHUNK_THREAD, (uint16_t)index, PAGE_BLOCKS, PAGE_BLOCKS);
    if (!chunk)
        return false;
    stream->writer = writer;
    stream->page = (struct trc_page *)(void *)chunk;
    begin_piece(stream, chunk, sizeof *stream->page);
    stream->page->thread.tid = tid;
    stream->page->thread.index = (uint16_t)index;
    stream->late = stream->overflow_row.histogram;
    if (of)
        stream->page->of = *of;
    for (size_t i = 0; i + 1 < sizeof stream->page->thread.name && name[i]; i++)
        stream->page->thread.name[i] = name[i];
    stream->base = writer->ticks();
    stream->epoch = 1;
    stream->chunk_blocks = 1;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    __atomic_fetch_add(&writer->head->threads, 1, __ATOMIC_RELEASE);
    if (!of)
        atomic_store(&writer->stream[index], stream);
    return true;
}

const struct trc_sig *trc_writer_inside(const struct trc_writer *writer, unsigned i)
{
    const struct trc_stream *stream = i < TRC_MAX_THREADS ? atomic_load(&writer->stream[i]) : NULL;
    uint32_t inside = stream ? __atomic_load_n(&stream->page->thread.inside, __ATOMIC_ACQUIRE) : 0;
    const struct trc_use *use = inside && inside <= TRC_SIGS ? stream->state[inside - 1].use : NULL;
    return use ? &use->sig : NULL;
}

/* Room for an entry in the live page, in another piece of it if need be; its bytes are zero.  NULL: there is none. */
static void *entry_room(struct trc_stream *stream, size_t size)
{
    if ((size_t)(stream->entry_stop - stream->entry_at) < size) {
        unsigned blocks = trc_blocks_for(trc_writer_room(stream->writer, stream->piece)) * 2;
        struct trc_chunk *chunk = trc_writer_alloc(stream->writer, TRC_CHUNK_PAGE, stream->page->thread.index,
                                                   blocks < PIECE_MOST ? blocks : PIECE_MOST, 1);
        if (!chunk)
            return NULL;
        begin_piece(stream, chunk, sizeof *chunk);
        stream->page->pieces++;
        __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    }
    void *entry = stream->entry_at;
    stream->entry_at += size;
    return memset(entry, 0, size);
}

/* Makes the entry that was filled in last visible: its first word is stored now. */
static void show_entry(struct trc_stream *stream, void *entry, enum trc_entry what)
{
    __atomic_store_n((uint16_t *)entry, (uint16_t)what, __ATOMIC_RELEASE);
    __atomic_store_n(&stream->piece->committed, (uint32_t)(stream->entry_at - (unsigned char *)(stream->piece + 1)),
                     __ATOMIC_RELEASE);
}

bool trc_stream_open(struct trc_stream *stream, struct trc_writer *writer, uint32_t tid, const char *name)
{
    return open_page(stream, writer, tid, NULL, name);
}

bool trc_stream_open_device(struct trc_stream *stream, struct trc_writer *writer, const struct trc_device_stream *of,
                            const char *name)
{
    return open_page(stream, writer, 0, of, name);
}

void trc_stream_step_back(struct trc_stream *stream, uint64_t ticks)
{
    if (ticks >= stream->base)
        return;
    stream->base = ticks;
    stream->at = stream->stop; /* the next item finds no room here */
}

static struct trc_row *add_row(struct trc_stream *stream, const struct trc_sig *sig)
{
    struct trc_row *row = stream->rows_used < TRC_ROWS ? entry_room(stream, sizeof *row) : NULL;
    if (!row)
        return NULL;
    row->number = (uint16_t)++stream->rows_used;
    row->call_plus_1 = (uint16_t)(sig->call + 1);
    row->size_class = trc_sig_class(sig);
    row->min_ticks = UINT64_MAX;
    show_entry(stream, row, TRC_ENTRY_ROW);
    return row;
}

static __attribute__((noinline)) struct trc_row *search_row(struct trc_stream *stream, const struct trc_sig *sig,
                                                            uint32_t at)
{
    const uint16_t size_class = trc_sig_class(sig), key = (uint16_t)(sig->call + 1);
    for (; stream->row[at]; at = (at + 1) % TRC_ROW_PLACES)
        if (stream->row[at]->call_plus_1 == key && stream->row[at]->size_class == size_class)
            return stream->row[at];
    trc_writer_call(stream->writer, sig->call);
    if (stream->rows_used + RESERVED_ROWS >= TRC_ROWS)
        for (uint32_t i = 0; i < TRC_ROW_PLACES; i++)
            if (stream->row[i] && stream->row[i]->call_plus_1 == key &&
                (stream->row[i]->size_class == TRC_SIZE_UNKNOWN) == (size_class == TRC_SIZE_UNKNOWN))
                return stream->row[i];
    struct trc_row *row = add_row(stream, sig);
    if (!row) {
        stream->page->short_of_rows = 1;
        return &stream->overflow_row;
    }
    return stream->row[at] = row;
}

struct trc_row *trc_stream_row(struct trc_stream *stream, const struct trc_sig *sig)
{
    const uint16_t size_class = trc_sig_class(sig), key = (uint16_t)(sig->call + 1);
    const uint32_t at = (key * 31u + size_class * 7u) % TRC_ROW_PLACES;
    struct trc_row *row = stream->row[at];
    const bool usual = row && row->call_plus_1 == key && row->size_class == size_class;
    return usual ? row : search_row(stream, sig, at);
}
_Static_assert(TRC_ROW_PLACES > TRC_ROWS && TRC_PEER_PLACES > TRC_PEERS, "a search ends");

static __attribute__((noinline)) uint32_t search_peer(struct trc_stream *stream, int32_t rank, uint32_t at)
{
    if (rank < 0)
        return 0;
    for (; stream->peer[at]; at = (at + 1) % TRC_PEER_PLACES)
        if (stream->peer[at]->rank_plus_1 == (uint32_t)rank + 1)
            return at + 1;
    struct trc_peer *peer = stream->peers_used < TRC_PEERS ? entry_room(stream, sizeof *peer) : NULL;
    if (!peer)
        return 0;
    peer->number = (uint16_t)++stream->peers_used;
    peer->rank_plus_1 = (uint32_t)rank + 1;
    show_entry(stream, peer, TRC_ENTRY_PEER);
    stream->peer[at] = peer;
    return at + 1;
}

/* The place of a partner's counters in stream->peer, + 1; 0: there is no room for it. */
static inline uint32_t peer_of(struct trc_stream *stream, int32_t rank)
{
    const uint32_t at = (uint32_t)rank % TRC_PEER_PLACES;
    const struct trc_peer *peer = stream->peer[at];
    return peer && peer->rank_plus_1 == (uint32_t)rank + 1 ? (uint16_t)(at + 1) : search_peer(stream, rank, at);
}

/* Begins a step of the exchange that began after `settled` steps.  Stores before it are visible before it, and before
 * the stores of the step after it: for a kill between any two of them, and for a reader on another core. */
static void begin_step(struct trc_page *page, uint64_t settled, enum trc_settle step)
{
    __atomic_store_n(&page->undo.settled, settled + step, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_release);
}

/* Moves a signature's counts into the counters that stay, because the signature gives up its place. */
TRC_INLINE void settle_signature(struct trc_stream *stream, const struct trc_sig_state *state, uint64_t settled)
{
    struct trc_use *use = state->use;
    struct trc_page *page = stream->page;
    struct trc_thread *thread = &page->thread;
    if (!(use->uses | use->arrivals))
        return;
    const struct trc_moved moved = trc_moved_by(use);
    if (!(moved.sent | moved.received | moved.out | moved.in)) {
        use->uses = 0;
        return;
    }
    struct trc_row *row = state->row; /* the private overflow row has number 0 */
    struct trc_peer *out = NULL, *in = NULL;
    struct trc_undo *undo = &page->undo;
    undo->index_plus_1 = trc_state_index(stream, state) + 1;
    memcpy(&undo->row, &use->row, 3 * sizeof use->row);
    undo->uses = use->uses;
    undo->arrivals = use->arrivals;
    memcpy(&undo->row_sent, &row->sent, 2 * sizeof row->sent);
    memcpy(&undo->sent, &thread->sent, 4 * sizeof thread->sent);
    undo->peer_overflow = thread->peer_overflow;
    if (moved.out | moved.in) { /* else it has no partners */
        out = trc_peer_at(stream, state->out);
        in = trc_peer_at(stream, state->in);
        if (out)
            memcpy(&undo->out_messages, &out->sent_messages, 2 * sizeof out->sent_messages);
        if (in)
            memcpy(&undo->in_messages, &in->received_messages, 2 * sizeof in->received_messages);
    }
    begin_step(page, settled, TRC_SETTLE_ADD);
    trc_add_moved(thread, row, out, in, &moved);
    use->uses = use->arrivals = 0;
}

/* Ends the definition of a signature in the chunk, which gives it its number there.  One that starts requests gets the
 * next number, too: they complete under that. */
static inline void number_sig(struct trc_stream *stream, struct trc_sig_state *state, unsigned char *at)
{
    state->local = stream->local_sigs++;
    state->epoch = stream->epoch;
    state->item = trc_item_word(state->local);
    state->last_sequence = 0;
    if (state->use->sig.flags & TRC_SIG_START) {
        at = trc_put_done(at);
        state->done_item = trc_item_word(stream->local_sigs++);
    }
    stream->at = at;
}

/* Makes an entry of the page for an index, or a private one where there is no room: what that counts is in the file
 * when another signature takes its place. */
static __attribute__((noinline)) void make_use(struct trc_stream *stream, uint32_t index)
{
    struct trc_use *use = entry_room(stream, sizeof *use);
    stream->state[index].use = use ? use : &stream->spare[index];
    if (!use)
        return;
    use->index = (uint16_t)index;
    show_entry(stream, use, TRC_ENTRY_USE);
}

/* Empties an index for another signature: its counts are moved, and its version rises. */
TRC_INLINE struct trc_sig_state *empty_index(struct trc_stream *stream, uint32_t index)
{
    struct trc_sig_state *state = &stream->state[index];
    TRC_IN_REGISTER(state);
    const uint64_t settled = stream->page->undo.settled;
    for (uint32_t i = 0; i < stream->folds; i++)
        if (stream->fold[i].index == index) {
            stream->folds = 0; /* a fold of the signature that goes */
            break;
        }
    if (__builtin_expect(!state->use, 0))
        make_use(stream, index);
    settle_signature(stream, state, settled);
    state->epoch = UINT32_MAX; /* in use, but defined in no chunk */
    state->version++;
    state->completed_version = 0;
    begin_step(stream->page, settled, TRC_SETTLE_REPLACE);
    return state;
}

/* Finds the counters of a signature that an entry has now. */
static __attribute__((noinline)) void find_counters(struct trc_stream *stream, struct trc_sig_state *state)
{
    struct trc_use *use = state->use;
    const struct trc_sig *sig = &use->sig;
    state->row = trc_stream_row(stream, sig);
    state->out = sig->flags & TRC_SIG_P2P_OUT ? peer_of(stream, sig->peer) : 0;
    state->in = sig->flags & TRC_SIG_P2P_IN ? peer_of(stream, sig->source) : 0;
    const struct trc_peer *out = trc_peer_at(stream, state->out), *in = trc_peer_at(stream, state->in);
    use->row = state->row->number;
    use->out = out ? out->number : 0;
    use->in = in ? in->number : 0;
}

/* Ends the replacement of a signature, which the entry has now. */
static void end_replacement(struct trc_page *page)
{
    begin_step(page, page->undo.settled - TRC_SETTLE_REPLACE, TRC_SETTLE_STEPS);
}

uint32_t trc_stream_intern_slow(struct trc_stream *stream, const struct trc_sig *sig, uint32_t set)
{
    /* The way that the last call did not use is given up; a way of an open call never is. */
    struct trc_thread *thread = &stream->page->thread;
    uint32_t index = set;
    if (stream->state[set].epoch && (!stream->state[set + 1].epoch || thread->last == set + 1))
        index = set + 1;
    if (thread->inside == index + 1)
        index ^= 1;
    struct trc_sig_state *state = empty_index(stream, index);
    trc_sig_copy(&state->use->sig, sig);
    find_counters(stream, state);
    end_replacement(stream->page);
    return index;
}

uint32_t trc_stream_variant(struct trc_stream *stream, uint32_t like, uint32_t near, const struct trc_sig *sig)
{
    uint32_t index = (near * TRC_VARIANTS + stream->variants++ % TRC_VARIANTS) % TRC_SIGS;
    while (index == like || index + 1 == stream->page->thread.inside)
        index = (index + 1) % TRC_SIGS;
    struct trc_sig_state *state = empty_index(stream, index);
    const struct trc_sig_state *of = &stream->state[like];
    TRC_IN_REGISTER(of);
    const struct trc_sig *from = &of->use->sig;
    state->use->sig = *sig;
    state->row = of->row;
    state->out = of->out;
    state->in = of->in;
    memcpy(&state->use->row, &of->use->row, 3 * sizeof of->use->row);
    if (of->row->size_class != trc_sig_class(sig) || sig->peer != from->peer || sig->source != from->source)
        find_counters(stream, state);
    end_replacement(stream->page);
    if (of->epoch == stream->epoch && stream->at < stream->stop)
        number_sig(stream, state,
                   trc_put_like(stream->at, sig, from, stream->local_sigs - of->local, TRC_VARIED_FIELDS));
    return index;
}

static bool lose(struct trc_stream *stream)
{
    stream->lost++;
    __atomic_fetch_add(&stream->writer->head->lost_records, 1, __ATOMIC_RELAXED);
    return false;
}

/* Allocates a chunk for events, of at least `least` blocks.  Each is twice as large as the one before, as far as the
 * file's limit leaves room for many. */
static struct trc_chunk *alloc_events(struct trc_stream *stream, uint32_t least)
{
    struct trc_writer *writer = stream->writer;
    uint32_t share = writer->blocks_most / STREAM_SHARE;
    uint32_t most = share < STREAM_LEAST ? STREAM_LEAST : share < TRC_CHUNK_MOST ? share : TRC_CHUNK_MOST;
    uint32_t blocks = stream->chunk_blocks > least ? stream->chunk_blocks : least;
    struct trc_chunk *chunk = trc_writer_alloc(writer, TRC_CHUNK_EVENTS, stream->page->thread.index, blocks, least);
    if (chunk)
        stream->chunk_blocks = blocks * 2 < most ? blocks * 2 : most;
    return chunk;
}

static void close_chunk(struct trc_stream *stream)
{
    stream->earlier += stream->chunk->records;
    __atomic_store_n(&stream->chunk->state, TRC_CHUNK_FULL, __ATOMIC_RELEASE);
    stream->chunk = NULL;
    stream->at = stream->stop = NULL;
    stream->folds = stream->in_row = 0;
}

/* Continues in another chunk, of at least `least` blocks.  False: there is none, and a record was counted as lost.  If
 * there is a smaller one the records that follow have that. */
static bool next_chunk(struct trc_stream *stream, uint32_t least)
{
    struct trc_chunk *chunk = NULL;
    if (!stream->chunk && stream->lost % 1024 != 0) /* tried now and then: the search for a chunk costs time */
        return lose(stream);
    if (least > 1)
        chunk = alloc_events(stream, least);
    bool fits = chunk || least == 1;
    if (!fits && stream->at < stream->stop) /* smaller records still have room here */
        return lose(stream);
    if (stream->chunk)
        close_chunk(stream);
    if (!chunk)
        chunk = alloc_events(stream, 1);
    if (!fits || !chunk)
        lose(stream);
    if (!chunk)
        return false;
    trc_stream_age(stream);
    stream->chunk = chunk;
    stream->folds = stream->in_row = 0;
    stream->epoch++;
    stream->local_sigs = 0;
    stream->at = (unsigned char *)(chunk + 1);
    stream->stop = stream->at + trc_writer_room(stream->writer, chunk) - TRC_STREAM_ROOM;
    chunk->first_ticks = chunk->last_ticks = stream->base;
    chunk->lost = stream->lost;
    chunk->earlier = stream->earlier;
    chunk->first_start = stream->page->thread.starts;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    trc_stream_regions(stream);
    return fits;
}

bool trc_stream_room_slow(struct trc_stream *stream)
{
    if (stream->off && !trc_stream_switch_on(stream))
        return false;
    return stream->at < stream->stop || next_chunk(stream, 1);
}

bool trc_stream_room_for(struct trc_stream *stream, uint32_t bytes)
{
    if (stream->off && !trc_stream_switch_on(stream))
        return false;
    if (stream->chunk && stream->at + bytes <= stream->stop)
        return true;
    return next_chunk(stream, trc_blocks_for(bytes + TRC_STREAM_ROOM));
}

void trc_stream_define(struct trc_stream *stream, uint32_t index)
{
    struct trc_sig_state *state = &stream->state[index];
    number_sig(stream, state, trc_put_sig(stream->at, &state->use->sig));
}

void trc_stream_fold_slow(struct trc_stream *stream, uint32_t index, uint64_t begin, uint64_t end)
{
    if (!trc_stream_room(stream))
        return;
    trc_stream_age(stream);
    bool full = stream->folds == TRC_OPEN_FOLDS;
    for (uint32_t i = 0; i < stream->folds; i++)
        full |= stream->fold[i].index == index;
    if (full)
        stream->folds = 0;
    if (!stream->in_row)
        stream->fold_base = stream->base;
    stream->in_row = 1;
    begin = begin > stream->fold_base ? begin : stream->fold_base;
    end = end > begin ? end : begin;
    if (stream->state[index].epoch != stream->epoch)
        trc_stream_define(stream, index);
    unsigned char *at = trc_put_varint(stream->at, TRC_ITEM_FOLD);
    at = trc_put_varint(at, stream->state[index].local);
    at = trc_put_varint(at, begin - stream->fold_base);
    struct trc_fold *fold = &stream->fold[stream->folds++];
    *fold = (struct trc_fold){.index = index, .at = at, .count = 1, .busy = end - begin, .begin = begin};
    trc_set_fold(at, 1, end - begin, end - begin);
    stream->base = end;
    trc_stream_commit(stream, at + 3 * sizeof(uint64_t), end);
}

static void halve_full(struct trc_row *row)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < TRC_BUCKETS; i++)
        most |= row->histogram[i];
    for (uint32_t i = 0; most >> 31 && i < TRC_BUCKETS; i++)
        row->histogram[i] = row->histogram[i] / 2 + row->histogram[i] % 2; /* rare values stay */
}

/* Adds the uses of signatures to the counters before their numbers are full. */
static void settle_full(struct trc_stream *stream)
{
    for (uint32_t i = 0; i < TRC_SIGS; i++) {
        const struct trc_use *use = stream->state[i].use;
        const uint64_t settled = stream->page->undo.settled;
        if (!use || !((use->uses | use->arrivals) >> 31))
            continue;
        settle_signature(stream, &stream->state[i], settled);
        begin_step(stream->page, settled, TRC_SETTLE_STEPS);
    }
}

void trc_stream_age(struct trc_stream *stream)
{
    const uint64_t calls = stream->page->thread.calls;
    if (calls - stream->aged < 1u << 29)
        return;
    stream->aged = calls;
    settle_full(stream);
    for (uint32_t i = 0; i < TRC_ROW_PLACES; i++)
        if (stream->row[i])
            halve_full(stream->row[i]);
}
