#include "trace/writer/usage.h"
#include "trace/writer/stream.h"

#define SHARE      8u                    /* part of the file, for chunks of usage */
#define ITEM_HEADS (4u * TRC_VARINT_MAX) /* bytes of two items besides their entries */

/* Whether the item in the making, and an empty one before it, have room in the chunk; NULL has none. */
static bool has_room(const struct trc_usage_stream *stream, const struct trc_chunk *chunk)
{
    const uint32_t need = stream->size + ITEM_HEADS, room = chunk ? trc_writer_room(stream->writer, chunk) : 0;
    return room >= need && chunk->committed <= room - need; /* somebody may have overwritten it */
}

/* The oldest of the chunks with room for the item is begun anew; they have their share of the file.  NULL: none has. */
static struct trc_chunk *begin_anew(struct trc_usage_stream *stream)
{
    struct trc_chunk *chunk = NULL;
    for (unsigned i = 1; !chunk && i <= stream->chunks; i++) {
        unsigned at = (stream->current + i) % stream->chunks;
        if (stream->size + ITEM_HEADS > trc_writer_room(stream->writer, stream->chunk[at]))
            continue;
        chunk = stream->chunk[at];
        stream->current = at;
    }
    if (!chunk)
        return NULL;
    __atomic_store_n(&chunk->magic, 0, __ATOMIC_RELAXED);
    atomic_thread_fence(memory_order_release); /* see trc_writer_alloc */
    chunk->sequence = atomic_fetch_add(&stream->writer->sequence, 1) + 1;
    chunk->committed = 0;
    chunk->state = TRC_CHUNK_OPEN;
    return chunk;
}

/* Returns the next chunk, which begins at the time of the last item.  NULL: there is none. */
static struct trc_chunk *next_chunk(struct trc_usage_stream *stream, uint64_t since)
{
    unsigned most = atomic_load(&stream->writer->limit) / SHARE, least = trc_blocks_for(stream->size + ITEM_HEADS);
    unsigned blocks = stream->blocks < TRC_CHUNK_MOST ? stream->blocks : TRC_CHUNK_MOST; /* size of all chunks before
                                                                                            together */
    blocks = blocks > least ? blocks : least;
    struct trc_chunk *chunk = NULL;
    if (stream->chunks)
        __atomic_store_n(&stream->chunk[stream->current]->state, TRC_CHUNK_FULL, __ATOMIC_RELEASE);
    if (stream->blocks + blocks <= most && stream->chunks < TRC_USAGE_CHUNKS)
        chunk = trc_writer_alloc(stream->writer, TRC_CHUNK_USAGE, 0, blocks, least);
    if (chunk) {
        stream->blocks += trc_blocks_for(trc_writer_room(stream->writer, chunk));
        stream->current = stream->chunks++;
        stream->chunk[stream->current] = chunk;
    } else if (stream->chunks) {
        chunk = begin_anew(stream);
    }
    if (!chunk)
        return NULL;
    chunk->first_ticks = chunk->last_ticks = stream->base ? stream->base : since;
    stream->base = chunk->first_ticks;
    __atomic_store_n(&chunk->magic, TRC_CHUNK_MAGIC, __ATOMIC_RELEASE);
    return chunk;
}

static uint8_t *put_item(uint8_t *at, uint64_t gap, const uint8_t *entries, uint32_t size)
{
    uint8_t time[TRC_VARINT_MAX];
    size_t length = (size_t)(trc_put_varint(time, gap) - time);
    at = trc_put_varint(at, length + size);
    memcpy(at, time, length);
    if (size)
        memcpy(at + length, entries, size);
    return at + length + size;
}

bool trc_usage_add(struct trc_usage_stream *stream, const struct trc_usage *usage)
{
    if (stream->size + TRC_USAGE_ENTRY_MAX > sizeof stream->item)
        return false;
    stream->size = (uint32_t)(trc_put_usage(stream->item + stream->size, usage) - stream->item);
    return true;
}

bool trc_usage_end(struct trc_usage_stream *stream, uint64_t since, uint64_t ticks)
{
    const uint32_t size = stream->size;
    struct trc_chunk *chunk = stream->chunks ? stream->chunk[stream->current] : NULL;
    bool idle = !size || atomic_load(&stream->writer->stopped);
    if (!idle && !has_room(stream, chunk))
        chunk = next_chunk(stream, since);
    bool full = !idle && !has_room(stream, chunk);
    stream->size = 0;
    if (idle || full)
        return idle;
    since = since > stream->base ? since : stream->base; /* a clock that steps back */
    ticks = ticks > since ? ticks : since;
    uint8_t *begin = (uint8_t *)(chunk + 1), *at = begin + chunk->committed;
    if (since > stream->base)
        at = put_item(at, since - stream->base, NULL, 0);
    at = put_item(at, ticks - since, stream->item, size);
    stream->base = ticks;
    chunk->last_ticks = ticks;
    __atomic_store_n(&chunk->committed, (uint32_t)(at - begin), __ATOMIC_RELEASE);
    return true;
}
