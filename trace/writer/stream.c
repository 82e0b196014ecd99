/* Streams: the slow paths of the record path. */
#include "trace/format/uses.h"
#include "trace/writer/region.h"
#include "trace/writer/stream.h"

#define RESERVED_ROWS 40u /* kept for calls that have none */

static bool open_page(struct trc_stream *stream, struct trc_writer *writer, uint32_t tid,
                      const struct trc_device_stream *of, const char *name)
{
    unsigned index = atomic_fetch_add(&writer->threads, 1);
    if (index >= TRC_MAX_THREADS)
        return false;
    struct trc_chunk *chunk = trc_writer_take(writer, TRC_CHUNK_THREAD, (uint16_t)index);
    if (!chunk)
        return false;
    memset(chunk + 1, 0, TRC_CHUNK_SIZE - sizeof *chunk);
    stream->writer = writer;
    stream->page = (struct trc_thread_chunk *)(void *)chunk;
    stream->page->thread.tid = tid;
    stream->page->thread.index = index;
    if (of)
        stream->page->of = *of;
    for (size_t i = 0; i + 1 < sizeof stream->page->thread.name && name[i]; i++)
        stream->page->thread.name[i] = name[i];
    stream->base = writer->ticks();
    stream->epoch = 1;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    return true;
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

/* The row of a call and size class.  When few rows are left, a new size of a known call shares the row of another size,
 * so that no call is missing. */
static struct trc_row *row_of(struct trc_stream *stream, const struct trc_sig *sig)
{
    struct trc_row_place place = trc_row_place(stream->page->rows, sig);
    if (place.exact)
        return place.exact;
    if (place.same_call && stream->rows_used + RESERVED_ROWS >= TRC_ROWS)
        return place.same_call;
    if (!place.unused)
        return &stream->overflow_row;
    stream->rows_used++;
    place.unused->size_class = trc_sig_class(sig);
    place.unused->min_ticks = UINT64_MAX;
    __atomic_store_n(&place.unused->call_plus_1, (uint16_t)(sig->call + 1), __ATOMIC_RELEASE);
    return place.unused;
}

/* The place of a partner's counters, + 1; 0: none is free. */
static uint16_t peer_of(struct trc_stream *stream, int32_t rank)
{
    if (rank < 0)
        return 0;
    struct trc_peer *peers = stream->page->peers;
    uint32_t key = (uint32_t)rank + 1, at = (uint32_t)rank % TRC_PEERS;
    for (uint32_t tries = 0; tries < TRC_PEERS; tries++, at = (at + 1) % TRC_PEERS) {
        if (peers[at].rank_plus_1 == key)
            return (uint16_t)(at + 1);
        if (peers[at].rank_plus_1)
            continue;
        __atomic_store_n(&peers[at].rank_plus_1, key, __ATOMIC_RELEASE);
        return (uint16_t)(at + 1);
    }
    return 0;
}

/* Moves what was counted by signature into the counters that stay, because the signature gives up its place.  The
 * fences keep the stores in this order, for a kill between any two of them and for a reader. */
static void settle_signature(struct trc_stream *stream, uint32_t index)
{
    struct trc_thread_chunk *page = stream->page;
    if (page->uses[index] == 0)
        return;
    const struct trc_sig_state *state = &stream->state[index];
    struct trc_thread *thread = &page->thread;
    struct trc_row *row = state->row == &stream->overflow_row ? NULL : state->row;
    struct trc_peer *out = trc_peer_at(page, state->out), *in = trc_peer_at(page, state->in);
    page->undo = (struct trc_undo){
        .row = row ? (uint32_t)(row - page->rows) + 1 : 0,
        .out = state->out,
        .in = state->in,
        .uses = page->uses[index],
        .row_sent = row ? row->sent : 0,
        .row_received = row ? row->received : 0,
        .out_messages = out ? out->sent_messages : 0,
        .out_bytes = out ? out->sent_bytes : 0,
        .in_messages = in ? in->received_messages : 0,
        .in_bytes = in ? in->received_bytes : 0,
        .sent = thread->sent,
        .received = thread->received,
        .sent_messages = thread->sent_messages,
        .received_messages = thread->received_messages,
        .peer_overflow = thread->peer_overflow,
        .settled = page->undo.settled,
    };
    __atomic_store_n(&page->undo.index_plus_1, index + 1, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_release);
    trc_add_uses(thread, row, out, in, &page->sigs[index], page->uses[index]);
    page->uses[index] = 0;
    __atomic_store_n(&page->undo.index_plus_1, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&page->undo.settled, page->undo.settled + 1, __ATOMIC_RELEASE);
    atomic_thread_fence(memory_order_release);
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
    for (uint32_t i = 0; i < stream->folds; i++)
        if (stream->fold[i].index == index) {
            stream->folds = 0; /* of the signature that goes */
            break;
        }
    settle_signature(stream, index);
    stream->when++;
    stream->page->sigs[index] = *sig;
    stream->state[index] = (struct trc_sig_state){
        .epoch = UINT32_MAX, /* taken, but defined in no chunk */
        .version = stream->state[index].version + 1,
        .row = row_of(stream, sig),
        .out = sig->flags & TRC_SIG_P2P_OUT ? peer_of(stream, sig->peer) : (uint16_t)0,
        .in = sig->flags & TRC_SIG_P2P_IN ? peer_of(stream, sig->source) : (uint16_t)0,
        .sig = &stream->page->sigs[index],
    };
    return index;
}

bool trc_stream_room_slow(struct trc_stream *stream)
{
    struct trc_writer *writer = stream->writer;
    if (!stream->chunk && stream->lost % 1024 != 0) { /* tried now and then: the search for a chunk costs time */
        stream->lost++;
        __atomic_fetch_add(&writer->head->lost_records, 1, __ATOMIC_RELAXED);
        return false;
    }
    if (stream->chunk) {
        stream->earlier += stream->chunk->records;
        __atomic_store_n(&stream->chunk->state, TRC_CHUNK_FULL, __ATOMIC_RELEASE);
    }
    stream->folds = stream->in_row = 0;
    uint16_t index = (uint16_t)stream->page->thread.index;
    struct trc_chunk *chunk = trc_writer_take(writer, TRC_CHUNK_EVENTS, index);
    stream->chunk = chunk;
    stream->at = stream->stop = NULL;
    if (!chunk) {
        stream->lost++;
        __atomic_fetch_add(&writer->head->lost_records, 1, __ATOMIC_RELAXED);
        return false;
    }
    stream->epoch++;
    stream->when++;
    stream->local_sigs = 0;
    stream->at = (unsigned char *)(chunk + 1);
    stream->stop = (unsigned char *)chunk + TRC_CHUNK_SIZE - TRC_STREAM_ROOM;
    chunk->first_ticks = chunk->last_ticks = stream->base;
    chunk->lost = stream->lost;
    chunk->earlier = stream->earlier;
    chunk->first_start = stream->page->thread.starts;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    trc_stream_regions(stream);
    return true;
}

void trc_stream_define(struct trc_stream *stream, uint32_t index)
{
    const struct trc_sig *sig = &stream->page->sigs[index];
    unsigned char body[TRC_ITEM_MAX], *end = body;
#define u(v)                    trc_put_varint(end, v)
#define s(v)                    trc_put_zigzag(end, v)
#define FIELD(type, name, kind) end = kind(sig->name);
    TRC_SIG_FIELDS(FIELD)
#undef FIELD
#undef s
#undef u
    unsigned char *at = trc_put_varint(stream->at, TRC_ITEM_SIG);
    at = trc_put_varint(at, (uint64_t)(end - body));
    memcpy(at, body, (size_t)(end - body));
    stream->at = at + (end - body);
    stream->state[index].epoch = stream->epoch;
    stream->state[index].local = stream->local_sigs++;
    stream->state[index].item = trc_item_word(stream->state[index].local);
    stream->state[index].last_sequence = 0;
}

void trc_stream_fold_slow(struct trc_stream *stream, uint32_t index, uint64_t begin, uint64_t end)
{
    if (!trc_stream_room(stream))
        return;
    if (stream->folds == TRC_OPEN_FOLDS)
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
    uint64_t now[3] = {1, end - begin, end - begin};
    memcpy(at, now, sizeof now);
    stream->base = end;
    trc_stream_commit(stream, at + sizeof now, end);
}

void trc_row_halve(struct trc_row *row, uint32_t *bucket)
{
    for (uint32_t i = 0; i < TRC_BUCKETS; i++)
        row->histogram[i] = row->histogram[i] / 2 + row->histogram[i] % 2; /* what is rare stays */
    *bucket = UINT32_MAX / 2 + 1;
}
