#include "trace/writer/region.h"

static unsigned char *put_region(unsigned char *at, enum trc_region_what what, uint32_t id, uint64_t last)
{
    unsigned char body[3 * TRC_VARINT_MAX], *end = trc_put_varint(body, what);
    end = trc_put_varint(end, id);
    end = trc_put_varint(end, last);
    at = trc_put_varint(at, TRC_ITEM_REGION);
    at = trc_put_varint(at, (uint64_t)(end - body));
    memcpy(at, body, (size_t)(end - body));
    return at + (end - body);
}

static void commit(struct trc_stream *stream, unsigned char *at)
{
    stream->at = at;
    atomic_store_explicit((_Atomic uint32_t *)&stream->chunk->committed,
                          (uint32_t)(at - (unsigned char *)(stream->chunk + 1)), memory_order_release);
}

bool trc_stream_region(struct trc_stream *stream, enum trc_region_what what, uint32_t id, uint64_t ticks)
{
    if (!trc_stream_room(stream))
        return false;
    uint64_t time = ticks > stream->base ? ticks : stream->base;
    stream->folds = stream->in_row = 0;
    if (stream->chunk->last_ticks < time)
        stream->chunk->last_ticks = time;
    commit(stream, put_region(stream->at, what, id, time - stream->base));
    return true;
}

void trc_stream_regions(struct trc_stream *stream)
{
    const struct trc_regions *regions = stream->regions;
    if (!regions || !regions->depth)
        return;
    unsigned char *at = stream->at;
    for (uint32_t i = 0; i < regions->depth; i++)
        at = put_region(at, TRC_REGION_OPEN, regions->id[i], i + 1);
    commit(stream, at);
}
